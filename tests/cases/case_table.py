"""The given cases as values: what stands in a workspace, which calls are made, and what must come of them."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import Base64Bytes, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, TypeAdapter

__all__ = [
    "Call",
    "Case",
    "Expect",
    "External",
    "Need",
    "Parallel",
    "SetupDirectory",
    "SetupFile",
    "SetupHardlink",
    "SetupSymlink",
    "file_cases",
]

Need = Literal["links", "modes"]
"""What not every store knows: links between names, and permission bits."""


def _text(value: object) -> object:
    """Return a text that is given as `{"runs": [[text, count], ...]}`."""
    if not isinstance(value, dict):
        return value
    runs = cast("dict[str, list[tuple[str, int]]]", value)["runs"]
    return "".join(text * count for text, count in runs)


def _octal(value: str) -> int:
    return int(value, 8)


_Text = Annotated[str, BeforeValidator(_text)]
_Mode = Annotated[int, BeforeValidator(_octal)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SetupFile(_Record):
    path: str
    content_utf8: _Text = ""
    content_b64: Base64Bytes = b""
    mode: _Mode | None = None

    @property
    def data(self) -> bytes:
        return self.content_b64 or self.content_utf8.encode()


class SetupDirectory(_Record):
    dir: str


class SetupSymlink(_Record):
    symlink: str
    to: str


class SetupHardlink(_Record):
    hardlink: str
    to: str


class Expect(_Record):
    """What must come of one call. A field that is not set says nothing; `next_offset` may be set to null."""

    ok: bool
    code: str | None = None
    remedy: Literal["read", "reread"] | None = None
    lines: tuple[tuple[int, _Text], ...] = ()
    line_count: int | None = None
    line_truncated: tuple[tuple[int, _Text], ...] = ()
    total_lines: int | None = None
    next_offset: int | None = None
    capped_by_bytes: bool | None = None
    operation: Literal["create", "update"] | None = None
    note: str | None = None
    file_after_utf8: _Text | None = None
    file_after_b64: Base64Bytes | None = None
    file_after_path: str | None = None
    other_after: tuple[str, str] | None = None
    absent_after: bool = False
    missing_after: str | None = None
    mode_after: _Mode | None = None
    symlink_after: str | None = None
    dir_list_after: tuple[str, tuple[str, ...]] | None = None
    value_before: JsonValue = Field(default=None, description="of another system; not compared")
    value_after: JsonValue = Field(default=None, description="of another system; not compared")

    @property
    def file_after(self) -> bytes | None:
        return self.file_after_b64 if self.file_after_utf8 is None else self.file_after_utf8.encode()


class Call(_Record):
    """One call. `session` names its owner: by default one that all calls share, null one that nobody else is."""

    tool: str
    args: dict[str, JsonValue]
    expect: Expect
    session: str | None = "shared"
    abort: Literal["before"] | None = None
    cwd: str = "."


class External(_Record):
    """A change behind the tools' back: a verb and its operands."""

    external: dict[
        Literal["write", "append", "delete", "mkdir", "touch", "write_keep_mtime", "relink"], str | tuple[str, str]
    ] = Field(min_length=1, max_length=1)


class _ParallelExpect(_Record):
    ok_count: int
    error_codes: tuple[str, ...]
    file_after_any: tuple[str, ...] = ()
    path: str | None = None


class Parallel(_Record):
    """Calls of one turn."""

    parallel: tuple[Call, ...]
    expect: _ParallelExpect


class _Config(_Record):
    read_limit: int | None = None
    read_max_bytes: int | None = None
    read_stream_min_size: int | None = Field(default=None, description="no setting here: every file is streamed")


class _Sandbox(_Record):
    mode: Literal["workspace-write"]
    workspace: str


class Case(_Record):
    id: str
    area: str
    setup: tuple[SetupFile | SetupDirectory | SetupSymlink | SetupHardlink, ...]
    steps: tuple[Call | External | Parallel, ...]
    policy: Literal["bare"] | None = None
    config: _Config = _Config()
    sandbox: _Sandbox | None = None
    local_only: bool = False

    @property
    def workspace(self) -> str:
        """The workspace's root, relative to the case's."""
        if self.sandbox is not None:
            return self.sandbox.workspace
        return next((step.cwd for step in self.steps if isinstance(step, Call)), ".")

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset(self._needs())

    def _needs(self) -> Iterator[Need]:
        for item in self.setup:
            if isinstance(item, SetupSymlink | SetupHardlink):
                yield "links"
            elif isinstance(item, SetupFile) and item.mode is not None:
                yield "modes"


@cache
def file_cases() -> tuple[Case, ...]:
    """Return the cases of read, write and edit."""
    table = Path(__file__).with_name("filesystem.json").read_bytes()
    return TypeAdapter(tuple[Case, ...]).validate_json(table)
