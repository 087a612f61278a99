"""What the store says about an object, and what of it a replacement keeps. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, TypedDict, cast

from fs_core.types import Digest, Version

__all__ = [
    "LINEAGE_LENGTH",
    "LINEAGE_METADATA",
    "AnswerMetadata",
    "BodyAnswer",
    "BodyStream",
    "Kept",
    "ListAnswer",
    "ListedObject",
    "ListedPrefix",
    "ObjectAnswer",
    "ObjectHead",
    "Tag",
    "TagsAnswer",
    "etag_of",
    "head_of",
    "put_parameters",
    "total_size",
    "unquoted",
]

LINEAGE_METADATA: Final = "seamfs-write"
"""The one key of user metadata that a write adds: its own token and those of the writes before it, newest first."""

LINEAGE_LENGTH: Final = 8

_CONTENT_RANGE: Final = re.compile(r"bytes ([0-9]{1,19})-[0-9]{1,19}/([0-9]{1,19})")
"""RFC 9110, section 14.4."""

_KEPT: Final = (
    "ContentType",
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "Expires",
    "WebsiteRedirectLocation",
    "StorageClass",
    "ServerSideEncryption",
    "SSEKMSKeyId",
    "BucketKeyEnabled",
)


class BodyStream(Protocol):
    """The body of an answer. It must be read to its end or closed, or its connection is lost to the pool."""

    async def read(self, amt: int | None = None) -> bytes:
        """Return up to `amt` bytes, or all; nothing at the end."""
        ...

    def close(self) -> None:
        """Give the connection up."""
        ...


class ObjectAnswer(TypedDict, total=False):
    """What is used of the answers to HeadObject and PutObject."""

    ContentLength: int
    ContentRange: str
    ETag: str
    ExpiresString: str
    Metadata: dict[str, str]
    MissingMeta: int
    ObjectLockLegalHoldStatus: str
    ObjectLockMode: str
    TagCount: int
    VersionId: str


class BodyAnswer(ObjectAnswer):
    """What is used of the answer to GetObject."""

    Body: BodyStream


class ListedObject(TypedDict, total=False):
    """One object of a listing; a store may leave anything out."""

    Key: str
    LastModified: datetime
    Size: int


class ListedPrefix(TypedDict, total=False):
    """Keys that are folded into one prefix."""

    Prefix: str


class AnswerMetadata(TypedDict, total=False):
    """What is used of what came with an answer. Names of headers are in lower case."""

    HTTPHeaders: dict[str, str]


class ListAnswer(TypedDict, total=False):
    """What is used of the answer to ListObjectsV2."""

    Contents: list[ListedObject]
    CommonPrefixes: list[ListedPrefix]
    IsTruncated: bool
    NextContinuationToken: str
    ResponseMetadata: AnswerMetadata


class Tag(TypedDict):
    """One tag of an object."""

    Key: str
    Value: str


class TagsAnswer(TypedDict):
    """The answer to GetObjectTagging."""

    TagSet: list[Tag]


@dataclass(frozen=True, slots=True)
class Kept:
    """What a replacement of an object takes over. `lost` names what it cannot."""

    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    lineage: tuple[str, ...] = ()
    tag_count: int = 0
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectHead:
    """One version of an object. `etag` is without quotes; `version_id` is empty on an unversioned bucket."""

    etag: str
    version_id: str
    size_bytes: int
    kept: Kept

    def version(self, digest: Digest | None = None) -> Version:
        """Return the version token: the ETag, and the version id if there is one."""
        token = f"{self.etag} {self.version_id}" if self.version_id else self.etag
        return Version(token=token, digest=digest)


def etag_of(version: Version) -> str:
    """Return the ETag in a token made by `ObjectHead.version`."""
    return version.token.partition(" ")[0]


def unquoted(etag: str) -> str:
    """Return an entity tag without its quotes and weakness mark (RFC 9110, section 8.8.3)."""
    return etag.removeprefix("W/").strip('"')


def total_size(answer: ObjectAnswer) -> tuple[int, int]:
    """Return where the body of an answer to GET starts and how long the whole object is.

    Raises:
        ValueError: the store tells no such thing.
    """
    content_range = answer.get("ContentRange")
    if content_range is None:
        length = answer.get("ContentLength", -1)
        if length < 0:
            raise ValueError("the store gave no length")
        return 0, length
    told = _CONTENT_RANGE.fullmatch(content_range)
    if told is None:
        raise ValueError("the store gave a range that is none")
    return int(told[1]), int(told[2])


def head_of(answer: ObjectAnswer) -> ObjectHead:
    """Return what an answer to GET or HEAD says about the object.

    Raises:
        ValueError: the store gave no entity tag; nothing could be guarded.
    """
    etag = unquoted(answer.get("ETag", ""))
    if not etag:
        raise ValueError("the store gave no ETag")
    _, size_bytes = total_size(answer)
    return ObjectHead(etag=etag, version_id=answer.get("VersionId", ""), size_bytes=size_bytes, kept=_kept_of(answer))


def _kept_of(answer: ObjectAnswer) -> Kept:
    headers = cast("Mapping[str, object]", answer)
    parameters = {name: headers[name] for name in _KEPT if headers.get(name) not in {None, ""}}
    if parameters.get("ContentEncoding") == "aws-chunked":
        # A trace of how an upload was framed, which some stores record; it says nothing about the content.
        del parameters["ContentEncoding"]
    metadata = dict(answer.get("Metadata", {}))
    lineage = tuple(metadata.pop(LINEAGE_METADATA, "").split())
    sendable = {name: value for name, value in metadata.items() if value.isascii() and name.isascii()}
    lost = {
        "user metadata that is not ASCII": len(sendable) < len(metadata),
        "user metadata that the store does not show": answer.get("MissingMeta", 0) > 0,
        "the expiry date, which is malformed": "ExpiresString" in answer and "Expires" not in headers,
        "the object lock": "ObjectLockMode" in answer or "ObjectLockLegalHoldStatus" in answer,
    }
    return Kept(
        parameters=parameters,
        metadata=sendable,
        lineage=lineage,
        tag_count=answer.get("TagCount", 0),
        lost=tuple(name for name, is_lost in lost.items() if is_lost),
    )


def put_parameters(kept: Kept, *, token: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the parameters of a PUT that keeps `kept` and carries `token`, and the lineage it then has."""
    lineage = (token, *kept.lineage)[:LINEAGE_LENGTH]
    metadata = {**kept.metadata, LINEAGE_METADATA: " ".join(lineage)}
    return {**kept.parameters, "Metadata": metadata}, lineage
