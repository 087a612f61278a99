"""What comes through a channel: whole reads, however it was cut, in bounded memory."""

import threading
import tracemalloc

import pytest
from paramiko.buffered_pipe import PipeTimeout

from backends.sftp._inbox import Inbox
from tests.support.waiting import WAIT_S

_DATA = bytes(range(256)) * 8


@pytest.mark.parametrize("cut", [1, 7, 256, 4096])
def test_reads_give_what_was_fed_however_it_was_cut(cut: int) -> None:
    inbox = Inbox()
    for at in range(0, len(_DATA), cut):
        inbox.feed(_DATA[at : at + cut])
    sizes = [4, 1000, 0, 255, 700, 89]
    taken = [inbox.read(size, 0.0) for size in sizes]
    assert [len(one) for one in taken] == sizes
    assert b"".join(taken) == _DATA
    assert len(inbox) == 0


def test_a_reader_waits_for_all_that_it_asked_for() -> None:
    inbox = Inbox()
    taken: list[bytes] = []
    reader = threading.Thread(target=lambda: taken.append(inbox.read(100, WAIT_S)))
    reader.start()
    for _ in range(10):
        assert taken == []
        inbox.feed(b"0123456789")
    reader.join(WAIT_S)
    assert taken == [b"0123456789" * 10]


def test_what_does_not_come_in_time_stays_for_later() -> None:
    inbox = Inbox()
    inbox.feed(b"abc")
    with pytest.raises(PipeTimeout):
        inbox.read(4, 0.01)
    inbox.feed(b"d")
    assert inbox.read(4, 0.0) == b"abcd"


def test_closing_ends_a_wait_with_what_there_is() -> None:
    inbox = Inbox()
    inbox.feed(b"abc")
    taken: list[bytes] = []
    reader = threading.Thread(target=lambda: taken.extend((inbox.read(4, WAIT_S), inbox.read(4, WAIT_S))))
    reader.start()
    inbox.close()
    reader.join(WAIT_S)
    assert taken == [b"abc", b""]


def test_many_tiny_packets_take_little_more_memory_than_their_bytes() -> None:
    inbox = Inbox()
    tracemalloc.start()
    try:
        for number in range(20_000):
            inbox.feed(bytes((number % 251, number % 241)))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 3 << 20
    assert inbox.read(40_000, 0.0) == b"".join(bytes((number % 251, number % 241)) for number in range(20_000))
