"""What a model is told about servers that are not there."""

import re
from pathlib import Path

import pytest

from progressive.gateway import Gateway, MountState, MountStatus, StdioMount
from progressive.gateway._absence import absent_note
from tests.progressive.gateway.support import NO_MORE, RawServer, opened
from tool_runtime import ToolRuntime

pytestmark = pytest.mark.anyio


def status(name: str, state: MountState, reason: str = "") -> MountStatus:
    return MountStatus(name=name, state=state, tools=0, skipped=0, reason=reason, attempts=1)


def test_there_is_no_note_when_all_are_connected() -> None:
    assert absent_note([]) is None
    assert absent_note([status("fs", "connected")]) is None


def test_the_note_tells_those_that_are_starting_from_those_that_are_gone() -> None:
    statuses = [
        status("fs", "connecting"),
        status("ex", "waiting", "the server ended with exit code 3"),
        status("ok", "connected"),
        status("ev", "connecting"),
        status("again", "connecting", "the server does not answer"),
    ]
    assert absent_note(statuses) == (
        "still connecting: fs, ev; "
        "not connected: ex (the server ended with exit code 3), again (the server does not answer)"
    )


def test_the_note_is_bounded_however_many_and_whatever_they_said() -> None:
    starting = [status(f"s{number}", "connecting") for number in range(30)]
    gone = [status(f"g{number}", "waiting", "x\n" * 300) for number in range(30)]
    note = absent_note([*starting, *gone])
    assert note is not None
    assert len(note) < 1_000
    assert "\n" not in note
    assert "s7 and 22 more; not connected: g0 (x x" in note
    assert note.endswith("…) and 26 more")


async def test_why_a_tool_is_missing_is_told_for_its_mount_alone(tmp_path: Path) -> None:
    gone = StdioMount(name="ex", command=("sh", "-c", "echo no s3cret-token >&2; exit 3"), env={"T": "s3cret-token"})
    server = RawServer(tmp_path / "raw")
    async with opened(gone, server.mount("ok"), **NO_MORE) as world:
        why = world.gateway.why_absent("mcp__ex__echo")
        assert why is not None
        reason = re.escape("the server ended with exit code 3; it last said: no ***")
        assert re.fullmatch(rf"the server ex is not connected: {reason}; it is tried again in \d+\.\d s", why)
        assert world.gateway.why_absent("mcp__ok__nothing") is None
        assert world.gateway.why_absent("mcp__exx__echo") is None
        assert world.gateway.why_absent("echo") is None
        note = world.gateway.absent_note()
        assert note == "not connected: ex (the server ended with exit code 3; it last said: no ***)"


async def test_a_server_that_is_being_connected_is_told_as_such(tmp_path: Path) -> None:
    server = RawServer(tmp_path / "raw")
    gateway = Gateway(ToolRuntime(), [server.mount("fs")])
    assert gateway.why_absent("mcp__fs__echo") == "the server fs is still being connected"
    assert gateway.absent_note() == "still connecting: fs"
    async with gateway.opened():
        await gateway.settled(60)
        assert gateway.why_absent("mcp__fs__echo") is None
        assert gateway.absent_note() is None


def test_of_two_mounts_whose_names_begin_alike_the_longer_is_meant() -> None:
    mounts = [StdioMount(name=name, command=("true",)) for name in ("a", "a_")]
    gateway = Gateway(ToolRuntime(), mounts)
    assert gateway.why_absent("mcp__a___x") == "the server a_ is still being connected"
    assert gateway.why_absent("mcp__a__x") == "the server a is still being connected"
