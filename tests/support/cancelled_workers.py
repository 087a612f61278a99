"""When a cancellation has reached the worker thread of a call."""

import threading

import pytest

from backends._workers import WorkerCall

__all__ = ["noted_cancellations"]


def noted_cancellations(patch: pytest.MonkeyPatch) -> threading.Event:
    """Return an event that is set as soon as a worker is told that its call is given up."""
    arrived = threading.Event()
    cancel = WorkerCall.cancel

    def noted(call: WorkerCall) -> bool:
        is_at_work = cancel(call)
        arrived.set()
        return is_at_work

    patch.setattr(WorkerCall, "cancel", noted)
    return arrived
