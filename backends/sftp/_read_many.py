"""Reading several small files whole, in few round trips and bounded memory."""

from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import chain, islice
from typing import Final

from backends._workers import WorkerCall
from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._errors import refusal_of_one
from backends.sftp._pace import READ_RATE_MIN_BYTES_PER_S, Pace
from backends.sftp._read import ATTEMPTS_MAX, changed, no_regular_file
from backends.sftp._resolve import Confinement, attributes_if_any, placed
from backends.sftp._spans import Spans
from backends.sftp._wire import StatusError
from fs_core.errors import FsError, NotFound, Reason
from fs_core.protocol import FileSink, too_large
from fs_core.types import FileKind, Target

__all__ = ["FILES_AT_ONCE_MAX", "ManyReads"]

FILES_AT_ONCE_MAX: Final = 32
"""So many are opened and looked up again in one window of requests."""

_HELD_BYTES_MAX: Final = 8 << 20
"""Contents that are fetched together, unless a single file has more."""


class ManyReads:
    """Files on their way to `sink`. `run` goes on with what is left when a connection was lost.

    Attributes:
        refusals: what kept each file from the sink, if anything; complete when `run` has returned.
    """

    def __init__(self, files: Sequence[Target], sink: FileSink, *, root: Confinement, size_bytes_max: int) -> None:
        self.refusals: list[FsError | None] = [None] * len(files)
        self._files = files
        self._sink = sink
        self._root = root
        self._limit = size_bytes_max
        self._attempts_left = dict.fromkeys(range(len(files)), ATTEMPTS_MAX)

    def run(self, client: SftpClient, call: WorkerCall) -> None:
        """Read what is left; three round trips for every 32 files, if those have no more than 8 MiB together.

        Raises:
            Unavailable: the server has lost its store.
        """
        while self._attempts_left:
            call.check()
            batch = list(islice(self._attempts_left, FILES_AT_ONCE_MAX))
            self._read([_File(index, self._files[index]) for index in batch], client, call)

    def _read(self, files: "list[_File]", client: SftpClient, call: WorkerCall) -> None:
        """Look at files, open what is regular and small enough, look their names up again, and fetch contents.

        Without the first look a FIFO would block the server. The second notices a directory that has become a link.
        """
        looks = client.exchange(*(wire.lstat(file.path) for file in files))
        opening = [file for file, look in zip(files, looks, strict=True) if file.is_worth_opening(look, self._limit)]
        call.check()
        opens = [wire.open_file(file.path, wire.OpenFlag.READ) for file in opening]
        replies = iter(client.exchange(*opens, *(wire.realpath(file.path) for file in files)))
        for file in opening:
            file.open(next(replies))
        try:
            for file, look, real in zip(files, looks, replies, strict=True):
                file.place(look, real, root=self._root, size_bytes_max=self._limit)
                if file.refusal is not None:
                    self._settle(file, file.refusal)
            for group in _groups(file for file in files if file.refusal is None):
                call.check()
                for file, content in zip(group, _fetch(client, group), strict=True):
                    call.check()
                    self._deliver(file, content)
        finally:
            if not client.is_broken:
                client.close_later(*(file.handle for file in opening if file.is_open))

    def _deliver(self, file: "_File", content: bytes | FsError | None) -> None:
        """Be done with a file, unless it changed meanwhile: then it is read again, after the others."""
        if content is not None:
            self._settle(file, content)
        elif self._attempts_left[file.index] == 1:
            self._settle(file, changed(file.shown))
        else:
            self._attempts_left[file.index] = self._attempts_left.pop(file.index) - 1

    def _settle(self, file: "_File", outcome: bytes | FsError) -> None:
        del self._attempts_left[file.index]
        if isinstance(outcome, FsError):
            self.refusals[file.index] = outcome
        else:
            self._sink(file.index, outcome)


class _File:
    """One attempt at one file, until it is open or refused."""

    def __init__(self, index: int, target: Target) -> None:
        self.index = index
        self.path = target.key
        self.shown = target.display_path
        self.is_open = False
        self.handle = b""
        self.found = wire.Attributes()
        self.refusal: FsError | None = None
        self._target = target
        self._fault: StatusError | None = None

    @property
    def size_bytes(self) -> int:
        """Return the size that was told."""
        return self.found.size_bytes or 0

    def is_worth_opening(self, look: wire.Reply, size_bytes_max: int) -> bool:
        """Tell whether a regular file of bounded size is there."""
        try:
            found = attributes_if_any(look)
        except StatusError:
            return False  # `place` comes upon the same, and refuses the file
        return found is not None and found.kind is FileKind.FILE and (found.size_bytes or 0) <= size_bytes_max

    def open(self, reply: wire.Reply) -> None:
        """Take the answer to opening."""
        try:
            self.handle = wire.handle_of(reply)
        except StatusError as error:
            self._fault = error
        else:
            self.is_open = True

    def place(self, look: wire.Reply, real: wire.Reply, *, root: Confinement, size_bytes_max: int) -> None:
        """Take the answer to looking the name up again, and refuse what is not to be read."""
        try:
            found = placed(look, real, path=self.path, root=root, shown=self.shown, operation="read")
        except StatusError as error:
            self.refusal = refusal_of_one(error, self.shown, "read")
        except FsError as error:
            self.refusal = error
        else:
            self.refusal = self._judge(found, size_bytes_max)

    def _judge(self, found: wire.Attributes | None, size_bytes_max: int) -> FsError | None:
        if found is None:
            return NotFound(Reason.NO_SUCH_FILE, path=self.shown, operation="read")
        if found.kind is not FileKind.FILE:
            return no_regular_file(found, shown=self.shown, operation="read")
        self.found = found
        if self.size_bytes > size_bytes_max:
            return too_large(self._target, self.size_bytes, size_bytes_max)
        return None if self._fault is None else refusal_of_one(self._fault, self.shown, "read")


class _Content:
    """What comes from one open file."""

    def __init__(self, client: SftpClient, file: _File, pace: Pace) -> None:
        self._file = file
        self._after: wire.Attributes | None = None
        self._fault: StatusError | None = None
        # It grows in place and gives its bytes away without a copy; what comes counts, not the size that is claimed.
        self._buffer = BytesIO()
        self._spans = Spans(client, file.handle, 0, file.size_bytes, sink=self._buffer.write, pace=pace)

    def requests(self) -> Iterator[wire.Request]:
        """Yield the reads, and a look at the open file behind them."""
        yield from self._spans.requests()
        yield wire.fstat(self._file.handle)

    def take(self, reply: wire.Reply) -> bool:
        """Take the next answer; tell whether it was the last one."""
        is_last = not self._spans.is_awaiting
        try:
            if is_last:
                self._after = wire.attributes_of(reply)
            else:
                self._spans.take(reply)
        except StatusError as error:
            self._fault = self._fault or error
        return is_last

    def result(self) -> bytes | FsError | None:
        """Return the content, `None` if the file changed since it was looked at, or why it cannot be read."""
        if self._fault is not None:
            return refusal_of_one(self._fault, self._file.shown, "read")
        is_same = self._after is not None and self._after.token == self._file.found.token
        return self._buffer.getvalue() if is_same and self._spans.fed_bytes == self._file.size_bytes else None


def _groups(files: Iterable[_File]) -> Iterator[list[_File]]:
    """Yield files whose contents are held at once."""
    group: list[_File] = []
    for file in files:
        if group and sum(one.size_bytes for one in group) + file.size_bytes > _HELD_BYTES_MAX:
            yield group
            group = []
        group.append(file)
    if group:
        yield group


def _fetch(client: SftpClient, files: list[_File]) -> list[bytes | FsError | None]:
    """Return what came of open files, in one flight if it fits the window."""
    pace = Pace(client, rate_min_per_s=READ_RATE_MIN_BYTES_PER_S)
    contents = [_Content(client, file, pace) for file in files]
    replies = client.stream(chain.from_iterable(content.requests() for content in contents))
    for content in contents:
        while not content.take(next(replies)):
            pass
    return [content.result() for content in contents]
