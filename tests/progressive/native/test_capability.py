"""The flag, the table of first-party models, and what looks like one of them and is not."""

import re
import tomllib
from pathlib import Path
from typing import Final, get_args

import pytest
from anthropic import Anthropic
from anthropic.types import Model
from hypothesis import given
from hypothesis import strategies as st
from openai import OpenAI

import progressive.native
from progressive.native.capability import Api, Capability, capability_for

ANTHROPIC: Final = "https://api.anthropic.com"
OPENAI: Final = "https://api.openai.com/v1/"
NONE: Final = Capability.NONE
REFERENCES: Final = Capability.TOOL_REFERENCES
ITEM: Final = Capability.ADDITIONAL_TOOLS
SEARCH: Final = Capability.TOOL_SEARCH

HOME: Final = {
    Api.ANTHROPIC_MESSAGES: ANTHROPIC,
    Api.OPENAI_RESPONSES: OPENAI,
    Api.OPENAI_CHAT_COMPLETIONS: OPENAI,
}

CLAUDE: Final = {
    "claude-opus-4-5": REFERENCES,
    "claude-opus-4-5-20251101": REFERENCES,
    "claude-sonnet-4-5-20250929": REFERENCES,
    "claude-sonnet-4-6": REFERENCES,
    "claude-haiku-4-5": REFERENCES,
    "claude-haiku-4-5-20251001": REFERENCES,
    "claude-haiku-5-5": REFERENCES,
    "claude-opus-4-5-latest": REFERENCES,
    "claude-opus-5": REFERENCES,
    "claude-fable-5-1": REFERENCES,
    "claude-mythos-5": REFERENCES,
    "claude-mythos-preview": REFERENCES,
    # Not out yet: vendors say "and later".
    "claude-opus-6-1": REFERENCES,
    "claude-opus-4-1": NONE,
    "claude-opus-4-0": NONE,
    "claude-opus-4-20250514": NONE,
    "claude-sonnet-4": NONE,
    "claude-3-5-sonnet-20241022": NONE,
    "claude-3-5-haiku-latest": NONE,
    "claude-3-7-sonnet-latest": NONE,
    "claude-instant-1": NONE,
    # No accident of a prefix, a suffix or an alphabet.
    "claude-opus-4-50": NONE,
    "claude-opus-45": NONE,
    "claude-opus-4-5-2025110": NONE,
    "claude-opus-4-5-preview": NONE,
    "my-claude-opus-4-5": NONE,
    "claude-opus-4-5\n": NONE,
    "claude-opus-٤-٥": NONE,
    "Claude-Opus-4-5": NONE,
    "claude-mythos-preview-2": NONE,
    "": NONE,
    # Spellings of gateways and clouds.
    "anthropic/claude-opus-4-5": NONE,
    "claude-opus-4.5": NONE,
    "anthropic.claude-opus-4-5-20251101-v1:0": NONE,
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": NONE,
    "claude-opus-4-5@20251101": NONE,
    # A family that the table does not know.
    "claude-saga-9": NONE,
}

GPT: Final = {
    "gpt-5.4": SEARCH,
    "gpt-5.4-mini": SEARCH,
    "gpt-5.4-mini-2026-03-17": SEARCH,
    "gpt-5.4-pro": SEARCH,
    "gpt-5.5": SEARCH,
    "gpt-5.5-2026-04-23": SEARCH,
    "gpt-5.5-pro-2026-04-23": SEARCH,
    # Those of which both forms are known load by the newer.
    "gpt-5.6": ITEM,
    "gpt-5.6-mini": ITEM,
    "gpt-6-pro-2026-10-01": ITEM,
    "gpt-5.6-sol": ITEM,
    "gpt-5.6-luna": ITEM,
    "gpt-6-astra": ITEM,
    "gpt-6.1-terra": ITEM,
    "gpt-6.2-astra": ITEM,
    "gpt-5.4-nano": NONE,
    "gpt-5.4-nano-2026-03-17": NONE,
    "gpt-5": NONE,
    "gpt-5-2025-08-07": NONE,
    "gpt-5.2-pro": NONE,
    "gpt-5.3-chat-latest": NONE,
    "gpt-5.1-codex-max": NONE,
    "gpt-5.6-cyber": NONE,
    "gpt-6.2-astra-law": NONE,
    "gpt-4.1": NONE,
    "gpt-4o": NONE,
    "o3-pro": NONE,
    "gpt-5.40": NONE,
    "gpt-54": NONE,
    "gpt-5.4-2026-3-17": NONE,
    "gpt-5.4-": NONE,
    "ft:gpt-5.4:acme::abc": NONE,
    "openai/gpt-5.4": NONE,
    "gpt-5.4\n": NONE,
}


@pytest.mark.parametrize("model", CLAUDE)
def test_a_claude_model_is_known_by_its_whole_name(model: str) -> None:
    assert capability_for(Api.ANTHROPIC_MESSAGES, model, base_url=ANTHROPIC) is CLAUDE[model]


@pytest.mark.parametrize("model", GPT)
def test_a_gpt_model_is_known_by_its_whole_name(model: str) -> None:
    assert capability_for(Api.OPENAI_RESPONSES, model, base_url=OPENAI) is GPT[model]


def test_every_claude_model_that_the_sdk_lists_is_in_the_table() -> None:
    listed = [name for part in get_args(Model) for name in get_args(part)]
    assert len(listed) >= 20
    assert {capability_for(Api.ANTHROPIC_MESSAGES, name, base_url=ANTHROPIC) for name in listed} == {REFERENCES}


@pytest.mark.parametrize(
    "base_url",
    [
        "https://gateway.example",
        "https://api.anthropic.com.gateway.example",
        "https://gateway.example/api.anthropic.com",
        "https://api.anthropic.com@gateway.example",
        "https://proxy.api.anthropic.com",
        "https://api.anthropic.com:8443",
        "http://api.anthropic.com",
        "https://bedrock-runtime.us-east-1.amazonaws.com",
        "http://127.0.0.1:4000",
        OPENAI,
        "",
    ],
)
def test_nothing_is_guessed_for_another_endpoint(base_url: str) -> None:
    assert capability_for(Api.ANTHROPIC_MESSAGES, "claude-opus-5", base_url=base_url) is NONE


@pytest.mark.parametrize("base_url", ["https://api.anthropic.com/", "https://API.anthropic.com:443/v1"])
def test_the_vendors_endpoint_may_be_spelt_in_other_ways(base_url: str) -> None:
    assert capability_for(Api.ANTHROPIC_MESSAGES, "claude-opus-5", base_url=base_url) is REFERENCES


def test_a_base_url_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="IPv6"):
        capability_for(Api.ANTHROPIC_MESSAGES, "claude-opus-5", base_url="https://[api")


def test_the_clients_say_where_their_requests_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with Anthropic(api_key="k") as claude, OpenAI(api_key="k") as gpt:
        at_home = str(claude.base_url)
        assert capability_for(Api.ANTHROPIC_MESSAGES, "claude-opus-5", base_url=at_home) is REFERENCES
        assert capability_for(Api.OPENAI_RESPONSES, "gpt-6-sol", base_url=str(gpt.base_url)) is ITEM
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://gateway.example")
    with Anthropic(api_key="k") as claude:
        behind_gateway = str(claude.base_url)
    assert capability_for(Api.ANTHROPIC_MESSAGES, "claude-opus-5", base_url=behind_gateway) is NONE


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-6-sol", "x"])
@pytest.mark.parametrize("override", Capability)
@pytest.mark.parametrize("base_url", [ANTHROPIC, OPENAI, "https://gateway.example"])
@pytest.mark.parametrize("api", Api)
def test_a_flag_holds_over_everything_but_what_the_api_has_no_form_for(
    api: Api, base_url: str, override: Capability, model: str
) -> None:
    forms = {Api.ANTHROPIC_MESSAGES: {REFERENCES}, Api.OPENAI_RESPONSES: {ITEM, SEARCH}}.get(api, set())
    expected = override if override in forms else NONE
    assert capability_for(api, model, base_url=base_url, override=override) is expected


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-6-sol"])
@pytest.mark.parametrize(
    ("api", "base_url"),
    [
        (Api.OPENAI_CHAT_COMPLETIONS, OPENAI),
        # A vendor's endpoint that speaks the other's format: compatibility layers know the protocol of neither.
        (Api.OPENAI_RESPONSES, ANTHROPIC),
        (Api.OPENAI_CHAT_COMPLETIONS, ANTHROPIC),
    ],
)
def test_chat_completions_and_foreign_formats_load_nothing(api: Api, base_url: str, model: str) -> None:
    assert capability_for(api, model, base_url=base_url) is NONE


@given(
    known=st.sampled_from([name for name, capability in {**CLAUDE, **GPT}.items() if capability is not NONE]),
    before=st.text(max_size=3),
    after=st.text(max_size=3),
)
def test_what_stands_around_a_known_name_makes_it_another(known: str, before: str, after: str) -> None:
    model = f"{before}{known}{after}"
    for api, base_url in HOME.items():
        capability = capability_for(api, model, base_url=base_url)
        # One more digit can be the version of a later model; nothing else makes a known name of a known one.
        assert capability is NONE or not before
        assert capability is NONE or re.fullmatch(r"|[-.][0-9]|-[a-z]{3}", after)


@given(
    model=st.text(max_size=40),
    base_url=st.sampled_from(["https://gateway.example/v1", "http://localhost:1", "file:///api.openai.com"]),
    api=st.sampled_from(Api),
)
def test_no_name_makes_a_gateway_first_party(model: str, base_url: str, api: Api) -> None:
    assert capability_for(api, model, base_url=base_url) is NONE


@pytest.mark.parametrize(("api", "older", "newer"), [("openai_responses", "tool_search", "additional_tools")])
def test_of_two_forms_the_newer_needs_the_later_version_in_every_family(api: str, older: str, newer: str) -> None:
    path = Path(str(progressive.native.__file__)).with_name("models.toml")
    since = tomllib.loads(path.read_text(encoding="utf-8"))[api]["since"]
    shared = since[older].keys() & since[newer].keys()
    assert shared
    assert all(since[older][family] < since[newer][family] for family in shared)
