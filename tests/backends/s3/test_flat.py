"""Flat listings: of servers that run, and of stores that lie, order otherwise or hold a million keys."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from backends.s3 import S3Backend
from backends.s3._lru import Lru
from backends.s3._objects import ListAnswer, ListedObject
from fs_core.errors import IoFault, NotDirectory, NotFound, Unavailable, Unsupported
from fs_core.types import Below, FileKind
from tests.security.memory import memory_bounded
from tests.support.s3_servers import S3Harness, S3Server, target_of
from tests.support.simulated_bucket import (
    Lie,
    NumberedKeys,
    SimulatedBucket,
    by_bytes,
    by_components,
    simulated_backend,
)

pytestmark = pytest.mark.anyio

STAGED = ".seamfs-0123456789abcdef.tmp"
TREE = (
    "A/z", "a!", "a-b/c", "a-b/d/e", "a.c", "a/b/c/d", "a/b/c/\U0010ffff", "a/b/c.d", "a/b-c/d", "a/b0", "a/x", "a0",
    "aa/b", "b c/+&%20", "é/a", "é/ü/x", "é-a", "\uf8ff/a", "😀/a/b", "😀-", "z",
)  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    orders: Lru[tuple[str, str], bool] = Lru(entries_max=4)
    for module in ("_flat", "backend"):
        monkeypatch.setattr(f"backends.s3.{module}.known_orders", orders)


@dataclass
class Told:
    """All parts of one flat listing."""

    parts: list[Below] = field(default_factory=list[Below])

    @property
    def files(self) -> list[str]:
        return [path for part in self.parts for path in part.files]

    @property
    def sizes(self) -> list[int]:
        return [size for part in self.parts for size in part.sizes]

    @property
    def others(self) -> list[str]:
        return [entry.name for part in self.parts for entry in part.others]


async def told(backend: S3Backend, path: str = ".", *, after: str | None = None) -> Told:
    directory = await target_of(backend, path)
    found = Told([await backend.list_below(directory, after=after)])
    while (resume := found.parts[-1].resume) is not None:
        found.parts.append(await backend.list_below(directory, resume=resume))
    return found


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("backends.s3._flat.PAGE_KEYS_MAX", 4)
    return 4


# -- servers that run ------------------------------------------------------------------------------------------------


async def test_each_file_is_told_once_with_its_size_and_what_is_passed_over_is_left_out(
    backend: S3Backend, harness: S3Harness, small_pages: int
) -> None:
    for number, path in enumerate(TREE):
        harness.put(path, b"x" * number)
    whole = await told(backend)
    assert dict(zip(whole.files, whole.sizes, strict=True)) == {path: number for number, path in enumerate(TREE)}
    assert len(whole.files) == len(TREE)
    assert len(whole.parts) == -(-len(TREE) // small_pages)
    directories = {path[:end] for path in TREE for end, character in enumerate(path) if character == "/"}
    for directory in directories:
        last = max(at for at, path in enumerate(whole.files) if path.startswith(f"{directory}/"))
        assert (await told(backend, after=directory)).files == whole.files[last + 1 :]
        inside = [path.removeprefix(f"{directory}/") for path in whole.files if path.startswith(f"{directory}/")]
        assert (await told(backend, directory)).files == inside
    inside = (await told(backend, "a")).files
    last = max(at for at, path in enumerate(inside) if path.startswith("b/"))
    assert (await told(backend, "a", after="b")).files == inside[last + 1 :]


async def test_an_order_is_known_from_the_first_page_of_a_server(backend: S3Backend, harness: S3Harness) -> None:
    assert backend.lists_below
    assert backend.lists_in_order
    harness.put("d/f", b"x")
    assert (await told(backend)).files == ["d/f"]
    assert backend.lists_in_order is (harness.server.name != "seaweedfs")


async def test_names_with_control_characters_are_told_as_they_are(backend: S3Backend, harness: S3Harness) -> None:
    paths = [
        f"d/{character}{number}" for number, character in enumerate("\t\x01\x1f\x7f\x85\u2028\ufffe+%&<\"'?#\\ é😀")
    ]
    if harness.server.name == "seaweedfs":
        paths = [path for path in paths if "\\" not in path] + ["d/line\nfeed"]  # each is refused by one of them
    for path in paths:
        harness.put(path, path.encode())
    found = await told(backend, "d")
    assert sorted(found.files) == sorted(path[2:] for path in paths)
    for name in found.files:
        child = backend.child(await target_of(backend, "d"), name)
        assert (await backend.read(child)).data == f"d/{name}".encode()


async def test_an_empty_root_and_an_empty_directory_have_no_files(backend: S3Backend, harness: S3Harness) -> None:
    nothing = Below(files=(), sizes=(), others=(), resume=None)
    assert await backend.list_below(await target_of(backend, ".")) == nothing
    harness.mkdir("empty/below")
    found = await told(backend, "empty")
    assert (found.files, found.others) == ([], [])
    assert (await told(backend, after="empty")).files == []


async def test_a_directory_that_is_none_is_refused(backend: S3Backend, harness: S3Harness) -> None:
    harness.put("file", b"x")
    with pytest.raises(NotDirectory):
        await told(backend, "file")
    with pytest.raises(NotFound):
        await told(backend, "fil")


async def test_keys_that_no_path_names_are_told_apart_and_markers_and_unfinished_writes_not_at_all(
    moto_server: S3Server,
) -> None:
    # SeaweedFS itself refuses some of these keys.
    harness = moto_server.harness()
    odd = (
        "/lead",
        "a//b",
        "x/../y",
        "marked/with content/",
        f"{STAGED}/f",
        "a//",
        "..",
        "C:/x",
        "s3://x",
        " ",
        "x/./y",
    )
    hidden = ("marker/", STAGED, f"d/{STAGED}", "")
    for path in (*odd, "d/f", "d/C:/x", " /x"):
        harness.put(path, b"1" if path != "a//" else b"")
    for path in hidden:
        harness.put(path, b"")
    backend = await harness.open()
    try:
        found = await told(backend)
        below = await told(backend, "d")
    finally:
        await backend.aclose()
    assert sorted(found.files) == [" /x", "d/C:/x", "d/f"]
    assert sorted(found.others) == sorted(odd)
    assert all(not one.addressable and one.kind is FileKind.FILE for part in found.parts for one in part.others)
    assert (sorted(below.files), below.others) == (["C:/x", "f"], [])


# -- stores that order otherwise -------------------------------------------------------------------------------------

PATHS = ("a-b", "a.c", "a/x", "a/y/z", "a0", "b", "c", "d/e")


def opened(paths: Sequence[str], lie: Lie | None = None, *, order: Callable[[str], Any] = by_bytes) -> S3Backend:
    keys = sorted((f"p/{path}" for path in paths), key=order)
    return simulated_backend(SimulatedBucket(keys, order=order, lie=lie), "s3://b/p")


async def test_an_order_that_is_another_is_found_out_and_not_forgotten(small_pages: int) -> None:
    backend = opened(PATHS, order=by_components)
    directory = await target_of(backend, ".")
    assert backend.lists_in_order
    first = await backend.list_below(directory)
    assert first.files == ["a/x", "a/y/z", "a-b", "a.c"]
    assert not backend.lists_in_order
    assert (await told(backend, "a")).files == ["x", "y/z"]
    assert not opened(PATHS).lists_in_order


async def test_an_order_that_changes_from_one_page_to_the_next_is_found_out(small_pages: int) -> None:
    backend = opened(("a/x", "a/y/z", "a/z", "b/x", "b-"), order=by_components)
    directory = await target_of(backend, ".")
    first = await backend.list_below(directory)
    assert backend.lists_in_order
    assert (await backend.list_below(directory, resume=first.resume)).files == ["b-"]
    assert not backend.lists_in_order


@pytest.mark.parametrize("order", [by_bytes, by_components])
async def test_what_is_below_a_directory_is_passed_over_in_both_orders(
    order: Callable[[str], Any], small_pages: int
) -> None:
    backend = opened([*PATHS, *(f"a/\U0010ffff{number}" for number in range(9))], order=order)
    whole = (await told(backend)).files
    last = max(at for at, path in enumerate(whole) if path.startswith("a/"))
    assert (await told(backend, after="a")).files == whole[last + 1 :]


async def test_a_directory_bucket_is_not_listed_flat() -> None:
    backend = simulated_backend(SimulatedBucket(["p/f"]), "s3://b--usw2-az1--x-s3/p")
    assert not backend.lists_below
    assert not backend.lists_in_order
    with pytest.raises(Unsupported):
        await backend.list_below(await target_of(backend, "."))
    assert [entry.name for entry in (await backend.list(await target_of(backend, "."), limit=9)).entries] == ["f"]


# -- stores that lie -------------------------------------------------------------------------------------------------


def again(asked: dict[str, object], page: ListAnswer) -> ListAnswer:
    """The first page again and again, each time with another token."""
    return {**page, "IsTruncated": True, "NextContinuationToken": f"{int(str(asked.get('ContinuationToken', 0))) - 1}"}


def same_token(_: dict[str, object], page: ListAnswer) -> ListAnswer:
    return {**page, "IsTruncated": True, "NextContinuationToken": "0"}


def no_token(_: dict[str, object], page: ListAnswer) -> ListAnswer:
    return {"Contents": page.get("Contents", []), "IsTruncated": True}


def nothing(asked: dict[str, object], _: ListAnswer) -> ListAnswer:
    """Ever more pages without a key."""
    return {"IsTruncated": True, "NextContinuationToken": f"{int(str(asked.get('ContinuationToken', 0))) + 1}"}


def elsewhere(asked: dict[str, object], _: ListAnswer) -> ListAnswer:
    """Ever more keys that are not below the prefix."""
    number = int(str(asked.get("ContinuationToken", 0))) + 1
    keys: list[ListedObject] = [{"Key": f"q/{number}", "Size": 1}]
    return {"Contents": keys, "IsTruncated": True, "NextContinuationToken": str(number)}


@pytest.mark.parametrize("lie", [again, same_token, no_token, nothing, elsewhere])
async def test_a_listing_without_an_end_is_refused(lie: Lie) -> None:
    bucket = SimulatedBucket([f"p/{path}" for path in PATHS], lie=lie)
    backend = simulated_backend(bucket, "s3://b/p")
    with pytest.raises(Unavailable, match="does not come to an end"):
        await told(backend)
    assert bucket.counts["LIST"] <= 1001


async def test_pages_that_are_empty_and_not_the_last_are_passed_over() -> None:
    def late(asked: dict[str, object], _: ListAnswer) -> ListAnswer:
        turn = int(str(asked.get("ContinuationToken", 0))) + 1
        if turn <= 20:
            return {"IsTruncated": True, "NextContinuationToken": str(turn)}
        return {"Contents": [{"Key": "p/f", "Size": 1}]}

    bucket = SimulatedBucket([], lie=late)
    found = await told(simulated_backend(bucket, "s3://b/p"))
    assert (len(found.parts), found.files, bucket.counts["LIST"]) == (1, ["f"], 21)


async def test_a_key_that_is_told_twice_is_one_and_a_key_from_elsewhere_none() -> None:
    def stammer(asked: dict[str, object], page: ListAnswer) -> ListAnswer:
        items = page.get("Contents", [])
        odd: list[ListedObject] = [{"Key": "q/elsewhere", "Size": 1}, {"Key": "p", "Size": 1}, {}]
        if "ContinuationToken" in asked:
            return {"Contents": [items[-1], *items, *items, *odd]}
        return {"Contents": [*items, *items, *odd, items[-1]], "IsTruncated": True, "NextContinuationToken": "0"}

    found = await told(opened(PATHS, stammer))
    assert found.parts[0].files == list(PATHS)
    assert found.parts[1].files == [path for path in PATHS if path != PATHS[-1]]


async def test_a_key_without_a_size_is_a_fault() -> None:
    backend = opened(PATHS, lambda _, page: {**page, "Contents": [{"Key": "p/f"}]})
    with pytest.raises(IoFault, match="NoSize"):
        await told(backend)


async def test_a_store_that_begins_anew_instead_of_behind_a_name_is_found_out() -> None:
    keys = [f"p/{path}" for path in ("A", *PATHS)]

    class Deaf(SimulatedBucket):
        async def list_objects_v2(self, **parameters: object) -> ListAnswer:
            return await super().list_objects_v2(**{**parameters, "StartAfter": ""})

    backend = simulated_backend(Deaf(keys), "s3://b/p")
    assert len((await told(backend)).files) == 9
    with pytest.raises(Unsupported, match="list one directory at a time"):
        await told(backend, after="a")


# -- a store with very many keys -------------------------------------------------------------------------------------


async def test_two_hundred_thousand_keys_take_one_request_for_each_thousand_and_bounded_memory() -> None:
    bucket = SimulatedBucket(NumberedKeys(200_000, prefix="p"))
    backend = simulated_backend(bucket, "s3://b/p")
    directory = await target_of(backend, ".")
    part = await backend.list_below(directory)
    files = len(part.files)

    async def go_on(pages: int) -> None:
        nonlocal part, files
        for _ in range(pages):
            part = await backend.list_below(directory, resume=part.resume)
            files += len(part.files)

    started_s = time.process_time()
    await go_on(159)
    with memory_bounded(bytes_max=1 << 20):  # what is told of forty pages has more than three times as much
        await go_on(40)
    assert time.process_time() - started_s < 20  # seconds on a machine that is busy; it takes about two
    assert (files, part.resume) == (200_000, None)
    assert bucket.counts == {"LIST": 200}
    assert backend.lists_in_order
