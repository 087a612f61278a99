"""Logs of the server: one JSON object a line on standard error, without file content and without secrets."""

import json
import logging
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

__all__ = ["configure_logging", "expect_shutdown", "silence_logging"]

FRAMES_SHOWN_MAX: Final = 8
TOLD_IN_FULL: Final = "progressive.gateway."
"""Here it tells which server is gone and why, in a line that holds no secret and was made to be shown."""

NOT_SHOWN: Final = "..."


class _JsonLines(logging.Formatter):
    """Formats a record as JSON.

    Of records that are not ours, and of exceptions, only what was written in the source is kept: the template with
    those arguments alone that are numbers, the types of the exceptions, and where they were raised. Arguments and
    messages may quote what a client sent or a file holds; they are added only when `verbose`. The exception is the
    gateway, whose lines are about servers that somebody has to mend.
    """

    def __init__(self, *, verbose: bool) -> None:
        super().__init__()
        self._verbose = verbose

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage() if self._verbose or _is_told(record) else _template(record),
            **getattr(record, "fields", {}),
        }
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            fields["error"] = _types(error)
            fields["at"] = _places(error)
            if self._verbose:
                fields["traceback"] = "".join(traceback.format_exception(error))
        return json.dumps(fields, ensure_ascii=True)


def configure_logging(*, verbose: bool) -> None:
    """Send all logs of this process to standard error; `verbose` may show file content."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines(verbose=verbose))
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    if not verbose:
        # The protocol library tells session ids at INFO, and the web server what we tell ourselves.
        for name in ("mcp", "uvicorn", "httpx", "botocore", "paramiko"):
            logging.getLogger(name).setLevel(logging.WARNING)


def silence_logging() -> None:
    """Show no logs: a command for people tells what happened in one line of its own."""
    logging.basicConfig(handlers=[logging.NullHandler()], force=True)


def expect_shutdown() -> None:
    """Leave out from here on that calls which end with the server cannot be answered: the log of the call says it."""
    logging.getLogger("mcp.shared.jsonrpc_dispatcher").setLevel(logging.ERROR)


def _template(record: logging.LogRecord) -> str:
    """Return the message with its numbers, and with dots in place of everything else that was not in the source."""
    template, arguments = str(record.msg), record.args
    if not arguments:
        return template
    try:
        if isinstance(arguments, Mapping):
            return template % {key: _shown(value) for key, value in arguments.items()}
        return template % tuple(map(_shown, arguments))
    except (TypeError, ValueError, KeyError):
        # The template wants something else than it got, or than we show.
        return template


def _shown(argument: object) -> object:
    return argument if isinstance(argument, int | float) else _NotShown()


class _NotShown:
    """Stands for an argument, whether the template wants its text or its representation."""

    def __repr__(self) -> str:
        return NOT_SHOWN


def _is_told(record: logging.LogRecord) -> bool:
    return record.name.startswith(TOLD_IN_FULL) and record.exc_info is None


def _types(error: BaseException) -> str:
    """Return the types of an exception and its causes, the outermost first."""
    names: list[str] = []
    current: BaseException | None = error
    while current is not None:
        names.append(type(current).__name__)
        current = current.__cause__
    return " from ".join(names)


def _places(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES_SHOWN_MAX:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
