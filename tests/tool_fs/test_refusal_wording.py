"""What a refused call tells the model, to the letter where a letter matters."""

from typing import Any

import pytest

from fs_core.filesystem import BackedFileSystem
from fs_core.policy import MemoryObservations, OwnerId, ReadBeforeWrite, Unguarded
from fs_core.session import FileSession
from fs_core.testing.memory import MemoryBackend, MemoryStore
from tool_fs.toolset import file_tools
from tool_runtime import ToolCall, ToolFailure, ToolRuntime

pytestmark = pytest.mark.anyio


async def _refusal(name: str, **arguments: Any) -> ToolFailure:
    runtime = ToolRuntime()
    for tool in file_tools():
        runtime.register(tool)
    owner = FileSession(BackedFileSystem(MemoryBackend()), policy=Unguarded())
    result = await runtime.execute(ToolCall(name, arguments, id="1"), owner=owner)
    assert isinstance(result, ToolFailure)
    return result


async def test_an_edit_that_changes_nothing_is_told_that_its_texts_are_identical() -> None:
    refusal = await _refusal("edit", file_path="a.txt", old_string="a\r\n", new_string="a\n")
    assert refusal.code == "INVALID_ARGS"
    assert "old_string and new_string are identical" in refusal.message


async def test_a_suggested_path_ends_its_sentence() -> None:
    refusal = await _refusal("read", file_path="/logs/a.log")
    assert refusal.code == "FS_SANDBOX_DENIED"
    assert refusal.message.endswith('did you mean "logs/a.log"?')


async def test_a_file_that_is_no_text_is_not_to_be_read_again_but_replaced() -> None:
    store = MemoryStore()
    store.put("a.bin", b"\0\1\2")
    policy = ReadBeforeWrite(owner=OwnerId("agent"), store=MemoryObservations())
    owner = FileSession(BackedFileSystem(MemoryBackend(store)), policy=policy)
    runtime = ToolRuntime()
    for tool in file_tools():
        runtime.register(tool)
    edit = ToolCall("edit", {"file_path": "a.bin", "old_string": "a", "new_string": "b"}, id="2")
    await runtime.execute(ToolCall("read", {"file_path": "a.bin"}, id="1"), owner=owner)
    refused = await runtime.execute(edit, owner=owner)
    assert isinstance(refused, ToolFailure)
    assert refused.code == "FS_NOT_OBSERVED"
    assert "write can replace it" in refused.message
    assert "Read the file" not in refused.message
