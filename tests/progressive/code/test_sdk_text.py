"""How tools and their types are called in stubs, and what stands around them."""

import pytest

from progressive.code.sdk import LANGUAGE, checker_text, sdk_text, stubs
from tests.progressive.code.stub_tools import declared, methods, tool
from tool_runtime import JsonObject


def test_type_names_that_clash_are_numbered_in_the_order_of_the_tools() -> None:
    text = stubs([tool("read_file"), tool("readFile"), tool("read-file"), tool("ReadFileArgs")])
    assert declared(text) == [
        "ReadFileArgs_2",
        "ReadFileResult",
        "ReadFileArgs_3",
        "ReadFileResult_2",
        "ReadFileArgs_4",
        "ReadFileResult_3",
        "ReadFileArgsArgs",
        "ReadFileArgsResult",
        "Tools",
    ]


def test_type_name_of_a_nested_object_leaves_the_names_of_roots_alone() -> None:
    parameters: JsonObject = {
        "type": "object",
        "properties": {"args": {"type": "object", "properties": {"args": {"type": "object", "properties": {}}}}},
    }
    assert declared(stubs([tool(parameters=parameters)]))[:3] == ["ProbeArgs_3", "ProbeArgs_2", "ProbeArgs"]


@pytest.mark.parametrize("name", ["查询日历", "list", "match", "print", "self", "HTTPServerStatus", "a"])
def test_tool_whose_name_is_an_identifier_is_a_method(name: str) -> None:
    assert methods(stubs([tool(name)])) == {name: "Probes."}


@pytest.mark.parametrize(
    "name", ["my-tool.v2", "class", "None", "__init__", "_private", "ﬁle", "str", "a b", 'a"b', "", "1"]
)
def test_tool_whose_name_is_no_attribute_is_a_subscript(name: str) -> None:
    text = stubs([tool(name)])
    assert methods(text) == {"__getitem__": "Probes."}
    assert f"name: Literal[{name!r}], /) -> Callable[" in text
    assert "@overload" not in text


def test_several_subscripts_are_overloads() -> None:
    assert stubs([tool("a-b"), tool("c-d")]).count("    @overload\n    def __getitem__") == 2


def test_order_of_tools_does_not_matter_and_equal_input_gives_equal_text() -> None:
    tools = [tool("Beta"), tool("alpha"), tool("mid", parameters={"properties": {"z": {"enum": ["b", "a"]}}})]
    assert stubs(tools) == stubs(tools[::-1])
    assert list(methods(stubs(tools))) == ["alpha", "Beta", "mid"]


def test_sdk_text_declares_the_given_tools_and_mentions_no_other() -> None:
    text = sdk_text([tool("search_tools"), tool("describe_tools")])
    assert "async def search_tools" in text
    assert "class Tools" in text
    assert "send_mail" not in text
    assert declared(text) == [
        "ToolCallError",
        "DescribeToolsArgs",
        "DescribeToolsResult",
        "SearchToolsArgs",
        "SearchToolsResult",
        "Tools",
        "tools",
    ]
    assert LANGUAGE == "python"


def test_stubs_have_no_preamble() -> None:
    text = stubs([tool()])
    assert "import" not in text
    assert "ToolCallError" not in text
    assert text in sdk_text([tool()])


def test_no_tools_at_all_is_an_empty_class() -> None:
    assert stubs([]) == "class Tools:\n    pass\n"


def test_text_for_the_checker_types_every_subscript_and_admits_computed_names() -> None:
    text = checker_text([tool("alpha"), tool("b-c")])
    assert text.count("@overload") == 3
    assert "Literal['alpha']" in text
    assert "name: str, /) -> Callable[[Any], Awaitable[Any]]: ..." in text


def test_docstring_shows_the_whole_description_without_its_margin() -> None:
    text = 'Reads "a" \\ b.\n\n        Two:\n          - three\n    '
    assert methods(stubs([tool(description=text)])) == {"probe": 'Reads "a" \\ b.\n\nTwo:\n  - three'}


def test_tool_without_description_has_an_empty_body() -> None:
    assert "-> ProbeResult: ...\n" in stubs([tool(description=" \u200b\n")])


def test_long_descriptions_are_cut() -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string", "description": "y" * 9_999}}}
    text = stubs([tool(description="x" * 9_999, parameters=schema)])
    assert f'"""{"x" * 3_999}…"""' in text
    assert f"# {'y' * 299}…\n" in text
