"""What a process of the bench noticed beside the journal, as JSON lines that survive its death."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

__all__ = ["Note", "NoteKind", "Notes", "load_notes"]


class NoteKind(StrEnum):
    """CODE: a refusal by its code. Everything else is a fault of the library.

    TORN: a content that is not whole. MISTOLD: an answer that does not fit the content. RAISED: no `FsError`.
    """

    CODE = "code"
    TORN = "torn"
    MISTOLD = "mistold"
    RAISED = "raised"


@dataclass(frozen=True, slots=True)
class Note:
    """One remark about a file."""

    kind: NoteKind
    key: str
    text: str


class Notes:
    """The remarks of one process, one file."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def add(self, kind: NoteKind, key: str, text: str) -> None:
        """Append a remark with one `write` to the kernel."""
        os.write(self._fd, json.dumps(asdict(Note(kind, key, text))).encode() + b"\n")

    def close(self) -> None:
        """Release the file."""
        os.close(self._fd)


def load_notes(paths: Iterable[Path]) -> list[Note]:
    """Return the remarks of several processes; a cut last line is what a killed process leaves."""
    lines = [line for path in paths for line in path.read_bytes().split(b"\n")[:-1]]
    fields = [json.loads(line) for line in lines]
    return [Note(NoteKind(field["kind"]), field["key"], field["text"]) for field in fields]
