"""Many directories and files of local disk at once: what is confined, what is refused in its place, what is bounded."""

import errno
import os
import stat
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from backends.local import LocalBackend, _listing, _reading, _reading_many, _tree, open_local
from backends.options import LocalOptions
from fs_core.errors import ErrorCode, FsError, Unavailable
from fs_core.paths import staged_name
from fs_core.testing.conformance import target_of
from fs_core.types import Entry, FileKind, Level, Target, TargetKey
from tests.support.nth_await import cancelled_at_step

pytestmark = pytest.mark.anyio


@pytest.fixture
async def backend(root: Path) -> AsyncGenerator[LocalBackend]:
    backend = await open_local(root, LocalOptions())
    yield backend
    await backend.aclose()


@contextmanager
def _nobody() -> Generator[None]:
    """Be a user who may not do everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


class _OsWith:
    """Stands in for the module `os`, with other functions in some places."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        return self._functions.get(name) or getattr(os, name)


def _no_descriptor(*_: object) -> None:
    """Stands in for what only some kernels can."""


async def _levels(
    backend: LocalBackend, *paths: str, entries_max: int = 1_000, with_sizes: bool = False
) -> Sequence[Level | FsError]:
    targets = [await target_of(backend, path) for path in paths]
    return await backend.list_many(targets, entries_max=entries_max, with_sizes=with_sizes)


async def _contents(backend: LocalBackend, *paths: str, size_bytes_max: int = 1 << 30) -> list[bytes | ErrorCode]:
    targets = [await target_of(backend, path) for path in paths]
    fed: dict[int, bytes] = {}
    refusals = await backend.read_many(targets, fed.__setitem__, size_bytes_max=size_bytes_max)
    assert not any(index in fed and refusal is not None for index, refusal in enumerate(refusals))
    return [fed[index] if refusal is None else refusal.code for index, refusal in enumerate(refusals)]


def _open_below(root: Path) -> list[str]:
    """Return what this process has open of a workspace, whatever else it opens and closes meanwhile."""
    found: list[str] = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(descriptor.readlink()))
    return sorted(path for path in found if Path(path).is_relative_to(root))


async def test_one_denied_directory_and_file_are_refused_alone(root: Path, backend: LocalBackend) -> None:
    for name in ("a", "denied", "z"):
        (root / name).mkdir()
        (root / name / "f").write_bytes(name.encode())
    (root / "a" / "secret").write_bytes(b"x")
    (root / "a" / "secret").chmod(0)
    (root / "denied").chmod(0)
    (root / "z").chmod(0o711)
    directories = [await target_of(backend, path) for path in ("a", "denied", "z")]
    files = [await target_of(backend, path) for path in ("a/f", "a/secret", "denied/f", "z/f")]
    fed: dict[int, bytes] = {}
    with _nobody():
        levels = await backend.list_many(directories, entries_max=10, with_sizes=False)
        refusals = await backend.read_many(files, fed.__setitem__, size_bytes_max=10)
    assert isinstance(levels[0], Level)
    assert [one.code for one in levels[1:] if isinstance(one, FsError)] == [ErrorCode.PERMISSION_DENIED] * 2
    assert fed == {0: b"a", 3: b"z"}
    assert [one.code for one in refusals if one is not None] == [ErrorCode.PERMISSION_DENIED] * 2


async def test_a_refusal_holds_no_frames(backend: LocalBackend) -> None:
    (refusal,) = await _levels(backend, "missing")
    assert isinstance(refusal, FsError)
    assert refusal.__cause__ is not None
    assert (refusal.__traceback__, refusal.__cause__.__traceback__) == (None, None)


async def test_special_files_are_others_and_never_opened(root: Path, backend: LocalBackend) -> None:
    os.mkfifo(root / "fifo")
    os.mknod(root / "socket", stat.S_IFSOCK | 0o600)  # the path may be longer than what a socket is bound to
    (level,) = await _levels(backend, ".", with_sizes=True)
    assert isinstance(level, Level)
    assert level.others == [Entry("fifo", FileKind.OTHER), Entry("socket", FileKind.OTHER)]
    assert await _contents(backend, "fifo", "socket") == [ErrorCode.NOT_REGULAR_FILE] * 2


async def test_names_that_are_no_utf_8_are_others_that_no_path_names(root: Path, backend: LocalBackend) -> None:
    (root / "caf\u00e9").write_bytes(b"12")
    (root / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"x")
    (root / os.fsdecode(b"d\xff")).mkdir()
    (root / os.fsdecode(b"l\xff")).symlink_to("caf\u00e9")
    (level,) = await _levels(backend, ".", with_sizes=True)
    assert level == Level(
        files=["caf\u00e9"],
        directories=[],
        others=[
            Entry("caf\\xe9.txt", FileKind.FILE, addressable=False),
            Entry("d\\xff", FileKind.DIRECTORY, addressable=False),
            Entry("l\\xff", FileKind.OTHER, addressable=False, is_link=True),
        ],
        sizes=[2],
    )


async def test_names_are_in_the_order_of_their_bytes(root: Path, backend: LocalBackend) -> None:
    names = ["a", "B", "\ue000", "\U0001f600", "\u00e9", "-", "a.b"]
    for name in names:
        (root / name).touch()
    (level,) = await _levels(backend, ".")
    assert isinstance(level, Level)
    assert level.files == sorted(names, key=str.encode)


@pytest.mark.parametrize("at_once", [1, 7, 50, 10_000])
async def test_of_a_huge_directory_the_first_names_of_all_kinds_are_kept(
    root: Path, backend: LocalBackend, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(_listing, "_NAMES_AT_ONCE", at_once)
    for number in range(50):
        (root / staged_name(f"{number:016x}")).touch()
    for number in range(100, 200, 4):
        (root / f"{number}").touch()
        (root / f"{number + 1}").mkdir()
        (root / f"{number + 2}").symlink_to("x")
        (root / f"{number + 3}").touch()
    whole, cut, none = [(await _levels(backend, ".", entries_max=count))[0] for count in (100, 10, 0)]
    assert isinstance(whole, Level)
    assert whole.is_complete
    assert len(whole.files) + len(whole.directories) + len(whole.others) == 100
    assert isinstance(cut, Level)
    assert (cut.files, cut.directories) == (["100", "103", "104", "107", "108"], ["101", "105", "109"])
    assert [entry.name for entry in cut.others] == ["102", "106"]
    assert not cut.is_complete
    assert none == Level([], [], [], is_complete=False)


async def test_of_a_huge_directory_few_names_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Name:
        def __init__(self, name: str) -> None:
            self.name = name

        def is_file(self, **_: bool) -> bool:
            return True

    held: list[int] = []
    names = _listing.NamesByKind()
    monkeypatch.setattr(_listing, "_NAMES_AT_ONCE", 100)
    settle = _listing.NamesByKind.settle

    def noting(self: Any, names_max: int) -> int:
        held.append(len(self.files))
        return settle(self, names_max)

    monkeypatch.setattr(_listing.NamesByKind, "settle", noting)
    entries: Any = (Name(f"{number * 7919 % 10_007}") for number in range(10_007))
    names.take_first(entries, names_max=50, on_step=lambda: None)
    assert names.files == sorted(f"{number}" for number in range(10_007))[:50]
    assert not names.is_complete
    assert max(held) <= 200


async def test_a_size_is_unknown_of_what_vanished_after_it_was_listed(
    root: Path, backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (root / name).write_bytes(b"12")
    take = _listing.NamesByKind.take

    def taking(self: Any, entries: Any) -> int:
        count = take(self, entries)
        (root / "a").unlink(missing_ok=True)
        return count

    monkeypatch.setattr(_listing.NamesByKind, "take", taking)
    (level,) = await _levels(backend, ".", with_sizes=True)
    assert level == Level(files=["a", "b"], directories=[], others=[], sizes=[None, 2])


async def test_a_directory_that_became_a_link_leads_nowhere(root: Path, backend: LocalBackend, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "below").mkdir(parents=True)
    (outside / "secret").write_bytes(b"secret")
    (root / "d" / "below").mkdir(parents=True)
    (root / "d" / "secret").write_bytes(b"ours")
    (root / "file").write_bytes(b"ours")
    targets = [await target_of(backend, path) for path in ("d", "d/below")]
    files = [await target_of(backend, path) for path in ("d/secret", "file")]
    (root / "d").rename(root / "moved")
    (root / "d").symlink_to(outside)
    (root / "file").unlink()
    (root / "file").symlink_to(outside / "secret")
    levels = await backend.list_many(targets, entries_max=10, with_sizes=True)
    fed: list[bytes] = []
    refusals = await backend.read_many(files, lambda _, data: fed.append(data), size_bytes_max=10)
    codes = [one.code for one in (*levels, *refusals) if isinstance(one, FsError)]
    assert codes == [ErrorCode.NOT_DIRECTORY, *[ErrorCode.SANDBOX_DENIED] * 3]
    assert fed == []


@pytest.mark.parametrize("is_fast", [True, False], ids=["in one step", "step by step"])
async def test_deep_directories_are_reached_in_any_order(
    root: Path, backend: LocalBackend, monkeypatch: pytest.MonkeyPatch, is_fast: bool
) -> None:
    if not is_fast:
        for module in (_tree, _listing):
            monkeypatch.setattr(module, "open_without_links", _no_descriptor)
    trunk = "/".join("abcdefgh" * 6)
    paths = [trunk[: 2 * depth - 1] for depth in (48, 1, 47, 20, 21, 3, 48)] + ["a/b/x/y", "a/b", "z"]
    for path in paths:
        (root / path).mkdir(parents=True, exist_ok=True)
        (root / path / "name").write_bytes(path.encode())
    before = _open_below(root)
    files = [f"{path}/name" for path in paths]
    assert await _contents(backend, *files, "none/name") == [*(path.encode() for path in paths), ErrorCode.NOT_FOUND]
    levels = await _levels(backend, *paths)
    assert all(isinstance(level, Level) and "name" in level.files for level in levels)
    assert _open_below(root) == before


async def test_paths_longer_than_the_kernel_takes_need_few_steps(
    root: Path, backend: LocalBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{depth:02}{'x' * 200}" for depth in range(45)]
    fd = os.open(root, os.O_RDONLY)
    for depth, name in enumerate(names):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.symlink(tmp_path, "link", dir_fd=below)
        if depth + 1 == len(names):
            os.close(os.open("file", os.O_CREAT, dir_fd=below))
        os.close(fd)
        fd = below
    os.close(fd)
    before = _open_below(root)
    target = await target_of(backend, ".")
    above = [target := backend.child(target, name) for name in names]

    def step(*_: object, **__: object) -> int:
        raise AssertionError("no name is opened by itself")

    with monkeypatch.context() as patched:
        patched.setattr(_tree, "_step", step)
        (level,) = await backend.list_many([target], entries_max=10, with_sizes=True)
        fed: list[bytes] = []
        assert await backend.read_many(
            [backend.child(target, "file")], lambda _, data: fed.append(data), size_bytes_max=1
        ) == [None]
    assert isinstance(level, Level)
    assert (level.files, [entry.name for entry in level.others], fed) == (["file"], ["link"], [b""])
    through = [backend.child(backend.child(directory, "link"), name) for directory in above for name in names[-1:]]
    refusals = await backend.list_many(through, entries_max=10, with_sizes=True)
    assert {one.code for one in refusals if isinstance(one, FsError)} == {ErrorCode.SANDBOX_DENIED}
    assert len(refusals) == sum(isinstance(one, FsError) for one in refusals)
    assert _open_below(root) == before


async def test_a_file_that_changes_while_it_is_read_is_read_again(
    root: Path, backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "log").write_bytes(b"one\n")
    changes = iter([b"two\n", b"three\n"])

    def change() -> None:
        with (root / "log").open("ab") as file:
            file.write(next(changes, b""))

    _call_after_reads(monkeypatch, change)
    assert await _contents(backend, "log") == [b"one\ntwo\nthree\n"]


async def test_a_file_that_always_changes_is_refused(
    root: Path, backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "log").write_bytes(b"one\n")
    (root / "quiet").write_bytes(b"quiet\n")
    reads: list[int] = []

    def change() -> None:
        reads.append((root / "log").stat().st_size)
        (root / "log").write_bytes(b"one\n" * (len(reads) + 1))

    _call_after_reads(monkeypatch, change)
    assert await _contents(backend, "log") == [ErrorCode.STALE_VERSION]
    assert reads == [4, 8, 12, 16]
    assert await _contents(backend, "quiet") == [b"quiet\n"]


def _call_after_reads(monkeypatch: pytest.MonkeyPatch, action: Callable[[], None]) -> None:
    """Call `action` between the reading of a file and the look at what it is afterwards."""

    def read(fd: int, count: int) -> bytes:
        data = os.read(fd, count)
        action()
        return data

    def preadv(fd: int, buffers: Any, offset: int) -> int:
        count = os.preadv(fd, buffers, offset)
        action()
        return count

    monkeypatch.setattr(_reading_many, "os", _OsWith(read=read))
    monkeypatch.setattr(_reading, "os", _OsWith(preadv=preadv))


async def test_a_small_file_takes_five_calls_of_the_system_and_its_directory_two(
    root: Path, backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a/1", "b/2", "a/3"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(path.encode())
    calls: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            return getattr(os, name)(*arguments, **options)

        return call

    def entering(*arguments: Any, **options: Any) -> int:
        calls.append("enter")
        return _tree.directory_below(*arguments, **options)

    counting = {name: counted(name) for name in ("stat", "open", "read", "fstat", "close")}
    monkeypatch.setattr(_reading_many, "os", _OsWith(**counting))
    monkeypatch.setattr(_reading_many, "directory_below", entering)
    assert await _contents(backend, "a/1", "b/2", "a/3") == [b"a/1", b"b/2", b"a/3"]
    file = ["stat", "open", "read", "fstat", "close"]
    assert calls == ["enter", *file, *file, "close", "enter", *file, "close"]


async def test_long_files_and_files_without_a_size_are_read_whole(root: Path, backend: LocalBackend) -> None:
    content = bytes(range(256)) * (5 << 12)
    (root / "long").write_bytes(content)
    (root / "empty").touch()
    assert await _contents(backend, "long", "empty") == [content, b""]
    assert await _contents(backend, "long", size_bytes_max=len(content) - 1) == [ErrorCode.TOO_LARGE]
    own = await open_local(Path("/proc/self"), LocalOptions())
    try:
        (status,) = await _contents(own, "status")
    finally:
        await own.aclose()
    assert isinstance(status, bytes)
    assert status.startswith(b"Name:")


async def test_a_fault_of_the_sink_is_raised_as_it_is(root: Path, backend: LocalBackend) -> None:
    (root / "a").write_bytes(b"x")
    fault = OSError("of the sink")

    def sink(index: int, data: bytes) -> None:
        raise fault

    with pytest.raises(OSError, match="of the sink") as raised:
        await backend.read_many([await target_of(backend, "a")], sink, size_bytes_max=10)
    assert raised.value is fault


async def test_too_many_open_files_end_the_whole_call(
    root: Path, backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "d").mkdir()
    (root / "d" / "a").write_bytes(b"x")

    def open_none(*_: Any, **__: Any) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    for module in (_tree, _listing):
        monkeypatch.setattr(module, "open_without_links", _no_descriptor)
        monkeypatch.setattr(module, "os", _OsWith(open=open_none))
    with pytest.raises(Unavailable, match="too many files are open in this process"):
        await _levels(backend, "d")
    with pytest.raises(Unavailable, match="too many files are open in this process"):
        await _contents(backend, "d/a")


async def test_a_cancelled_call_ends_at_the_next_directory_or_file(root: Path, backend: LocalBackend) -> None:
    for number in range(5):
        (root / f"{number}").mkdir()
        (root / f"{number}" / "f").write_bytes(b"x")
    fed: list[int] = []
    directories = [await target_of(backend, f"{number}") for number in range(5)]
    files = [await target_of(backend, f"{number}/f") for number in range(5)]
    before = _open_below(root)

    async def read() -> object:
        return await backend.read_many(files, lambda index, _: fed.append(index), size_bytes_max=10)

    async def list_all() -> object:
        return await backend.list_many(directories, entries_max=10, with_sizes=False)

    for step in range(1, 7):  # one before the first, and one for each
        fed.clear()
        assert (await cancelled_at_step(read, step)).was_cancelled
        assert len(fed) == max(0, step - 2)
        assert (await cancelled_at_step(list_all, step)).was_cancelled
    assert _open_below(root) == before


async def test_a_target_of_another_workspace_is_no_path_to_anything(backend: LocalBackend) -> None:
    foreign = Target(TargetKey("/etc/hostname"), "hostname")
    with pytest.raises(ValueError, match="no target of this workspace"):
        await backend.read_many([foreign], lambda _, __: None, size_bytes_max=1000)
    with pytest.raises(ValueError, match="no target of this workspace"):
        await backend.list_many([foreign], entries_max=10, with_sizes=False)


async def test_the_file_system_may_be_the_workspace() -> None:
    backend = await open_local(Path("/"), LocalOptions())
    try:
        root = await target_of(backend, ".")
        directory = backend.child(root, "proc")
        assert directory == await target_of(backend, "proc")
        file = backend.child(directory, "version")
        fed: list[bytes] = []
        assert await backend.read_many([file], lambda _, data: fed.append(data), size_bytes_max=10_000) == [None]
        (level,) = await backend.list_many([directory], entries_max=10_000, with_sizes=False)
    finally:
        await backend.aclose()
    assert [data.split()[0] for data in fed] == [b"Linux"]
    assert isinstance(level, Level)
    assert "version" in level.files
