"""Sessions that outlive a workspace, as a library: a state file, a store of one's own, a document."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fs_core.edit import Edit
from fs_core.errors import InvalidPath, NotObserved, StaleVersion
from fs_core.page import Window
from fs_core.policy import MemoryObservations
from seamfs.config import Settings
from seamfs.session_document import BadSessionError
from seamfs.state import open_observations
from seamfs.workspace import open_workspace

pytestmark = pytest.mark.anyio

WINDOW = Window()
EDIT = Edit("one", "two")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def settings(state: Path) -> Settings:
    return Settings(state=state)


def rows(state: Path) -> int:
    with closing(sqlite3.connect(state)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM session").fetchone()
    return count


async def test_with_a_state_a_named_session_goes_on_in_the_next_workspace(root: Path, settings: Settings) -> None:
    (root / "a.txt").write_text("one\n")
    async with open_workspace(str(root), settings=settings) as workspace:
        await workspace.session("ann").read("a.txt", WINDOW)
    async with open_workspace(str(root), settings=settings) as workspace:
        with pytest.raises(NotObserved):
            await workspace.session("bob").edit("a.txt", EDIT)
        await workspace.session("ann").edit("a.txt", EDIT)
    (root / "a.txt").write_text("one\n")
    async with open_workspace(str(root), settings=settings) as workspace:
        with pytest.raises(StaleVersion):
            await workspace.session("ann").edit("a.txt", EDIT)
        await workspace.forget("ann")
        with pytest.raises(NotObserved):
            await workspace.session("ann").edit("a.txt", EDIT)


async def test_a_session_without_a_name_is_not_kept(root: Path, settings: Settings, state: Path) -> None:
    (root / "a.txt").write_text("one\n")
    async with open_workspace(str(root), settings=settings) as workspace:
        session = workspace.session()
        await session.read("a.txt", WINDOW)
        await session.edit("a.txt", EDIT)
    assert rows(state) == 0


@pytest.mark.parametrize(("policy", "read_only"), [("none", False), ("read-before-write", True)])
async def test_where_nothing_is_remembered_no_state_is_made(
    root: Path, state: Path, policy: str, *, read_only: bool
) -> None:
    settings = Settings.model_validate({"state": state, "policy": policy})
    async with open_workspace(str(root), settings=settings, read_only=read_only):
        pass
    assert not list(state.parent.glob("state*"))


@pytest.mark.parametrize("name", ["state.db", "link/state.db"])
async def test_a_state_that_agents_can_write_is_refused(root: Path, tmp_path: Path, name: str) -> None:
    (root / "link").symlink_to(root)
    with pytest.raises(InvalidPath, match="lies in the root, where an agent may change it"):
        async with open_workspace(str(root), settings=Settings(state=root / name)):
            pytest.fail("it was opened")
    assert not (root / "state.db").exists()


async def test_two_workspaces_may_share_a_store_of_observations(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    observations = MemoryObservations()
    async with open_workspace(str(root), observations=observations) as workspace:
        await workspace.session("ann").read("a.txt", WINDOW)
    async with open_workspace(str(root), observations=observations) as workspace:
        await workspace.session("ann").edit("a.txt", EDIT)
    assert (root / "a.txt").read_text() == "two\n"


async def test_a_state_file_can_be_handed_in_like_any_store_of_observations(root: Path, state: Path) -> None:
    (root / "a.txt").write_text("one\n")
    for step in ("read", "edit"):
        async with (
            open_observations(state, root_url=str(root)) as observations,
            open_workspace(str(root), observations=observations) as workspace,
        ):
            session = workspace.session("ann")
            await (session.read("a.txt", WINDOW) if step == "read" else session.edit("a.txt", EDIT))
    assert (root / "a.txt").read_text() == "two\n"


async def test_a_session_is_taken_up_from_a_document(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    (root / "b.txt").write_text("one\n")
    async with open_workspace(str(root)) as workspace:
        for name in ("a.txt", "b.txt"):
            await workspace.session("ann").read(name, WINDOW)
        document = await workspace.export_session("ann")
    (root / "b.txt").write_text("one and more\n")
    async with open_workspace(str(root)) as workspace:
        await workspace.import_session("bob", document)
        await workspace.session("bob").edit("a.txt", EDIT)
        with pytest.raises(StaleVersion):
            await workspace.session("bob").edit("b.txt", EDIT)
        with pytest.raises(NotObserved):
            await workspace.session("ann").edit("b.txt", EDIT)


async def test_a_document_that_is_refused_changes_nothing(root: Path, tmp_path: Path) -> None:
    (root / "a.txt").write_text("one\n")
    async with open_workspace(str(tmp_path)) as other:
        foreign = await other.export_session("ann")
    async with open_workspace(str(root)) as workspace:
        session = workspace.session("ann")
        await session.read("a.txt", WINDOW)
        for document in ("{}", foreign):
            with pytest.raises(BadSessionError):
                await workspace.import_session("ann", document)
        await session.edit("a.txt", EDIT)
