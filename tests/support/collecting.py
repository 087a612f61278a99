"""What every worker does before its first test: it loads all of them.

In a new clone no module is compiled, and the workers, which go through the modules in one order, would compile all of
them each for itself. So each loads a share of its own first, and finds the rest done by the others.
"""

import gc
import os
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

__all__ = ["pytest_collection"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without looking for garbage: what is made stays to the end, and no test need look through it again."""
    gc.disable()
    try:
        _load_share(session.config)
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def _load_share(config: pytest.Config) -> None:
    number = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if not number:
        return
    paths = [config.rootpath / argument for argument in config.args]
    files = sorted(file for path in paths if path.is_dir() for file in path.rglob("test_*.py"))
    for file in files[int(number) :: int(os.environ["PYTEST_XDIST_WORKER_COUNT"])]:
        # One that cannot be loaded is loaded once more when it is collected, and is reported then.
        with suppress(Exception, pytest.skip.Exception):
            import_module(_module_of(file, config.rootpath))


def _module_of(file: Path, root: Path) -> str:
    return ".".join(file.relative_to(root).with_suffix("").parts)
