"""What a transcript says was disclosed: successful results of describe_tools, in the order in which they stand there.

Both formats of `progressive.native` are built on this. Nothing here knows a request or an API.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final, cast

from pydantic import JsonValue
from pydantic_core import from_json

from progressive.names import RESERVED
from tool_runtime import JsonObject, ToolAnnotations, ToolSchema
from tool_runtime.checks import is_schema
from tool_runtime.payload import encode

__all__ = ["Definition", "Described", "Disclosures", "described"]

_ANY_OBJECT: Final[JsonObject] = {"type": "object", "additionalProperties": True}
_EXACTLY: Final = "\n\nThe arguments must match this JSON Schema exactly: "


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool as describe_tools showed it.

    Attributes:
        name: Exact name; not empty, and otherwise not checked against the rules of any API.
        description: For the model.
        parameters: A JSON Schema, which nothing else holds.
    """

    name: str
    description: str
    parameters: JsonObject

    def schema(self) -> ToolSchema:
        """Return it as `progressive.formats` takes tools, without an output, which no API wants to know."""
        return ToolSchema(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            output={},
            annotations=ToolAnnotations(),
        )

    def opened(self) -> "Definition":
        """Return it with a schema that every API takes, and its own one told in the description.

        For what is valid JSON Schema and breaks a rule of an API. Nothing is lost: the runtime checks each call.
        """
        exact = encode(self.parameters).decode()
        return replace(self, description=f"{self.description}{_EXACTLY}{exact}".lstrip(), parameters={**_ANY_OBJECT})


@dataclass(frozen=True, slots=True)
class Described:
    """One successful result of describe_tools.

    Attributes:
        tools: In the order of the result.
        sdk: Declarations for programs, where the result has them.
    """

    tools: tuple[Definition, ...]
    sdk: str | None


def described(text: str) -> Described | None:
    """Read the text of a describe result.

    Returns:
        None unless the text is one JSON object, and nothing else, whose `tools` are all valid: each with a name, a
        description and a JSON Schema. A text that was cut, or that something was added to, is none.
    """
    try:
        value: object = from_json(text.encode(), allow_inf_nan=False)
        return _described(cast("JsonObject", value)) if isinstance(value, dict) else None
    except ValueError:
        # Not UTF-8, not JSON, numbers out of range, or a schema that the library cannot take.
        return None


class Disclosures:
    """The disclosures of one request, which is walked once, from its beginning to its end."""

    def __init__(self, declared: AbstractSet[str]) -> None:
        """Start before the first message; `declared` are the names that stand in the tools of the request already."""
        self._taken: dict[str, Definition] = {}
        self._untouched = declared | RESERVED

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """What was taken so far, in the order of first disclosure."""
        return tuple(self._taken.values())

    def take(self, described: Described) -> tuple[Definition, ...]:
        """Take up the next describe result.

        Returns:
            Those of its tools that are to be loaded here. Never a declared or a reserved name, and never one that an
            earlier result disclosed, whatever it says of it now: the first definition holds for the whole transcript.
        """
        new: dict[str, Definition] = {}
        for tool in described.tools:
            if tool.name not in self._untouched and tool.name not in self._taken:
                new.setdefault(tool.name, tool)
        self._taken |= new
        return tuple(new.values())


def _described(value: JsonObject) -> Described | None:
    entries, sdk = value.get("tools"), value.get("sdk")
    if not isinstance(entries, list):
        return None
    tools = [tool for entry in entries if (tool := _definition(entry)) is not None]
    if len(tools) < len(entries):
        return None
    return Described(tuple(tools), sdk if isinstance(sdk, str) else None)


def _definition(entry: JsonValue) -> Definition | None:
    if not isinstance(entry, dict):
        return None
    name, description, parameters = entry.get("name"), entry.get("description"), entry.get("parameters")
    if not isinstance(name, str) or not isinstance(description, str) or not isinstance(parameters, dict) or not name:
        return None
    # A number that is too large for a float was read as infinity, which no request can carry.
    encode(parameters)
    return Definition(name, description, parameters) if is_schema(parameters) else None
