"""Every limit is its own kind of failure, no program can catch one, and the next program runs."""

import time

import anyio
import pytest
from pydantic import JsonValue, ValidationError

from progressive.code.options import CodeOptions
from progressive.code.runtime import Failed, FailureKind, Program
from tests.progressive.code.programs import MIB, Recorder, echo, failed, finished, is_healthy, overran, sandbox
from tests.support.processes import children
from tests.support.waiting import WAIT_S
from tool_runtime import ToolResult, ToolSuccess

pytestmark = pytest.mark.anyio

CAUGHT = """\
import asyncio
while True:
    try:
        try:
{body}
        finally:
            while True:
                pass
    except BaseException as error:
        print("caught")
    except:
        pass
"""


def caught(body: str) -> str:
    """Return a program that catches whatever can be caught, over and over."""
    return CAUGHT.format(body="\n".join(f"            {line}" for line in body.splitlines()))


def test_the_settings_are_those_of_the_specification() -> None:
    options = CodeOptions()
    assert options.timeout_s == 60
    assert options.memory_bytes_max == 256 * MIB
    assert options.output_bytes_max == 1_000_000
    assert options.overlap_max == 10
    assert options.calls_max == 1_000
    assert options.check_types is False


@pytest.mark.parametrize(
    "field", ["timeout_s", "memory_bytes_max", "output_bytes_max", "overlap_max", "calls_max", "workers_max"]
)
def test_a_limit_that_is_not_positive_is_refused(field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        CodeOptions.model_validate({field: 0})


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ValidationError, match="unlimited"):
        CodeOptions.model_validate({"unlimited": True})


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "while True: await asyncio.sleep(0)",
        "while True: await asyncio.sleep(0.01)",
        "await asyncio.sleep(60)",
        "import time\ntime.sleep(60)",
        "while True: open('/nothing')",
        "while True: raise ValueError",
        "kept = 0\nfor number in range(10**9): kept += number",
    ],
)
async def test_time_is_over_whatever_a_program_catches(body: str) -> None:
    async with sandbox(timeout_s=0.3, workers_max=1) as code:
        started_s = time.monotonic()
        ended = await failed(code, caught(body))
        elapsed_s = time.monotonic() - started_s
        assert await is_healthy(code)
    assert ended.kind is FailureKind.TIMEOUT
    assert "it did not end within 0.3 s" in ended.message
    # What it waits for takes a minute or has no end.
    assert elapsed_s < 40


async def test_a_program_that_only_computes_does_not_take_its_process_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # As long as a busy machine may need to hear that it has stopped by itself.
    monkeypatch.setattr("progressive.code.monty._GRACE_S", WAIT_S)
    before = children()
    async with sandbox(timeout_s=0.2, workers_max=1) as code:
        processes = children() - before
        assert (await failed(code, "while True: pass")).kind is FailureKind.TIMEOUT
        assert children() - before == processes


async def test_time_is_that_of_the_clock_on_the_wall() -> None:
    calls = Recorder()
    async with sandbox(timeout_s=0.2, workers_max=1) as code:
        text = 'print("started")\nawait tools.read({})'
        ended = await overran(code, text, calls.stuck, has_begun=lambda _: calls.begun.is_set())
        assert await is_healthy(code)
    assert ended.kind is FailureKind.TIMEOUT
    assert ended.printed == "started\n"
    assert calls.cancelled == 1


async def test_waiting_for_a_process_takes_none_of_the_time() -> None:
    calls = Recorder()
    async with sandbox(timeout_s=1.5, workers_max=1) as code, anyio.create_task_group() as tasks:

        async def hold() -> None:
            await overran(code, "await tools.read({})", calls.stuck, has_begun=lambda _: calls.begun.is_set())

        tasks.start_soon(hold)
        await calls.begun.wait()
        assert (await finished(code, "return 1")).value == 1


async def test_what_an_endless_loop_printed_is_kept() -> None:
    async with sandbox(timeout_s=0.2) as code:
        text = 'print("a")\ndef spin():\n    while True: pass\n\nspin()'
        ended = await overran(code, text, echo, has_begun=lambda ended: ended.printed != "")
    assert ended.kind is FailureKind.TIMEOUT
    assert ended.printed == "a\n"


@pytest.mark.parametrize(
    "body",
    [
        "kept = []\nwhile True: kept.append('a' * 100)",
        "kept = 'a' * 10**9",
        "kept = [0] * 10**9",
        "kept = 10 ** (10 ** 8)",
        "kept = 1 << 10 ** 10",
        "kept = []\nwhile True: kept = [kept, kept, [0] * 100]",
        "kept = {}\nwhile True: kept[len(kept)] = str(len(kept)) * 10",
        "kept = 'a'\nwhile True: kept += kept",
        "kept = list(range(10 ** 9))",
        "kept = 'a'.ljust(10 ** 9)",
        "kept = f'{1:>1000000000}'",
        "kept = sorted(range(10**9))",
        "kept = sum(number for number in range(10**9))",
        "kept = 'ab'.replace('a', 'a' * 10**9)",
        "kept = [tools.read({}) for _ in range(10 ** 8)]",
    ],
)
async def test_memory_is_bounded_whatever_a_program_catches(body: str) -> None:
    async with sandbox(memory_bytes_max=16 * MIB, workers_max=1) as code:
        ended = await failed(code, caught(body))
        assert await is_healthy(code)
    assert ended.kind is FailureKind.MEMORY_LIMIT
    assert f"it held more than {16 * MIB} bytes of memory" in ended.message


async def test_an_exception_of_the_programs_own_is_no_limit() -> None:
    async with sandbox() as code:
        for name in ("MemoryError", "TimeoutError", "RecursionError", "SystemExit", "KeyboardInterrupt"):
            ended = await failed(code, f'raise {name}("mine")')
            assert ended.kind is FailureKind.EXCEPTION
            assert ended.message.endswith(f"{name}: mine")


@pytest.mark.parametrize(
    "body",
    [
        "while True: print('hello')",
        "while True: print('')",
        "print('x' * 5_000_000)",
        "print('é' * 500_000)",
        "while True: print('x' * 200_000, end='')",
        "import sys\nwhile True: print('x', file=sys.stderr)",
    ],
)
async def test_printing_is_bounded_whatever_a_program_catches(body: str) -> None:
    async with sandbox(output_bytes_max=100_000, workers_max=1) as code:
        ended = await failed(code, caught(body))
        assert await is_healthy(code)
    assert ended.kind is FailureKind.OUTPUT_LIMIT
    assert "it printed and returned more than 100000 bytes" in ended.message
    assert len(ended.printed.encode()) in {99_999, 100_000}


async def test_what_is_returned_counts_with_what_is_printed() -> None:
    async with sandbox(output_bytes_max=1_000, workers_max=1) as code:
        ended = await finished(code, 'print("x" * 498)\nreturn "y" * 499')
        assert (len(ended.printed), len(str(ended.value))) == (499, 499)
        over = await failed(code, 'print("x" * 499)\nreturn "y" * 499')
        assert over.kind is FailureKind.OUTPUT_LIMIT
        assert len(over.printed) == 500
        assert (await failed(code, 'return "y" * 1_000_000')).kind is FailureKind.OUTPUT_LIMIT
        assert await is_healthy(code)


async def test_a_print_of_a_hundred_megabytes_ends_the_program() -> None:
    async with sandbox(memory_bytes_max=256 * MIB, workers_max=1) as code:
        ended = await failed(code, "print('x' * 100_000_000)")
        assert await is_healthy(code)
    assert ended.kind is FailureKind.OUTPUT_LIMIT
    assert len(ended.printed) == 1_000_000


async def test_calls_are_bounded_whatever_a_program_catches() -> None:
    calls: list[str] = []

    async def counted(name: str, arguments: JsonValue) -> ToolResult:
        calls.append(name)
        return await echo(name, arguments)

    async with sandbox(calls_max=5, workers_max=1) as code:
        ended = await failed(
            code, caught("await tools.read({})").replace("while True:\n                pass", "pass"), counted
        )
        assert await is_healthy(code)
    assert ended.kind is FailureKind.CALLS_LIMIT
    assert ended.message == (
        "it made more than 5 tool calls, which is the most; do the rest in another program; "
        "calls that it had made may have taken effect"
    )
    assert len(calls) == 5


async def test_as_many_calls_as_are_allowed_run() -> None:
    async with sandbox(calls_max=5) as code:
        ended = await finished(code, "return [await tools.read({}) for _ in range(5)]")
    assert len(ended.value if isinstance(ended.value, list) else []) == 5


async def test_a_thousand_calls_are_more_than_the_interpreters_own_bound() -> None:
    async def none(_name: str, _arguments: JsonValue) -> ToolResult:
        return ToolSuccess(None, ())

    async with sandbox() as code:
        ended = await finished(
            code,
            "import asyncio\n"
            "for _ in range(10):\n"
            "    await asyncio.gather(*[tools.read({}) for _ in range(100)])\n"
            "return 1",
            none,
        )
    assert ended.value == 1


async def test_waits_at_once_are_bounded() -> None:
    async with sandbox(workers_max=1) as code:
        ended = await failed(code, "import asyncio\nkept = [asyncio.sleep(1000) for _ in range(10_001)]")
        assert await is_healthy(code)
    assert ended.kind is FailureKind.EXCEPTION
    assert ended.message.endswith("RuntimeError: too many sleeps at once")


@pytest.mark.parametrize(
    "calls",
    [
        "await asyncio.gather(*[tools[text]({}) for _ in range(100)])",
        "for _ in range(100): _sandbox_call('read', text)",
        "for _ in range(100): _sandbox_call(text, '{}')",
    ],
)
async def test_what_calls_hold_outside_is_bounded_too(calls: str) -> None:
    async with sandbox(memory_bytes_max=32 * MIB, workers_max=1) as code:
        ended = await failed(code, caught(f"text = 'x' * {MIB}\n{calls}"))
        assert await is_healthy(code)
    assert ended.kind is FailureKind.MEMORY_LIMIT
    assert ended.message.startswith(f"it held more than {32 * MIB} bytes of memory")


async def test_calls_that_have_ended_hold_nothing() -> None:
    async def none(_name: str, _arguments: JsonValue) -> ToolResult:
        return ToolSuccess(None, ())

    async with sandbox(memory_bytes_max=32 * MIB) as code:
        text = f"text = 'x' * {MIB}\nfor _ in range(50): await tools.read({{'text': text}})\nreturn 1"
        assert (await finished(code, text, none)).value == 1


async def test_too_long_a_program_is_refused_before_anything_reads_it() -> None:
    async with sandbox() as code:
        ended = await failed(code, "x = 1\n" * 2_000_000)
    assert ended.kind is FailureKind.SYNTAX_ERROR
    assert ended.message.startswith("the program has 12000000 bytes, at most 262144 are run")


async def test_a_check_without_end_takes_no_more_than_the_time() -> None:
    # The type of each line holds that of the line before twice.
    text = "x = [1]\n" + "x = x + [x, {'a': x}]\n" * 3_000
    async with sandbox(timeout_s=0.2, workers_max=1) as code:
        ended = await code.run(Program(text, "tools: dict[str, int]\n"), echo)
        assert await is_healthy(code)
    assert isinstance(ended, Failed)
    assert ended.kind is FailureKind.TIMEOUT
