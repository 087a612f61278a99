"""Which servers to mount."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from pydantic import SecretStr

__all__ = ["HttpMount", "Mount", "StdioMount", "revealed"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

_OWN_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioMount:
    """A server that is started as a process and spoken to over its standard streams.

    Attributes:
        name: Middle part of the names of its tools.
        command: Program and arguments; no shell is involved.
        env: Added to the few variables that every process gets (`PATH`, `HOME`, `LANG` and the like).
        cwd: Where it runs; by default where this process does.

    Raises:
        ValueError: A name or variable that cannot be used, or an empty command.
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, SecretStr | str] = field(default_factory=dict[str, SecretStr | str], repr=False)
    cwd: Path | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not self.command or not self.command[0].strip():
            raise ValueError(f"mount {self.name}: the command is empty")
        if any("\0" in part for part in self.command):
            raise ValueError(f"mount {self.name}: the command holds a NUL character")
        for variable, value in revealed(self.env).items():
            if not variable or "=" in variable or "\0" in variable or "\0" in value:
                raise ValueError(f"mount {self.name}: {variable!r} cannot be set as an environment variable")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HttpMount:
    """A server that is reached over streamable HTTP.

    Attributes:
        name: Middle part of the names of its tools.
        url: Its endpoint; user, password and query are sent and never shown.
        headers: Sent with every request to it, and to no other origin.

    Raises:
        ValueError: A name, URL or header that cannot be used.
    """

    name: str
    url: str
    headers: Mapping[str, SecretStr | str] = field(default_factory=dict[str, SecretStr | str])

    def __post_init__(self) -> None:
        _check_name(self.name)
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or not self.url.isprintable():
            # The URL itself stays out of the message: it may hold credentials.
            raise ValueError(f"mount {self.name}: the URL must be http:// or https:// with a host")
        for header, value in revealed(self.headers).items():
            if not _HEADER_NAME.fullmatch(header) or not _HEADER_VALUE.fullmatch(value):
                raise ValueError(f"mount {self.name}: {header!r} cannot be sent as a header")
            if header.lower() in _OWN_HEADERS or header.lower().startswith("mcp-"):
                raise ValueError(f"mount {self.name}: the header {header!r} belongs to the protocol")

    def __repr__(self) -> str:
        return f"HttpMount(name={self.name!r}, url={self.address!r})"

    @property
    def address(self) -> str:
        """The URL without user, password, query and fragment."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


Mount: TypeAlias = StdioMount | HttpMount


def revealed(values: Mapping[str, SecretStr | str]) -> dict[str, str]:
    """Return the values themselves."""
    return {key: value.get_secret_value() if isinstance(value, SecretStr) else value for key, value in values.items()}


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or "__" in name:
        raise ValueError(f"mount name {name!r}: 1 to 32 of A-Z a-z 0-9 _ -, without two _ in a row")
