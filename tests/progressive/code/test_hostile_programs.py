"""Whatever a program does, and whatever happens to its process, the sandbox is as it was and the next program runs."""

import os
import signal
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import pytest
from pydantic import JsonValue

from progressive.code.runtime import Failed, FailureKind, Finished, Program
from tests.progressive.code.programs import (
    MIB,
    Recorder,
    echo,
    failed,
    finished,
    interpreters,
    is_healthy,
    sandbox,
    stuck,
)
from tests.support.census import Census
from tests.support.processes import children, is_running
from tests.support.waiting import WAIT_S, until
from tool_runtime import ToolFailure, ToolResult, ToolSuccess

pytestmark = pytest.mark.anyio

ROUNDS: Final = 6
"""What each leaves behind exceeds the room for threads, which are two, after three."""


INVALID: Final = {
    'float("nan")': "Out of range float values are not JSON compliant",
    '[float("-inf")]': "Out of range float values are not JSON compliant",
    '{"a": {1, 2}}': "Object of type set is not JSON serializable",
    'b"x"': "Object of type bytes is not JSON serializable",
    "{1: 2}": "the returned value: the key 1 is no string",
    '{"a": [{None: 2}]}': "the returned value['a'][0]: the key None is no string",
    '[{"1": 1, 1: 2}]': "the returned value[0]: the key 1 is no string",
    "{(1, 2): 3}": "keys must be str",
    "tools": "Object of type Tools is not JSON serializable",
    "tools.read({})": "Object of type coroutine is not JSON serializable",
    "print": "is not JSON serializable",
    "lambda: 1": "is not JSON serializable",
    "ToolCallError('x')": "is not JSON serializable",
    "cycle": "Circular reference detected",
    "deep": "nested too deep",
    "level": "nested too deep",
    "10 ** 5000": "Exceeds the limit",
    "3j": "Object of type complex is not JSON serializable",
}


@pytest.mark.parametrize("value", INVALID)
async def test_a_value_that_is_not_json_is_named_as_such(value: str) -> None:
    text = (
        "cycle = []\ncycle.append(cycle)\ndeep = []\nfor _ in range(100_000):\n    deep = [deep]\n"
        "level = []\nfor _ in range(300):\n    level = [level]\n"
        f'print("before")\nreturn {value}'
    )
    async with sandbox(workers_max=1) as code:
        ended = await failed(code, text)
        assert await is_healthy(code)
    assert ended.kind is FailureKind.INVALID_OUTPUT
    assert INVALID[value] in ended.message
    assert ended.printed == "before\n"


@pytest.mark.parametrize("value", ['"\\ud800"', '["\\udfff"]'])
async def test_a_lone_surrogate_never_gets_out(value: str) -> None:
    async with sandbox() as code:
        ended = await code.run(Program(f"return {value}"), echo)
    assert not isinstance(ended, Finished) or str(ended.value).encode()


@pytest.mark.parametrize("text", ["'NaN'", "'1e400'", "'{'", "''", "'[' * 300 + ']' * 300", "None", "[]", "print"])
async def test_what_a_program_puts_in_place_of_json_is_not_returned(text: str) -> None:
    async with sandbox() as code:
        ended = await failed(
            code, f"global _sandbox_encoded\ndef _sandbox_encoded(value, what):\n    return {text}, None"
        )
    assert ended == Failed(FailureKind.INVALID_OUTPUT, "the returned value did not arrive as JSON", "")


JSON: Final[list[tuple[str, JsonValue]]] = [
    ("(1, 2)", [1, 2]),
    ("[(1,), {'a': ()}]", [[1], {"a": []}]),
    ("'\\x00'", "\x00"),
    ("10 ** 40", 10**40),
    ("1e308", 1e308),
    ("-0.0", 0.0),
    ("{'': {}}", {"": {}}),
]


@pytest.mark.parametrize(("text", "value"), JSON)
async def test_what_has_a_json_form_is_returned(text: str, value: JsonValue) -> None:
    async with sandbox() as code:
        assert (await finished(code, f"return {text}")).value == value


HOSTILE: Final = [
    "def f():\n    return f()\nf()",
    "class A:\n    def __repr__(self):\n        return repr(self)\nprint(A())",
    "a = []\na.append(a)\nprint(a)\nprint(a == [a])",
    'import re\nreturn re.match(r"(?=(a+)+$)(a+)+\\1$", "a" * 40 + "b")',
    'import re\nreturn bool(re.match(r"^(a|a)*$", "a" * 5000 + "b"))',
    "x = [[]]\nfor _ in range(30):\n    x = [x, x]\nreturn x",
    "exec('while True: pass')",
    "eval('1' + '+1' * 100_000)",
    "return " + "(" * 5_000 + ")" * 5_000,
    "return " + "[" * 100_000,
    "x = 1\n" * 20_000 + "return x",
    "x" + ".message" * 20_000,
    'return f"{' * 20_000,
    "x = '\x00'\nreturn x",
    "\x00",
    "\ufeffreturn 1",
    "return '\u202e\u2066'",
    "global _sandbox_encoded\ndef _sandbox_encoded(value, what):\n    return 'NaN', None",
    "global _sandbox_encoded\ndef _sandbox_encoded(value, what):\n    return '{', None",
    "global _sandbox_encoded\ndef _sandbox_encoded(value, what):\n    return {}, {}",
    "global _sandbox_encoded\ndef _sandbox_encoded(value, what):\n    raise ToolCallError",
    "global _sandbox_encoded\ndef _sandbox_encoded(value, what):\n    return '', 'x\\n' * 1_000_000",
    "_sandbox_counts['made'] = -5",
    "_sandbox_counts['made'] = 10**5000",
    "global _sandbox_json, tools, ToolCallError\n_sandbox_json = tools = ToolCallError = None",
    "_sandbox_call()",
    "_sandbox_call(1, 2)",
    "await _sandbox_call('read', 'no json')",
    "await _sandbox_call('read', '[' * 100_000)",
    "for number in range(2_000):\n    _sandbox_call('read', '{}')",
    "tools.read = 1\nawait tools.read({})",
    "raise ToolCallError",
    "return {'x' * 1_000_000: {1: 2}}",
    "raise ToolCallError('a', 'b')",
    "raise BaseException",
    "import asyncio\nasyncio.run(tools.read({}))",
    "import asyncio\nawait asyncio.gather(*[tools.read({}) for _ in range(900)])",
    "return await tools['x' * 1_000_000]({})",
    "return await tools.read({'a': 'x' * 5_000_000})",
    "1 / 0 # " + "x" * 100_000,
    "raise ValueError('x' * 1_000_000)",
    "raise ValueError('a\\nb\\nc')",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_after_any_program_the_next_one_runs(text: str) -> None:
    async with sandbox(timeout_s=2, workers_max=1) as code:
        ended = await code.run(Program(text), echo)
        assert await is_healthy(code)
    assert str(ended)
    if isinstance(ended, Failed):
        assert ended.kind is not FailureKind.ABORTED
        assert "\n" not in ended.message
        assert len(ended.message) < 2_000


@pytest.mark.parametrize(
    "value",
    [
        "x" * 40 * MIB,
        [None] * 3_000_000,
        10**4000,
        {"\x00": "\u2028"},
        {"_sandbox": {"__class__": "x"}, "": ""},
    ],
    ids=["long", "wide", "large", "odd", "names"],
)
async def test_any_value_of_a_tool_is_passed_or_too_large(value: JsonValue) -> None:
    async def answers(_name: str, _arguments: JsonValue) -> ToolResult:
        return ToolSuccess(value, ())

    async with sandbox(workers_max=1) as code:
        ended = await code.run(Program("value = await tools.read({})\nreturn len(str(value))"), answers)
        assert await is_healthy(code)
    if isinstance(ended, Failed):
        assert ended.kind is FailureKind.MEMORY_LIMIT
    else:
        assert ended.value == len(str(value))


async def test_a_value_as_deep_as_the_runtime_takes_reaches_the_program() -> None:
    value: JsonValue = []
    for _ in range(198):
        value = [value]

    async def answers(_name: str, _arguments: JsonValue) -> ToolResult:
        return ToolSuccess(value, ())

    async with sandbox() as code:
        ended = await finished(
            code,
            "value = await tools.read({})\ndepth = 0\nwhile value:\n    value = value[0]\n    depth += 1\nreturn depth",
            answers,
        )
    assert ended.value == 198


CRASHED: Final = Failed(
    FailureKind.CRASHED,
    "the process that ran it ended unexpectedly; calls that it had made may have taken effect",
    "",
)


@pytest.mark.parametrize("text", ["await tools.read({})\nwhile True: pass", "await tools.read({})\nreturn 1"])
async def test_a_process_that_is_killed_is_replaced(text: str) -> None:
    before = children()
    async with sandbox(workers_max=1) as code:
        (first,) = children() - before

        async def call(name: str, arguments: JsonValue) -> ToolResult:
            os.kill(first, signal.SIGKILL)
            return await echo(name, arguments)

        with anyio.fail_after(WAIT_S):
            assert await code.run(Program(text), call) == CRASHED
        assert await is_healthy(code)
        await until(lambda: first not in children())
        (second,) = children() - before
    assert second != first


async def test_a_process_that_is_killed_while_it_computes_is_replaced() -> None:
    before = children()
    computes = anyio.Event()
    ended: list[Finished | Failed] = []

    async def call(name: str, arguments: JsonValue) -> ToolResult:
        computes.set()
        return await echo(name, arguments)

    async with sandbox(workers_max=1) as code:

        async def run() -> None:
            ended.append(await code.run(Program("await tools.read({})\nwhile True: pass"), call))

        with anyio.fail_after(WAIT_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await computes.wait()
                await anyio.wait_all_tasks_blocked()
                os.kill((children() - before).pop(), signal.SIGKILL)
        assert await is_healthy(code)
    assert ended == [CRASHED]


async def test_processes_that_died_while_nobody_used_them_are_replaced() -> None:
    before = children()
    async with sandbox(workers_max=2) as code:
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(finished, code, "import asyncio\nawait asyncio.sleep(0.05)")
        killed = children() - before
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        # One that is dying still would take a program with it.
        await until(lambda: not any(map(is_running, killed)))
        for _ in range(3):
            assert await is_healthy(code)


@pytest.mark.parametrize(
    "text",
    [
        "while True: pass",
        "while True: print(1, end='')",
        "import asyncio\nwhile True: await asyncio.sleep(0)",
        "import asyncio\nwhile True: await asyncio.sleep(0.001)",
        "import time\nwhile True: time.sleep(0.001)",
        "while True: await tools.read({})",
        "import asyncio\nwhile True: await asyncio.gather(*[tools.read({}) for _ in range(5)])",
    ],
)
async def test_a_cancelled_program_ends_at_once_wherever_it_is(text: str) -> None:
    async with sandbox(workers_max=1, output_bytes_max=10**9, calls_max=10**9) as code:
        for wait_s in (0.0, 0.001, 0.003, 0.01, 0.03, 0.1):
            with anyio.fail_after(WAIT_S), anyio.move_on_after(wait_s) as scope:
                await code.run(Program(text), echo)
            assert scope.cancelled_caught
        assert await is_healthy(code)


async def test_cancelling_a_program_cancels_its_calls() -> None:
    calls = Recorder()
    async with sandbox(workers_max=1) as code:
        async with anyio.create_task_group() as tasks:
            text = "import asyncio\nawait asyncio.gather(*[tools.read({}) for _ in range(5)])"
            tasks.start_soon(code.run, Program(text), calls.stuck)
            await calls.begun.wait()
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert await is_healthy(code)
    assert len(calls.names) == calls.cancelled == 5


async def test_calls_that_nobody_waits_for_any_more_are_cancelled() -> None:
    calls = Recorder()

    async def call(name: str, arguments: JsonValue) -> ToolResult:
        if name == "bad":
            await calls.begun.wait()
            return ToolFailure("BAD", "no")
        return await calls.stuck(name, arguments)

    async with sandbox() as code:
        ended = await finished(
            code,
            "import asyncio\n"
            "try:\n"
            "    await asyncio.gather(tools.bad({}), tools.stuck({}))\n"
            "except ToolCallError as e:\n"
            "    return e.code",
            call,
        )
    assert ended.value == "BAD"
    assert calls.cancelled == 1


async def leaves_nothing(rounds: Callable[[], Awaitable[None]]) -> None:
    """Check that no more processes, files and threads are there after many rounds than after the first."""
    await rounds()
    before = Census.take()
    for _ in range(ROUNDS):
        await rounds()
    await before.is_back()


@pytest.mark.parametrize(
    "text",
    ["return 1", "while True: pass", "kept = [0] * 10**9", "while True: print('x' * 1000)", "1 / 0", "x = ("],
)
async def test_no_program_leaves_a_process_a_file_or_a_thread(text: str) -> None:
    async with sandbox(timeout_s=0.05, output_bytes_max=10_000, workers_max=1) as code:

        async def rounds() -> None:
            await code.run(Program(text), echo)
            assert await is_healthy(code)

        await leaves_nothing(rounds)


async def test_cancelling_leaves_nothing() -> None:
    async with sandbox(workers_max=1) as code:

        async def rounds() -> None:
            for text in ("while True: pass", "await tools.read({})"):
                with anyio.move_on_after(0.01):
                    await code.run(Program(text), stuck)
            assert await is_healthy(code)

        await leaves_nothing(rounds)


async def test_opening_and_closing_leaves_nothing() -> None:
    async def rounds() -> None:
        async with sandbox(workers_max=2) as code:
            assert await is_healthy(code)

    await leaves_nothing(rounds)
    assert interpreters() == set()  # they are waited for when the sandbox is closed


async def test_many_programs_of_all_kinds_at_once_end_each_in_its_own_way() -> None:
    texts = {
        "return 1": None,
        "while True: pass": FailureKind.TIMEOUT,
        "kept = [0] * 10**9": FailureKind.MEMORY_LIMIT,
        "while True: print('x' * 1000)": FailureKind.OUTPUT_LIMIT,
        "1 / 0": FailureKind.EXCEPTION,
        "x = (": FailureKind.SYNTAX_ERROR,
        "return {1}": FailureKind.INVALID_OUTPUT,
        "while True: await tools.read({})": FailureKind.CALLS_LIMIT,
    }
    kinds: list[tuple[FailureKind | None, FailureKind | None]] = []
    async with sandbox(timeout_s=1, output_bytes_max=10_000, calls_max=3, workers_max=2) as code:

        async def run(text: str, kind: FailureKind | None) -> None:
            ended = await code.run(Program(text), echo)
            while kind is not FailureKind.TIMEOUT and isinstance(ended, Failed) and ended.kind is FailureKind.TIMEOUT:
                ended = await code.run(Program(text), echo)  # a busy machine needs longer, for some of them
            kinds.append((kind, ended.kind if isinstance(ended, Failed) else None))

        with anyio.fail_after(WAIT_S):
            async with anyio.create_task_group() as tasks:
                for text, kind in [*texts.items()] * 2:
                    tasks.start_soon(run, text, kind)
        assert await is_healthy(code)
    assert len(kinds) == 16
    assert all(wanted is got for wanted, got in kinds), kinds
