"""A backend that fails or stops where a test says, for what a real store does only on a bad day."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, TypeVar

import anyio

from fs_core.errors import FsError
from fs_core.protocol import Backend
from fs_core.testing.delegating import DelegatingBackend, Primitive

__all__ = ["Block", "Fail", "Fault", "FaultBackend", "Moment"]

T = TypeVar("T")


class Moment(StrEnum):
    """When a fault strikes. `AFTER`: the call has had its effect, and its answer is lost or late."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Fail:
    """Raise `error` at call number `call` (from 1) of `primitive`."""

    primitive: Primitive
    error: FsError
    moment: Moment = Moment.BEFORE
    call: int = 1


@dataclass(frozen=True, slots=True)
class Block:
    """Stop at call number `call` (from 1) of `primitive`: set `reached`, then wait until the test sets `release`.

    Make it inside the event loop. Cancelling the blocked call shows what a cancellation at that moment leaves behind.
    """

    primitive: Primitive
    moment: Moment = Moment.BEFORE
    call: int = 1
    reached: anyio.Event = field(default_factory=anyio.Event)
    release: anyio.Event = field(default_factory=anyio.Event)


Fault = Fail | Block


class FaultBackend(DelegatingBackend):
    """Passes calls to `inner` but for those that `plan` names. Calls are counted from the making of this backend.

    A test that ends should find `pending` empty: a fault that never struck proves nothing.
    """

    scheme: ClassVar[str] = "faults"

    def __init__(self, inner: Backend, *plan: Fault) -> None:
        super().__init__(inner)
        self._plan = list(plan)
        self._calls: Counter[Primitive] = Counter()

    @property
    def pending(self) -> tuple[Fault, ...]:
        """Return the faults that have not struck yet, in the order of the plan."""
        return tuple(self._plan)

    def add(self, fault: Fault) -> None:
        """Append to the plan. `fault.call` counts the calls made already too."""
        self._plan.append(fault)

    async def around(self, primitive: Primitive, call: Callable[[], Awaitable[T]]) -> T:
        """Delegate, with the planned faults around it."""
        self._calls[primitive] += 1
        number = self._calls[primitive]
        await self._strike(primitive, number, Moment.BEFORE)
        result = await call()
        await self._strike(primitive, number, Moment.AFTER)
        return result

    async def _strike(self, primitive: Primitive, number: int, moment: Moment) -> None:
        due = [f for f in self._plan if (f.primitive, f.call, f.moment) == (primitive, number, moment)]
        for fault in due:
            self._plan.remove(fault)
            match fault:
                case Block(reached=reached, release=release):
                    reached.set()
                    await release.wait()
                case Fail(error=error):
                    raise error
