"""What users of file tools have reported, as values: the files, the calls, and what a good tool does."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Base64Bytes, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, TypeAdapter

__all__ = ["Parallel", "Report", "ReportCall", "ReportFile", "Told", "Wanted", "report_cases"]


def _octal(value: str) -> int:
    return int(value, 8)


_Mode = Annotated[int, BeforeValidator(_octal)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ReportFile(_Record):
    """Something that stands there before the first call. `note` is prose on what is special about it."""

    path: str
    b64: Base64Bytes = b""
    gen_python: str | None = None
    fifo: bool = False
    symlink: str | None = None
    mode: _Mode | None = None
    note: str | None = None
    backend: str | None = None
    length: int | None = Field(default=None, alias="len")
    utf8: str | None = Field(default=None, description="the same bytes again, for people")

    @property
    def data(self) -> bytes:
        return self.b64 if self.gen_python is None else eval(self.gen_python)


class ReportCall(_Record):
    tool: str
    args: dict[str, JsonValue]


class Told(_Record):
    """Something that happens besides the calls, in prose."""

    external: str


class Parallel(_Record):
    """Calls of one turn."""

    parallel: tuple[ReportCall, ...]


class Wanted(_Record):
    """What a good tool does. `text` is prose."""

    outcome: str = Field(pattern="^(ok|refuse|ok_or_refuse|policy)$")
    text: str
    bytes_after: dict[str, Base64Bytes] = {}
    never_bytes: Base64Bytes = b""
    error_contains: tuple[str, ...] = ()
    read_contains: tuple[str, ...] = ()
    read_not_contains: tuple[str, ...] = ()
    result_contains: tuple[str, ...] = ()
    read_line_of: dict[str, int] = {}
    max_seconds: float | None = None
    mode_after: _Mode | None = None
    still_symlink: str | None = None
    single_key_after: str | None = None
    count: int | None = None
    backend: str | None = None


class _Setup(_Record):
    files: tuple[ReportFile, ...]


class Report(_Record):
    id: str
    kind: str
    symptom: str
    setup: _Setup
    steps: tuple[ReportCall | Told | Parallel, ...] = Field(alias="call")
    wanted: Wanted = Field(alias="good_behaviour")

    @property
    def files(self) -> tuple[ReportFile, ...]:
        return self.setup.files

    @property
    def calls(self) -> tuple[ReportCall, ...]:
        return tuple(self._calls())

    @property
    def told(self) -> frozenset[str]:
        """All prose that asks for more than files and calls."""
        notes = {file.note for file in self.files if file.note is not None}
        return frozenset(notes | {step.external for step in self.steps if isinstance(step, Told)})

    def _calls(self) -> Iterator[ReportCall]:
        for step in self.steps:
            if isinstance(step, ReportCall):
                yield step
            elif isinstance(step, Parallel):
                yield from step.parallel


@cache
def report_cases() -> tuple[Report, ...]:
    """Return the reported cases."""
    table = Path(__file__).with_name("reports.json").read_bytes()
    return TypeAdapter(tuple[Report, ...]).validate_json(table)
