"""Which host keys are trusted, in the format of OpenSSH's known_hosts (sshd(8)). Pure.

Host patterns, hashed names and `@revoked` are honoured. A `@cert-authority` line trusts no key by itself and is passed
over: certificates of hosts are not verified here.
"""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from enum import Enum, auto

__all__ = ["KnownHost", "Verdict", "host_label", "judge", "known_key_types", "parse_known_hosts"]

_SSH_PORT = 22


class Verdict(Enum):
    """What known_hosts says about a key."""

    TRUSTED = auto()
    UNKNOWN = auto()
    CHANGED = auto()
    REVOKED = auto()


@dataclass(frozen=True, slots=True)
class KnownHost:
    """One line: for which hosts which key is trusted, or revoked."""

    patterns: str
    key_type: str
    key: bytes
    is_revoked: bool = False

    def names(self, label: str) -> bool:
        """Tell whether this line is about the host `label`."""
        if self.patterns.startswith("|1|"):
            return _matches_hash(self.patterns, label)
        is_named = False
        for pattern in self.patterns.lower().split(","):
            if _matches_pattern(pattern.removeprefix("!"), label.lower()):
                if pattern.startswith("!"):
                    return False
                is_named = True
        return is_named


def host_label(host: str, port: int) -> str:
    """Return how known_hosts calls a host at a port."""
    return host if port == _SSH_PORT else f"[{host}]:{port}"


def parse_known_hosts(text: str) -> tuple[KnownHost, ...]:
    """Return the usable lines of a known_hosts file; a malformed line trusts nothing."""
    lines = (_parse_line(line) for line in text.splitlines())
    return tuple(line for line in lines if line is not None)


def _parse_line(line: str) -> KnownHost | None:
    fields = line.split()
    is_revoked = bool(fields) and fields[0] == "@revoked"
    if is_revoked:
        fields = fields[1:]
    if len(fields) < 3 or fields[0].startswith(("#", "@")):  # noqa: PLR2004 - hosts, type, key
        return None
    try:
        key = base64.b64decode(fields[2], validate=True)
    except binascii.Error:
        return None
    return KnownHost(patterns=fields[0], key_type=fields[1], key=key, is_revoked=is_revoked)


def judge(lines: tuple[KnownHost, ...], label: str, key: bytes) -> Verdict:
    """Return what `lines` say about `key` shown by the host `label`."""
    about = [line for line in lines if line.names(label)]
    if any(line.is_revoked and line.key == key for line in about):
        return Verdict.REVOKED
    trusted = [line for line in about if not line.is_revoked]
    if any(line.key == key for line in trusted):
        return Verdict.TRUSTED
    return Verdict.CHANGED if trusted else Verdict.UNKNOWN


def known_key_types(lines: tuple[KnownHost, ...], label: str) -> tuple[str, ...]:
    """Return the types of the keys that are trusted for `label`, so that one of those is asked for."""
    return tuple(dict.fromkeys(line.key_type for line in lines if not line.is_revoked and line.names(label)))


def _matches_pattern(pattern: str, label: str) -> bool:
    """Match `*` and `?` alone: brackets belong to the label of a host with a port."""
    expression = "".join({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in pattern)
    return re.fullmatch(expression, label) is not None


def _matches_hash(hashed: str, label: str) -> bool:
    """Match the `HashKnownHosts` form `|1|salt|HMAC-SHA1(salt, label)`."""
    try:
        salt, digest = (base64.b64decode(part, validate=True) for part in hashed[3:].split("|"))
    except ValueError:
        return False
    return hmac.compare_digest(hmac.new(salt, label.encode(), hashlib.sha1).digest(), digest)
