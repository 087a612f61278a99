"""What is uploaded: full packets, made of pieces without holding them a second time."""

import pytest

from backends.sftp._content import Content
from fs_core.digest import content_digest
from fs_core.splice import Replacement, Splice

_SPLICE = Splice(b"0123456789", (Replacement(2, 3, b"xyz"), Replacement(5, 7, b""), Replacement(10, 10, b"end")))
_NEW = b"01xyz34789end"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 100])
@pytest.mark.parametrize("content", [Content.of_splice(_SPLICE), Content.of_bytes(_NEW)])
def test_all_chunks_but_the_last_are_full(content: Content, size: int) -> None:
    chunks = [bytes(chunk) for chunk in content.chunks(size)]
    assert b"".join(chunks) == _NEW
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert 0 < len(chunks[-1]) <= size
    assert [bytes(chunk) for chunk in content.chunks(size)] == chunks
    assert (content.size_bytes, content.digest()) == (len(_NEW), content_digest(_NEW))


@pytest.mark.parametrize("content", [Content.of_bytes(b""), Content.of_splice(Splice(b"a", (Replacement(0, 1, b""),)))])
def test_nothing_has_no_chunks(content: Content) -> None:
    assert list(content.chunks(4)) == []
    assert (content.size_bytes, content.digest()) == (0, content_digest(b""))


def test_only_where_pieces_meet_bytes_are_copied() -> None:
    content = Content.of_splice(Splice(b"a" * 100, (Replacement(50, 51, b"b"),)))
    copied = [chunk for chunk in content.chunks(10) if isinstance(chunk, bytes)]
    assert copied == [b"b" + b"a" * 9]
