"""What one session has seen, as a JSON document that another process can take up. Pure."""

import json
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from fs_core.errors import quote_path
from fs_core.policy import OBSERVATIONS_PER_OWNER_MAX, Absent, Observation, ObservationState, Present
from fs_core.types import Digest, TargetKey, Version

__all__ = ["BadSessionError", "dump_session", "load_session"]

VERSION: Final = 1
DOCUMENT_CHARS_MAX: Final = 16 * 1024 * 1024
"""Ten thousand names of a kilobyte each, with their versions."""


class BadSessionError(ValueError):
    """Raised for a document that is no session of this root; one line with the reason."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class _SeenVersion(_Strict):
    token: str
    digest: str | None
    settled: bool


class _Seen(_Strict):
    """One file. Without a version the owner looked and found nothing."""

    key: str
    version: _SeenVersion | None
    is_text: bool = True

    @classmethod
    def of(cls, key: TargetKey, observation: Observation) -> "_Seen":
        if isinstance(observation, Absent):
            return cls(key=key, version=None)
        seen = observation.version
        version = _SeenVersion(token=seen.token, digest=seen.digest, settled=seen.settled)
        return cls(key=key, version=version, is_text=observation.is_text)

    @property
    def observation(self) -> Observation:
        if self.version is None:
            return Absent()
        digest = None if self.version.digest is None else Digest(self.version.digest)
        return Present(Version(self.version.token, digest, settled=self.version.settled), is_text=self.is_text)


class _Session(_Strict):
    """The document. `observations` are in the order in which they were made, the oldest first."""

    format: Literal["seamfs-session"] = "seamfs-session"
    version: int = VERSION
    root: str
    observations: Annotated[list[_Seen], Field(max_length=OBSERVATIONS_PER_OWNER_MAX)]

    @field_validator("version")
    @classmethod
    def _is_known(cls, version: int) -> int:
        if version != VERSION:
            raise ValueError(f"this is version {version}, known is {VERSION}")
        return version

    @model_validator(mode="after")
    def _has_each_file_once(self) -> "_Session":
        if len({seen.key for seen in self.observations}) != len(self.observations):
            raise ValueError("a file is named twice")
        return self


def dump_session(state: ObservationState, *, root_url: str) -> str:
    """Return a document, in ASCII.

    Raises:
        BadSessionError: It would be longer than one may be.
    """
    latest = list(state.items())[-OBSERVATIONS_PER_OWNER_MAX:]
    observations = [_Seen.of(key, observation) for key, observation in latest]
    # The writer of the library refuses names of files that are no text, and bounds of strings do.
    text = json.dumps(_Session(root=root_url, observations=observations).model_dump())
    _check_size(text)
    return text


def load_session(text: str, *, root_url: str) -> ObservationState:
    """Return what a document says.

    Raises:
        BadSessionError: It is no such document, of another version or another root, or too long.
    """
    _check_size(text)
    try:
        session = _Session.model_validate(json.loads(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "document"
        what = first["msg"].removeprefix("Value error, ")
        raise BadSessionError(f"no session that this release reads: {quote_path(where)}: {what}") from None
    except (ValueError, RecursionError):
        raise BadSessionError("no session: it is no JSON, or nested too deeply") from None
    if session.root != root_url:
        raise BadSessionError(f"a session of {quote_path(session.root)}; here are the files of {quote_path(root_url)}")
    return {TargetKey(seen.key): seen.observation for seen in session.observations}


def _check_size(text: str) -> None:
    if len(text) > DOCUMENT_CHARS_MAX:
        raise BadSessionError(f"a session has at most {DOCUMENT_CHARS_MAX} characters, this one {len(text)}")
