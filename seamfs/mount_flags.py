"""The flags --mount and --mount-url. Loads nothing that is not needed to read them."""

import argparse
import shlex
from collections.abc import Sequence
from typing import cast

__all__ = ["add_mount_flags"]

MountFlag = tuple[str, dict[str, object]]


def add_mount_flags(command: argparse.ArgumentParser) -> None:
    """Add the flags; what they say ends up in `mounts`, as tables of the settings."""
    command.add_argument(
        "--mount",
        type=_command,
        action=_AddMount,
        dest="mounts",
        default={},
        metavar="NAME=COMMAND",
        help="start this MCP server and offer its tools as mcp__NAME__...; words and quotes as in a shell, but no "
        "shell is involved; repeatable; wins over a mount of that name in the settings",
    )
    command.add_argument(
        "--mount-url",
        type=_url,
        action=_AddMount,
        dest="mounts",
        default={},
        metavar="NAME=URL",
        help="the same with a server that is reached over streamable HTTP; repeatable",
    )


class _AddMount(argparse.Action):
    """Collects mounts by name."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        name, settings = cast("MountFlag", values)
        mounts = cast("dict[str, dict[str, object]]", getattr(namespace, self.dest))
        if name in mounts:
            raise argparse.ArgumentError(self, f"{name} is mounted twice")
        setattr(namespace, self.dest, {**mounts, name: settings})


def _command(text: str) -> MountFlag:
    name, command = _halves(text, "COMMAND")
    try:
        words: Sequence[str] = shlex.split(command)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{name}: the command cannot be split: {error}") from None
    if not words:
        raise argparse.ArgumentTypeError(f"{name}: the command is empty")
    return name, {"command": words}


def _url(text: str) -> MountFlag:
    name, url = _halves(text, "URL")
    return name, {"url": url}


def _halves(text: str, what: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        # The text itself may hold credentials.
        raise argparse.ArgumentTypeError(f"expected NAME={what}")
    return name, value
