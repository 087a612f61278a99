"""A command that is told to stop releases what it holds, whenever it is told."""

import signal
import subprocess
import sys
from typing import Final

import pytest

from seamfs.signals import run_interruptibly
from tests.support.waiting import WAIT_S

_WAITING: Final = """
import signal, sys, threading
import anyio
from seamfs.signals import run_interruptibly

async def wait():
    # Another thread takes the signal, so nothing but its handler can wake the loop.
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        print("waits", flush=True)
        await anyio.sleep_forever()
    finally:
        print("released", flush=True)

try:
    run_interruptibly(wait)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_that_comes_while_the_loop_waits_is_not_missed(number: signal.Signals, status: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WAITING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=WAIT_S)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (status, "released\n", "")


def test_what_comes_to_its_end_is_returned_and_an_error_is_raised_as_it_is() -> None:
    async def answer() -> int:
        return 42

    async def fail() -> None:
        raise LookupError("not here")

    assert run_interruptibly(answer) == 42
    with pytest.raises(LookupError, match="not here"):
        run_interruptibly(fail)
