"""A runtime with the tools of a given catalog and the disclosure layer on it, and the steps that a case takes."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from progressive import Disclosure, DisclosureOptions, Mode, Surface, SurfaceError
from tool_runtime import (
    JsonObject,
    TextBlock,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    ToolRuntime,
)

__all__ = ["Outcome", "Stage"]

Outcome = ToolResult | Surface | SurfaceError | ValidationError | None

_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TEXT: Final[JsonObject] = {"type": "string"}
_RUN_CODE_PARAMETERS: Final[JsonObject] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["name", "arguments"],
}


class Stage:
    """One agent's scope over the tools of a catalog; its surface is assembled in the mode of the case."""

    def __init__(self, catalog: list[JsonObject], config: Mapping[str, Any], mode: str) -> None:
        self._runtime = ToolRuntime()
        self._scope = self._runtime.scope()
        self._disposers = {cast("str", spec["name"]): self._runtime.register(_tool(spec)) for spec in catalog}
        self._mode = Mode(mode)
        if self._mode is not Mode.NATIVE:
            self._runtime.register(_run_code())
        options = {_CAPITAL.sub("_", key).lower(): value for key, value in config.items()}
        self._disclosure = Disclosure(self._runtime, DisclosureOptions.model_validate(options))
        self.first: Surface | None = None

    async def take(self, step: JsonObject) -> Outcome:
        """Take one step of a sequence and return what came of it; None where a case expects nothing."""
        match step:
            case {"call": str(name), "args": arguments}:
                return await self.call(name, cast("JsonObject", arguments))
            case {"op": "assemble"}:
                return self.assemble()
            case {"op": "dispose"}:
                self._disclosure.unmount()
            case {"op": "register", "tool": dict(spec)}:
                self._disposers[cast("str", spec["name"])] = self._runtime.register(_tool(spec))
            case {"op": "unregister", "name": str(name)}:
                self._disposers.pop(name)()
            case {"op": "restrict", "filter": dict(names)}:
                self._runtime.restrict(self._scope, **cast("dict[str, Any]", names))
            case {"op": "shadow", "tool": dict(spec)}:
                self._runtime.register(_tool(spec), self._scope)
            case _:
                raise AssertionError(f"unknown step: {step}")
        return None

    def assemble(self) -> Surface | SurfaceError:
        try:
            surface = self._disclosure.surface(self._scope, mode=self._mode)
        except SurfaceError as error:
            return error
        self.first = self.first or surface
        return surface

    async def call(self, name: str, arguments: JsonObject, *, via: str = "direct") -> ToolResult:
        """Call a tool as the model does: directly, or from a program."""
        if via == "code":
            name, arguments = "run_code", {"name": name, "arguments": arguments}
        call = ToolCall(name, arguments, id="c1")
        if self._mode is Mode.CODE:
            [result] = await self._disclosure.surface(self._scope, mode=self._mode).run_turn([call])
            return result
        return await self._runtime.execute(call, scope=self._scope)


def _tool(spec: JsonObject) -> Tool[Any]:
    name, returns = cast("str", spec["name"]), spec.get("returns")

    async def execute(arguments: JsonObject, _context: ToolContext) -> JsonValue:
        if spec.get("fails"):
            raise ToolError("BROKEN", "always fails")
        return returns if returns is not None else f"{name}:{json.dumps(arguments, separators=(',', ':'))}"

    return Tool[JsonObject](
        name=name,
        description=cast("str", spec["description"]),
        parameters=_object(cast("JsonObject", spec["parameters"])),
        output=_schema(cast("JsonObject", spec.get("output", _TEXT))),
        execute=execute,
        render=lambda _, value: [TextBlock(str(value))],
    )


def _run_code() -> Tool[Any]:
    """Return a stand-in whose whole program is one call of a tool."""

    async def execute(arguments: JsonObject, context: ToolContext) -> ToolResult:
        return await context.call(cast("str", arguments["name"]), cast("JsonObject", arguments["arguments"]))

    return Tool[JsonObject](
        name="run_code",
        description="Runs a program.",
        parameters=_RUN_CODE_PARAMETERS,
        output={},
        execute=execute,
        render=lambda _, value: [TextBlock(str(value))],
    )


def _object(properties: JsonObject) -> JsonObject:
    """Return the JSON Schema of an object whose properties say by themselves whether they are required."""
    specs = TypeAdapter(dict[str, JsonObject]).validate_python(properties)
    required: list[JsonValue] = [name for name, spec in specs.items() if spec.get("required")]
    bare: JsonObject = {
        name: {key: value for key, value in spec.items() if key != "required"} for name, spec in specs.items()
    }
    schema: JsonObject = {"type": "object", "properties": bare}
    return {**schema, "required": required} if required else schema


def _schema(spec: JsonObject) -> JsonObject:
    if spec["type"] != "object":
        return spec
    return {**spec, **_object(cast("JsonObject", spec["properties"]))}
