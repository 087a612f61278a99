"""A toolkit of LangChain: the tools of a workspace, with their own schemas and texts."""

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from seamfs.extras import require_extra
from seamfs.integrations._agent_tools import AgentTools, parameters_of
from tool_runtime import ToolFailure, ToolResult

try:
    from langchain_core.tools import BaseTool, BaseToolkit, ToolException
except ModuleNotFoundError:
    require_extra("langchain", ["langchain_core"], what="a toolkit of LangChain")
    raise

__all__ = ["WorkspaceTool", "WorkspaceToolError", "WorkspaceToolkit"]


class WorkspaceToolError(ToolException):
    """Raised by a tool that refuses, or fails; LangChain makes a message with the status `error` of it.

    Attributes:
        failure: The code, the message, and whether the same call may work later.
    """

    def __init__(self, failure: ToolFailure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class WorkspaceTool(BaseTool):
    """One tool. Its message holds the text for the model, and the structured value as artifact.

    Invoked without an event loop it needs the tools of `open_agent_tools`.
    """

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    tools: AgentTools = Field(exclude=True, repr=False)

    def _run(self, /, **arguments: JsonValue) -> tuple[str, JsonValue]:
        return _content_and_artifact(self.tools.call_sync(self.name, arguments))

    async def _arun(self, /, **arguments: JsonValue) -> tuple[str, JsonValue]:
        return _content_and_artifact(await self.tools.call(self.name, arguments))


class WorkspaceToolkit(BaseToolkit):
    """Whatever tools the workspace has when they are asked for."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    tools: AgentTools

    def get_tools(self) -> list[BaseTool]:
        """Return the tools, sorted by name. Arguments are checked by the tools themselves."""
        return [
            WorkspaceTool(
                name=schema.name,
                description=schema.description,
                args_schema=parameters_of(schema),
                handle_tool_error=True,
                tools=self.tools,
            )
            for schema in self.tools.schemas()
        ]


def _content_and_artifact(result: ToolResult) -> tuple[str, JsonValue]:
    if isinstance(result, ToolFailure):
        raise WorkspaceToolError(result)
    return result.text, result.value
