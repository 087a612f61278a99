"""What keeps a page honest works itself: blocks are found and understood, and a wrong one is noticed."""

from pathlib import Path

import pytest

from tests.docs.blocks import Block, blocks_of, is_output, pages
from tests.docs.test_other_blocks import is_known
from tests.docs.world import World
from tests.support.s3_servers import S3Server
from tests.support.sftp_servers import SftpServer

pytestmark = pytest.mark.xdist_group("docs")

PAGE = """\
# First

Put into `~/.tool/conf.json`:

```json
{ "mcpServers": { "files": { "command": "seamfs" } } }
```

## Second

*Not run by the tests: it costs money.*

```sh
spend
```

* In a list:

  ```sh
  echo one
  ```

  ```text
  one
  ```

Without a language:

    echo two
"""


@pytest.fixture
def blocks(tmp_path: Path) -> list[Block]:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    return list(blocks_of(str(page)))


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory, moto_server: S3Server, embedded_sftp_server: SftpServer, forks: str
) -> World:
    home = tmp_path_factory.mktemp("me")
    return World(home, s3=moto_server, sftp=embedded_sftp_server, forks=forks, variables={})


def sh(text: str) -> Block:
    return Block("page.md", 1, "First", "sh", text, file=None, not_run=None)


def test_each_block_of_a_page_is_found_with_what_the_page_says_of_it(blocks: list[Block]) -> None:
    config, spend, echo, output, indented = blocks
    assert (config.line, config.heading, config.file) == (5, "First", "~/.tool/conf.json")
    assert config.servers == {"files": {"command": "seamfs"}}
    assert (spend.heading, spend.not_run) == ("Second", "it costs money.")
    assert (echo.text, echo.not_run, echo.servers) == ("echo one\n", None, {})
    assert is_output(echo, output)
    assert not is_output(spend, output)
    assert (indented.language, indented.text) == ("", "echo two\n")


def test_a_block_without_language_file_or_command_above_is_not_known(blocks: list[Block]) -> None:
    config, spend, echo, output, indented = blocks
    assert [is_known(config, None), is_known(echo, spend), is_known(output, echo)] == [True, True, True]
    assert [is_known(indented, output), is_known(output, config)] == [False, False]


def test_all_pages_are_looked_at() -> None:
    assert {"README.md", "CHANGELOG.md", "benchmarks/README.md", "docs/recipes/aws.md"} <= set(pages())


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("false\n", "block at line 1"),
        ("seamfs read /home/me/repo missing.py\n", "FS_NOT_FOUND: missing.py"),
        ("seamfs read /home/me/repo main.py --no-such-option\n", "unrecognized arguments: --no-such-option"),
        ("claude mcp add files -- seamfs serve /home/me/nowhere\n", "FS_NOT_FOUND"),
        ("seamfs doctor sftp://new-host.example.org/srv/repo\n", "what does new-host.example.org stand for"),
        ("make no-such-target\n", "No rule to make target"),
        ("pip install 'seamfs[no-such-extra]'\n", "AssertionError"),
    ],
)
def test_a_command_that_fails_or_leads_elsewhere_fails_its_page(command: str, reason: str, world: World) -> None:
    with pytest.raises(AssertionError, match=reason):
        world.run([sh(command)])
