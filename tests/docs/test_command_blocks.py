"""Every command block of the pages is run, with its configuration files where it expects them."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from tests.docs.blocks import Block, blocks_of, is_output, pages
from tests.docs.world import Ran, World
from tests.support.s3_servers import S3Server
from tests.support.sftp_servers import SftpServer

pytestmark = pytest.mark.xdist_group("docs")

PAGES: Final = [page for page in pages() if any(block.language == "sh" for block in blocks_of(page))]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    directory = tmp_path / "me"
    directory.mkdir()
    return directory


def store_variables(s3: S3Server) -> dict[str, str]:
    return {
        "SEAMFS_S3__ENDPOINT_URL": s3.endpoint_url,
        "AWS_ACCESS_KEY_ID": s3.access_key_id,
        "AWS_SECRET_ACCESS_KEY": s3.secret_access_key,
    }


def aws_variables(s3: S3Server) -> dict[str, str]:
    """Let the double stand for AWS, with no credentials but those that the page writes down."""
    return {
        "AWS_ENDPOINT_URL_S3": s3.endpoint_url,
        "AWS_ENDPOINT_URL_STS": s3.endpoint_url,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def commands(page: str) -> Sequence[Block]:
    """Return the blocks that are commands, files, or a client's servers."""
    return [
        block
        for block in blocks_of(page)
        if block.not_run is None and (block.language == "sh" or block.file is not None or block.servers)
    ]


def check_output(page: str, world: World, ran: dict[int, Ran]) -> None:
    for above, block in pairwise(blocks_of(page)):
        if is_output(above, block):
            parts = world.here(block.text).split("...\n")
            pattern = ".*".join(re.escape(part) for part in parts)
            assert re.fullmatch(pattern, ran[above.line].output, re.DOTALL), f"{block.place}: {ran[above.line]}"


def check_servers(page: str, blocks: Sequence[Block], ran: dict[int, Ran]) -> None:
    """Check that every server that a page starts has opened its root."""
    lines = sum(len(re.findall(r"\bseamfs serve ", block.text)) for block in blocks if block.language == "sh")
    entries = [entry for block in blocks for entry in block.servers.values() if "url" not in entry]
    wanted = lines + len(entries)
    told = "".join(each.errors for each in ran.values())
    assert told.count('"event": "serving"') >= wanted, f"{page}: {told}"


@pytest.mark.parametrize("page", [page for page in PAGES if "jump" not in page and "aws" not in page])
def test_the_commands_of_a_page_run_as_they_are_printed(
    page: str, home: Path, moto_server: S3Server, embedded_sftp_server: SftpServer, forks: str
) -> None:
    world = World(home, s3=moto_server, sftp=embedded_sftp_server, forks=forks, variables=store_variables(moto_server))
    run_page(page, world)


def test_the_commands_about_a_jump_host_pass_through_one(
    home: Path, moto_server: S3Server, sshd_server: SftpServer, forks: str
) -> None:
    world = World(home, s3=moto_server, sftp=sshd_server, forks=forks, variables={})
    run_page("docs/recipes/ssh-jump-host.md", world)


def test_the_commands_about_aws_take_on_the_role(
    home: Path, moto_server: S3Server, embedded_sftp_server: SftpServer, forks: str
) -> None:
    world = World(home, s3=moto_server, sftp=embedded_sftp_server, forks=forks, variables=aws_variables(moto_server))
    run_page("docs/recipes/aws.md", world)


def run_page(page: str, world: World) -> None:
    blocks = commands(page)
    ran = world.run(blocks)
    check_servers(page, blocks, ran)
    check_output(page, world, ran)
