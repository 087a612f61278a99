"""Items and tools of an OpenAI Responses request, read: dictionaries, or objects of the SDK, as applications mix them.

Nothing here raises: what is not as the API has it says nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from pydantic import BaseModel

from progressive.names import DESCRIBE
from progressive.native.disclosures import Described, described

__all__ = ["DescribeCalls", "declared_names", "entries", "is_function", "is_reference", "text_of", "with_namespace"]

_NAMED: Final = frozenset({"custom", "function", "namespace"})
_LOADING: Final = frozenset({"additional_tools", "tool_search_output"})


def text_of(item: object, key: str) -> str | None:
    """Return a field of an item or a tool, or None if it has none of that name that is a text."""
    value = _field(item, key)
    return value if isinstance(value, str) else None


def entries(item: object, key: str) -> Sequence[object]:
    """Return the entries of a field that is a list; any other has none."""
    value = _field(item, key)
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def is_function(tool: object, name: str) -> bool:
    """Tell whether a tool, or a choice of one, is the function of a name."""
    return text_of(tool, "type") == "function" and text_of(tool, "name") == name


def is_reference(item: object) -> bool:
    """Tell whether an item stands for one that the server keeps; the API lets such an item leave its type out."""
    kind = text_of(item, "type")
    return kind == "item_reference" or (
        kind is None and text_of(item, "role") is None and text_of(item, "id") is not None
    )


def declared_names(tools: Iterable[object], items: Iterable[object]) -> frozenset[str]:
    """Return the names that are taken in a request: by its tools, and by tools that its items load.

    Functions and custom tools have one, and so do namespaces; built-in tools have none.
    """
    loaded = (tool for item in items if text_of(item, "type") in _LOADING for tool in entries(item, "tools"))
    named = (tool for each in (tools, loaded) for tool in each if text_of(tool, "type") in _NAMED)
    return frozenset(name for tool in named if (name := text_of(tool, "name")) is not None)


def with_namespace(item: object, namespace: str) -> object:
    """Return a copy of a function call that carries a namespace."""
    if isinstance(item, BaseModel):
        return item.model_copy(update={"namespace": namespace})
    return {**cast("Mapping[str, object]", item), "namespace": namespace}


class DescribeCalls:
    """Calls of describe_tools that wait for their output, while the items of a request are walked in order."""

    def __init__(self) -> None:
        self._waiting: dict[str | None, bool] = {}

    def result(self, item: object) -> Described | None:
        """Take up the next item, and return what it describes if it is the result of a describe call.

        It is one if it answers a call of describe_tools that came before, both were completed, and exactly one of its
        texts is what `described` reads; others, and pictures, may stand beside it. Where two calls that wait have the
        same id, nobody knows whose output it is.
        """
        call_id = text_of(item, "call_id")
        match text_of(item, "type"):
            case "function_call":
                self._waiting[call_id] = call_id not in self._waiting and _is_describe_call(item)
            case "function_call_output":
                if self._waiting.pop(call_id, False) and _is_completed(item):
                    found = [result for text in _texts(item) if (result := described(text)) is not None]
                    return found[0] if len(found) == 1 else None
            case _:
                pass
        return None


def _is_describe_call(item: object) -> bool:
    # A tool of that name in a namespace is another tool.
    return text_of(item, "name") == DESCRIBE and not text_of(item, "namespace") and _is_completed(item)


def _is_completed(item: object) -> bool:
    return text_of(item, "status") in {None, "completed"}


def _texts(item: object) -> Iterator[str]:
    output = text_of(item, "output")
    if output is not None:
        yield output
    for part in entries(item, "output"):
        text = text_of(part, "text")
        if text is not None and text_of(part, "type") == "input_text":
            yield text


def _field(item: object, key: str) -> object:
    if isinstance(item, Mapping):
        return cast("Mapping[object, object]", item).get(key)
    return getattr(item, key, None) if isinstance(item, BaseModel) else None
