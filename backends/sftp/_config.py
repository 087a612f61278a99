"""Where a host is and how to log in: the URL, OpenSSH's client configuration, and the options that override it."""

import getpass
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast
from urllib.parse import unquote

import paramiko

from backends.options import SftpOptions
from backends.sftp._known_hosts import KnownHost, parse_known_hosts
from fs_core.errors import InvalidPath

__all__ = ["Address", "Hop", "Location", "find_route", "parse_url"]

_SSH_PORT: Final = 22
_JUMPS_MAX: Final = 8
_INCLUDE_DEPTH_MAX: Final = 16
_SHELL_CHARACTERS: Final = frozenset(" \\'\"`$;&<>|(){}")
_DEFAULT_IDENTITIES: Final = ("id_ed25519", "id_ecdsa", "id_rsa")
_URL = re.compile(
    r"sftp://(?:(?P<user>[^@/]*)@)?(?P<host>\[[^\]/]+\]|[^:/@\[\]]+)(?::(?P<port>\d{1,5}))?(?P<path>/.*)?", re.DOTALL
)
_JUMP = re.compile(r"(?:ssh://)?(?:(?P<user>[^@]*)@)?(?P<host>\[[^\]]+\]|[^:@\[\]]+)(?::(?P<port>\d{1,5}))?/?")


@dataclass(frozen=True, slots=True)
class Address:
    """A host as somebody wrote it; what is `None` comes from the configuration."""

    host: str
    user: str | None = None
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Location:
    """What an `sftp://` URL names. `shown_authority` is `[user@]host[:port]` as given, `raw_path` before decoding."""

    address: Address
    path: str
    raw_path: str
    shown_authority: str
    bare_authorities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hop:
    """One SSH connection: a jump host, or the server itself. Holds no secret."""

    host: str
    port: int
    user: str
    label_host: str
    """What known_hosts calls it: `HostKeyAlias`, or the host's own name."""
    known_hosts: tuple[KnownHost, ...]
    known_hosts_file: Path
    """Where a key that is trusted from now on belongs."""
    identities: tuple[Path, ...]
    identities_are_configured: bool
    identities_only: bool
    proxy_command: str | None
    connect_timeout_s: float


def parse_url(url: str) -> Location:
    """Return what `sftp://[user@]host[:port]/path` names; path and user are percent-decoded once.

    Raises:
        InvalidPath: no such URL, or one with a password, which is not repeated.
    """
    match = _URL.fullmatch(url)
    if match is None:
        shown = re.sub(r"//.*@", "//...@", url, count=1)
        reason = "is no SFTP URL; write sftp://[user@]host[:port]/directory"
        raise InvalidPath(reason, path=shown, operation="open")
    raw_user, raw_host, raw_port, raw_path = match.group("user", "host", "port", "path")
    shown_host = raw_host if raw_port is None else f"{raw_host}:{raw_port}"
    if raw_user is not None and ":" in raw_user:
        reason = "a URL must not hold a password; use a key, the agent, or SEAMFS_SFTP__PASSWORD"
        raise InvalidPath(reason, path=f"sftp://{shown_host}{raw_path or ''}", operation="open")
    if not raw_path or "\0" in unquote(raw_path):
        reason = "names no directory; write sftp://[user@]host[:port]/directory"
        raise InvalidPath(reason, path=f"sftp://{shown_host}", operation="open")
    user = unquote(raw_user) if raw_user else None
    port = int(raw_port) if raw_port else None
    prefix = f"{raw_user}@" if raw_user else ""
    return Location(
        address=Address(host=raw_host.strip("[]"), user=user, port=port),
        path=unquote(raw_path),
        raw_path=raw_path,
        shown_authority=f"{prefix}{shown_host}",
        bare_authorities=tuple(dict.fromkeys((f"{prefix}{shown_host}", shown_host, f"{prefix}{raw_host}", raw_host))),
    )


def find_route(address: Address, options: SftpOptions) -> tuple[Hop, ...]:
    """Return the hosts to pass, jump hosts first. Reads the configuration and known_hosts files.

    Raises:
        InvalidPath: the configuration cannot be used.
    """
    try:
        text = _load_config(options)
        own = _look_up(address, text)
        hops = [_hop(jump, _look_up(jump, text), options, is_target=False) for jump in _jumps(own, text)]
        return (*hops, _hop(address, own, options, is_target=True))
    except (OSError, ValueError, paramiko.SSHException) as error:
        reason = f"the SSH configuration cannot be used: {error}"
        raise InvalidPath(reason, path=f"sftp://{address.host}", operation="open") from error


def _load_config(options: SftpOptions) -> str:
    """Return the one file that was given, or the user's and then the system's, as ssh(1) reads them."""
    if options.config_file is not None:
        return _with_includes(options.config_file, depth=0)
    files = (Path.home() / ".ssh" / "config", Path("/etc/ssh/ssh_config"))
    return "".join(_with_includes(file, depth=0) + "Host *\n" for file in files if file.is_file())


def _look_up(address: Address, text: str) -> paramiko.SSHConfigDict:
    """Return the settings of a host; what the address says goes before, in `%p` and `%r` too.

    Host and user end up in shell commands of the configuration (`ProxyCommand`, `Match exec`). ssh(1) refuses the same
    characters in them since OpenSSH 9.6.
    """
    for what in (address.host, address.user or ""):
        if what.startswith("-") or not what.isprintable() or _SHELL_CHARACTERS & set(what):
            raise ValueError(f"{what!r} is no name of a host or user")
    port = f"Port {address.port}\n" if address.port else ""
    user = f"User {address.user}\n" if address.user else ""
    return paramiko.SSHConfig.from_text(f"{port}{user}Host *\n{text}").lookup(address.host)


def _with_includes(file: Path, *, depth: int) -> str:
    """Return the text of a configuration with its `Include` lines replaced by what they name.

    Paramiko knows no `Include`. A block that the included text opens ends with it, as ssh_config(5) says.
    """
    lines: list[str] = []
    block = "Host *"
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        keyword, _, value = line.strip().replace("=", " ", 1).partition(" ")
        if keyword.lower() in {"host", "match"}:
            block = line
        if keyword.lower() == "include" and depth < _INCLUDE_DEPTH_MAX:
            lines.extend(_with_includes(path, depth=depth + 1) for path in _included(value, file))
            lines.append(block)
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _included(value: str, file: Path) -> list[Path]:
    base = file.parent if file.is_relative_to("/etc/ssh") else Path.home() / ".ssh"
    patterns = (base / Path(pattern.strip('"')).expanduser() for pattern in value.split())
    return [found for pattern in patterns for found in sorted(_glob(pattern)) if found.is_file()]


def _glob(pattern: Path) -> Iterator[Path]:
    return Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))


def _jumps(own: paramiko.SSHConfigDict, config: str) -> list[Address]:
    """Return the jump hosts of `ProxyJump`, those of the first jump host itself included."""
    jumps: list[Address] = []
    text = own.get("proxyjump", "none")
    while text.lower() != "none":
        found = [_parse_jump(part) for part in text.split(",")]
        jumps = found + jumps
        if len(jumps) > _JUMPS_MAX:
            raise ValueError(f"ProxyJump passes more than {_JUMPS_MAX} hosts")
        text = _look_up(found[0], config).get("proxyjump", "none")
    return jumps


def _parse_jump(text: str) -> Address:
    match = _JUMP.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"ProxyJump {text!r} is no [user@]host[:port]")
    user, host, port = match.group("user", "host", "port")
    return Address(host=host.strip("[]"), user=user or None, port=int(port) if port else None)


def _hop(address: Address, own: paramiko.SSHConfigDict, options: SftpOptions, *, is_target: bool) -> Hop:
    user_files = _known_hosts_files(own, options)
    global_files = _paths(own.get("globalknownhostsfile", "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"))
    host = own.get("hostname", address.host)
    given = (options.identity_file,) if is_target and options.identity_file is not None else ()
    configured = tuple(Path(name).expanduser() for name in cast("list[str]", own.get("identityfile", [])))
    defaults = tuple(Path.home() / ".ssh" / name for name in _DEFAULT_IDENTITIES)
    command = own.get("proxycommand")
    return Hop(
        host=host,
        port=int(own.get("port", _SSH_PORT)),
        user=own.get("user") or getpass.getuser(),
        label_host=own.get("hostkeyalias", host),
        known_hosts=tuple(line for file in (*user_files, *global_files) for line in _read_known_hosts(file)),
        known_hosts_file=user_files[0],
        identities=given or configured or defaults,
        identities_are_configured=bool(given or configured),
        identities_only=own.get("identitiesonly", "no").lower() == "yes",
        proxy_command=None if "proxyjump" in own and own["proxyjump"].lower() != "none" else command,
        connect_timeout_s=_connect_timeout_s(own, options),
    )


def _known_hosts_files(own: paramiko.SSHConfigDict, options: SftpOptions) -> tuple[Path, ...]:
    if options.known_hosts_file is not None:
        return (options.known_hosts_file,)
    return _paths(own.get("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2"))


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(Path(name.strip('"')).expanduser() for name in text.split())


def _read_known_hosts(file: Path) -> tuple[KnownHost, ...]:
    return parse_known_hosts(file.read_text(encoding="utf-8", errors="replace")) if file.is_file() else ()


def _connect_timeout_s(own: paramiko.SSHConfigDict, options: SftpOptions) -> float:
    """Return the option where it was set, else `ConnectTimeout`, else the option's default."""
    configured = own.get("connecttimeout", "none")
    if "connect_timeout_s" in options.model_fields_set or not configured.isdigit() or int(configured) == 0:
        return options.connect_timeout_s
    return float(configured)
