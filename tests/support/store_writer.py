"""A process that writes to a store until it is told to end, or once and ends without closing: `python -m` runs it.

Its input is a pickle of the store's URL, its options, the event loop, and whether it closes.
"""

import pickle
import signal
import sys
from typing import Final

import anyio

from backends.options import BackendOptions
from backends.registry import open_backend
from fs_core.protocol import Backend
from fs_core.testing.conformance import target_of
from fs_core.types import Always

__all__ = ["CONTENTS", "FILES"]

FILES: Final = tuple(f"d/{number}.txt" for number in range(4))
CONTENTS: Final = (b"a" * 300_000, b"b" * 200_000)
"""What a file holds in turn."""

_ROUNDS_BEFORE_TELLING: Final = 3


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


async def _write_on_and_on(backend: Backend, path: str) -> None:
    target = await target_of(backend, path)
    rounds = 0
    while True:
        for content in CONTENTS:
            await backend.write(target, content, condition=Always())
        rounds += 1
        if rounds == _ROUNDS_BEFORE_TELLING:
            _say("writing")


def _be_patient_with(url: str) -> None:
    """Let what is cancelled on a server tidy up on a busy machine too."""
    if url.startswith("sftp:"):
        import pytest

        from tests.support.sftp_faults import be_patient

        be_patient(pytest.MonkeyPatch())


async def _main(url: str, options: BackendOptions, closes: bool) -> None:
    backend = await open_backend(url, options)
    if not closes:
        await backend.write(await target_of(backend, FILES[0]), CONTENTS[0], condition=Always())
        _say("written")
        return
    try:
        async with anyio.create_task_group() as tasks:
            for path in FILES:
                tasks.start_soon(_write_on_and_on, backend, path)
    finally:
        await backend.aclose()


if __name__ == "__main__":
    # A suite that runs in the background of a shell hands on that SIGINT is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _url, _options, _loop, _closes = pickle.load(sys.stdin.buffer)
    _be_patient_with(_url)
    anyio.run(_main, _url, _options, _closes, backend=_loop)
