"""A toolset of pydantic-ai: the tools of a workspace, with their own schemas and texts."""

from typing import Any

from pydantic_core import SchemaValidator, core_schema

from seamfs.extras import require_extra
from seamfs.integrations._agent_tools import AgentTools, parameters_of
from tool_runtime import ToolFailure, ToolSchema

try:
    from pydantic_ai import RunContext, ToolReturn
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
except ModuleNotFoundError:
    require_extra("pydantic-ai", ["pydantic_ai"], what="a toolset of pydantic-ai")
    raise

__all__ = ["WorkspaceToolset"]

# The runtime checks arguments itself, and tells the model what was wrong in its own words.
_UNCHECKED = SchemaValidator(core_schema.any_schema())


class WorkspaceToolset(AbstractToolset[object]):
    """Whatever tools the workspace has when a step of a run begins.

    A refusal comes back to the model as a failed result (`ToolFailed`), word for word, and not as a `ModelRetry`: that
    adds a request to fix the call, and ends the run at the second refusal of a tool in a row, while reading a file
    again and again because others write it is a normal course of events. `UsageLimits` bound a run.

    Tools that only read run side by side, others alone (`sequential`), so that a turn does what its order says. The
    structured value of a result is the `metadata` of its part in the message history.
    """

    def __init__(
        self,
        tools: AgentTools,
        *,
        owner_per_run: bool = True,
        id: str | None = None,  # noqa: A002 - its name in every toolset
    ) -> None:
        """Take the tools.

        Args:
            tools: Of the event loop that agents run on, or of `open_agent_tools`.
            owner_per_run: Give each run a new session, so that runs at the same time cannot pass for one another; what
                one has read allows no other to write. Without it all runs act for the session of `tools`: for a
                conversation that goes on over several runs, one after another.
            id: See `AbstractToolset.id`.
        """
        self._tools = tools
        self._owner_per_run = owner_per_run
        self._id = id

    @property
    def id(self) -> str | None:
        """Return what was given."""
        return self._id

    async def for_run(self, ctx: RunContext[object]) -> AbstractToolset[object]:
        """Return the toolset of one run."""
        del ctx
        if not self._owner_per_run:
            return self
        return WorkspaceToolset(self._tools.for_new_session(), owner_per_run=False, id=self._id)

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """Return the tools that there are now."""
        return {
            schema.name: ToolsetTool(
                toolset=self, tool_def=_definition(schema), max_retries=ctx.max_retries, args_validator=_UNCHECKED
            )
            for schema in self._tools.schemas()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: ToolsetTool[object]
    ) -> ToolReturn[str]:
        """Run one tool.

        Raises:
            ToolFailed: It was refused, or failed.
        """
        del ctx, tool
        result = await self._tools.call(name, tool_args)
        if isinstance(result, ToolFailure):
            raise ToolFailed(result.text)
        return ToolReturn(result.text, metadata=result.value)


def _definition(schema: ToolSchema) -> ToolDefinition:
    return ToolDefinition(
        name=schema.name,
        description=schema.description,
        parameters_json_schema=parameters_of(schema),
        sequential=not schema.annotations.read_only,
    )
