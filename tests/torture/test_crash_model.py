"""The rules of the disk that forgets, one by one."""

import itertools

from tests.torture.crash_model import (
    Acknowledged,
    Disk,
    Entries,
    File,
    Grow,
    Node,
    Op,
    Page,
    SetMode,
    Sync,
    Tree,
    Truncate,
    crashes,
    without_crash,
)

ROOT, BELOW, OLD, NEW = Node(0, True), Node(1, True), Node(2, False), Node(3, False)
DISK = Disk(ROOT, {OLD: File(b"old")}, {ROOT: {"a": OLD}})
CREATE = Entries(ROOT, (("b", NEW),))
RENAME = Entries(ROOT, (("a", NEW), ("b", None)))
WRITE = (Page(NEW, 0, b"1234"), Grow(NEW, 4), Page(NEW, 4, b"56"), Grow(NEW, 6))


def after(*trace: Op) -> set[Tree]:
    """Return what a crash may leave once all of `trace` was done."""
    return {crash.tree for crash in crashes(DISK, (*trace, Acknowledged())) if crash.acknowledged}


def test_what_was_durable_stays() -> None:
    assert after() == {(("a", File(b"old")),)}


def test_a_name_is_durable_only_when_its_directory_was_flushed() -> None:
    assert after(CREATE, Sync(NEW)) == {(("a", File(b"old")),), (("a", File(b"old")), ("b", File()))}
    assert after(CREATE, Sync(ROOT)) == {(("a", File(b"old")), ("b", File()))}


def test_a_rename_is_atomic() -> None:
    states = after(CREATE, *WRITE, Sync(NEW), Sync(ROOT), RENAME)
    assert states == {(("a", File(b"old")), ("b", File(b"123456"))), (("a", File(b"123456")),)}


def test_an_exchange_is_atomic() -> None:
    exchange = Entries(ROOT, (("a", NEW), ("b", OLD)))
    states = after(CREATE, *WRITE, Sync(NEW), Sync(ROOT), exchange)
    assert states == {
        (("a", File(b"old")), ("b", File(b"123456"))),
        (("a", File(b"123456")), ("b", File(b"old"))),
    }


def test_a_rename_reaches_the_disk_before_the_content_of_its_file() -> None:
    contents = {dict(tree)["a"] for tree in after(CREATE, *WRITE, RENAME, Sync(ROOT))}
    pages = itertools.product((b"1234", bytes(4)), (b"56", bytes(2)))
    assert contents == {
        File(),
        File(b"1234"),
        File(bytes(4)),
        *(File(first + second) for first, second in pages),
    }


def test_operations_on_a_directory_reach_the_disk_in_any_choice() -> None:
    remove = Entries(ROOT, (("a", None),))
    names = {tuple(name for name, _ in tree) for tree in after(CREATE, Sync(NEW), remove)}
    assert names == {("a",), ("a", "b"), (), ("b",)}


def test_what_is_below_a_directory_is_lost_with_its_name() -> None:
    make, inside = Entries(ROOT, (("d", BELOW),)), Entries(BELOW, (("b", NEW),))
    names = {tuple(name for name, _ in tree) for tree in after(make, inside, Sync(NEW), Sync(BELOW))}
    assert names == {("a",), ("a", "d", "d/b")}


def test_truncation_and_mode_are_lost_until_the_file_is_flushed() -> None:
    changes = (Truncate(OLD, 1), SetMode(OLD, 0o600))
    files = {dict(tree)["a"] for tree in after(*changes)}
    assert files == {File(b"old"), File(b"o"), File(b"old", 0o600), File(b"o", 0o600)}
    assert {dict(tree)["a"] for tree in after(*changes, Sync(OLD))} == {File(b"o", 0o600)}


def test_a_crash_comes_at_every_moment_and_knows_what_was_reported() -> None:
    found = crashes(DISK, (CREATE, Sync(NEW), Acknowledged(), Sync(ROOT), Acknowledged()))
    without, with_name = (("a", File(b"old")),), (("a", File(b"old")), ("b", File()))
    assert {(crash.acknowledged, crash.tree) for crash in found} == {
        (0, without),
        (0, with_name),
        (1, without),
        (1, with_name),
        (2, with_name),
    }


def test_without_a_crash_everything_is_there() -> None:
    assert without_crash(DISK, (CREATE, *WRITE, RENAME)) == (("a", File(b"123456")),)
