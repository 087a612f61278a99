"""What a program is told of the tools it may call: Python declarations, for a model to read and a type checker to use.

Equal input gives equal text. All names and descriptions are foreign: whatever they hold, the text stays valid Python
and declares nothing but what is described here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from progressive.code._text import docstring, is_plain, pascal
from progressive.code._types import Names, declare
from progressive.names import text_order
from tool_runtime import ToolSchema

__all__ = ["LANGUAGE", "checker_text", "sdk_text", "stubs"]

LANGUAGE: Final = "python"

_PREAMBLE: Final = """\
# Call a tool with one dictionary of arguments. Any name: await tools["exact-name"]({...})
# A name that is an identifier also: await tools.name({...})
# Both return the tool's structured value, and raise ToolCallError when the call fails.
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Union, overload


class ToolCallError(Exception):
    tool: str
    code: str
    message: str"""

_INSTANCE: Final = "tools: Tools"
_RESERVED: Final = frozenset({"ToolCallError", "Tools", "tools"})
_SUBSCRIPT_WORDS: Final = frozenset({"Any", "Awaitable", "Callable", "Literal", "overload", "str"})
"""Names that `__getitem__` is declared with: a method of such a name would hide them."""
_ANY_OTHER: Final = ("str", "Any", "Any", "")


def stubs(tools: Sequence[ToolSchema]) -> str:
    """Return the declarations of exactly these tools, ordered by name: types, then `class Tools`.

    A tool whose name is an identifier is a method; any other is an overload of `__getitem__`. Imports and the calling
    convention are in `sdk_text` alone.
    """
    return _joined(_declarations(tools, is_every_name_subscript=False))


def sdk_text(tools: Sequence[ToolSchema]) -> str:
    """Return the calling convention and the declarations of these tools, for the description of `run_code`."""
    return _joined([_PREAMBLE, *_declarations(tools, is_every_name_subscript=False), _INSTANCE])


def checker_text(tools: Sequence[ToolSchema]) -> str:
    """Return a stub file (`.pyi`) to check programs against.

    Longer than `sdk_text`: it types `tools["name"]` for every tool, and admits any other subscript unchecked, since a
    program may compute the name.
    """
    return _joined([_PREAMBLE, *_declarations(tools, is_every_name_subscript=True), _INSTANCE])


@dataclass(frozen=True, slots=True)
class _Signature:
    tool: ToolSchema
    prefix: str
    args: str
    result: str

    @property
    def is_method(self) -> bool:
        return is_plain(self.tool.name) and self.tool.name not in _SUBSCRIPT_WORDS


def _declarations(tools: Sequence[ToolSchema], *, is_every_name_subscript: bool) -> list[str]:
    names = Names({*_RESERVED, *(tool.name for tool in tools)})
    signatures = [_signature(tool, names) for tool in sorted(tools, key=lambda tool: text_order(tool.name))]
    blocks: list[str] = []
    for each in signatures:
        blocks += declare(each.tool.parameters, name=each.args, prefix=each.prefix, names=names)
        blocks += declare(each.tool.output, name=each.result, prefix=each.prefix, names=names)
    methods = [_method(each) for each in signatures if each.is_method]
    subscripts = [
        # The docstring stands at the method where there is one.
        (f"Literal[{each.tool.name!r}]", each.args, each.result, "" if each.is_method else each.tool.description)
        for each in signatures
        if is_every_name_subscript or not each.is_method
    ]
    if is_every_name_subscript:
        subscripts.append(_ANY_OTHER)
    members = [*methods, *_subscripts(subscripts)] or ["    pass"]
    return [*blocks, "\n".join(["class Tools:", *members])]


def _signature(tool: ToolSchema, names: Names) -> _Signature:
    prefix = pascal(tool.name)
    if not prefix.isidentifier():
        prefix = f"Tool{prefix}"
    return _Signature(tool, prefix, args=names.take(f"{prefix}Args"), result=names.take(f"{prefix}Result"))


def _method(signature: _Signature) -> str:
    name, args, result = signature.tool.name, signature.args, signature.result
    return _function(f"async def {name}(self, args: {args}, /) -> {result}:", signature.tool.description)


def _subscripts(subscripts: Sequence[tuple[str, str, str, str]]) -> list[str]:
    # One signature alone is no overload.
    decorator = ["    @overload"] if len(subscripts) > 1 else []
    return [
        line
        for name, args, result, description in subscripts
        for line in (
            *decorator,
            _function(
                f"def __getitem__(self, name: {name}, /) -> Callable[[{args}], Awaitable[{result}]]:", description
            ),
        )
    ]


def _function(head: str, description: str) -> str:
    body = docstring(description, indent="        ")
    return "\n".join([f"    {head}", *body]) if body else f"    {head} ..."


def _joined(blocks: Sequence[str]) -> str:
    return "\n\n".join(blocks) + "\n"
