"""What a program is, what it finds, and what comes back."""

import time

import anyio
import pytest
from pydantic import JsonValue

from progressive.code._source import LINES_BEFORE
from progressive.code.runtime import Failed, FailureKind, Finished, Program
from tests.progressive.code.programs import Recorder, echo, failed, finished, is_healthy, sandbox, stuck
from tool_runtime import RuntimeCode, ToolFailure, ToolResult, ToolSuccess

pytestmark = pytest.mark.anyio


async def test_a_program_returns_a_value_and_what_it_printed() -> None:
    async with sandbox() as code:
        ended = await finished(code, 'print("one")\nprint("two", 2)\nreturn {"a": [1, 2.5, None, True, "ä"]}')
    assert ended == Finished("one\ntwo 2\n", {"a": [1, 2.5, None, True, "ä"]})


@pytest.mark.parametrize("text", ["", "# nothing", "\n\n", "x = 1", "return", "return None"])
async def test_a_program_without_a_result_returns_none(text: str) -> None:
    async with sandbox() as code:
        assert await finished(code, text) == Finished("", None)


async def test_runs_share_no_state() -> None:
    async with sandbox(workers_max=1) as code:
        await finished(code, "global kept\nkept = 1")
        ended = await failed(code, "return kept")
    assert ended.message == "line 1, `return kept`: NameError: name 'kept' is not defined"


async def test_the_body_is_that_of_a_function() -> None:
    async with sandbox() as code:
        ended = await finished(
            code,
            "total = 0\n"
            "def add(number):\n"
            "    nonlocal total\n"
            "    total += number\n"
            "for number in range(4):\n"
            "    if number == 3:\n"
            "        return total\n"
            "    add(number)\n",
        )
    assert ended.value == 3


async def test_a_form_feed_leads_out_of_no_function() -> None:
    async with sandbox() as code:
        ended = await finished(code, "x = 1\n\fif x:\n\f    x += 1\n  \freturn x")
    assert ended.value == 2


async def test_text_of_several_lines_is_not_indented() -> None:
    async with sandbox() as code:
        ended = await finished(code, 'x = """a\n  b\nc"""\ny = f\'\'\'{x}\n{1 +\n1}\'\'\'\nreturn [x, y, "a\\\nb"]')
    assert ended.value == ["a\n  b\nc", "a\n  b\nc\n2", "ab"]


@pytest.mark.parametrize("line_break", ["\r\n", "\r"])
async def test_every_line_break_is_one(line_break: str) -> None:
    async with sandbox() as code:
        ended = await failed(code, line_break.join(["x = 1", "y = 2", "x / 0"]))
    assert ended.message == "line 3, `x / 0`: ZeroDivisionError: division by zero"


async def test_tools_are_called_by_subscript_and_by_attribute() -> None:
    async with sandbox() as code:
        ended = await finished(
            code,
            't = tools\nreturn [await tools["a-b c"]({"x": 1}), await tools.plain({}), await t.other({"y": [None]})]',
        )
    assert ended.value == [
        {"name": "a-b c", "arguments": {"x": 1}},
        {"name": "plain", "arguments": {}},
        {"name": "other", "arguments": {"y": [None]}},
    ]


@pytest.mark.parametrize("name", ["", "__class__", "_x", "a.b/c:d", "naïve", "ключ", "日本", "'\"\\", "x" * 256, "{0}"])
async def test_any_text_is_the_name_of_a_tool(name: str) -> None:
    async with sandbox() as code:
        ended = await finished(code, f"return await tools[{name!r}]({{}})")
    assert ended.value == {"name": name, "arguments": {}}


@pytest.mark.parametrize("call", ["tools.\\\nfile", "tools\\\n.file", "tools.\ufb01le", "tools\n    .file"])
async def test_the_attribute_may_be_written_as_python_allows(call: str) -> None:
    async with sandbox() as code:
        ended = await finished(code, f"return await ({call})({{}})")
    assert ended.value == {"name": "file", "arguments": {}}


@pytest.mark.parametrize("call", ['write("a.txt", "{}")', 'input("read", "{}")', "read()", 'exec(\'read("a", "{}")\')'])
async def test_a_function_that_nothing_defines_calls_no_tool(call: str) -> None:
    calls = Recorder()
    async with sandbox() as code:
        ended = await failed(code, f"x = {call}\nawait asyncio.sleep(0.01)", calls.stuck)
        caught = await finished(code, f"try:\n    {call}\nexcept NameError as e:\n    return str(e)", calls.stuck)
    assert ended.kind is FailureKind.EXCEPTION
    assert ended.message.startswith(f"line 1, `x = {call}`: NameError: name '")
    assert str(caught.value).endswith("' is not defined")
    assert calls.names == []


@pytest.mark.parametrize("attribute", ["_x", "__foo__", "__dict__"])
async def test_names_with_underscores_are_no_attributes(attribute: str) -> None:
    async with sandbox() as code:
        ended = await failed(code, f"return await tools.{attribute}({{}})")
    assert ended.kind is FailureKind.EXCEPTION
    assert f"AttributeError: 'Tools' object has no attribute '{attribute}'" in ended.message


async def test_the_class_of_tools_calls_nothing() -> None:
    calls = Recorder()
    async with sandbox() as code:
        ended = await failed(code, "return await tools.__class__({})", calls.stuck)
    assert ended.kind is FailureKind.EXCEPTION
    assert calls.names == []


async def test_a_name_that_is_no_text_is_refused() -> None:
    async with sandbox() as code:
        ended = await failed(code, "await tools[1]({})")
    assert ended.message == "line 1, `await tools[1]({})`: TypeError: the name of a tool is a string"


@pytest.mark.parametrize(
    ("program", "advice"),
    [
        ("return tools.read({})", "a tool call needs `await`; return plain JSON"),
        ("return tools.read({})['x']", "a tool call needs `await`"),
        ("open('a.txt')", "a program has no files of its own; call the tools"),
        ("import requests", "there are no packages, and only a part of the standard library"),
        ("await asyncio.wait_for(tools.read({}), 1)", "of asyncio there are gather and sleep"),
    ],
)
async def test_a_mistake_that_is_often_made_is_told_with_what_to_do(program: str, advice: str) -> None:
    async with sandbox() as code:
        ended = await failed(code, program)
    assert ended.message.endswith(f"; {advice}")


@pytest.mark.parametrize(
    ("program", "is_told"),
    [
        ("await tools.read({})\n1 / 0", True),
        ("await tools.read({})\nreturn {1}", True),
        ("1 / 0", False),
        ("try:\n    await tools.fail({})\nexcept ToolCallError:\n    1 / 0", False),
        ("try:\n    await asyncio.gather(tools.fail({}), tools.read({}))\nfinally:\n    1 / 0", True),
    ],
)
async def test_a_program_that_fails_after_a_call_that_did_not_says_that_it_may_have_taken_effect(
    program: str, *, is_told: bool
) -> None:
    async def answers(name: str, arguments: JsonValue) -> ToolResult:
        return await (fails if name == "fail" else echo)(name, arguments)

    async with sandbox() as code:
        ended = await failed(code, program, answers)
    assert ended.message.endswith("; calls that it had made may have taken effect") is is_told


@pytest.mark.parametrize("call", ['tools.read(path="a")', "tools.read()", 'tools.read("a", "b")'])
async def test_arguments_that_are_no_single_dictionary_are_shown_the_right_call(call: str) -> None:
    async with sandbox() as code:
        ended = await failed(code, f"await {call}")
    assert "TypeError: read takes one dictionary: await tools['read']({...})" in ended.message


async def fails(name: str, _arguments: JsonValue) -> ToolResult:
    return ToolFailure("NOT_FOUND", f"a: {name} found nothing")


async def test_a_failed_call_is_an_exception_with_fields() -> None:
    async with sandbox() as code:
        ended = await finished(
            code,
            "try:\n"
            '    await tools["read-it"]({})\n'
            "except ToolCallError as e:\n"
            '    print(f"{e.tool} {e.code!r:>{12}} {e.message}")\n'
            "    kept = [e]\n"
            "return [kept[0].code, str(kept[0]), isinstance(kept[0], Exception), kept[0].message.upper()]",
            fails,
        )
    assert ended.printed == "read-it  'NOT_FOUND' a: read-it found nothing\n"
    assert ended.value == [
        "NOT_FOUND",
        "read-it: NOT_FOUND: a: read-it found nothing",
        True,
        "A: READ-IT FOUND NOTHING",
    ]


async def test_fields_of_a_failure_are_read_beside_patterns() -> None:
    async with sandbox() as code:
        ended = await finished(
            code,
            "try:\n"
            "    await tools.read({})\n"
            "except ToolCallError as e:\n"
            "    match e.code:\n"
            '        case "OTHER": return None\n'
            '        case "NOT_FOUND" if e.tool == "read": return e.message',
            fails,
        )
    assert ended.value == "a: read found nothing"


async def test_failures_of_calls_at_once_are_told_apart() -> None:
    async with sandbox() as code:
        ended = await finished(
            code,
            "import asyncio\n"
            "async def tried(name):\n"
            "    try:\n"
            "        return await tools[name]({})\n"
            "    except (ValueError, ToolCallError) as error:\n"
            "        return error.tool\n"
            'return await asyncio.gather(*[tried(name) for name in ["a", "b", "c"]])',
            fails,
        )
    assert ended.value == ["a", "b", "c"]


async def test_a_failed_call_that_is_not_caught_names_its_line() -> None:
    async with sandbox() as code:
        ended = await failed(code, "async def read():\n    return await tools.read({})\n\nawait read()", fails)
    assert ended == Failed(
        FailureKind.EXCEPTION,
        "line 2, `return await tools.read({})`: ToolCallError: read: NOT_FOUND: a: read found nothing "
        "(called from line 4)",
        "",
    )


async def test_a_failed_call_can_be_raised_again() -> None:
    async with sandbox() as code:
        ended = await failed(
            code, "try:\n    await tools.read({})\nexcept ToolCallError as e:\n    kept = e\n\nraise kept", fails
        )
    assert ended.message == "line 6, `raise kept`: ToolCallError: read: NOT_FOUND: a: read found nothing"


async def test_a_program_may_raise_the_exception_itself() -> None:
    async with sandbox() as code:
        ended = await finished(
            code,
            "try:\n"
            '    raise ToolCallError("mine")\n'
            "except ToolCallError as e:\n"
            "    return [e.tool, e.code, e.message, str(e)]",
        )
    assert ended.value == ["", "", "mine", "mine"]


async def test_attributes_of_these_names_stay_those_of_other_objects() -> None:
    async with sandbox() as code:
        ended = await finished(
            code,
            "class Note:\n"
            "    def __init__(self, message):\n"
            "        self.message = message\n"
            "        self.code = len(self.message)\n"
            'note = Note("abc")\n'
            "note.message += '!'\n"
            "note.tool = [note.code]\n"
            "note.tool[0] += 1\n"
            'return [note.message, note.code, note.tool, "note.code", f"{note.code}{{note.code}}"]',
        )
    assert ended.value == ["abc!", 3, [4], "note.code", "3{note.code}"]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ('{"a": float("nan")}', "Out of range float values are not JSON compliant: nan"),
        ('{"a": float("inf")}', "Out of range float values are not JSON compliant: inf"),
        ('{"a": {1, 2}}', "Object of type set is not JSON serializable"),
        ('{"a": b"x"}', "Object of type bytes is not JSON serializable"),
        ('{"a": tools}', "Object of type Tools is not JSON serializable"),
        ('{"a": [{1: 2}]}', "arguments['a'][0]: the key 1 is no string"),
        ("cycle", "Circular reference detected"),
        ("deep", "maximum recursion depth exceeded"),
    ],
)
async def test_arguments_that_are_not_json_never_leave_the_program(arguments: str, fault: str) -> None:
    calls = Recorder()
    async with sandbox() as code:
        ended = await finished(
            code,
            "cycle = {}\n"
            'cycle["a"] = cycle\n'
            "deep = {}\n"
            "for _ in range(5000):\n"
            '    deep = {"a": deep}\n'
            "try:\n"
            f"    await tools.read({arguments})\n"
            "except ToolCallError as e:\n"
            "    return [e.tool, e.code, e.message]",
            calls.stuck,
        )
    assert isinstance(ended.value, list)
    assert ended.value[:2] == ["read", "INVALID_ARGS"]
    assert fault in str(ended.value[2]) or "nested too deep" in str(ended.value[2])
    assert calls.names == []


@pytest.mark.parametrize(
    ("arguments", "arrived"),
    [("None", None), ("5", 5), ('"text"', "text"), ("[1]", [1]), ("(1, 2)", [1, 2])],
)
async def test_arguments_that_are_no_object_reach_the_pipeline_as_they_are(arguments: str, arrived: JsonValue) -> None:
    async with sandbox() as code:
        ended = await finished(code, f"return await tools.read({arguments})")
    assert ended.value == {"name": "read", "arguments": arrived}


async def test_calls_at_once_overlap_and_keep_their_order() -> None:
    arrived: list[str] = []
    both = anyio.Event()

    async def meets(name: str, _arguments: JsonValue) -> ToolResult:
        arrived.append(name)
        if len(arrived) == 2:
            both.set()
        await both.wait()
        return ToolSuccess(name, ())

    async with sandbox() as code:
        ended = await finished(
            code, "import asyncio\nreturn await asyncio.gather(tools.first({}), tools.second({}))", meets
        )
    assert ended.value == ["first", "second"]


@pytest.mark.parametrize("imports", ["", "import asyncio\n"])
@pytest.mark.parametrize("stubs", [None, "from typing import Any\ntools: Any\n"])
async def test_calls_overlap_without_an_import(imports: str, stubs: str | None) -> None:
    async with sandbox() as code:
        ended = await code.run(
            Program(f"{imports}return await asyncio.gather(tools.a({{}}), tools.b({{}}))", stubs), echo
        )
    assert ended == Finished("", [{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}])


async def test_calls_that_are_never_awaited_do_not_run() -> None:
    calls = Recorder()
    async with sandbox() as code:
        ended = await finished(code, "for _ in range(3000):\n    tools.read({})\nreturn 1", calls.stuck)
    assert ended == Finished("", 1, unawaited=3000)
    assert calls.names == []


async def test_a_result_is_awaited_once() -> None:
    async with sandbox() as code:
        ended = await failed(code, "call = tools.read({})\nawait call\nawait call")
    assert ended.message.startswith("line 3, `await call`: RuntimeError: cannot reuse already awaited")


async def test_sleeping_waits_and_holds_up_nobody() -> None:
    async with sandbox() as code:
        started_s = time.monotonic()
        ended = await finished(
            code,
            "import asyncio, time\n"
            "before = time.monotonic()\n"
            "await asyncio.gather(asyncio.sleep(0.05), asyncio.sleep(0.05), tools.read({}))\n"
            "time.sleep(0.05)\n"
            "return time.monotonic() - before",
        )
        elapsed_s = time.monotonic() - started_s
    assert isinstance(ended.value, float)
    assert 0.1 <= ended.value <= elapsed_s


@pytest.mark.parametrize("delay", ["float('inf')", "1e300", "10**400", "-1", "float('nan')"])
async def test_any_delay_is_bounded_or_refused(delay: str) -> None:
    async with sandbox(timeout_s=0.2) as code:
        ended = await code.run(Program(f"import asyncio\nawait asyncio.sleep({delay})\nreturn 1"), echo)
        blocking = await code.run(Program(f"import time\ntime.sleep({delay})\nreturn 1"), echo)
        assert await is_healthy(code)
    for each in (ended, blocking):
        assert isinstance(each, Finished) or each.kind in {FailureKind.TIMEOUT, FailureKind.EXCEPTION}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('open("/etc/passwd")', "PermissionError"),
        ('import os\nos.getenv("HOME")', "RuntimeError: 'os.getenv' is not supported in this environment"),
        ("import os\nos.environ", "RuntimeError: 'os.environ' is not supported in this environment"),
        ('import os\nos.listdir("/")', "PermissionError"),
        ('from pathlib import Path\nPath("/etc/passwd").read_text()', "PermissionError"),
        ("import socket", "ModuleNotFoundError: No module named 'socket'"),
        ("import subprocess", "ModuleNotFoundError: No module named 'subprocess'"),
    ],
)
async def test_there_are_no_files_no_environment_and_no_network(text: str, fault: str) -> None:
    async with sandbox() as code:
        ended = await failed(code, text)
    assert ended.kind is FailureKind.EXCEPTION
    assert fault in ended.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = = 2", "line 2, `y = = 2`: "),
        ("x = (", "line 1, `x = (`: the program ends inside an open bracket, string or block"),
        ("if 1:", "line 1, `if 1:`: "),
        (
            "x = 1\nclass A(B): pass",
            "line 2, `class A(B): pass`: class inheritance and metaclasses: not supported here",
        ),
        ("yield 1", "line 1, `yield 1`: yield expressions: not supported here"),
        ('x = """abc', "line 1, "),
        ("x = 1\nreturn x + \\", "line 2, `return x + \\`: the program ends inside"),
    ],
)
async def test_a_syntax_error_names_its_line(text: str, message: str) -> None:
    async with sandbox() as code:
        ended = await failed(code, text)
    assert ended.kind is FailureKind.SYNTAX_ERROR
    assert ended.message.startswith(message)


async def test_an_error_in_executed_text_is_at_the_line_that_executes_it() -> None:
    # The number of the line there is that of the first one here.
    call = f'exec("\\n" * {LINES_BEFORE} + "1 / 0")'
    async with sandbox() as code:
        ended = await failed(code, f"x = 1\n{call}")
    assert ended.message == f"line 2, `{call}`: ZeroDivisionError: division by zero"


async def test_what_was_printed_before_a_failure_comes_with_it() -> None:
    async with sandbox() as code:
        assert (await failed(code, 'print("step 1")\n1 / 0')).printed == "step 1\n"


STUBS = """
from typing import Any, TypedDict
class ToolCallError(Exception):
    tool: str
    code: str
    message: str
class Args(TypedDict):
    path: str
class Tools:
    async def read(self, args: Args, /) -> int: ...
tools: Tools
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('x = 1\nawait tools.read({"path": 1})', 'line 2, `await tools.read({"path": 1})`: '),
        ('y = await tools.read({"path": "a"})\nreturn y.upper()', "line 2, `return y.upper()`: "),
        ("print(missing)", "line 1, `print(missing)`: Name `missing` used when not defined"),
    ],
)
async def test_a_type_error_names_its_line_and_nothing_runs(text: str, message: str) -> None:
    calls = Recorder()
    async with sandbox() as code:
        ended = await code.run(Program(f"{text}\n", STUBS), calls.stuck)
    assert isinstance(ended, Failed)
    assert ended.kind is FailureKind.TYPE_ERROR
    assert ended.message.startswith(message)
    assert calls.names == []


async def test_a_checked_program_that_is_right_runs() -> None:
    async with sandbox() as code:
        ended = await code.run(
            Program('try:\n    await tools.read({"path": "a"})\nexcept ToolCallError as e:\n    return e.code', STUBS),
            fails,
        )
    assert ended == Finished("", "NOT_FOUND")


async def test_a_checked_program_with_a_syntax_error_is_told_that() -> None:
    async with sandbox() as code:
        ended = await code.run(Program("x = 1\nx = (", STUBS), echo)
    assert ended == Failed(
        FailureKind.SYNTAX_ERROR, "line 2, `x = (`: the program ends inside an open bracket, string or block", ""
    )


async def test_a_warning_of_the_checker_stops_nothing() -> None:
    async with sandbox() as code:
        assert await code.run(Program("x = 1  # type: ignore\nreturn x", STUBS), echo) == Finished("", 1)


async def test_a_tools_value_that_is_not_json_is_a_failed_call() -> None:
    async def answers(_name: str, _arguments: JsonValue) -> ToolResult:
        return ToolSuccess([float("nan")], ())

    async with sandbox() as code:
        ended = await finished(
            code, "try:\n    await tools.read({})\nexcept ToolCallError as e:\n    return e.code", answers
        )
    assert ended.value == RuntimeCode.INVALID_TOOL_OUTPUT


async def test_a_failure_with_a_lone_surrogate_is_told_all_the_same() -> None:
    async def answers(_name: str, _arguments: JsonValue) -> ToolResult:
        return ToolFailure("BAD", "a\ud800b")

    async with sandbox() as code:
        ended = await failed(code, "await tools.read({})", answers)
    assert ended.message.endswith("ToolCallError: read: BAD: a\\ud800b")


async def test_programs_wait_for_a_process_and_for_nothing_else() -> None:
    async with sandbox(workers_max=2) as code:
        values: list[JsonValue] = []

        async def run(number: int) -> None:
            values.append((await finished(code, f"await tools.read({{}})\nreturn {number}")).value)

        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(run, number)
    assert sorted(map(int, map(str, values))) == list(range(50))


async def test_a_closed_sandbox_runs_nothing() -> None:
    async with sandbox() as code:
        pass
    assert await code.run(Program("return 1"), echo) == Failed(
        FailureKind.ABORTED, "the sandbox is closed; nothing was done", ""
    )


@pytest.mark.parametrize("text", ["while True: pass", "await tools.read({})", "import time\ntime.sleep(60)"])
async def test_closing_aborts_what_runs(text: str) -> None:
    ended: list[Finished | Failed] = []
    async with anyio.create_task_group() as tasks, sandbox(workers_max=1) as code:

        async def run() -> None:
            ended.append(await code.run(Program(text), stuck))

        for _ in range(3):  # one runs, two wait for the process
            tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
    aborted = Failed(FailureKind.ABORTED, "the sandbox was closed while the program ran", "")
    assert ended == [aborted, aborted, aborted]
