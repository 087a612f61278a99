"""What a server sends, before the SDK sees it."""

import json
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR
from mcp.types.jsonrpc import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from progressive.gateway._ending import Ending
from progressive.gateway._wire import Tap, TooDeepError, message_of, refusal_of, rescued_list
from tests.progressive.gateway.support import definition

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"id": 1, "method": "ping"}, JSONRPCRequest),
        ({"method": "notifications/x", "params": {"a": 1}}, JSONRPCNotification),
        ({"id": "a", "result": {}}, JSONRPCResponse),
        ({"id": None, "error": {"code": 1, "message": "m"}}, JSONRPCError),
    ],
)
def test_a_line_is_one_of_four_messages(fields: dict[str, Any], kind: type[JSONRPCMessage]) -> None:
    assert type(message_of(json.dumps({"jsonrpc": "2.0", **fields}).encode())) is kind


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"[]",
        b"{}",
        b'"text"',
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":[]}',
        b'{"jsonrpc":"2.0","id":1.5,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"result":' + b'{"a":' * 500 + b"1" + b"}" * 501,
        b"\xff\xfe",
    ],
)
def test_a_line_that_is_no_message_is_an_error(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        message_of(line)


@given(st.binary() | st.text().map(str.encode))
def test_any_line_is_a_message_or_an_error(line: bytes) -> None:
    try:
        message = message_of(line)
    except ValueError as error:
        message = refusal_of(line, error)
    assert message is None or b"id" in line or b"method" in line


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"a":"\\ud800"}}', 7),
        (b'{"jsonrpc":"2.0","id":"x","result":[]}', "x"),
        (b'{"id":1,"method":"m","params":{"a":"\\ud800"}}', None),
        (b'{"id":[1],"result":{}}', None),
        (b"[" * 100_000, None),
        (b'{"jsonrpc":"2.0","id":7,"result":{"a":\xff}}', 7),
        (b'{ "id" : 7 , "jsonrpc": "2.0", "result": ' + DEEP + b"}", 7),
        (b'{"jsonrpc":"2.0","id":"x-1","error":' + DEEP + b"}", "x-1"),
        (b'{"jsonrpc":"2.0","result":' + DEEP + b',"id":7}', 7),
        (b'{"result":' + DEEP + b' , "id": "x", "jsonrpc":"2.0" }\r', "x"),
        (b'{"jsonrpc":"2.0","result":' + DEEP + b"}", None),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":' + DEEP + b"}", None),
        (b'{"jsonrpc":"2.0","method":"m","params":{"result":' + DEEP + b'},"id":7}', None),
        (b"hello", None),
    ],
)
def test_an_answer_that_cannot_be_read_is_refused_in_its_place(line: bytes, request_id: int | str | None) -> None:
    refusal = refusal_of(line, ValueError("why\nat length"))
    assert (refusal and refusal.id) == request_id
    if refusal is not None:
        assert refusal.error.code == PARSE_ERROR
        assert refusal.error.message == "the server sent an answer that cannot be read: why"


DEEP_SCHEMA = b'{"a":' * 300 + b"1" + b"}" * 300


@pytest.mark.parametrize(
    ("line", "is_rescued"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"a","inputSchema":' + DEEP_SCHEMA + b"}]}}", True),
        (b'{"jsonrpc":"2.0","id":7,"result":{"content":[],"tools":[' + DEEP_SCHEMA + b"]}}", False),
        (b'{"jsonrpc":"2.0","id":7,"result":' + DEEP_SCHEMA + b"}", False),
        (b'{"jsonrpc":"2.0","id":7,"result":{"tools":' + DEEP + b"}}", False),
        (b'{"id":7,"result":{"tools":[' + DEEP_SCHEMA + b"]}}", False),
        (DEEP, False),
    ],
)
def test_of_messages_that_nest_too_deep_lists_of_tools_alone_are_rescued(line: bytes, is_rescued: bool) -> None:
    with pytest.raises(TooDeepError, match="nests too deep"):
        message_of(line)
    assert (rescued_list(line) is not None) == is_rescued


async def passed(*messages: JSONRPCMessage, **options: Any) -> tuple[list[JSONRPCMessage], Tap, Ending, int]:
    """Return what a tap lets through, the tap, its ending, and how many changes it noticed."""
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](len(messages) + 1)
    changes: list[None] = []
    ending = Ending()
    tap = Tap(
        receive,
        ending=ending,
        on_change=lambda: changes.append(None),
        has_headers=options.get("has_headers", False),
        tools_max=options.get("tools_max", 10),
    )
    with send:
        send.send_nowait(ValueError("a fault of the transport"))
        for message in messages:
            send.send_nowait(SessionMessage(message))
    async with tap:
        items = [item async for item in tap]
    return [item.message for item in items if isinstance(item, SessionMessage)], tap, ending, len(changes)


def response(result: dict[str, Any]) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=1, result=result)


async def test_notices_of_change_are_kept_and_other_notifications_dropped() -> None:
    notices = [
        JSONRPCNotification(jsonrpc="2.0", method=f"notifications/{method}")
        for method in ("tools/list_changed", "message", "progress", "tools/list_changed", "cancelled")
    ]
    through, _, ending, changes = await passed(*notices)
    assert through == [notices[-1]]
    assert changes == 2
    assert ending.is_over


async def test_definitions_are_taken_out_of_a_list() -> None:
    listed = [definition("a", description="d"), {"name": 5}, "x", definition("b"), definition("c")]
    through, _, _, _ = await passed(response({"tools": listed, "nextCursor": "n"}), tools_max=4)
    assert isinstance(through[0], JSONRPCResponse)
    result = through[0].result
    assert result["tools"] == [definition("a"), definition("b")]
    assert result["nextCursor"] == "n"


async def test_a_page_is_what_the_server_sent_and_is_given_once() -> None:
    listed = [definition("a"), "x"]
    through, tap, _, _ = await passed(response({"tools": listed}))
    assert isinstance(through[0], JSONRPCResponse)
    meta = through[0].result["_meta"]
    assert tap.page(meta) == listed
    assert tap.page(meta) == []
    assert tap.page(None) == []


async def test_lists_that_nobody_comes_for_are_forgotten() -> None:
    through, tap, _, _ = await passed(*(response({"tools": [definition(f"t{n}")]}) for n in range(20)))
    metas = [message.result["_meta"] for message in through if isinstance(message, JSONRPCResponse)]
    assert [len(tap.page(meta)) for meta in metas] == [0] * 12 + [1] * 8


async def test_the_result_of_a_call_that_has_tools_is_left_alone() -> None:
    result = {"content": [], "tools": [definition("a", description="d")]}
    through, _, _, _ = await passed(response(dict(result)))
    assert through == [response(result)]


async def test_over_http_the_sdk_sees_the_parameters_that_become_headers() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    listed = [definition("plain"), definition("with", inputSchema=schema, description="d")]
    through, _, _, _ = await passed(response({"tools": listed}), has_headers=True)
    assert isinstance(through[0], JSONRPCResponse)
    assert through[0].result["tools"] == [definition("plain"), {"name": "with", "inputSchema": schema}]
