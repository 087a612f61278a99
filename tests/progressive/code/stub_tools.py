"""Tools to make stubs for, and a look at what a stub text declares."""

import ast
from typing import Any

import pytest

from tool_runtime import JsonObject, ToolAnnotations, ToolSchema

ANY_TOOL: JsonObject = {"type": "object", "properties": {}}


def tool(
    name: str = "probe",
    *,
    description: str = "Probes.",
    parameters: JsonObject = ANY_TOOL,
    output: Any = None,
) -> ToolSchema:
    return ToolSchema(
        name=name,
        description=description,
        parameters=parameters,
        output={"type": "string"} if output is None else output,
        annotations=ToolAnnotations(),
    )


def declared(text: str) -> list[str]:
    """Return what a text defines or binds at its top level, imports aside."""
    names: list[str] = []
    for node in ast.parse(text).body:
        match node:
            case ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.append(name)
            case ast.ImportFrom():
                continue
            case _:
                pytest.fail(f"unexpected at top level: {ast.dump(node)}")
    return names


def methods(text: str) -> dict[str, str | None]:
    """Return the members of `class Tools` with their docstrings."""
    tools = next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == "Tools")
    functions = (node for node in tools.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {node.name: ast.get_docstring(node) for node in functions}
