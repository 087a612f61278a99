"""The three discovery tools: search_tools, describe_tools and invoke_tool."""

from collections.abc import Sequence
from typing import Any, Final, cast

from pydantic import BaseModel, Field, JsonValue

from progressive.catalog import Catalog, CatalogView
from progressive.code.sdk import LANGUAGE, stubs
from progressive.listing import Listings, render_search
from progressive.names import DESCRIBE, INVOKE, RESERVED, RUN_CODE, SEARCH
from progressive.options import DisclosureOptions
from progressive.texts import is_longer
from tool_runtime import (
    JsonObject,
    RuntimeCode,
    TextBlock,
    Tool,
    ToolAnnotations,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSchema,
)
from tool_runtime.payload import encode
from tool_runtime.problems import cut
from tool_runtime.suggestions import close_names

__all__ = ["RESULT_TOO_LARGE", "Described", "Found", "discovery_tools"]

RESULT_TOO_LARGE: Final = "RESULT_TOO_LARGE"

_LISTING_QUERY: Final = "*"
_NAME_CHARS_SHOWN_MAX: Final = 100
_ASKS_NOTHING: Final = ToolAnnotations(read_only=True, destructive=False, idempotent=True)


class SearchArgs(BaseModel):
    """Arguments of search_tools."""

    query: str | None = Field(default=None, description="Words to rank by; leave out, or *, for the complete list.")
    limit: int | None = Field(default=None, ge=1, description="Return at most so many.")


class Match(BaseModel):
    """One tool in a search result; without a description where the result would get too large."""

    name: str
    description: str | None = None


class Found(BaseModel):
    """Result of search_tools."""

    total: int
    truncated: bool
    matches: list[Match]
    note: str | None = None


class DescribeArgs(BaseModel):
    """Arguments of describe_tools."""

    names: list[str] = Field(min_length=1, description="Exact names, as search_tools gives them.")


class Description(BaseModel):
    """Everything about one tool."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    output: dict[str, JsonValue]


class Described(BaseModel):
    """Result of describe_tools; with language and stubs where programs can call the tools."""

    tools: list[Description]
    language: str | None = None
    sdk: str | None = None


class InvokeArgs(BaseModel):
    """Arguments of invoke_tool."""

    name: str = Field(description="Exact name of the tool.")
    arguments: dict[str, JsonValue] = Field(description="Its arguments, as its schema says.")


def discovery_tools(catalog: Catalog, options: DisclosureOptions) -> tuple[Tool[Any], ...]:
    """Return the three tools over a catalog; their definitions depend on the options alone."""
    return _search_tool(catalog, options), _describe_tool(catalog, options), _invoke_tool(catalog, options)


def _search_tool(catalog: Catalog, options: DisclosureOptions) -> Tool[SearchArgs]:
    listings = Listings(options)

    async def execute(args: SearchArgs, context: ToolContext) -> JsonValue:
        query = args.query or ""
        words = query.strip()
        if is_longer(words, options.max_query_chars):
            raise _invalid(f"query: at most {options.max_query_chars} characters; use a few words")
        limit = None if args.limit is None else min(args.limit, options.max_search_results)
        if words in {"", _LISTING_QUERY}:
            return listings.catalog(catalog.view(context.scope).tools, limit=limit, is_fallback=False)
        view, ranked = await catalog.ranked(query, context.scope)
        if not ranked:
            return listings.catalog(view.tools, limit=limit, is_fallback=True)
        return listings.matches(ranked, limit=options.max_search_results if limit is None else limit)

    return Tool(
        name=SEARCH,
        description=(
            "Find tools that are available but not declared here. Without a query, or with *, it lists the name and a "
            f"short description of all of them; with a query, the {options.max_search_results} that fit best: any word "
            "may match. When nothing matches it lists all. Then call describe_tools for those you intend to use."
        ),
        parameters=SearchArgs,
        output=Found,
        execute=execute,
        render=lambda _, value: [TextBlock(render_search(cast("JsonObject", value)))],
        concurrency_safe=lambda _: True,
        example={"query": "convert currency"},
        annotations=_ASKS_NOTHING,
    )


def _describe_tool(catalog: Catalog, options: DisclosureOptions) -> Tool[DescribeArgs]:
    async def execute(args: DescribeArgs, context: ToolContext) -> JsonValue:
        if len(args.names) > options.max_describe_tools:
            given = len(args.names)
            raise _invalid(
                f"names: {given} given, at most {options.max_describe_tools} at once; call it again for more"
            )
        for name in args.names:
            _check_name(name, options)
        names = list(dict.fromkeys(args.names))
        view = catalog.view(context.scope)
        tools = {name: view.get(name) for name in names}
        unavailable = [name for name, tool in tools.items() if tool is None]
        if unavailable:
            raise _unavailable(unavailable, view, context, options)
        described = _described([tool.schema() for tool in tools.values() if tool is not None], context)
        size_bytes = len(encode(described))
        if size_bytes > options.max_result_bytes:
            advice = "ask for fewer tools at once" if len(names) > 1 else _alone_too_large(names[0])
            message = f"{size_bytes} bytes, at most {options.max_result_bytes} are returned; {advice}"
            raise ToolError(RESULT_TOO_LARGE, message)
        return described

    return Tool(
        name=DESCRIBE,
        description=(
            "Return the full description and the exact input and output schemas of tools that search_tools found, "
            f"1 to {options.max_describe_tools} at once. Call it before the first call of a tool."
        ),
        parameters=DescribeArgs,
        output=Described,
        execute=execute,
        render=_as_json,
        concurrency_safe=lambda _: True,
        example={"names": ["convert_currency"]},
        annotations=_ASKS_NOTHING,
    )


def _invoke_tool(catalog: Catalog, options: DisclosureOptions) -> Tool[InvokeArgs]:
    async def execute(args: InvokeArgs, context: ToolContext) -> ToolResult:
        _check_name(args.name, options)
        view = catalog.view(context.scope)
        if view.get(args.name) is None:
            raise _unavailable([args.name], view, context, options)
        return await context.call(args.name, args.arguments)

    return Tool(
        name=INVOKE,
        description=(
            "Call a tool that is not declared here, by its exact name and with the arguments that describe_tools "
            "showed. The result is the tool's own."
        ),
        parameters=InvokeArgs,
        output={},
        execute=execute,
        render=_as_json,
        delegates_to=lambda args: (args.name, args.arguments),
        example={"name": "convert_currency", "arguments": {"amount": 12, "from": "EUR", "to": "JPY"}},
    )


def _as_json(_args: object, value: JsonValue) -> list[TextBlock]:
    return [TextBlock(encode(value).decode())]


def _described(schemas: Sequence[ToolSchema], context: ToolContext) -> JsonObject:
    tools: list[JsonValue] = [
        {
            "name": schema.name,
            "description": schema.description,
            "parameters": schema.parameters,
            "output": schema.output,
        }
        for schema in schemas
    ]
    if context.runtime.get(RUN_CODE, context.scope) is None:
        return {"tools": tools}
    return {"tools": tools, "language": LANGUAGE, "sdk": stubs(schemas)}


def _check_name(name: str, options: DisclosureOptions) -> None:
    if not name:
        raise _invalid("a name is empty; search_tools lists the names")
    if is_longer(name, options.max_tool_name_chars):
        shown = cut(name, _NAME_CHARS_SHOWN_MAX)
        raise _invalid(f"{shown!r}: a name has at most {options.max_tool_name_chars} characters")


def _unavailable(
    names: Sequence[str], view: CatalogView, context: ToolContext, options: DisclosureOptions
) -> ToolError:
    """Say of each name why it cannot be had, with names that may have been meant."""
    known = [tool.name for tool in view.tools]
    reasons = [_why_unavailable(name, known, context, options) for name in names]
    return ToolError(RuntimeCode.UNKNOWN_TOOL, "; ".join(reasons))


def _why_unavailable(name: str, known: Sequence[str], context: ToolContext, options: DisclosureOptions) -> str:
    shown = repr(cut(name, _NAME_CHARS_SHOWN_MAX))  # with escapes for whatever cannot be printed
    is_visible = context.runtime.get(name, context.scope) is not None
    if is_visible and name in options.eager_tools:
        return f"{shown} is already declared: call it directly"
    if is_visible and name in RESERVED:
        return f"{shown} belongs to the discovery of tools and is no entry of the catalog"
    close = close_names(name, known)
    hint = f"did you mean {' or '.join(close)}?" if close else "search_tools lists what there is"
    return f"there is no tool {shown}; {hint}"


def _alone_too_large(name: str) -> str:
    return f"{name} alone is too large: it can be called all the same"


def _invalid(reason: str) -> ToolError:
    return ToolError(RuntimeCode.INVALID_ARGS, reason)
