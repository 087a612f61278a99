"""The three discovery tools: search_tools, describe_tools and invoke_tool."""

from collections.abc import Sequence
from typing import Any, Final, cast

from pydantic import BaseModel, Field, JsonValue

from progressive.absence import NAME_CHARS_SHOWN_MAX, Absences, unavailable
from progressive.catalog import Catalog
from progressive.code.sdk import LANGUAGE, stubs
from progressive.listing import Listings, render_search, with_note
from progressive.names import DESCRIBE, INVOKE, RUN_CODE, SEARCH
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

__all__ = ["RESULT_TOO_LARGE", "Described", "Found", "discovery_tools"]

RESULT_TOO_LARGE: Final = "RESULT_TOO_LARGE"

_LISTING_QUERY: Final = "*"
_ASKS_NOTHING: Final = ToolAnnotations(read_only=True, destructive=False, idempotent=True)
_MAY_BE_ANYTHING: Final = ToolAnnotations(open_world=True)


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

    names: list[str] = Field(description="Exact names, as search_tools gives them.")


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


def discovery_tools(
    catalog: Catalog, options: DisclosureOptions, absences: Absences | None = None
) -> tuple[Tool[Any], ...]:
    """Return the three tools over a catalog; their definitions depend on the options alone.

    `absences` tells what is missing for the moment, for results that would otherwise look complete.
    """
    return (
        _search_tool(catalog, options, absences),
        _describe_tool(catalog, options, absences),
        _invoke_tool(catalog, options, absences),
    )


def _search_tool(catalog: Catalog, options: DisclosureOptions, absences: Absences | None) -> Tool[SearchArgs]:
    listings = Listings(options)

    async def execute(args: SearchArgs, context: ToolContext) -> JsonValue:
        query = args.query or ""
        words = query.strip()
        if is_longer(words, options.max_query_chars):
            raise _invalid(f"query: at most {options.max_query_chars} characters; use a few words")
        limit = None if args.limit is None else min(args.limit, options.max_search_results)
        if words in {"", _LISTING_QUERY}:
            found = listings.catalog(catalog.view(context.scope).tools, limit=limit, is_fallback=False)
        else:
            view, ranked = await catalog.ranked(query, context.scope)
            if ranked:
                found = listings.matches(ranked, limit=options.max_search_results if limit is None else limit)
            else:
                found = listings.catalog(view.tools, limit=limit, is_fallback=True)
        missing = absences.absent_note() if absences is not None else None
        return found if missing is None else with_note(found, missing)

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
        is_ordered=False,
        example={"query": "convert currency"},
        annotations=_ASKS_NOTHING,
    )


def _describe_tool(catalog: Catalog, options: DisclosureOptions, absences: Absences | None) -> Tool[DescribeArgs]:
    async def execute(args: DescribeArgs, context: ToolContext) -> JsonValue:
        if not args.names:
            raise _invalid(f"names: give 1 to {options.max_describe_tools} exact names; search_tools lists them")
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
        missing = [name for name, tool in tools.items() if tool is None]
        if missing:
            raise unavailable(missing, view, context, eager=options.eager_tools, absences=absences)
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
        is_ordered=False,
        example={"names": ["an_exact_name"]},
        annotations=_ASKS_NOTHING,
    )


def _invoke_tool(catalog: Catalog, options: DisclosureOptions, absences: Absences | None) -> Tool[InvokeArgs]:
    async def execute(args: InvokeArgs, context: ToolContext) -> ToolResult:
        _check_name(args.name, options)
        view = catalog.view(context.scope)
        if view.get(args.name) is None:
            raise unavailable([args.name], view, context, eager=options.eager_tools, absences=absences)
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
        example={"name": "an_exact_name", "arguments": {}},
        annotations=_MAY_BE_ANYTHING,
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
        shown = cut(name, NAME_CHARS_SHOWN_MAX)
        raise _invalid(f"{shown!r}: a name has at most {options.max_tool_name_chars} characters")


def _alone_too_large(name: str) -> str:
    return f"{name} alone is too large: it can be called all the same"


def _invalid(reason: str) -> ToolError:
    return ToolError(RuntimeCode.INVALID_ARGS, reason)
