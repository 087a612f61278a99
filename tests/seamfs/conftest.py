"""A clean place to run in: no settings from outside, an empty working directory, the usual width."""

import logging
import os
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_settings_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("SEAMFS_") and name != "SEAMFS_REQUIRE_REAL":
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    work = tmp_path / "cwd"
    work.mkdir()
    monkeypatch.chdir(work)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty directory to open as a workspace."""
    directory = tmp_path / "root"
    directory.mkdir()
    return directory


@pytest.fixture
def restored_logging() -> Generator[None]:
    """Undo what a command does to the logging of its process, and keep out of it what threads of earlier tests log."""
    others = [logging.getLogger(name) for name in ("asyncssh", "paramiko", "werkzeug")]
    loggers = [logging.getLogger(name) for name in ("", "mcp", "uvicorn", "httpx", "botocore", "paramiko")]
    before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
    for logger in others:
        logger.propagate = False
    yield
    for logger in others:
        logger.propagate = True
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers
