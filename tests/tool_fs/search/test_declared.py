"""What a model is told of the tools."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from tool_fs.search.limits import SearchLimits
from tool_fs.search.toolset import tree_tools
from tool_fs.toolset import file_tools
from tool_runtime import Tool, ToolAnnotations

BEFORE = Path(__file__).with_name("declared_before.json")
"""read, write and edit as they were declared before there were tools to search with."""


def text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("guarded", [True, False])
def test_read_write_and_edit_are_declared_byte_for_byte_as_before(guarded: bool) -> None:
    before = json.loads(BEFORE.read_text(encoding="utf-8"))["guarded" if guarded else "unguarded"]
    assert text([asdict(tool.schema()) for tool in file_tools(guarded=guarded)]) == text(before)


PARAMETERS: dict[str, dict[str, JsonValue]] = {
    "list_dir": {
        "properties": {
            "path": {"description": "Directory to list, relative to the root; without it the root.", "type": "string"},
            "depth": {"description": "How many levels to list; without it 1.", "minimum": 1, "type": "integer"},
        },
        "type": "object",
        "additionalProperties": False,
    },
    "glob": {
        "properties": {
            "pattern": {"description": "Glob, such as *.py or src/**/test_*.py.", "type": "string"},
            "path": {
                "description": "Directory to search, relative to the root; without it the root.",
                "type": "string",
            },
        },
        "required": ["pattern"],
        "type": "object",
        "additionalProperties": False,
    },
    "grep": {
        "properties": {
            "pattern": {
                "description": "Regular expression (RE2 syntax), matched with each line.",
                "minLength": 1,
                "type": "string",
            },
            "path": {
                "description": "Directory or file to search, relative to the root; without it the root.",
                "type": "string",
            },
            "include": {
                "description": "Glob that a file must match, such as *.py or src/**/*.{js,ts}.",
                "type": "string",
            },
            "context": {
                "description": "Lines to show before and after each match.",
                "minimum": 0,
                "type": "integer",
            },
            "ignore_case": {
                "default": False,
                "description": "Match letters of either case.",
                "type": "boolean",
            },
        },
        "required": ["pattern"],
        "type": "object",
        "additionalProperties": False,
    },
}


@pytest.fixture
def tools() -> dict[str, Tool[Any]]:
    return {tool.name: tool for tool in tree_tools()}


def test_there_are_three_in_this_order(tools: dict[str, Tool[Any]]) -> None:
    assert list(tools) == ["list_dir", "glob", "grep"]
    assert [tool.name for tool in tree_tools(names={"grep", "list_dir", "read"})] == ["list_dir", "grep"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_parameters_are_exactly_these(tools: dict[str, Tool[Any]], name: str) -> None:
    parameters = tools[name].schema().parameters
    assert parameters == PARAMETERS[name]
    given, expected = parameters["properties"], PARAMETERS[name]["properties"]
    assert isinstance(given, dict)
    assert isinstance(expected, dict)
    assert list(given) == list(expected)


def test_the_values_have_exactly_these_keys(tools: dict[str, Tool[Any]]) -> None:
    counted = ["total", "exact", "truncated_by", "skipped", "notes"]
    assert {name: tool.schema().output["required"] for name, tool in tools.items()} == {
        "list_dir": ["path", "entries", *counted],
        "glob": ["path", "paths", *counted],
        "grep": ["path", "files", "matches", "files_searched", "files_left", *counted[1:]],
    }


def test_they_change_nothing_and_may_overlap(tools: dict[str, Tool[Any]]) -> None:
    harmless = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    for tool in tools.values():
        assert tool.annotations == harmless
        assert tool.concurrency_safe(object())


def test_the_bounds_are_told() -> None:
    limits = SearchLimits(max_entries=7, max_matches=8, max_result_bytes=9, max_line_chars=10)
    told = {tool.name: tool.description for tool in tree_tools(limits=limits)}
    assert told["list_dir"].endswith("At most 7 entries and 9 bytes are shown; the end tells how many there are.")
    assert told["glob"].endswith("At most 7 paths and 9 bytes are shown; the end tells how many there are.")
    assert told["grep"].endswith("At most 8 matching lines and 9 bytes are shown; a line is cut after 10 characters.")


@pytest.mark.parametrize("gitignore", [True, False])
def test_what_is_left_out_is_told_if_anything_is(gitignore: bool) -> None:
    for tool in tree_tools(limits=SearchLimits(gitignore=gitignore)):
        assert (".gitignore" in tool.description) is gitignore


def test_the_descriptions_stay_short(tools: dict[str, Tool[Any]]) -> None:
    declared = text([[tool.name, tool.description, tool.schema().parameters] for tool in tools.values()])
    assert len(declared) < 3_600
