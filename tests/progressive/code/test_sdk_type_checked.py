"""A type checker reads the stubs of any schema, passes right programs and finds the mistakes in wrong ones."""

import json
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import Final

import pytest

from progressive.code.sdk import checker_text, sdk_text
from tests.progressive.code.random_schemas import random_document
from tests.progressive.code.stub_tools import tool
from tool_runtime import JsonObject, ToolSchema

# The checker computes for many seconds, and on a busy machine for a minute and more.
pytestmark = pytest.mark.timeout(600)

NODE: JsonObject = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "parent": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    },
    "required": ["value"],
}
TOOLS: Final = [
    tool(
        "fetch_weather",
        parameters={
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"enum": ["C", "F", None]},
                "span": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
                "days": {"type": ["integer", "null"]},
            },
            "required": ["city"],
        },
        output={
            "type": "object",
            "properties": {"degrees": {"type": "number"}, "sky": {"type": "string"}},
            "required": ["degrees"],
        },
    ),
    tool(
        "my-tool.v2",
        parameters={
            "type": "object",
            "properties": {"a-b": {"type": "string"}, "class": {"type": "integer"}},
            "required": ["a-b"],
        },
        output={"type": "array", "items": {"type": "string"}},
    ),
    tool("查询日历", output={"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}),
    tool(
        "grow",
        parameters={"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": NODE}},
        output={"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}, {"type": "null"}]},
    ),
    tool(
        "list",
        parameters={"type": "object", "properties": {"items": {"type": "string"}}, "additionalProperties": True},
        output={},
    ),
    tool("str", output={"type": "object", "additionalProperties": {"type": "integer"}}),
]

RIGHT: Final[Mapping[str, str]] = {
    "method": 'x = await tools.fetch_weather({"city": "Bonn", "unit": "C"})\nprint(x["degrees"] + 1, x.get("sky"))',
    "subscript": 'x = await tools["fetch_weather"]({"city": "Bonn", "days": None})\nprint(x["degrees"] + 1)',
    "positions": 'await tools.fetch_weather({"city": "Bonn", "span": ["a", 1]})',
    "odd-name": 'x = await tools["my-tool.v2"]({"a-b": "", "class": 1})\nprint(x[0].upper())',
    "no-arguments": "x = await tools.查询日历({})\nprint(x['value'] + 1)",
    "recursive-result": 'x = await tools.查询日历({})\nfor y in x.get("children", []):\n    print(y["value"] + 1)',
    "recursive-arguments": 'await tools.grow({"root": {"value": 1, "parent": {"value": 2, "parent": None}}})',
    "optional-result": 'x = await tools.grow({})\nif x is not None:\n    print(x.get("n", 0) + 1)',
    "further-keys": 'x = await tools.list({"items": "a", "more": [1]})\nprint(x.anything)',
    "name-of-a-type": 'x = await tools["str"]({})\nprint(x["a"] + 1)',
    "computed-name": 'names: list[str] = ["grow", "str"]\nfor name in names:\n    print(await tools[name]({}))',
    "failure": "try:\n    await tools.grow({})\nexcept ToolCallError as e:\n    print(e.tool + e.code + e.message)",
    "named-type": 'args: FetchWeatherArgs = {"city": "Bonn"}\nawait tools.fetch_weather(args)',
}
WRONG: Final[Mapping[str, str]] = {
    "missing-key": 'await tools.fetch_weather({"unit": "C"})',
    "missing-key-by-subscript": 'await tools["fetch_weather"]({"unit": "C"})',
    "unknown-key": 'await tools.fetch_weather({"city": "Bonn", "citty": "Bonn"})',
    "wrong-type": 'await tools.fetch_weather({"city": 3})',
    "wrong-literal": 'await tools.fetch_weather({"city": "Bonn", "unit": "K"})',
    "keyword-arguments": 'await tools.fetch_weather(city="Bonn")',
    "no-arguments": "await tools.grow()",
    "odd-name-wrong-type": 'await tools["my-tool.v2"]({"a-b": "", "class": "x"})',
    "wrong-type-far-inside": 'await tools.grow({"root": {"value": 1, "parent": {"value": "2"}}})',
    "unknown-tool": "await tools.fetch_wether({})",
    "result-key": 'x = await tools.fetch_weather({"city": "Bonn"})\nprint(x["degree"])',
    "result-type": 'x = await tools["my-tool.v2"]({"a-b": ""})\nprint(x + 1)',
    "result-may-be-null": 'x = await tools.grow({})\nprint(x["n"])',
    "no-await": 'x = tools.fetch_weather({"city": "Bonn"})\nprint(x["degrees"])',
}

NAMES: Final = ("query", "list", "Any", "my-tool", "查询", "get_all", "getAll", "self", "Tools", "NotRequired")


def random_tools(seed: int) -> list[ToolSchema]:
    dice = random.Random(seed)

    def made(name: str) -> ToolSchema:
        return tool(name, parameters={"properties": {"a": random_document(dice)}}, output=random_document(dice))

    return [made(name) for name in NAMES]


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    """Check everything in one run, which takes seconds however little there is to check; messages by file name."""
    folder = tmp_path_factory.mktemp("stubs")
    (folder / "known.pyi").write_text(checker_text(TOOLS), "utf-8")
    (folder / "described.pyi").write_text(sdk_text(TOOLS), "utf-8")
    for seed in range(12):
        (folder / f"random_{seed}.pyi").write_text(checker_text(random_tools(seed)), "utf-8")
    for kind, programs in (("right", RIGHT), ("wrong", WRONG)):
        for name, program in programs.items():
            text = f"from known import *\n\nasync def program():\n{indent(program, '    ')}\n"
            (folder / f"{kind}_{name}.py").write_text(text, "utf-8")
    settings = {"typeCheckingMode": "standard", "pythonVersion": "3.11", "reportMissingModuleSource": "none"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    run = subprocess.run(
        [Path(sys.executable).with_name("pyright"), "--project", folder, "--outputjson"],
        capture_output=True,
        check=False,
    )
    report = json.loads(run.stdout)
    assert report["summary"]["filesAnalyzed"] == 14 + len(RIGHT) + len(WRONG)
    found: dict[str, list[str]] = {}
    for diagnostic in report["generalDiagnostics"]:
        found.setdefault(Path(diagnostic["file"]).name, []).append(diagnostic["message"])
    return found


def test_stubs_of_any_schema_are_without_fault(errors: Mapping[str, list[str]]) -> None:
    assert {name: messages for name, messages in errors.items() if name.endswith(".pyi")} == {}


@pytest.mark.parametrize("program", RIGHT)
def test_right_program_passes(errors: Mapping[str, list[str]], program: str) -> None:
    assert errors.get(f"right_{program}.py", []) == []


@pytest.mark.parametrize("program", WRONG)
def test_wrong_program_is_found_out(errors: Mapping[str, list[str]], program: str) -> None:
    assert errors.get(f"wrong_{program}.py", []) != []
