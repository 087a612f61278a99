"""A chat model of LangChain that does what a script says. Imported by the tests themselves, as it loads LangChain."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, cast

import deepagents
from deepagents.backends.protocol import BackendProtocol
from langchain import agents
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

__all__ = ["ScriptedChatModel", "agent_of", "deep_agent", "tool_messages"]

_call_ids = count(1)


class ScriptedChatModel(BaseChatModel):
    """Makes one call a request until there is no more; keeps what it was told."""

    next_call: Callable[[], tuple[str, dict[str, Any]] | None] = Field(exclude=True)
    instructions: str = ""
    declared: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **_kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        self.declared[:] = [convert_to_openai_tool(tool)["function"] for tool in tools]
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del stop, run_manager, kwargs
        self.instructions = messages[0].text
        call = self.next_call()
        if call is None:
            message = AIMessage("done")
        else:
            name, arguments = call
            message = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call_{next(_call_ids)}"}])
        return ChatResult(generations=[ChatGeneration(message=message)])


def tool_messages(state: dict[str, Any]) -> list[ToolMessage]:
    """Return what came back to the model."""
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def agent_of(model: BaseChatModel, tools: Mapping[str, BaseTool]) -> Any:
    """Return LangChain's own agent; its type has parts that nobody knows."""
    return cast("Any", agents).create_agent(model, tools=list(tools.values()))


def deep_agent(model: BaseChatModel, backend: BackendProtocol, **more: Any) -> Any:
    """Return an agent of deepagents, which looks at files through the backend."""
    return cast("Any", deepagents).create_deep_agent(model, backend=backend, **more)
