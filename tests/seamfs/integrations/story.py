"""One small session that every adapter has to carry: refused, read, edited, refused as stale, read again, edited.

A scripted model asks `Script.next_call` what to do in each request, and what came back is compared with what the tools
themselves say in the same session.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar, overload

from fs_core.testing.harness import StoreHarness
from seamfs.config import Settings
from seamfs.workspace import open_workspace
from tests.support.local_store import LocalHarness
from tests.support.s3_servers import S3Server
from tests.support.sftp_servers import SftpServer
from tool_runtime import JsonObject, ToolFailure

__all__ = [
    "AFTER",
    "CODES",
    "OURS",
    "Call",
    "Place",
    "Script",
    "ending",
    "local_place",
    "s3_place",
    "sftp_place",
    "told",
]

T = TypeVar("T")

Call = tuple[str, JsonObject]

FILE: Final = "src/notes.txt"
BEFORE: Final = b"\xef\xbb\xbftimeout = 10\r\nlast line"
THEIRS: Final = b"\xef\xbb\xbftimeout = 20\r\nlast line"
AFTER: Final = b"\xef\xbb\xbftimeout = 30\r\nlast line"

READ: Final[Call] = ("read", {"file_path": FILE})
EDIT: Final[Call] = ("edit", {"file_path": FILE, "old_string": "timeout = 10", "new_string": "timeout = 30"})
EDIT_THEIRS: Final[Call] = ("edit", {"file_path": FILE, "old_string": "timeout = 20", "new_string": "timeout = 30"})
STALE: Final = 2
"""Before this call somebody else changes the file."""

OURS: Final[tuple[Call, ...]] = (EDIT, READ, EDIT, READ, EDIT_THEIRS)
CODES: Final = ("FS_NOT_OBSERVED", None, "FS_STALE_VERSION", None, None)


@dataclass(frozen=True)
class Place:
    """A workspace under test, and the way to it behind its back."""

    url: str
    settings: Settings
    store: StoreHarness


@dataclass
class Script:
    """What a scripted model does, request by request, while somebody else changes a file in between."""

    place: Place
    calls: tuple[Call, ...] = OURS
    made: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.place.store.put(FILE, BEFORE)

    def next_call(self) -> Call | None:
        """Return the next call, or None at the end."""
        if self.made == len(self.calls):
            return None
        if self.made == STALE:
            self.place.store.put(FILE, THEIRS)
        self.made += 1
        return self.calls[self.made - 1]


def ending(place: Place) -> bytes | None:
    """Return what the file holds."""
    return place.store.get(FILE)


async def told(place: Place) -> list[str]:
    """Return what the tools themselves say in this session, in a workspace of its own."""
    script, said = Script(place), list[str]()
    async with open_workspace(place.url, settings=place.settings) as workspace:
        session = workspace.session()
        while (call := script.next_call()) is not None:
            result = await workspace.call(session, *call)
            assert (result.code if isinstance(result, ToolFailure) else None) == CODES[len(said)]
            said.append(result.text)
    assert ending(place) == AFTER
    return said


def local_place(directory: Path) -> Place:
    return Place(str(directory), Settings(), LocalHarness(directory))


def s3_place(server: S3Server) -> Place:
    store = server.harness()
    return Place(f"s3://{store.bucket}/{store.prefix}", Settings(s3=server.options()), store)


def sftp_place(server: SftpServer) -> Place:
    store = server.harness()
    return Place(server.url(store.directory), Settings(sftp=server.options()), store)


class Later(Sequence[T]):
    """One turn of a scripted server: what the model does in it is decided when it is asked."""

    def __init__(self, script: Script, turn: Callable[[Call | None], T]) -> None:
        self._script = script
        self._turn = turn

    def __len__(self) -> int:
        return 1

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if index != 0:
            raise IndexError(index)
        return self._turn(self._script.next_call())


def turns(place: Place, turn: Callable[[Call | None], T]) -> list[Later[T]]:
    """Return the turns of a whole session for a scripted server."""
    return [Later(Script(place), turn)] * (len(OURS) + 1)
