"""Whether a model's API can load the schema of a tool in the middle of a conversation: a flag, or the table.

The table is `models.toml`, with its date and sources. It is about the vendors' own endpoints alone: what stands behind
any other host is not known from a model's name, and an API that does not know the protocol refuses whole requests.
"""

import re
import tomllib
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

__all__ = ["Api", "Capability", "capability_for"]


class Capability(StrEnum):
    """How an API takes the schema of a tool in the middle of a conversation.

    NONE: not at all; `invoke_tool` stays. TOOL_REFERENCES: Anthropic Messages. ADDITIONAL_TOOLS and TOOL_SEARCH: the
    two forms of OpenAI Responses, an `additional_tools` item and a client's tool search.
    """

    NONE = "none"
    TOOL_REFERENCES = "tool_references"
    ADDITIONAL_TOOLS = "additional_tools"
    TOOL_SEARCH = "tool_search"


class Api(StrEnum):
    """What format requests have, whoever answers them."""

    ANTHROPIC_MESSAGES = "anthropic_messages"
    OPENAI_RESPONSES = "openai_responses"
    OPENAI_CHAT_COMPLETIONS = "openai_chat_completions"


_FORMS: Mapping[Api, frozenset[Capability]] = {
    Api.ANTHROPIC_MESSAGES: frozenset({Capability.TOOL_REFERENCES}),
    Api.OPENAI_RESPONSES: frozenset({Capability.ADDITIONAL_TOOLS, Capability.TOOL_SEARCH}),
    Api.OPENAI_CHAT_COMPLETIONS: frozenset(),
}


def capability_for(api: Api, model: str, *, base_url: str, override: Capability | None = None) -> Capability:
    """Return what a model's API can do: the flag if there is one, else what the table says of the vendor's own models.

    Nothing is guessed: a gateway, a cloud's copy of an API, a name that is not in the table give `NONE`.

    Args:
        api: The format of the requests.
        model: The model's name, as requests have it.
        base_url: Where requests go, such as `str(client.base_url)`.
        override: What is known of an endpoint that the table does not know, or `NONE` to load nothing. What `api` has
            no form for is `NONE` all the same.

    Raises:
        ValueError: `base_url` is no URL.
    """
    if override is not None:
        return override if override in _FORMS[api] else Capability.NONE
    vendor = _vendors().get(api)
    if vendor is None or not vendor.answers_at(base_url):
        return Capability.NONE
    return vendor.capability_of(model)


class _Vendor(BaseModel):
    """What `models.toml` says of one API at its vendor."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hosts: frozenset[str]
    name: re.Pattern[str]
    sources: tuple[str, ...]
    exact: Mapping[str, Capability]
    since: Mapping[Capability, Mapping[str, tuple[int, int]]]

    def answers_at(self, base_url: str) -> bool:
        url = urlsplit(base_url)
        return url.scheme == "https" and url.port in {None, 443} and url.hostname in self.hosts

    def capability_of(self, model: str) -> Capability:
        if model in self.exact:
            return self.exact[model]
        parts = self.name.fullmatch(model)
        if parts is None:
            return Capability.NONE
        family, version = parts["family"] or "", (int(parts["major"]), int(parts["minor"] or 0))
        reached = {
            since: capability
            for capability, families in self.since.items()
            if (since := families.get(family)) is not None and since <= version
        }
        return reached[max(reached)] if reached else Capability.NONE


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    dated: date
    anthropic_messages: _Vendor
    openai_responses: _Vendor


@cache
def _vendors() -> Mapping[Api, _Vendor]:
    text = files("progressive.native").joinpath("models.toml").read_text(encoding="utf-8")
    table = _Table.model_validate(tomllib.loads(text))
    return {
        Api.ANTHROPIC_MESSAGES: table.anthropic_messages,
        Api.OPENAI_RESPONSES: table.openai_responses,
    }
