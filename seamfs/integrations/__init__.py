"""Adapters that give the tools of a workspace to agent frameworks and to the SDKs of model vendors, each an extra."""

from seamfs.integrations._agent_tools import AgentTools, open_agent_tools

__all__ = ["AgentTools", "open_agent_tools"]
