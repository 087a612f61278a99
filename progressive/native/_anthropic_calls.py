"""Which results of a Messages transcript answer a call of describe_tools."""

from progressive.names import DESCRIBE
from progressive.native._anthropic_blocks import field, kind_of, text_field

__all__ = ["Calls"]


class Calls:
    """The calls that wait for their results."""

    def __init__(self) -> None:
        self._is_describe: dict[str, bool] = {}
        self._of_turn: set[str] = set()
        self._has_programs = False

    @property
    def takes_words(self) -> bool:
        """Whether the turn that answers these calls may hold more than results; not while a program waits for one."""
        return not self._has_programs

    def begin_turn(self) -> None:
        """Begin a turn of the model: an id that was used before is now that of another call."""
        self._of_turn.clear()
        self._has_programs = False

    def add(self, block: object) -> None:
        """Take up a `tool_use` block of the model."""
        call_id = text_field(block, "id")
        if not call_id:
            return
        # What a program in the API's own sandbox asked for is read by that program, not by the model.
        is_direct = kind_of(field(block, "caller")) in {"", "direct"}
        self._has_programs |= not is_direct
        # Two calls of one turn with the same id: nobody can tell whose result it is.
        is_known = call_id not in self._of_turn or self._is_describe.get(call_id, False)
        self._is_describe[call_id] = is_known and is_direct and text_field(block, "name") == DESCRIBE
        self._of_turn.add(call_id)

    def answer(self, block: object) -> bool:
        """Take up a `tool_result` block and tell whether it answers a describe call; a call has one result."""
        return self._is_describe.pop(text_field(block, "tool_use_id"), False)
