"""A web server that means harm, behind the generic backend."""

import time
from collections.abc import Generator

import pytest
from yarl import URL

from backends.generic._redirects import is_global, stays
from backends.options import FsspecOptions
from fs_core.errors import FsError, IoFault, TooLarge, Unavailable
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.policy import Unguarded
from fs_core.session import FileSession
from tests.security.memory import memory_bounded
from tests.security.servers.hostile_web import HostileWeb
from tests.support.scripted_fsspec import at, opened
from tests.support.web_servers import serving

pytestmark = pytest.mark.anyio

MIB = 1 << 20
OPTIONS = FsspecOptions(write_size_bytes_max=2 * MIB, request_timeout_s=60.0)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def hostile() -> Generator[str]:
    with serving(HostileWeb) as url:
        yield url


@pytest.mark.parametrize(
    ("name", "expected"), [("endless", TooLarge), ("squeezed", TooLarge), ("lying-length", Unavailable)]
)
async def test_a_file_without_an_end_is_too_large(hostile: str, name: str, expected: type[FsError]) -> None:
    async with opened(hostile, OPTIONS) as backend:
        with memory_bounded(bytes_max=24 * MIB), pytest.raises(expected):
            await backend.read(await at(backend, name))


async def test_a_range_without_an_end_is_cut_off(hostile: str) -> None:
    async with opened(hostile, OPTIONS) as backend:
        target = await at(backend, "endless-range")
        with memory_bounded(bytes_max=24 * MIB), pytest.raises(FsError) as caught:
            await backend.read(target, offset=1, limit=1_000)
    assert isinstance(caught.value, IoFault | Unavailable)


async def test_an_index_page_made_to_be_searched_for_ever_is_searched_at_once(hostile: str) -> None:
    async with opened(f"{hostile}/spaces", OPTIONS) as backend:
        started_s = time.process_time()
        listing = await backend.list(await at(backend, "."), limit=10)
        assert time.process_time() - started_s < 5
    assert listing.entries == ()


async def test_an_index_page_without_an_end_is_too_large(hostile: str) -> None:
    async with opened(f"{hostile}/forever", OPTIONS) as backend:
        with memory_bounded(bytes_max=24 * MIB), pytest.raises(TooLarge):
            await backend.list(await at(backend, "."), limit=10)


async def test_an_index_page_of_many_links_is_cut(hostile: str) -> None:
    async with opened(f"{hostile}/links", OPTIONS) as backend:
        listing = await backend.list(await at(backend, "."), limit=10)
    assert len(listing.entries) == 10
    assert not listing.is_complete


async def test_names_on_an_index_page_are_offered_quoted(hostile: str) -> None:
    async with opened(f"{hostile}/odd", OPTIONS) as backend:
        with pytest.raises(FsError) as caught:
            await FileSession(BackedFileSystem(backend), policy=Unguarded()).read("plane", Window())
    assert str(caught.value).isprintable()


async def test_a_redirect_to_a_file_of_this_machine_is_not_followed(hostile: str) -> None:
    async with opened(hostile, OPTIONS) as backend:
        with pytest.raises(Unavailable) as caught:
            await backend.read(await at(backend, "to-file"))
    assert "passwd" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]"])
async def test_a_redirect_to_an_address_inside_is_not_followed(hostile: str, host: str) -> None:
    with serving(HostileWeb) as inside:
        HostileWeb.redirect_to = f"http://{host}:{URL(inside).port}/plain"
        async with opened(hostile, OPTIONS) as backend:
            HostileWeb.asked = []
            with pytest.raises(Unavailable, match="inside this network"):
                await backend.read(await at(backend, "to-inside"))
    assert "/plain" not in HostileWeb.asked


async def test_a_redirect_within_the_host_is_followed_and_one_in_a_circle_ends(hostile: str) -> None:
    async with opened(hostile, OPTIONS) as backend:
        assert (await backend.read(await at(backend, "near"))).size_bytes == 10_000
        with pytest.raises(Unavailable):
            await backend.read(await at(backend, "to-itself"))


@pytest.mark.parametrize(
    ("address", "is_public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("169.254.169.254", False),
        ("10.0.0.1", False),
        ("192.168.1.1", False),
        ("0.0.0.0", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("::ffff:169.254.169.254", False),
        ("fd00:ec2::254", False),
    ],
)
def test_addresses_that_redirects_may_lead_to_are_public(address: str, *, is_public: bool) -> None:
    assert is_global(address) is is_public


def test_a_redirect_may_raise_a_host_to_https_and_not_lower_it() -> None:
    plain, secure = URL("http://10.0.0.1/a"), URL("https://10.0.0.1/a")
    assert stays(plain, secure)
    assert not stays(secure, plain)
