"""Logging in: configured keys first, then the agent's, then a password; few tries, because servers count them."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import paramiko
from pydantic import SecretStr

from backends.sftp._config import Hop

__all__ = ["Identities", "log_in"]

_KEY_KINDS: Final = (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey)


@dataclass(frozen=True, slots=True)
class Identities:
    """What there is to log in with, besides the files that the hop names."""

    password: SecretStr | None
    passphrase: SecretStr | None
    use_agent: bool


@dataclass(slots=True)
class _Attempt:
    """What was tried on one connection, for the refusal's text."""

    tried: list[str]
    unusable: list[str]


def log_in(transport: paramiko.Transport, hop: Hop, identities: Identities, *, timeout_s: float) -> str | None:
    """Authenticate; return `None`, or in one line why the server does not let us in."""
    attempt = _Attempt(tried=[], unusable=[])
    transport.auth_timeout = timeout_s
    agent = paramiko.Agent() if identities.use_agent else None
    try:
        if _try_keys(transport, hop, identities, agent, attempt) or _try_password(transport, hop, identities, attempt):
            return None
    finally:
        if agent is not None:
            agent.close()
    return _refusal(transport, hop, attempt)


def _try_keys(
    transport: paramiko.Transport, hop: Hop, identities: Identities, agent: paramiko.Agent | None, attempt: _Attempt
) -> bool:
    """Offer one key after another; true when the login is complete."""
    for name, key in _keys(hop, identities, agent, attempt):
        attempt.tried.append(name)
        try:
            still_needed = transport.auth_publickey(hop.user, key)
        except (paramiko.SSHException, EOFError, OSError):
            if not transport.is_active():
                return False
        else:
            # A server may want a password on top of the key; more keys would not help then.
            return not still_needed
    return False


def _try_password(transport: paramiko.Transport, hop: Hop, identities: Identities, attempt: _Attempt) -> bool:
    if identities.password is None or not transport.is_active():
        return False
    attempt.tried.append("password")
    try:
        return not transport.auth_password(hop.user, identities.password.get_secret_value())
    except (paramiko.SSHException, EOFError, OSError):
        return False


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


def _refusal(transport: paramiko.Transport, hop: Hop, attempt: _Attempt) -> str:
    tried = ", ".join(attempt.tried) or "nothing to try"
    unusable = f"; {'; '.join(attempt.unusable)}" if attempt.unusable else ""
    if transport.is_active():
        advice = "name the right key with IdentityFile in ~/.ssh/config or the option identity_file"
    else:
        advice = "the server ended the login, perhaps after too many keys: set IdentityFile and IdentitiesOnly yes"
    return f"{hop.host} port {hop.port} refused the login of {hop.user} ({tried}){unusable}; {advice}"
