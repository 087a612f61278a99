"""Logging in: configured keys first, then the agent's, then a password; few tries, because servers count them."""

import base64
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import paramiko
from pydantic import SecretStr

from backends.sftp._config import Hop

__all__ = ["Identities", "LoginFailure", "log_in"]

_KEY_KINDS: Final = (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey)


@dataclass(frozen=True, slots=True)
class Identities:
    """What there is to log in with, besides the files that the hop names."""

    password: SecretStr | None
    passphrase: SecretStr | None
    use_agent: bool


@dataclass(frozen=True, slots=True)
class LoginFailure:
    """Why the login did not succeed, in one line, and whether it may if it is tried again."""

    reason: str
    retryable: bool


@dataclass(slots=True)
class _Attempt:
    """What was tried on one connection before `deadline_s`, for the text of the failure."""

    transport: paramiko.Transport
    deadline_s: float
    tried: list[str] = field(default_factory=list[str])
    unusable: list[str] = field(default_factory=list[str])
    is_refused: bool = False
    is_lost: bool = False

    @property
    def is_silent(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.deadline_s

    @property
    def is_over(self) -> bool:
        """Whether nothing more can be tried on this connection."""
        return self.is_lost or self.is_silent or not self.transport.is_active()

    def offer(self, name: str, login: Callable[[], list[str]]) -> list[str] | None:
        """Try one key or password; return what the server wants besides, `None` if it did not take this one."""
        self.tried.append(name)
        self.transport.auth_timeout = max(self.deadline_s - time.monotonic(), 0.01)
        try:
            return login()
        except paramiko.AuthenticationException:
            self.is_refused = self.is_refused or not self.is_over
        except Exception:  # noqa: BLE001 - whatever ended paramiko's thread comes out here, a failed integrity check too
            self.is_lost = True
        return None


def log_in(transport: paramiko.Transport, hop: Hop, identities: Identities, *, timeout_s: float) -> LoginFailure | None:
    """Authenticate; return `None`, or why there is no login."""
    attempt = _Attempt(transport, time.monotonic() + timeout_s)
    agent = paramiko.Agent() if identities.use_agent else None
    try:
        if _try_keys(hop, identities, agent, attempt) or _try_password(hop, identities, attempt):
            return None
    finally:
        if agent is not None:
            agent.close()
    return _failure(hop, attempt)


def _try_keys(hop: Hop, identities: Identities, agent: paramiko.Agent | None, attempt: _Attempt) -> bool:
    """Offer one key after another; true when the login is complete."""
    for name, key in _keys(hop, identities, agent, attempt):
        still_needed = attempt.offer(name, partial(attempt.transport.auth_publickey, hop.user, key))
        if still_needed is not None:
            # A server may want a password on top of the key; more keys would not help then.
            return not still_needed
        if attempt.is_over:
            return False
    return False


def _try_password(hop: Hop, identities: Identities, attempt: _Attempt) -> bool:
    if identities.password is None or attempt.is_over:
        return False
    secret = identities.password.get_secret_value()
    return attempt.offer("password", partial(attempt.transport.auth_password, hop.user, secret)) == []


def _keys(
    hop: Hop, identities: Identities, agent: paramiko.Agent | None, attempt: _Attempt
) -> Iterator[tuple[str, paramiko.PKey]]:
    """Yield the keys in the order of ssh(1): files that are configured, the agent's, else the usual files."""
    in_agent = {key.asbytes(): key for key in agent.get_keys()} if agent is not None else {}
    offered: set[bytes] = set()
    files = list(_file_keys(hop, identities, in_agent, attempt))
    others = [("a key of the agent", key) for key in in_agent.values() if not hop.identities_only]
    ordered = files + others if hop.identities_are_configured else others + files
    for name, key in ordered:
        if key.asbytes() not in offered:
            offered.add(key.asbytes())
            yield name, key


def _file_keys(
    hop: Hop, identities: Identities, in_agent: dict[bytes, paramiko.AgentKey], attempt: _Attempt
) -> Iterator[tuple[str, paramiko.PKey]]:
    for file in hop.identities:
        from_agent = in_agent.get(_public_blob(file))
        if from_agent is not None:
            yield f"{file.name} (agent)", from_agent
        elif file.is_file():
            key = _load(file, identities.passphrase, attempt)
            if key is not None:
                yield file.name, key
        elif hop.identities_are_configured:
            attempt.unusable.append(f"{file} does not exist")


def _public_blob(file: Path) -> bytes:
    """Return the public key beside a private one, by which the agent knows it; empty when there is none."""
    public = file.with_name(f"{file.name}.pub")
    try:
        return base64.b64decode(public.read_text(encoding="ascii").split()[1], validate=True)
    except (OSError, ValueError, IndexError):
        return b""


def _load(file: Path, passphrase: SecretStr | None, attempt: _Attempt) -> paramiko.PKey | None:
    """Return the private key in `file`, with the certificate beside it if there is one."""
    secret = None if passphrase is None else passphrase.get_secret_value()
    for kind in _KEY_KINDS:
        try:
            key = kind.from_private_key_file(str(file), secret)
        except paramiko.PasswordRequiredException:
            attempt.unusable.append(f"{file} needs a passphrase or the agent")
            return None
        except (OSError, ValueError, paramiko.SSHException):
            continue
        certificate = file.with_name(f"{file.name}-cert.pub")
        if certificate.is_file():
            key.load_certificate(str(certificate))
        return key
    attempt.unusable.append(f"{file} cannot be read as a key with the passphrase at hand")
    return None


def _failure(hop: Hop, attempt: _Attempt) -> LoginFailure:
    where, tried = f"{hop.host} port {hop.port}", ", ".join(attempt.tried) or "nothing to try"
    unusable = f"; {'; '.join(attempt.unusable)}" if attempt.unusable else ""
    if attempt.is_silent and not attempt.is_lost:
        return LoginFailure(f"{where} did not finish the login of {hop.user} in time; try again", retryable=True)
    fewer_keys = "set IdentityFile and IdentitiesOnly yes"
    if attempt.is_over and (attempt.is_lost or not attempt.is_refused):
        # A server that takes no more keys ends the connection just as a network does, but not at the first key.
        reason = f"the connection to {where} ended during the login of {hop.user} ({tried}){unusable}; try again"
        return LoginFailure(f"{reason}; if it always ends there, {fewer_keys}", retryable=True)
    if attempt.is_over:
        advice = f"the server ended the login, perhaps after too many keys: {fewer_keys}"
    else:
        advice = "name the right key with IdentityFile in ~/.ssh/config or the option identity_file"
    return LoginFailure(f"{where} refused the login of {hop.user} ({tried}){unusable}; {advice}", retryable=False)
