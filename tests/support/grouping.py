"""Tests of one server run in one worker, so that not every worker starts every server.

The same holds for what a module makes once for all its tests.

xdist's own `--dist loadgroup` reads groups from the ids of tests, and names them in an attribute that pytest has
renamed since (xdist 3.8, pytest 9.2): without this module it has no effect.
"""

from collections.abc import Sequence
from typing import Any, Final, cast

import pytest

__all__ = ["pytest_collection_modifyitems"]

_SERVERS: Final = ("seaweedfs", "sshd", "npm")
"""How the fixtures of servers that take long to start begin, and the parameters that ask for one."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add to the id of each test which group it belongs to: of its marks, its server, or what its module shares."""
    if not config.getoption("loadgroup", default=False):
        return
    for item in items:
        group = _group(item)
        if group is not None and not item.nodeid.endswith(f"@{group}"):
            node = cast("Any", item)
            node._id = node._id.parse(f"{item.nodeid}@{group}")


def _group(item: pytest.Item) -> str | None:
    mark = item.get_closest_marker("xdist_group")
    if mark is not None:
        return str(mark.args[0])
    names = set(cast("list[str]", getattr(item, "fixturenames", ())))
    callspec = getattr(item, "callspec", None)
    if callspec is not None:
        names.update(value for value in callspec.params.values() if isinstance(value, str))
    server = next((server for server in _SERVERS if any(name.startswith(server) for name in names)), None)
    return server or _module_that_shares(item)


def _module_that_shares(item: pytest.Item) -> str | None:
    """Return the module of a test that uses what the module makes once for all its tests."""
    module = item.nodeid.partition("::")[0]
    info = getattr(item, "_fixtureinfo", None)
    used = {} if info is None else cast("dict[str, Sequence[pytest.FixtureDef[object]]]", info.name2fixturedefs)
    closest = [definitions[-1] for definitions in used.values() if definitions]
    return module if any((each.scope, each.baseid) == ("module", module) for each in closest) else None
