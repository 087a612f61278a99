"""The bounded memory of what was seen."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fs_core import contents
from fs_core.contents import ENTRY_BYTES_MAX, ENTRY_OVERHEAD_BYTES, ContentCollector, LastSeen, SeenContents
from fs_core.digest import content_digest
from fs_core.types import TargetKey


def test_what_was_kept_is_found_by_its_digest() -> None:
    seen = SeenContents()
    seen.put(content_digest(b"one"), b"one")
    assert seen.get(content_digest(b"one")) == b"one"
    assert seen.get(content_digest(b"two")) is None
    assert seen.get(None) is None


def test_what_has_no_digest_or_is_too_large_is_not_kept() -> None:
    seen = SeenContents()
    large = b"x" * (ENTRY_BYTES_MAX + 1)
    seen.put(None, b"one")
    seen.put(content_digest(large), large)
    assert seen.get(content_digest(b"one")) is None
    assert seen.get(content_digest(large)) is None


def test_the_least_recently_used_content_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "TOTAL_BYTES_MAX", 2 * (3 + ENTRY_OVERHEAD_BYTES))
    seen = SeenContents()
    for data in (b"aaa", b"bbb"):
        seen.put(content_digest(data), data)
    assert seen.get(content_digest(b"aaa")) == b"aaa"
    seen.put(content_digest(b"ccc"), b"ccc")
    assert [seen.get(content_digest(data)) for data in (b"aaa", b"bbb", b"ccc")] == [b"aaa", None, b"ccc"]
    seen.put(content_digest(b"aaa"), b"aaa")
    assert seen.get(content_digest(b"ccc")) == b"ccc"


def test_many_tiny_contents_hold_no_more_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "TOTAL_BYTES_MAX", 1 << 20)
    seen = SeenContents()
    tracemalloc.start()
    try:
        for number in range(20_000):
            data = b"count: %d" % number
            seen.put(content_digest(data), data)
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held_bytes < 1.5 * (1 << 20)


@given(st.lists(st.binary(max_size=400)), st.integers(1, 1000))
def test_a_collector_returns_the_whole_or_nothing(pieces: list[bytes], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "ENTRY_BYTES_MAX", limit)
        collector = ContentCollector()
        for piece in pieces:
            collector.add(piece)
        whole = b"".join(pieces)
        assert collector.data == (whole if len(whole) <= limit else None)


def test_of_the_files_seen_last_it_is_known_whether_they_have_another_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "TARGETS_MAX", 2)
    one, two = content_digest(b"one"), content_digest(b"two")
    seen = LastSeen()
    assert not seen.is_another(TargetKey("a"), one)
    for key in ("a", "b", "a"):
        seen.put(TargetKey(key), one)
    assert (seen.is_another(TargetKey("a"), one), seen.is_another(TargetKey("a"), two)) == (False, True)
    seen.put(TargetKey("c"), one)
    assert (seen.is_another(TargetKey("a"), two), seen.is_another(TargetKey("b"), two)) == (True, False)
