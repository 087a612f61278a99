"""Two agents from npm, each in a home of its own, with the scripted model as the only host they reach."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import pytest

__all__ = ["AgentClient", "ClientName"]

ClientName = Literal["claude", "opencode"]

_TIMEOUT_S: Final = 240
_PROGRAMS: Final = Path(sys.prefix) / "clients" / "node_modules" / ".bin"
_NOWHERE: Final = "http://127.0.0.1:9"
"""A proxy that is none, for whatever is not on this machine."""


@dataclass(frozen=True, slots=True)
class AgentClient:
    """A client that is ready to run in its own directory.

    Attributes:
        name: The program.
        prefix: What it puts before the name of a tool of the server `files`.
        directory: Where it runs, and has its files.
    """

    name: ClientName
    prefix: str
    directory: Path

    @property
    def _home(self) -> Path:
        return self.directory / "home"

    def run(self, command: str, *, model_url: str, variables: dict[str, str]) -> str:
        """Run a shell command with the client's model at `model_url`; return what it printed."""
        self._home.mkdir(exist_ok=True)
        done = subprocess.run(
            ["bash", "-euc", command],
            capture_output=True,
            cwd=self.directory,
            env=self._environment(model_url) | variables,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _environment(self, model_url: str) -> dict[str, str]:
        """Return all that the client knows of the world: neither this user's settings nor a way out."""
        common = {
            "PATH": f"{_PROGRAMS}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self._home),
            "HTTP_PROXY": _NOWHERE,
            "HTTPS_PROXY": _NOWHERE,
            "NO_PROXY": "127.0.0.1,localhost",
        }
        match self.name:
            case "claude":
                return common | {
                    "ANTHROPIC_BASE_URL": model_url,
                    "ANTHROPIC_API_KEY": "none",
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                    "DISABLE_AUTOUPDATER": "1",
                }
            case "opencode":
                return common | {
                    "OPENCODE_CONFIG_CONTENT": json.dumps(_opencode_model(model_url)),
                    "OPENCODE_DISABLE_AUTOUPDATE": "1",
                    "OPENCODE_DISABLE_MODELS_FETCH": "1",
                }


def _opencode_model(model_url: str) -> dict[str, object]:
    provider: dict[str, object] = {
        "npm": "@ai-sdk/anthropic",
        "options": {"baseURL": f"{model_url}/v1", "apiKey": "none"},
        "models": {"script": {}},
    }
    return {"provider": {"scripted": provider}, "model": "scripted/script", "small_model": "scripted/script"}


@pytest.fixture
def claude(tmp_path: Path) -> AgentClient:
    """Claude Code."""
    return _client("claude", "mcp__files__", tmp_path)


@pytest.fixture
def opencode(tmp_path: Path) -> AgentClient:
    """OpenCode."""
    return _client("opencode", "files_", tmp_path)


def _client(name: ClientName, prefix: str, tmp_path: Path) -> AgentClient:
    if shutil.which(name, path=_PROGRAMS) is None:
        pytest.fail(f"{name} is not installed; run `make clients`")
    directory = tmp_path / name
    directory.mkdir()
    return AgentClient(name, prefix, directory)
