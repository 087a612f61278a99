"""The stores that the cases run on."""

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Final

import pytest

from fs_core.testing.harness import DirectoryHarness, StoreHarness
from fs_core.testing.memory import MemoryHarness
from tests.cases.case_root import CaseRoot
from tests.cases.case_table import Case
from tests.support.local_store import LocalHarness
from tests.support.s3_servers import S3Harness

__all__ = ["STORES", "new_root", "runs_on"]

_Fixtures = Callable[[str], Any]

_NEW_HARNESS: Final[Mapping[str, Callable[[_Fixtures], StoreHarness]]] = {
    "memory": lambda _: MemoryHarness(),
    "local": lambda fixtures: LocalHarness(fixtures("tmp_path_factory").mktemp("case")),
    "moto": lambda fixtures: fixtures("moto_server").harness(),
    "seaweedfs": lambda fixtures: fixtures("seaweedfs_server").harness(),
    "embedded-sftp": lambda fixtures: fixtures("embedded_sftp_server").harness(),
    "sshd": lambda fixtures: fixtures("sshd_server").harness(),
}

STORES: Final = tuple(_NEW_HARNESS)

_NO_LINKS_OR_MODES: Final = frozenset({"memory", "moto", "seaweedfs"})

_NOT_SERVED: Final = frozenset({("moto", "write-newline-in-name")})
"""The routes of moto's server match no key with a newline."""


def runs_on(case: Case, store: str) -> bool:
    """Tell whether a store knows what a case needs."""
    return not (case.needs and store in _NO_LINKS_OR_MODES) and (store, case.id) not in _NOT_SERVED


def new_root(workspace: str, store: str, request: pytest.FixtureRequest) -> CaseRoot:
    """Return a fresh, empty root, opened at `workspace` below it; the server is started with the first one."""
    whole = _NEW_HARNESS[store](request.getfixturevalue)
    return CaseRoot(whole, _workspace(whole, workspace), below=workspace)


def _workspace(whole: StoreHarness, below: str) -> StoreHarness:
    if below == ".":
        return whole
    if isinstance(whole, MemoryHarness):
        return MemoryHarness()
    workspace = copy(whole)
    if isinstance(workspace, DirectoryHarness):
        workspace.directory /= below
    elif isinstance(workspace, S3Harness):
        workspace.prefix = workspace.key(below)
    return workspace
