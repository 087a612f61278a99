"""Who may reach the server over HTTP: addresses, tokens, and the names in Host and Origin."""

import hmac
import ipaddress
import os
from pathlib import Path
from typing import Final

from mcp.server.transport_security import TransportSecuritySettings
from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from seamfs.config import BadSettingError, HttpSettings

__all__ = ["BearerGuard", "choose_token", "parse_address", "transport_security"]

LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
TOKEN_CHARS_MIN: Final = 16


class BearerGuard:
    """Answers 401 to every request that does not carry the token."""

    def __init__(self, app: ASGIApp, *, token: SecretStr) -> None:
        self._app = app
        self._expected = f"bearer {token.get_secret_value()}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "http" and not self._admits(Headers(scope=scope)):
            refusal = JSONResponse(
                {"error": "invalid_token", "error_description": "this server needs its bearer token"},
                status_code=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _admits(self, headers: Headers) -> bool:
        kind, _, token = headers.get("authorization", "").partition(" ")
        # Compared in constant time, so that answers do not tell how much of a guess was right.
        return hmac.compare_digest(f"{kind.lower()} {token.strip()}".encode(), self._expected)


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT` or `[IPV6]:PORT`; port 0 is any free one.

    Raises:
        BadSettingError: It is no such address.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - the largest TCP port
        raise BadSettingError(f"--http: expected HOST:PORT, such as 127.0.0.1:8000, got {text!r}")
    return host, int(port)


def choose_token(settings: HttpSettings, *, host: str, variable: str | None) -> SecretStr | None:
    """Return the token that requests must carry, `None` for an open server on a loopback address.

    Args:
        settings: May hold the token or name its file.
        host: The address to bind.
        variable: Environment variable to take the token from instead.

    Raises:
        BadSettingError: The token cannot be had or is too short, or `host` is reachable from elsewhere without one.
    """
    token, source = _token(settings, variable)
    if token is None:
        if is_loopback(host):
            return None
        raise BadSettingError(
            f"--http: {host} can be reached from other machines, so a bearer token is needed: put one into an "
            "environment variable and name it with --token-env, or set http.token_file"
        )
    if len(token) < TOKEN_CHARS_MIN or not token.isascii() or not token.isprintable() or " " in token:
        raise BadSettingError(f"{source}: a token is at least {TOKEN_CHARS_MIN} printable ASCII characters, no spaces")
    return SecretStr(token)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address. A name other than localhost may mean anything."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def transport_security(settings: HttpSettings, *, host: str) -> TransportSecuritySettings:
    """Return which names a request may give in Host and Origin: a page in a browser must not reach us by another."""
    bound = f"[{host}]" if ":" in host else host
    names = (*LOOPBACK_NAMES, bound, *settings.allowed_hosts)
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{form}" for scheme in ("http", "https") for name in names for form in (name, f"{name}:*")
        ],
    )


def _token(settings: HttpSettings, variable: str | None) -> tuple[str | None, str]:
    if variable is not None:
        if variable not in os.environ:
            raise BadSettingError(f"--token-env: the environment variable {variable} is not set")
        return os.environ[variable].strip(), variable
    if settings.token_file is not None:
        return _token_of(settings.token_file), "http.token_file"
    return (None if settings.token is None else settings.token.get_secret_value().strip()), "http.token"


def _token_of(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not text"
        raise BadSettingError(f"http.token_file: {file}: {reason}") from None
