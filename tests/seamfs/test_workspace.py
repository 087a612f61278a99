"""The composition root."""

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from fs_core.errors import FsError, NotObserved
from fs_core.page import Window
from fs_core.policy import MemoryObservations, Observation, OwnerId
from fs_core.types import TargetKey
from seamfs.config import Settings
from seamfs.workspace import open_workspace
from tests.seamfs.mounted import HARMLESS, OWN
from tests.seamfs.processes import TIMEOUT_S
from tests.support.waiting import until
from tool_runtime import ToolFailure, ToolSuccess

pytestmark = pytest.mark.anyio

WINDOW = Window(first_line=1, lines_max=10, line_chars_max=100, bytes_max=10_000)


async def test_owners_do_not_share_what_they_have_seen(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    async with open_workspace(str(root)) as workspace:
        ann, bob = workspace.session("ann"), workspace.session("bob")
        await ann.read("a.txt", WINDOW)
        with pytest.raises(NotObserved):
            await bob.write("a.txt", "bob\n")
        await workspace.session("ann").write("a.txt", "ann\n")
    assert (root / "a.txt").read_text() == "ann\n"


async def test_two_sessions_without_an_owner_are_two_owners(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    async with open_workspace(str(root)) as workspace:
        first, second = workspace.session(), workspace.session()
        await first.read("a.txt", WINDOW)
        with pytest.raises(NotObserved):
            await second.write("a.txt", "two\n")


async def test_a_forgotten_owner_has_to_read_again(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    async with open_workspace(str(root)) as workspace:
        session = workspace.session("ann")
        await session.read("a.txt", WINDOW)
        await workspace.forget("ann")
        with pytest.raises(NotObserved):
            await session.write("a.txt", "two\n")


class NothingToKeep(MemoryObservations):
    async def replace(self, owner: OwnerId, key: TargetKey, seen: Observation | None, observation: Observation) -> bool:
        raise AssertionError(f"{owner!r} saw {observation} of {key} after {seen}")


async def test_what_an_unnamed_session_has_seen_is_kept_nowhere_else(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    async with open_workspace(str(root), observations=NothingToKeep()) as workspace:
        session = workspace.session()
        await session.read("a.txt", WINDOW)
        seen = weakref.ref(session)
        del session

        def is_gone() -> bool:
            gc.collect()
            return seen() is None

        # A worker thread may hold its last piece of work for a moment longer.
        await until(is_gone)


async def test_without_a_policy_an_unread_file_is_replaced(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    async with open_workspace(str(root), settings=Settings(policy="none")) as workspace:
        assert not workspace.remembers
        await workspace.session().write("a.txt", "two\n")
    assert (root / "a.txt").read_text() == "two\n"


async def test_tools_are_registered_and_take_the_limits_of_the_settings(root: Path) -> None:
    (root / "a.txt").write_text("1\n2\n3\n")
    settings = Settings.model_validate({"read": {"max_lines": 2}})
    async with open_workspace(str(root), settings=settings) as workspace:
        assert [tool.name for tool in workspace.tools.schemas()] == OWN
        result = await workspace.call(workspace.session(), "read", {"file_path": "a.txt"})
        assert isinstance(result, ToolSuccess)
        assert isinstance(result.value, dict)
        assert result.value["next_offset"] == 3


async def test_read_only_leaves_what_changes_nothing(root: Path) -> None:
    async with open_workspace(str(root), read_only=True) as workspace:
        assert [tool.name for tool in workspace.tools.schemas()] == HARMLESS
        assert not workspace.remembers
        result = await workspace.call(workspace.session(), "write", {"file_path": "a", "content": ""})
        assert isinstance(result, ToolFailure)
        assert result.code == "UNKNOWN_TOOL"


async def test_a_root_that_is_missing_cannot_be_opened(root: Path) -> None:
    with pytest.raises(FsError) as caught:
        async with open_workspace(str(root / "missing")):
            pytest.fail("it was opened")
    assert caught.value.code == "FS_NOT_FOUND"


async def test_the_store_is_closed_with_the_block(root: Path) -> None:
    async with open_workspace(str(root)) as workspace:
        files = workspace.files
    with pytest.raises(FsError) as caught:
        await files.stat(await files.resolve("a.txt"))
    assert caught.value.code == "FS_UNAVAILABLE"


STORES = ("boto3", "botocore", "aiobotocore", "s3fs", "paramiko")
SERVERS = ("mcp", "starlette", "uvicorn", "moto", "asyncssh")
SEARCHING = ("re2", "pathspec", "fs_core.search.globs", "fs_core.search.pattern")
RANKING = ("regex", "snowballstemmer", "rich", "progressive.disclosure")
HEAVY = (*STORES, *SERVERS, *RANKING, *SEARCHING)


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import seamfs", (*HEAVY, "pydantic", "anyio", "fs_core")),
        ("from seamfs import Settings, Workspace, load_settings, open_workspace", HEAVY),
        ("import seamfs.cli; seamfs.cli._parser()", (*HEAVY, "pydantic", "anyio", "fs_core")),
        ("import seamfs.cli; seamfs.cli.main(['write', '.', 'a', '--content', 'x', '--json'])", HEAVY),
        ("import seamfs.serve", (*STORES, *RANKING, *SEARCHING)),
    ],
)
def test_a_start_loads_no_library_that_it_does_not_need(statement: str, absent: tuple[str, ...]) -> None:
    program = f"{statement}\nimport sys\nprint(*sorted(set({absent!r}) & sys.modules.keys()), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=TIMEOUT_S
    )
    assert done.stderr.strip() == ""


def test_an_unknown_name_of_the_package_is_an_attribute_error() -> None:
    import seamfs

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = seamfs.nothing  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
