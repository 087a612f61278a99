"""Messages in which successful describe results have become references to the tools that they describe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, cast

from progressive.names import DESCRIBE, RUN_CODE
from progressive.native._anthropic_blocks import changed, field, kind_of, listed, text_field, unmarked
from progressive.native._anthropic_calls import Calls
from progressive.native._anthropic_tools import Loaded, Loads
from progressive.native.disclosures import Described, described
from tool_runtime.payload import encode

if TYPE_CHECKING:
    from anthropic.types import MessageParam, TextBlockParam, ToolReferenceBlockParam

__all__ = ["rewritten"]

_REFERENCE: Final = "tool_reference"
_MOVABLE: Final = frozenset({"text", "image", "document", "search_result"})
"""Kinds of content that a message may hold beside a result as well as in it."""

_SDK: Final = f"{DESCRIBE} adds, for programs that {RUN_CODE} runs:"
_REST: Final = (
    f"{DESCRIBE} adds definitions that are not loaded, because tools of these names are declared otherwise or cannot "
    "be declared; calls are checked against what stands here:"
)


def rewritten(messages: Iterable[MessageParam], loads: Loads) -> list[MessageParam]:
    """Return the messages with references in the place of describe results; those without any are the same objects.

    What becomes of a turn depends on it and on those before it alone, so a longer transcript begins with the same
    bytes as a shorter one.

    Args:
        messages: From the first to the last; walked once.
        loads: What may be referred to; takes up what is disclosed on the way.
    """
    walk = _Walk(loads)
    for message in messages:
        walk.on(message)
    walk.end_turn()
    return cast("list[MessageParam]", walk.messages)


class _Walk:
    """One pass over a transcript. Consecutive messages of a role are one turn to the API, and so they are here."""

    def __init__(self, loads: Loads) -> None:
        self.messages: list[object] = []
        self._loads = loads
        self._calls = Calls()
        self._role = ""
        self._moved: list[object] = []
        self._notes: list[TextBlockParam] = []
        self._place: tuple[int, int] | None = None

    def on(self, message: object) -> None:
        """Take up the next message."""
        role, content = text_field(message, "role"), field(message, "content")
        if role != self._role:
            self.end_turn()
            self._role = role
            if role == "assistant":
                self._calls.begin_turn()
        if content is None or isinstance(content, str) or role not in {"assistant", "user"}:
            self.messages.append(message)
            return
        before = listed(content)
        convert = self._of_user if role == "user" else self._of_assistant
        after = [convert(block) for block in before]
        results = [index for index, block in enumerate(after) if kind_of(block) == "tool_result"]
        if role == "user" and results:
            self._place = len(self.messages), results[-1] + 1
        is_same = before is content and all(new is old for new, old in zip(after, before, strict=True))
        self.messages.append(message if is_same else changed(message, content=after))

    def end_turn(self) -> None:
        """Put what left the results of a turn after the last of them: the API wants all results first."""
        if self._place is not None and (self._moved or self._notes):
            index, end = self._place
            message = self.messages[index]
            blocks = cast("Sequence[object]", field(message, "content"))
            # Injecting twice says nothing twice: what could not be loaded is found again, beside the words about it.
            said = {text_field(block, "text") for block in blocks}
            notes = [note for note in self._notes if note["text"] not in said]
            self.messages[index] = changed(message, content=[*blocks[:end], *self._moved, *notes, *blocks[end:]])
        self._moved, self._notes, self._place = [], [], None

    def _of_assistant(self, block: object) -> object:
        if kind_of(block) == "tool_use":
            self._calls.add(block)
        return self._checked_search(block) if kind_of(block) == "tool_search_tool_result" else block

    def _of_user(self, block: object) -> object:
        if kind_of(block) != "tool_result":
            return block
        is_describe = self._calls.answer(block)
        content = field(block, "content")
        if isinstance(content, str):
            parts: Sequence[object] = [_text(content)]
        else:
            parts = listed(content)
            if content is not None and parts is not content:
                block = changed(block, content=parts)
        if any(kind_of(part) == _REFERENCE for part in parts):
            block = self._checked(block, parts, is_describe=is_describe)
            parts = listed(field(block, "content"))
        return self._loading(block, parts) if is_describe and not field(block, "is_error") else block

    def _loading(self, block: object, parts: Sequence[object]) -> object:
        """Return a describe result as references; as it is if it is none, or if nothing of it can be loaded."""
        others: list[object] = []
        found: list[Described] = []
        for part in parts:
            result = described(text_field(part, "text")) if kind_of(part) == "text" else None
            if result is None:
                others.append(part)
            else:
                found.append(result)
        if len(found) != 1 or not _all_movable(others):
            return block
        loaded = self._loads.take(found[0])
        notes = self._why_refused(loaded)
        moved = [*_not_blank(others), *_told(found[0], loaded)]
        if not self._calls.takes_words and (moved or notes):
            return block
        self._notes += notes
        if not loaded.names:
            return block
        self._moved += map(unmarked, moved)
        return _with_content(block, [_reference(name) for name in loaded.names], instead_of=parts)

    def _checked(self, block: object, parts: Sequence[object], *, is_describe: bool) -> object:
        """Return a result that came with references, without those that the API would refuse."""
        kept: list[object] = []
        gone: list[object] = []
        others: list[object] = []
        for part in parts:
            if kind_of(part) != _REFERENCE:
                others.append(part)
            elif (name := text_field(part, "tool_name")) in self._loads:
                kept.append(part)
            else:
                # What describe_tools refers to has an entry of its own.
                (gone if is_describe or not self._loads.may_be_in_a_set(name) else kept).append(part)
        can_move = _all_movable(others) and (self._calls.takes_words or not (others or gone))
        if field(block, "is_error") or not can_move:
            # A failed result holds text alone; what cannot move out would stand among references.
            kept, gone = [], [*kept, *gone]
        elif not others and not gone:
            return block
        notes = [self._why_gone(part) for part in gone]
        if not kept:
            return _with_content(block, [*others, *notes], instead_of=parts)
        self._moved += map(unmarked, _not_blank(others))
        self._notes += notes
        return _with_content(block, kept, instead_of=parts)

    def _checked_search(self, block: object) -> object:
        """Return a result of the API's own tool search, without references that the API would refuse."""
        content = field(block, "content")
        if kind_of(content) != "tool_search_tool_search_result":
            return block
        references = listed(field(content, "tool_references"))
        kept = [
            part
            for part in references
            if (name := text_field(part, "tool_name")) in self._loads or self._loads.may_be_in_a_set(name)
        ]
        if len(kept) == len(references) and references is field(content, "tool_references"):
            return block
        return changed(block, content=changed(content, tool_references=kept))

    # Names are foreign text, and these words stand in the turn of the user: quoted, with escapes, they stay names.

    def _why_refused(self, loaded: Loaded) -> list[TextBlockParam]:
        if RUN_CODE in self._loads.declared:
            advice = f'call it in a {RUN_CODE} program: await tools["exact-name"](arguments)'
        else:
            advice = "use another tool, or say that it has to be renamed"
        return [
            _text(f"{DESCRIBE}: {name!r} is not loaded, and no tool call can name it, because {rule}; {advice}")
            for name, rule in loaded.refused.items()
        ]

    def _why_gone(self, reference: object) -> TextBlockParam:
        name = text_field(reference, "tool_name")
        if name in self._loads.declared:
            return _text(f"{name!r}: declared from the beginning; call it by its name")
        return _text(f"{name!r}: not loaded any more; call {DESCRIBE} for it before the next call")


def _with_content(block: object, content: Sequence[object], *, instead_of: Iterable[object]) -> dict[str, object]:
    """Return a result with other content; a part of the cache that ended in the old content now ends with the result.

    Of several marks the last is taken, wherever the parts have gone: the API wants the longest-lived marks first.
    """
    marks = [mark for part in (*instead_of, block) if (mark := field(part, "cache_control")) is not None]
    fields = {"cache_control": marks[-1]} if marks else {}
    return changed(block, content=[unmarked(part) for part in content], **fields)


def _all_movable(parts: Iterable[object]) -> bool:
    return all(kind_of(part) in _MOVABLE for part in parts)


def _not_blank(parts: Iterable[object]) -> list[object]:
    # The API refuses a message that holds a blank text.
    return [part for part in parts if kind_of(part) != "text" or text_field(part, "text").strip()]


def _told(result: Described, loaded: Loaded) -> list[TextBlockParam]:
    """Return what a describe result says beyond the tools that were loaded."""
    told: list[TextBlockParam] = []
    if result.sdk is not None and result.sdk.strip():
        told.append(_text(f"{_SDK}\n\n{result.sdk}"))
    if loaded.rest:
        tools = [
            {"name": each.name, "description": each.description, "parameters": each.parameters} for each in loaded.rest
        ]
        told.append(_text(f"{_REST}\n\n{encode({'tools': tools}).decode()}"))
    return told


def _reference(name: str) -> ToolReferenceBlockParam:
    return {"type": "tool_reference", "tool_name": name}


def _text(text: str) -> TextBlockParam:
    return {"type": "text", "text": text}
