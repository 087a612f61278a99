"""Random bytes, random operations and a foreign hand, compared step by step with a plain model of the specification.

The model keeps whole contents: of the files, and of what each owner has last seen. It shares no code with the seam
but `Window` and `Edit`; pages and edits come from the slow references beside this file.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from fs_core.digest import content_digest
from fs_core.edit import Ambiguous, Edit, Missing
from fs_core.errors import (
    AmbiguousEdit,
    EditNotFound,
    FsError,
    NotFound,
    NotObserved,
    NotRegularFile,
    NotText,
    OutOfRange,
    StaleVersion,
)
from fs_core.page import Window
from fs_core.policy import OwnerId
from fs_core.text import BOM
from tests.fs_core.edit_reference import Content, expected_outcome
from tests.fs_core.seam import ME, OTHER, Seam
from tests.fs_core.text_reference import expected_page, first_offence, near_texts, texts, windows

T = TypeVar("T")

STEPS_MAX: Final = 20
REPLACED_BYTES_MAX: Final = 200_000  # of replacing everywhere, which makes a file grow step by step
PATHS: Final = ("a.txt", "d/é b.txt")


@st.composite
def huge_lines(draw: st.DrawFn) -> bytes:
    piece = draw(st.sampled_from([b"x", b"ab ", "é".encode(), "😀".encode(), b"\r", b"a\r\n"]))
    return piece * draw(st.integers(500, 3000)) + draw(st.one_of(texts, near_texts))


@st.composite
def foreign_texts(draw: st.DrawFn) -> bytes:
    encodings = ["latin-1", "cp1251", "gb18030", "shift_jis", "utf-16", "utf-16-be", "utf-32-le"]
    return draw(st.text(max_size=40)).encode(draw(st.sampled_from(encodings)), "ignore")


# Few letters, so that places are frequent and overlap.
few_letters = st.lists(st.sampled_from([b"a", b"a", b"b", b"\n", b"\r\n", b"\r"]), min_size=4, max_size=24).map(
    b"".join
)
contents = st.one_of(
    few_letters,
    few_letters,
    texts,
    texts,
    huge_lines(),
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")),
    near_texts,
    st.binary(max_size=60),
    foreign_texts(),
)
snippets = st.lists(
    st.sampled_from(["a", "a", "b", "é", "😀", "\t", "\n", "\r\n", "\r", "\ufeff", "\ufffd", "$&", r"\1"]), max_size=6
).map("".join)
new_texts = st.one_of(
    snippets,
    snippets,
    snippets,
    st.text(max_size=20),
    st.just("x" * 1000),
    st.sampled_from(["a\0b", "\0", "a\ud800", "\udc00\n"]),
)
paths = st.sampled_from(PATHS)
owners = st.sampled_from([ME, OTHER])


@dataclass(frozen=True)
class Seen:
    """The content that an owner saw; `None` is that there was no file."""

    content: bytes | None
    is_text: bool = True


class Directory:
    """What stands at a path that is no file."""


class SeamMachine(RuleBasedStateMachine):
    def __init__(self, portal: BlockingPortal) -> None:
        super().__init__()
        self._portal = portal
        self._seam = Seam()
        self._sessions = {owner: self._seam.session(owner) for owner in (ME, OTHER)}
        self._there: dict[str, bytes | Directory] = {}
        self._seen: dict[tuple[OwnerId, str], Seen] = {}

    @initialize(first=contents, second=st.one_of(st.none(), contents))
    def begin(self, first: bytes, second: bytes | None) -> None:
        for path, content in zip(PATHS, (first, second), strict=True):
            if content is not None:
                self._put(path, content)

    @rule(path=paths, owner=owners, window=st.one_of(st.just(Window()), windows))
    def read(self, path: str, owner: OwnerId, window: Window) -> None:
        outcome = self._attempt(partial(self._sessions[owner].read, path, window))
        there = self._there.get(path)
        match there:
            case None:
                assert type(outcome) is NotFound
                self._seen[owner, path] = Seen(None)
            case Directory():
                assert type(outcome) is NotRegularFile
            case bytes() if first_offence(there) is not None:
                assert type(outcome) is NotText
                assert f"byte {first_offence(there)} of {len(there)};" in outcome.reason
                self._seen[owner, path] = Seen(there, is_text=False)
            case bytes() if window.first_line > max(1, expected_page(there, Window()).total_lines):
                assert type(outcome) is OutOfRange
            case bytes():
                assert not isinstance(outcome, FsError)
                assert outcome.page == expected_page(there, window)
                assert outcome.version.digest == content_digest(there)
                self._seen[owner, path] = Seen(there)

    @rule(path=paths, owner=owners, content=new_texts, looks_first=st.booleans())
    def write(self, path: str, owner: OwnerId, content: str, looks_first: bool) -> None:
        if looks_first:
            self.read(path, owner, Window())
        outcome = self._attempt(partial(self._sessions[owner].write, path, content))
        refusal = self._refusal_of_write(path, owner, content)
        if refusal is not None:
            assert type(outcome) is refusal
            return
        assert not isinstance(outcome, FsError)
        data = content.encode()
        assert outcome.created == (path not in self._there)
        assert outcome.size_bytes == len(data)
        assert outcome.version.digest == content_digest(data)
        self._there[path] = data
        self._seen[owner, path] = Seen(data)

    @rule(
        path=paths, owner=owners, draw=st.data(), new_string=new_texts, looks_first=st.sampled_from([True, True, False])
    )
    def edit(self, path: str, owner: OwnerId, draw: st.DataObject, new_string: str, looks_first: bool) -> None:
        if looks_first:
            self.read(path, owner, Window())
        there = self._there.get(path)
        size_bytes_max = len(there) * len(new_string) if isinstance(there, bytes) else 0
        replace_all = size_bytes_max <= REPLACED_BYTES_MAX and draw.draw(st.booleans())
        edit = Edit(self._draw_old_string(path, draw), new_string, replace_all=replace_all)
        outcome = self._attempt(partial(self._sessions[owner].edit, path, edit))
        refusal = self._refusal_of_edit(path, owner, new_string)
        if refusal is not None:
            assert type(outcome) is refusal
            return
        before = self._there[path]
        assert isinstance(before, bytes)
        match expected_outcome(before, edit):
            case Missing():
                assert type(outcome) is EditNotFound
            case Ambiguous(places=places):
                assert type(outcome) is AmbiguousEdit
                assert f"old_string has {places} " in outcome.reason
            case Content(data=after, replacements=replacements):
                assert not isinstance(outcome, FsError)
                assert outcome.replacements == replacements
                assert outcome.version.digest == content_digest(after)
                self._there[path] = after
                self._seen[owner, path] = Seen(after)

    @rule(path=paths, content=contents)
    def someone_else_puts(self, path: str, content: bytes) -> None:
        self._put(path, content)

    @rule(path=paths, draw=st.data())
    def someone_else_changes_a_part(self, path: str, draw: st.DataObject) -> None:
        there = self._there.get(path)
        if not isinstance(there, bytes):
            return
        start = draw.draw(st.integers(0, len(there)))
        end = draw.draw(st.integers(start, min(len(there), start + 4)))
        self._put(path, there[:start] + draw.draw(st.binary(max_size=4)) + there[end:])

    @rule(path=paths, way=st.sampled_from(["touch", "touch", "remove", "replace by a directory"]))
    def someone_else_leaves_no_other_content(self, path: str, way: str) -> None:
        there = self._there.get(path)
        if not isinstance(there, bytes):
            return
        match way:
            case "touch":
                self._put(path, there)
            case "remove":
                self._seam.remove(path)
                del self._there[path]
            case _:
                self._seam.make_directory(path)
                self._there[path] = Directory()

    @invariant()
    def the_store_holds_what_the_model_holds(self) -> None:
        files = {path: there for path, there in self._there.items() if isinstance(there, bytes)}
        assert {path: file.data for path, file in self._seam.store.files.items()} == files

    def _attempt(self, call: Callable[[], Awaitable[T]]) -> T | FsError:
        """Return the result or the refusal, which has changed nothing and says so on one line of plain text."""
        files, directories = dict(self._seam.store.files), set(self._seam.store.directories)
        try:
            return self._portal.call(call)
        except FsError as error:
            refusal = error
        assert self._seam.store.files == files
        assert self._seam.store.directories == directories
        assert len(str(refusal).splitlines()) == 1
        return refusal

    def _put(self, path: str, content: bytes) -> None:
        self._seam.store.directories.discard(path)
        self._seam.put(path, content)
        self._there[path] = content

    def _refusal_of_write(self, path: str, owner: OwnerId, content: str) -> type[FsError] | None:
        if not _can_be_stored(content):
            return NotText
        there, seen = self._there.get(path), self._seen.get((owner, path))
        if isinstance(there, Directory):
            return NotRegularFile
        if seen is None or seen.content is None:
            return None if there is None else NotObserved
        return None if there == seen.content else StaleVersion

    def _refusal_of_edit(self, path: str, owner: OwnerId, new_string: str) -> type[FsError] | None:
        if not _can_be_stored(new_string):
            return NotText
        there, seen = self._there.get(path), self._seen.get((owner, path))
        if seen is None or seen.content is None:
            return NotFound if there is None else NotObserved
        if not seen.is_text:
            return NotObserved
        if isinstance(there, Directory):
            return NotRegularFile
        return None if there == seen.content else StaleVersion

    def _draw_old_string(self, path: str, draw: st.DataObject) -> str:
        """Draw a text to replace, mostly a part of what is there."""
        there = self._there.get(path)
        snippet = draw.draw(snippets.filter(bool))
        if not isinstance(there, bytes) or first_offence(there) is not None:
            return snippet
        text = there.removeprefix(BOM).decode()
        start = draw.draw(st.integers(0, len(text)))
        part = text[start : start + draw.draw(st.sampled_from([1, 2, 3, 8]))]
        return draw.draw(st.sampled_from([part, part.replace("\r\n", "\n"), snippet])) or snippet


def _can_be_stored(text: str) -> bool:
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text)


@pytest.mark.hypothesis
@pytest.mark.timeout(0)  # a nightly run takes many minutes, and the profile bounds it
def test_whatever_happens_the_seam_does_what_the_specification_says() -> None:
    with start_blocking_portal() as portal:
        run_state_machine_as_test(
            lambda: SeamMachine(portal),  # pyright: ignore[reportArgumentType] - a factory will do, says its docstring
            settings=settings(stateful_step_count=STEPS_MAX),
        )
