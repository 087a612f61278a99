"""A reader behind the library's back, who must never see anything but whole contents."""

import random
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fs_core.digest import content_digest
from fs_core.testing.harness import StoreHarness
from tests.torture.contents import Shape, parse
from tests.torture.history import Journal, Outcome
from tests.torture.notes import NoteKind, Notes
from tests.torture.plan import FILES_PER_SHAPE, Layout

__all__ = ["watching"]

_NAME: Final = "bystander"
_SHAPES: Final = (Shape.COUNTER, Shape.LOG, Shape.WHOLE)


@contextmanager
def watching(harness: StoreHarness, layout: Layout, directory: Path, *, pause_s: float) -> Generator[None]:
    """Read the files that are fought over, in a thread, until the run is over and the block ends."""
    errors: list[Exception] = []

    def watch() -> None:
        try:
            _watch(harness, layout, directory, pause_s=pause_s)
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if errors:
        raise errors[0]


def _watch(harness: StoreHarness, layout: Layout, directory: Path, *, pause_s: float) -> None:
    journal, notes = Journal(directory / f"{_NAME}.journal"), Notes(directory / f"{_NAME}.notes")
    dice = random.Random(layout.start_ns)
    try:
        while time.monotonic_ns() < layout.end_ns:
            key = layout.changed(dice.choice(_SHAPES), dice.randrange(FILES_PER_SHAPE), time.monotonic_ns())
            entry = journal.begin(key, _NAME)
            data = harness.get(key)
            journal.end(entry, Outcome.DONE, content=None if data is None else content_digest(data))
            if data is not None and parse(data) is None:
                notes.add(NoteKind.TORN, key, f"{_NAME} read {data!r}")
            time.sleep(pause_s)
    finally:
        journal.close()
        notes.close()
