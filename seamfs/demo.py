"""`seamfs demo`: the same session on a local directory, an embedded S3 and an embedded SFTP server, then compared."""

import difflib
import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from anyio import to_thread
from pydantic import JsonValue

from seamfs.demo_script import SCRIPT, Outside, Turn
from seamfs.demo_stores import DemoStore, local_store, s3_store, sftp_store
from seamfs.signals import run_interruptibly
from seamfs.terminal import Display
from seamfs.workspace import Workspace, open_workspace
from tool_runtime import JsonObject, ToolCall, ToolFailure, ToolResult

__all__ = ["Outcome", "differences", "run_demo", "run_session"]

LINES_SHOWN_MAX: Final = 9
STORES: Final[tuple[Callable[[Path], AbstractContextManager[DemoStore]], ...]] = (local_store, s3_store, sftp_store)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one store's session came to: everything the model was shown, every value, and the bytes at the end."""

    store: str
    transcript: tuple[JsonValue, ...]
    files: dict[str, bytes]
    elapsed_s: float

    def text(self) -> str:
        """Return all of it as lines, the same for the same outcome; times are left out."""
        entries = [json.dumps(entry, ensure_ascii=False, indent=1) for entry in self.transcript]
        files = [f"{path}: {data!r}" for path, data in sorted(self.files.items())]
        return "\n".join((*entries, *files)) + "\n"


class UnexpectedResultError(Exception):
    """Raised when a step does not end as the script says."""


def run_demo() -> bool:
    """Run the session on every store, print it once, and return whether all three came out the same."""
    display = Display(sys.stdout)
    outcomes: list[Outcome] = []
    for open_store in STORES:
        with TemporaryDirectory(prefix="seamfs-demo-") as directory:
            _progress(f"starting {open_store.__name__.removesuffix('_store')} ...")
            with open_store(Path(directory)) as store:
                show = _Printer(display) if not outcomes else None
                outcomes.append(run_interruptibly(partial(run_session, store, show)))
    _progress("")
    return _print_verdict(outcomes, display)


async def run_session(store: DemoStore, show: "_Printer | None" = None) -> Outcome:
    """Run the script on one store.

    Raises:
        UnexpectedResultError: A call ended otherwise than the script says.
        FsError: The store cannot be opened.
    """
    transcript: list[JsonValue] = []
    started_s = time.perf_counter()
    async with open_workspace(store.url, settings=store.settings) as workspace:
        session = workspace.session()
        for number, step in enumerate(SCRIPT, start=1):
            match step:
                case Outside(path=path, content=content):
                    await to_thread.run_sync(store.put, path, content)
                    results: list[ToolResult] = []
                case Turn():
                    results = await _turn(workspace, session, step, number, store.name)
                    transcript.extend(_entry(call, result) for call, result in zip(step.calls, results, strict=True))
            if show is not None:
                show(number, step, results)
    elapsed_s = time.perf_counter() - started_s
    files = {path: await to_thread.run_sync(store.get, path) for path in _paths()}
    return Outcome(store.name, tuple(transcript), files, elapsed_s)


def differences(outcomes: list[Outcome]) -> str:
    """Return a unified diff of every outcome against the first; empty when all are the same."""
    first = outcomes[0]
    return "".join(
        line
        for other in outcomes[1:]
        for line in difflib.unified_diff(
            first.text().splitlines(keepends=True), other.text().splitlines(keepends=True), first.store, other.store
        )
    )


async def _turn(workspace: Workspace, session: object, turn: Turn, number: int, store: str) -> list[ToolResult]:
    calls = [ToolCall(name, arguments, id=f"{number}.{i}") for i, (name, arguments) in enumerate(turn.calls)]
    results = await workspace.tools.run_turn(calls, owner=session)
    for result, code in zip(results, turn.codes, strict=True):
        got = result.code if isinstance(result, ToolFailure) else None
        if got != code:
            text = result.text
            raise UnexpectedResultError(f"{store}, step {number} ({turn.title}): expected {code}, got {got}: {text}")
    return results


def _entry(call: tuple[str, JsonObject], result: ToolResult) -> JsonObject:
    name, arguments = call
    shown: list[JsonValue] = [block.text for block in result.content]
    entry: JsonObject = {"tool": name, "arguments": arguments, "shown": shown}
    match result:
        case ToolFailure(code, message, retryable):
            return {**entry, "error": {"code": code, "message": message, "retryable": retryable}}
        case _:
            return {**entry, "value": result.value}


def _paths() -> list[str]:
    changed = [str(args["file_path"]) for step in SCRIPT if isinstance(step, Turn) for _, args in step.calls]
    return sorted(set(changed))


class _Printer:
    """Prints each step once, as it happens."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def __call__(self, number: int, step: Turn | Outside, results: list[ToolResult]) -> None:
        """Print one step."""
        text, line = self._display.text, self._display.line
        _progress("")
        if isinstance(step, Outside):
            line(text(f"{number:>3}  "), text(step.title, "yellow"))
            line(text(f"     -> {step.path} ({len(step.content)} bytes)", "dim"))
            return
        line(text(f"{number:>3}  "), text(step.title, "bold"))
        for (name, arguments), result in zip(step.calls, results, strict=True):
            told = ", ".join(f"{key}={_short(value)}" for key, value in arguments.items())
            line(text(f"     {name}({told})", "cyan"))
            style = "red" if isinstance(result, ToolFailure) else "dim"
            for shown in _shown(result.text):
                line(text("     | "), text(shown, style))


def _print_verdict(outcomes: list[Outcome], display: Display) -> bool:
    for outcome in outcomes:
        display.line(display.text(f"     {outcome.store:<6} {outcome.elapsed_s:6.2f} s"))
    diff = differences(outcomes)
    if diff:
        for line in diff.splitlines():
            display.line(display.text(line))
        display.line(display.text("The sessions differ; the difference is above.", "red"))
        return False
    first = outcomes[0]
    stores = ", ".join(outcome.store for outcome in outcomes)
    size_bytes = len(first.text().encode())
    counted = f"{len(first.transcript)} results ({size_bytes} bytes of text and values) and {len(first.files)} files"
    display.line(display.text(f"Identical on {stores}: {counted}.", "green"))
    return True


def _short(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 44 else f"{text[:40]}..."  # noqa: PLR2004 - keeps a call on one line


def _shown(text: str) -> list[str]:
    lines = text.splitlines()
    if len(lines) <= LINES_SHOWN_MAX:
        return lines
    head = LINES_SHOWN_MAX - 3
    return [*lines[:head], f"... {len(lines) - head - 2} more lines ...", *lines[-2:]]


def _progress(text: str) -> None:
    """Show what is going on in the last line of a terminal; nothing in a pipe."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
