"""Redirects of a web server that lead to where only this machine can go."""

import ipaddress
import socket
from types import SimpleNamespace

import aiohttp
from anyio import getaddrinfo
from yarl import URL

from backends.generic._faults import RedirectRefusedError

__all__ = ["is_global", "redirect_guard", "stays"]


def redirect_guard() -> aiohttp.TraceConfig:
    """Return what makes a session refuse such redirects.

    Within one host they are followed, and so are those to public addresses. A server on the Internet shall not make
    us ask one that is behind our own firewall, such as the metadata service of a cloud.
    """
    guard = aiohttp.TraceConfig()
    guard.on_request_redirect.append(_refuse_inward)
    return guard


async def _refuse_inward(
    session: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestRedirectParams
) -> None:
    del session, context
    try:
        target = params.url.join(URL(params.response.headers.get("Location", "")))
    except ValueError:
        return  # no URL, which is told by who follows it
    if stays(params.url, target) or await _is_public(target):
        return
    params.response.close()
    raise RedirectRefusedError


def stays(origin: URL, target: URL) -> bool:
    """Tell whether a redirect leads to the same server, or raises the same host to https."""
    return target.host == origin.host and (
        target.port == origin.port or (origin.scheme, target.scheme) == ("http", "https")
    )


async def _is_public(target: URL) -> bool:
    try:
        found = await getaddrinfo(target.host or "", target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return True  # no such host, so there will be no connection either
    return all(is_global(entry[4][0]) for entry in found)


def is_global(address: str) -> bool:
    """Tell whether an address is public, one of IPv4 within IPv6 included."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_global
