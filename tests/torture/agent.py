"""One agent: a session of its own that changes files as fast as it is answered, and journals every operation."""

import random
import time
from collections.abc import Awaitable
from typing import Final

from fs_core.digest import content_digest
from fs_core.edit import Edit
from fs_core.errors import ErrorCode, FsError
from fs_core.outcomes import Edited, Written
from fs_core.page import Window
from fs_core.session import FileSession
from tests.torture.contents import Content, Shape, added_by_edit, digest_of, parse, render
from tests.torture.history import Journal, Outcome, Replace
from tests.torture.notes import NoteKind, Notes
from tests.torture.plan import APPENDED, FILES_PER_SHAPE, Layout

__all__ = ["Agent", "GuardedAgent", "UnguardedAgent"]

_EVERYTHING: Final = Window(lines_max=1_000_000, line_chars_max=1_000_000, bytes_max=1 << 30)
_NOT_AS_SEEN: Final = frozenset({ErrorCode.STALE_VERSION, ErrorCode.NOT_OBSERVED})
_SHAPES: Final = (Shape.COUNTER, Shape.LOG, Shape.WHOLE)


class Agent:
    """What guarded and unguarded agents have in common. `name` is unique in the whole run."""

    def __init__(
        self, name: str, session: FileSession, *, layout: Layout, journal: Journal, notes: Notes, seed: int
    ) -> None:
        self._name = name
        self._session = session
        self._layout = layout
        self._journal = journal
        self._notes = notes
        self._dice = random.Random(f"{seed}/{name}")
        self._count = 0

    async def run(self) -> None:
        """Work until the end of the run."""
        while time.monotonic_ns() < self._layout.end_ns:
            await self.step()

    async def step(self) -> None:
        """Do one thing."""
        raise NotImplementedError

    def _token(self) -> str:
        self._count += 1
        return f"{self._name}.{self._count}"

    async def _change(self, key: str, change: Replace, work: Awaitable[Written | Edited]) -> Outcome:
        """Await a change and journal what came of it."""
        entry = self._journal.begin(key, self._name, change)
        try:
            told = await work
        except FsError as refusal:
            outcome = _outcome_of(refusal, is_guarded=change.before != APPENDED)
            if outcome is not Outcome.STALE:
                self._notes.add(NoteKind.CODE, key, refusal.code)
        else:
            outcome = Outcome.DONE
            if change.before != APPENDED and told.version.digest != change.after:
                text = f"{self._name} was told of {told.version.digest} after it wrote {change.after}"
                self._notes.add(NoteKind.MISTOLD, key, text)
        self._journal.end(entry, outcome)
        return outcome


class GuardedAgent(Agent):
    """Sees before it changes, and knows the content that each of its changes makes."""

    def __init__(
        self, name: str, session: FileSession, *, layout: Layout, journal: Journal, notes: Notes, seed: int
    ) -> None:
        super().__init__(name, session, layout=layout, journal=journal, notes=notes, seed=seed)
        self._seen: dict[tuple[Shape, int], tuple[str, Content | None]] = {}
        self._raced_for = ""

    async def step(self) -> None:
        """Change a shared file, mostly; else look at one, or create a new file."""
        what = self._dice.choices(("race", "nest", "look", "change"), weights=(8, 8, 14, 70))[0]
        now_ns = time.monotonic_ns()
        raced_for = self._layout.raced_for(now_ns)
        if what == "race" and raced_for != self._raced_for:
            self._raced_for = raced_for
            await self._create(raced_for, Shape.ONCE, self._token())
        elif what == "nest":
            token = self._token()
            await self._create(self._layout.nested(self._dice.randrange(4), token, now_ns), Shape.ONCE, token)
        else:
            shape, number = self._dice.choice(_SHAPES), self._dice.randrange(FILES_PER_SHAPE)
            path = self._layout.changed(shape, number, now_ns)
            await self._change_shared(path, shape, number, look_first=what == "look")

    async def _change_shared(self, path: str, shape: Shape, number: int, *, look_first: bool) -> None:
        known, seen = self._seen.get((shape, number), ("", None))
        if look_first or known != path or seen is None:
            seen = await self._look(path)
        token = self._token()
        if seen is None:
            self._seen[shape, number] = (path, await self._create(path, shape, token))
            return
        after = seen.after(token)
        change = Replace(digest_of(seen), digest_of(after))
        if shape is Shape.WHOLE:
            outcome = await self._change(path, change, self._session.write(path, render(after)))
        else:
            outcome = await self._change(path, change, self._session.edit(path, added_by_edit(seen, token)))
        left = {Outcome.DONE: after, Outcome.FAILED: seen}
        self._seen[shape, number] = (path, left.get(outcome))

    async def _create(self, path: str, shape: Shape, token: str) -> Content | None:
        content = Content(shape, (token,))
        change = Replace(None, digest_of(content))
        outcome = await self._change(path, change, self._session.write(path, render(content)))
        return content if outcome is Outcome.DONE else None

    async def _look(self, path: str) -> Content | None:
        """Read a whole file; `None` when there is none, or it could not be read."""
        entry = self._journal.begin(path, self._name)
        try:
            told = await self._session.read(path, _EVERYTHING)
        except FsError as refusal:
            is_absent = refusal.code is ErrorCode.NOT_FOUND
            if not is_absent:
                self._notes.add(NoteKind.CODE, path, refusal.code)
            self._journal.end(entry, Outcome.DONE if is_absent else Outcome.FAILED)
            return None
        data = "".join(f"{line.text}\n" for line in told.page.lines).encode()
        digest = content_digest(data)
        self._journal.end(entry, Outcome.DONE, content=digest)
        if digest != told.version.digest:
            self._notes.add(NoteKind.MISTOLD, path, f"the page has {digest}, its version {told.version.digest}")
        content = parse(data)
        if content is None:
            self._notes.add(NoteKind.TORN, path, f"{self._name} read {data!r}")
        return content


class UnguardedAgent(Agent):
    """Appends without looking; every update must stay all the same."""

    async def step(self) -> None:
        """Append to the first log, which guarded agents change, too; the others are theirs alone."""
        path = self._layout.changed(Shape.LOG, 0, time.monotonic_ns())
        token = self._token()
        edit: Edit = added_by_edit(Content(Shape.LOG, ("",)), token)
        await self._change(path, Replace(APPENDED, token), self._session.edit(path, edit))


def _outcome_of(refusal: FsError, *, is_guarded: bool) -> Outcome:
    if refusal.code is ErrorCode.OUTCOME_UNKNOWN:
        return Outcome.UNKNOWN
    if is_guarded and refusal.code in _NOT_AS_SEEN:
        return Outcome.STALE
    return Outcome.FAILED
