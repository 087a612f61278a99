"""Root URLs before any store is asked: scheme, secrets, and what may be shown of them. Pure."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, unquote_to_bytes

from fs_core.errors import InvalidPath, Unsupported

__all__ = ["HTTP_SCHEMES", "RootUrl", "local_path", "parse_root_url"]

HTTP_SCHEMES: Final = frozenset({"http", "https"})

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+._-]*)(?=://|::)")
_LINK = re.compile(r"([A-Za-z][A-Za-z0-9+._-]*)://([^/?#]*)(.*)", re.DOTALL)
_IPV6_WITH_GAP = re.compile(r"\[[0-9A-Fa-f:.]*::[0-9A-Fa-f:.]*\]")
_PORT = re.compile(r"[0-9]*")
_COLON_IN_USER: Final = frozenset({"github"})
"""fsspec writes `github://organisation:repository@ref/`: no password."""


@dataclass(frozen=True, slots=True)
class RootUrl:
    """A root as it was given. `scheme` is lower case, empty for a plain path; `links` are the parts of a chain.

    `public` is the URL without a query, without a trailing `/`, and fit to be shown.
    """

    scheme: str
    text: str

    @property
    def links(self) -> tuple[str, ...]:
        """Return the parts of a chain `zip://::https://host/a.zip`, outermost first; one part for a plain URL."""
        if self.has_ipv6_gap:
            return (self.text,)
        return tuple(self.text.split("::"))

    @property
    def has_query(self) -> bool:
        """Whether this is a web address with a query or a fragment, which can have nothing below it."""
        return self.scheme in HTTP_SCHEMES and "?" in self.text.replace("#", "?")

    @property
    def has_ipv6_gap(self) -> bool:
        """Whether an address such as `[::1]` is in it, which fsspec takes for a chain."""
        return _IPV6_WITH_GAP.search(self.text) is not None

    @property
    def chain_schemes(self) -> tuple[str, ...]:
        """Return the scheme of each link that has one, `simplecache` of `simplecache::` included."""
        return tuple(found[1].lower() for link in self.links if (found := _SCHEME.match(f"{link}::")) is not None)

    @property
    def public(self) -> str:
        """Return what may be shown: a query can carry a signature, so it is cut."""
        shown = "::".join(_without_query(link) for link in self.links)
        trimmed = shown.rstrip("/")
        return f"{trimmed}//" if trimmed.endswith(":") and not trimmed.endswith("::") else trimmed


def parse_root_url(url: str) -> RootUrl:
    """Return `url` taken apart.

    Raises:
        InvalidPath: blank, or a NUL in it.
        Unsupported: it holds a password, which would end up in logs and process lists. The message repeats nothing
            of the URL but its scheme.
    """
    if not url.strip() or "\0" in url:
        reason = "the root is blank or holds a NUL; give a directory or a URL such as s3://bucket/prefix"
        raise InvalidPath(reason, path=".", operation="open")
    found = _SCHEME.match(url)
    if found is None:
        return RootUrl(scheme="", text=url)
    scheme = found[1].lower()
    root = RootUrl(scheme=scheme, text=scheme + url[found.end() :])
    for link in root.links:
        if _holds_password(link):
            reason = (
                "a password in a URL is not accepted; leave it out and give it by the store's own options, "
                "environment or configuration file"
            )
            raise Unsupported(reason, path=f"{scheme}://", operation="open")
    return root


def local_path(root: RootUrl) -> Path:
    """Return the path of this machine that a plain path or a `file:` URL names.

    A plain path is taken as it is. A URL is percent-decoded once; `?` and `#` in it are plain characters.

    Raises:
        InvalidPath: another host, a relative path, or a NUL in the URL.
    """
    if root.text[:5].lower() != "file:":
        return Path(root.text)
    rest = root.text[5:]
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        rest = slash + path if host.lower() in {"", "localhost"} else ""
    path = os.fsdecode(unquote_to_bytes(rest))
    if not path.startswith("/") or "\0" in path:
        reason = "a file: URL needs an absolute path and no other host, such as file:///home/me/repo"
        raise InvalidPath(reason, path=root.public, operation="open")
    return Path(path)


def _holds_password(link: str) -> bool:
    found = _LINK.match(link)
    if found is None or found[1].lower() in _COLON_IN_USER:
        return False
    authority, rest = found[2], found[3]
    user, at, _ = authority.rpartition("@")
    if at:
        # A lone user of a web address is a token as a rule; a colon may be percent-encoded.
        return ":" in unquote(user) or found[1].lower() in HTTP_SCHEMES
    # A password with an unescaped / ends the authority early: what looks like a port is then no number.
    port = authority.rpartition(":")[2] if ":" in authority and not authority.endswith("]") else ""
    return "@" in rest and _PORT.fullmatch(port) is None


def _without_query(link: str) -> str:
    found = _LINK.match(link)
    if found is None or found[1].lower() not in HTTP_SCHEMES:
        return link
    return re.split(r"[?#]", link, maxsplit=1)[0]
