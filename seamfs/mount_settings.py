"""A table `[mounts.NAME]` of the settings: one other MCP server whose tools are offered too."""

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

if TYPE_CHECKING:
    from progressive.gateway.mounts import Mount

__all__ = ["MountSettings"]


def _split(value: object) -> object:
    return shlex.split(value) if isinstance(value, str) else value


class MountSettings(BaseModel):
    """How a server is started (`command`) or reached (`url`).

    Raises:
        ValidationError: On construction: neither or both of the two, what belongs to the other one, a variable or
            header given twice, or a command that cannot be split.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    command: Annotated[tuple[str, ...] | None, BeforeValidator(_split)] = Field(
        default=None, description="program and arguments; a text is split as a shell would, and no shell is involved"
    )
    env: dict[str, SecretStr] = Field(
        default={}, description="variables of the process, besides PATH, HOME and the like"
    )
    env_from: tuple[str, ...] = Field(default=(), description="variables of our own environment that it gets too")
    cwd: Path | None = Field(default=None, description="where it runs; by default where this process does")
    url: SecretStr | None = Field(default=None, description="streamable HTTP endpoint; it may hold credentials")
    headers: dict[str, SecretStr] = Field(default={}, description="sent with every request")
    headers_from: dict[str, str] = Field(default={}, description="the same, from variables of our own environment")

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("give either command or url")
        foreign = ("headers", "headers_from") if self.url is None else ("env", "env_from", "cwd")
        misplaced = [key for key in foreign if getattr(self, key)]
        if misplaced:
            raise ValueError(f"{', '.join(misplaced)}: not for a {'command' if self.url is None else 'url'}")
        _refuse_twice("env", self.env, self.env_from)
        _refuse_twice("headers", map(str.lower, self.headers), map(str.lower, self.headers_from))
        return self

    def mount(self, name: str) -> "Mount":
        """Return the mount, with what it takes from the environment of this process.

        Raises:
            ValueError: A variable is not set, or a name, URL or value cannot be used; secrets are not in the message.
        """
        from progressive.gateway.mounts import HttpMount, StdioMount

        if self.url is not None:
            sent = {header: self._variable(name, "headers_from", key) for header, key in self.headers_from.items()}
            return HttpMount(name=name, url=self.url.get_secret_value(), headers={**self.headers, **sent})
        passed_on = {key: self._variable(name, "env_from", key) for key in self.env_from}
        return StdioMount(name=name, command=self.command or (), env={**self.env, **passed_on}, cwd=self.cwd)

    @staticmethod
    def _variable(name: str, setting: str, variable: str) -> SecretStr:
        if variable not in os.environ:
            raise ValueError(f"mount {name}: {setting}: {variable} is not set in the environment")
        return SecretStr(os.environ[variable])


def _refuse_twice(setting: str, given: Iterable[str], taken: Iterable[str]) -> None:
    twice = sorted(set(given).intersection(taken))
    if twice:
        raise ValueError(f"{', '.join(twice)}: given in {setting} and in {setting}_from")
