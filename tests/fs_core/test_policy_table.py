"""Section 7 of the specification, row by row: what one owner may do to a file in the state in which it knows it."""

from collections.abc import Awaitable, Callable
from typing import Literal

import anyio
import pytest

from fs_core.edit import Edit
from fs_core.errors import (
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
from fs_core.policy import Absent, Present
from tests.fs_core.seam import ME, OTHER, Seam, perform, refused

pytestmark = pytest.mark.anyio

PATH = "a.txt"
THEIRS = b"one, theirs\n"


@pytest.fixture
def seam() -> Seam:
    return Seam()


async def unseen_file(seam: Seam) -> None:
    seam.put(PATH, b"one\n")


async def unseen_nothing(seam: Seam) -> None:
    assert seam.get(PATH) is None


async def absent(seam: Seam) -> None:
    await refused(seam.session(), "read", PATH, NotFound)


async def absent_but_appeared(seam: Seam) -> None:
    await absent(seam)
    seam.put(PATH, THEIRS)


async def present(seam: Seam) -> None:
    seam.put(PATH, b"one\n")
    await seam.session().read(PATH, Window())


async def present_but_changed(seam: Seam) -> None:
    await present(seam)
    seam.put(PATH, THEIRS)


async def present_but_rewritten(seam: Seam) -> None:
    await present(seam)
    seam.put(PATH, b"one\n")


async def present_but_deleted(seam: Seam) -> None:
    await present(seam)
    seam.remove(PATH)


async def present_but_a_directory(seam: Seam) -> None:
    await present(seam)
    seam.make_directory(PATH)


State = Callable[[Seam], Awaitable[None]]
Known = Literal["nothing", "absent", "present"]
WRITTEN, EDITED = b"new\n", b"new\n"


@pytest.mark.parametrize(
    ("state", "operation", "outcome"),
    [
        (unseen_file, "read", (None, "present", b"one\n")),
        (unseen_file, "write", (NotObserved, "nothing", b"one\n")),
        (unseen_file, "edit", (NotObserved, "nothing", b"one\n")),
        (unseen_nothing, "read", (NotFound, "absent", None)),
        (unseen_nothing, "write", (None, "present", WRITTEN)),
        (unseen_nothing, "edit", (NotFound, "nothing", None)),
        (absent, "read", (NotFound, "absent", None)),
        (absent, "write", (None, "present", WRITTEN)),
        (absent, "edit", (NotFound, "absent", None)),
        (absent_but_appeared, "read", (None, "present", THEIRS)),
        (absent_but_appeared, "write", (NotObserved, "absent", THEIRS)),
        (absent_but_appeared, "edit", (NotObserved, "absent", THEIRS)),
        (present, "read", (None, "present", b"one\n")),
        (present, "write", (None, "present", WRITTEN)),
        (present, "edit", (None, "present", EDITED)),
        (present_but_changed, "read", (None, "present", THEIRS)),
        (present_but_changed, "write", (StaleVersion, "present", THEIRS)),
        (present_but_changed, "edit", (StaleVersion, "present", THEIRS)),
        (present_but_rewritten, "read", (None, "present", b"one\n")),
        (present_but_rewritten, "write", (None, "present", WRITTEN)),
        (present_but_rewritten, "edit", (None, "present", EDITED)),
        (present_but_deleted, "read", (NotFound, "absent", None)),
        (present_but_deleted, "write", (StaleVersion, "present", None)),
        (present_but_deleted, "edit", (StaleVersion, "present", None)),
        (present_but_a_directory, "read", (NotRegularFile, "present", None)),
        (present_but_a_directory, "write", (NotRegularFile, "present", None)),
        (present_but_a_directory, "edit", (NotRegularFile, "present", None)),
    ],
)
async def test_a_row_of_the_table(
    seam: Seam, state: State, operation: str, outcome: tuple[type[FsError] | None, Known, bytes | None]
) -> None:
    refusal, known, content = outcome
    await state(seam)
    if refusal is None:
        await perform(seam.session(), operation, PATH)
    else:
        error = await refused(seam.session(), operation, PATH, refusal)
        assert error.path == PATH
    assert seam.get(PATH) == content
    expected = {"nothing": type(None), "absent": Absent, "present": Present}[known]
    assert isinstance(await seam.seen(PATH), expected)


@pytest.mark.parametrize("state", [unseen_file, absent_but_appeared, present_but_changed, present_but_deleted])
@pytest.mark.parametrize("operation", ["write", "edit"])
async def test_reading_again_is_always_the_way_on(seam: Seam, state: State, operation: str) -> None:
    await state(seam)
    await refused(seam.session(), operation, PATH, FsError)
    if seam.get(PATH) is None:
        await refused(seam.session(), "read", PATH, NotFound)
        await perform(seam.session(), "write", PATH)
    else:
        await perform(seam.session(), "read", PATH)
        await perform(seam.session(), operation, PATH)
    assert seam.get(PATH) in {b"new\n", b"new, theirs\n"}


@pytest.mark.parametrize("first", ["write", "edit"])
@pytest.mark.parametrize("second", ["write", "edit"])
async def test_what_one_wrote_one_may_change_without_reading(seam: Seam, first: str, second: str) -> None:
    await present(seam)
    await perform(seam.session(), first, PATH)
    await perform(seam.session(), second, PATH, text="new")
    assert seam.get(PATH) == b"new\n"


async def test_what_one_created_one_may_edit_without_reading(seam: Seam) -> None:
    await seam.session().write(PATH, "one\n")
    await seam.session().edit(PATH, Edit("one", "two"))
    assert seam.get(PATH) == b"two\n"


async def test_a_window_of_one_line_authorises_a_change_of_another(seam: Seam) -> None:
    seam.put(PATH, b"one\ntwo\nthree\n")
    await seam.session().read(PATH, Window(first_line=3, lines_max=1))
    await seam.session().edit(PATH, Edit("one", "1"))
    assert seam.get(PATH) == b"1\ntwo\nthree\n"


async def test_a_failed_edit_keeps_the_authorisation(seam: Seam) -> None:
    await present(seam)
    await refused(seam.session(), "edit", PATH, EditNotFound, text="elsewhere")
    await perform(seam.session(), "edit", PATH)
    assert seam.get(PATH) == b"new\n"


async def test_a_stale_refusal_is_not_an_authorisation(seam: Seam) -> None:
    await present_but_changed(seam)
    await refused(seam.session(), "write", PATH, StaleVersion)
    await refused(seam.session(), "write", PATH, StaleVersion)
    assert seam.get(PATH) == THEIRS


async def test_a_file_back_at_what_was_seen_is_not_stale(seam: Seam) -> None:
    await present_but_changed(seam)
    await refused(seam.session(), "write", PATH, StaleVersion)
    seam.put(PATH, b"one\n")
    await perform(seam.session(), "edit", PATH)
    assert seam.get(PATH) == b"new\n"


async def test_a_window_past_the_end_records_nothing(seam: Seam) -> None:
    seam.put(PATH, b"one\n")
    with pytest.raises(OutOfRange):
        await seam.session().read(PATH, Window(first_line=2))
    assert await seam.seen(PATH) is None
    await refused(seam.session(), "write", PATH, NotObserved)


async def test_a_window_past_the_end_does_not_refresh_what_was_seen(seam: Seam) -> None:
    await present_but_changed(seam)
    with pytest.raises(OutOfRange):
        await seam.session().read(PATH, Window(first_line=9))
    await refused(seam.session(), "write", PATH, StaleVersion)


async def test_reading_a_directory_records_nothing(seam: Seam) -> None:
    seam.make_directory("sub")
    await refused(seam.session(), "read", "sub", NotRegularFile)
    assert await seam.seen("sub") is None
    await refused(seam.session(), "write", "sub", NotRegularFile)
    await refused(seam.session(), "edit", "sub", NotObserved)


async def test_a_file_that_is_no_text_may_be_replaced_but_not_edited(seam: Seam) -> None:
    seam.put(PATH, b"one\xff")
    await refused(seam.session(), "write", PATH, NotObserved)
    await refused(seam.session(), "read", PATH, NotText)
    refusal = await refused(seam.session(), "edit", PATH, NotObserved)
    assert "no text" in refusal.reason
    assert seam.get(PATH) == b"one\xff"
    await perform(seam.session(), "write", PATH)
    assert seam.get(PATH) == b"new\n"


async def test_a_file_that_was_no_text_and_changed_is_stale(seam: Seam) -> None:
    seam.put(PATH, b"\xff")
    await refused(seam.session(), "read", PATH, NotText)
    seam.put(PATH, b"\xfe")
    await refused(seam.session(), "write", PATH, StaleVersion)
    assert seam.get(PATH) == b"\xfe"


async def test_a_text_that_became_something_else_is_stale_before_it_is_no_text(seam: Seam) -> None:
    await present(seam)
    seam.put(PATH, b"one\xff")
    await refused(seam.session(), "edit", PATH, StaleVersion)


async def test_what_one_owner_saw_does_not_authorise_another(seam: Seam) -> None:
    await present(seam)
    for operation in ("write", "edit"):
        await refused(seam.session(OTHER), operation, PATH, NotObserved)
    assert await seam.seen(PATH, OTHER) is None
    await perform(seam.session(ME), "edit", PATH)


async def test_the_owner_who_did_not_see_the_new_version_is_stale(seam: Seam) -> None:
    await present(seam)
    await seam.session(OTHER).read(PATH, Window())
    await perform(seam.session(OTHER), "edit", PATH)
    await refused(seam.session(ME), "write", PATH, StaleVersion)
    await refused(seam.session(ME), "edit", PATH, StaleVersion)
    assert seam.get(PATH) == b"new\n"


async def test_all_spellings_of_one_file_share_what_was_seen(seam: Seam) -> None:
    seam.put("d/a.txt", b"one\n")
    await seam.session().read("./d/../d//a.txt", Window())
    await perform(seam.session(), "edit", "memory:///d/a.txt")
    assert seam.get("d/a.txt") == b"new\n"


async def test_parallel_edits_of_one_owner_all_land(seam: Seam) -> None:
    words = [f"<{number}>" for number in range(8)]
    seam.put(PATH, "".join(words).encode())
    session = seam.session()
    await session.read(PATH, Window())
    async with anyio.create_task_group() as tasks:
        for word in words:
            tasks.start_soon(session.edit, PATH, Edit(word, word.upper() + "!"))
    assert seam.get(PATH) == "".join(f"{word}!" for word in words).encode()


@pytest.mark.parametrize("operation", ["read", "write", "edit"])
async def test_without_a_policy_an_existing_file_is_open_to_all(seam: Seam, operation: str) -> None:
    seam.put(PATH, b"one\n")
    await perform(seam.unguarded(), operation, PATH)
    assert seam.get(PATH) == (b"one\n" if operation == "read" else b"new\n")


@pytest.mark.parametrize(
    ("operation", "state", "refusal"),
    [
        ("read", unseen_nothing, NotFound),
        ("edit", unseen_nothing, NotFound),
        ("read", present_but_a_directory, NotRegularFile),
        ("write", present_but_a_directory, NotRegularFile),
        ("edit", present_but_a_directory, NotRegularFile),
    ],
)
async def test_without_a_policy_the_facts_still_refuse(
    seam: Seam, operation: str, state: State, refusal: type[FsError]
) -> None:
    await state(seam)
    await refused(seam.unguarded(), operation, PATH, refusal)


async def test_without_a_policy_concurrent_edits_through_two_file_systems_are_not_lost() -> None:
    one, words = Seam(), [f"<{number}>" for number in range(4)]
    other = Seam(store=one.store)
    one.put(PATH, "".join(words).encode())
    async with anyio.create_task_group() as tasks:
        for index, word in enumerate(words):
            session = (one, other)[index % 2].unguarded()
            tasks.start_soon(session.edit, PATH, Edit(word, f"{word}!"))
    assert one.get(PATH) == "".join(f"{word}!" for word in words).encode()


async def test_without_a_policy_a_write_creates_and_replaces(seam: Seam) -> None:
    assert (await seam.unguarded().write(PATH, "1\n")).created
    assert not (await seam.unguarded().write(PATH, "2\n")).created
    assert seam.get(PATH) == b"2\n"
