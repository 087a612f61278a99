"""A file that is not text, through the seam: refused in the same words everywhere, kept byte for byte, replaceable."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fs_core.edit import Edit
from fs_core.errors import NotObserved, NotText
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.policy import MemoryObservations, OwnerId, ReadBeforeWrite, Unguarded
from fs_core.session import FileSession
from fs_core.testing.harness import StoreHarness
from fs_core.testing.memory import MemoryHarness
from tests.fs_core.seam import Seam, refused
from tests.fs_core.text_reference import first_offence, near_texts
from tests.support.local_store import LocalHarness
from tests.support.s3_servers import S3Server
from tests.support.sftp_servers import SftpServer

PATH = "a.txt"
RUSSIAN = "В последние годы всё больше документов хранится в электронном виде.\n".encode("koi8_r")
LARGE_TEXT = "größer\n".encode() * 150_000
FILES = {
    "legacy text": (RUSSIAN, "byte 0 of 68; likely KOI8-R (Cyrillic) text"),
    "legacy text far behind the start": (
        b"x = 1\n" * 200_000 + RUSSIAN * 3_000,
        "byte 1200000 of 1404000; likely KOI8-R (Cyrillic) text",
    ),
    "wide text": (
        "name: x\n".encode("utf-16"),
        "byte 0 of 18; it begins with the byte order mark of UTF-16 little-endian text",
    ),
    "binary": (b"a\0b", "byte 1 of 3; it holds NUL bytes: likely a binary file"),
    "damaged": (
        LARGE_TEXT + b"\xff" + LARGE_TEXT,
        f"byte {len(LARGE_TEXT)} of {2 * len(LARGE_TEXT) + 1}; "
        "it is UTF-8 elsewhere: likely damaged, or a mix of encodings",
    ),
    "cut off": (
        b"abc\n\xe6\x97",
        "byte 4 of 6; the last 2 bytes are the beginning of a longer UTF-8 sequence: the file may be cut off",
    ),
}


def _memory(request: pytest.FixtureRequest) -> StoreHarness:
    return MemoryHarness()


def _local(request: pytest.FixtureRequest) -> StoreHarness:
    directory: Path = request.getfixturevalue("tmp_path") / "root"
    directory.mkdir()
    return LocalHarness(directory)


def _server(name: str, request: pytest.FixtureRequest) -> StoreHarness:
    server: S3Server | SftpServer = request.getfixturevalue(name)
    return server.harness()


STORES: dict[str, Callable[[pytest.FixtureRequest], StoreHarness]] = {
    "memory": _memory,
    "local": _local,
    "s3": partial(_server, "moto_server"),
    "sftp": partial(_server, "embedded_sftp_server"),
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=STORES)
def harness(request: pytest.FixtureRequest) -> StoreHarness:
    return STORES[request.param](request)


@pytest.mark.anyio
@pytest.mark.parametrize("kind", FILES)
async def test_read_and_edit_refuse_it_in_the_same_words_on_every_store(harness: StoreHarness, kind: str) -> None:
    content, told = FILES[kind]
    harness.put(PATH, content)
    backend = await harness.open()
    try:
        files = BackedFileSystem(backend)
        session = FileSession(files, policy=ReadBeforeWrite(owner=OwnerId("me"), store=MemoryObservations()))
        read = await refused(session, "read", PATH, NotText)
        edit = await refused(FileSession(files, policy=Unguarded()), "edit", PATH, NotText)
        assert str(read) == str(edit) == f"{PATH}: is not UTF-8 text: {told}"
        assert harness.get(PATH) == content
        written = await session.write(PATH, "new\n")
        assert (written.created, written.diff) == (False, None)
    finally:
        await backend.aclose()
    assert harness.get(PATH) == b"new\n"


not_texts = st.one_of(
    near_texts,
    st.binary(max_size=40),
    st.text(min_size=1, max_size=40).map(lambda text: text.encode("gb18030")),
    st.text(min_size=1, max_size=40).map(lambda text: text.encode("latin-1", "ignore")),
)
new_texts = st.text(max_size=40).filter(lambda text: "\0" not in text)


async def _refuse_then_replace(content: bytes, new: str) -> None:
    seam = Seam()
    seam.put(PATH, content)
    await refused(seam.session(), "read", PATH, NotText)
    await refused(seam.session(), "edit", PATH, NotObserved)
    await refused(seam.unguarded(), "edit", PATH, NotText)
    shown = content.decode("utf-8", "replace")
    edit = Edit(shown[:3] or "x", "new", replace_all=True)
    for session, refusal in ((seam.session(), NotObserved), (seam.unguarded(), NotText)):
        with pytest.raises(refusal):
            await session.edit(PATH, edit)
    assert seam.get(PATH) == content
    written = await seam.session().write(PATH, new)
    assert not written.created
    assert seam.get(PATH) == new.encode()
    await seam.session().read(PATH, Window())


@given(content=not_texts, new=new_texts)
def test_it_keeps_its_bytes_until_a_write_replaces_it_whole(content: bytes, new: str) -> None:
    assume(first_offence(content) is not None)
    anyio.run(_refuse_then_replace, content, new)
