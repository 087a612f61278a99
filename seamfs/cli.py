"""The command `seamfs`. Whatever a command needs is imported when it runs: `--version` loads next to nothing.

So do the modules behind it: what few calls of a command need is imported where they need it.
"""

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn, cast

from seamfs.mount_flags import add_mount_flags
from seamfs.search_flags import SEARCHES, add_search_arguments, tool_arguments
from seamfs.version import VERSION

__all__ = ["main"]

SUCCESS: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
NOTHING_FOUND: Final = 3
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

_ROOT_HELP = "a directory, file://, s3://bucket/prefix, sftp://[user@]host[:port]/path, memory://, or any fsspec URL"
_ONE_SHOT = (
    "One call of the tool, as a model makes it, but without the read-before-write rule: there is no earlier read "
    "that this command could remember, unless --state names a file where it is kept. Exit status: 0 done, 1 refused "
    "(CODE: message on standard error), 2 usage."
)
_SESSION_HELP = (
    "whose reads these are in the file of --state: stdio by default for serve, cli for single commands; a server has "
    "its session for itself as long as it runs"
)
_TOOLS = (
    "All tools that seamfs serve --progressive would offer, those of mounted servers included. A server is waited for "
    "no longer than gateway.connect_timeout_s. Mounts of ./seamfs.toml are started only if --config names that file. "
    "Exit status: 0 done, 1 a server could not be connected, 2 usage."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status.

    0 success, 1 refused or failed, 2 usage, 3 a search that found nothing, 130 interrupted.
    """
    options = _parser().parse_args(arguments)
    try:
        if options.run is not _run_serve:
            _prepare_logging(options)
        status: int = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone. What is still buffered must not be written at exit, where it would be reported.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if options.debug:
            raise
        return _report(error)
    return status


def _report(error: Exception) -> int:
    """Print one line about an error and return the exit status."""
    from fs_core.errors import FsError
    from seamfs.config import BadSettingError
    from seamfs.extras import MissingExtraError, NotReadyError
    from seamfs.terminal import write_text

    match _single(error):
        case FsError() as fault:
            line, status = f"{fault.code}: {fault}", REFUSED
        case BadSettingError() as fault:
            line, status = f"seamfs: {fault}", USAGE
        case MissingExtraError() | NotReadyError() as fault:
            line, status = f"seamfs: {fault}", REFUSED
        case fault:
            what = " ".join(f"{type(fault).__name__}: {fault}".split())
            line, status = f"seamfs: unexpected: {what} (--debug shows where)", REFUSED
    write_text(f"{line}\n", sys.stderr)
    return status


def _single(error: Exception) -> Exception:
    """Return the one exception inside the groups that task groups put around it."""
    if not isinstance(error, ExceptionGroup):
        return error
    inner = cast("ExceptionGroup[Exception]", error).exceptions
    return _single(inner[0]) if len(inner) == 1 else cast("Exception", error)


class _Version(argparse.Action):
    """Prints the version."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> NoReturn:
        del namespace, values, option_string
        sys.stdout.write(f"seamfs {VERSION}\n")
        parser.exit(SUCCESS)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="seamfs", description="Files for language-model agents: one set of tools over disk, S3, SFTP and fsspec."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--debug", action="store_true", help="show tracebacks; they may quote file content")
    configured = argparse.ArgumentParser(add_help=False, parents=[common])
    configured.add_argument("--config", type=Path, metavar="FILE", help="read this instead of ./seamfs.toml")
    rooted = argparse.ArgumentParser(add_help=False, parents=[configured])
    rooted.add_argument("root", metavar="ROOT", help=_ROOT_HELP)
    remembering = argparse.ArgumentParser(add_help=False)
    remembering.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="keep here what was read, so that a later start knows it; made if missing",
    )
    remembering.add_argument("--session", metavar="NAME", help=_SESSION_HELP)
    _add_serve(commands.add_parser("serve", parents=[rooted, remembering], help="offer the tools over MCP"))
    one_shot = argparse.ArgumentParser(add_help=False, parents=[rooted, remembering])
    one_shot.add_argument("path", metavar="PATH", help="relative to ROOT")
    one_shot.add_argument("--json", action="store_true", help="print the structured value, or the error object")
    for name, help_text in (
        ("read", "print lines of a file"),
        ("write", "create a file, or replace it"),
        ("edit", "replace text in a file"),
    ):
        command = commands.add_parser(name, parents=[one_shot], help=help_text, description=_ONE_SHOT)
        _ADDERS[name](command)
    for name, (_, help_text) in SEARCHES.items():
        command = commands.add_parser(name, parents=[rooted], help=help_text)
        add_search_arguments(command, name)
        command.set_defaults(run=_run_search)
    _add_tools(
        commands.add_parser("tools", parents=[configured], help="show what a model can find", description=_TOOLS)
    )
    doctor = commands.add_parser("doctor", parents=[rooted], help="tell what a store can do, and what to mend")
    doctor.set_defaults(run=_run_doctor)
    demo = commands.add_parser(
        "demo", parents=[common], help="one session on disk, S3 and SFTP, proved identical; needs no account"
    )
    demo.set_defaults(run=_run_demo)
    return parser


def _add_serve(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--http", metavar="HOST:PORT", help="streamable HTTP at /mcp instead of standard input and output; without TLS"
    )
    command.add_argument("--token-env", metavar="NAME", help="environment variable that holds the bearer token")
    command.add_argument(
        "--allowed-host", action="append", metavar="NAME", help="a name of this server in Host and Origin; repeatable"
    )
    command.add_argument(
        "--read-only",
        action="store_true",
        help="of the tools for the files of ROOT offer those alone that change nothing; tools of mounted servers stay, "
        "whatever they change",
    )
    command.add_argument(
        "--tools",
        metavar="NAME,NAME",
        help="of the tools for the files of ROOT (read, write, edit, list_dir, glob, grep) offer these alone; with "
        "--read-only those of them that change nothing",
    )
    command.add_argument(
        "--structured", action="store_true", help="send values as structuredContent too, for hosts that read them"
    )
    command.add_argument(
        "--policy", choices=("read-before-write", "none"), help="whether a file has to be read before it is changed"
    )
    command.add_argument(
        "--progressive",
        action="store_true",
        help="declare the tools for the files of ROOT and three more by which a model finds and calls all others, so "
        "that what it is told stays the same while mounted servers come and go",
    )
    command.add_argument(
        "--mode",
        choices=("native", "code", "both"),
        help="how a model calls tools: native (the default), each by a call of its own; code, from Python programs "
        "alone, which the one tool run_code runs in a sandbox; both, either way. code and both imply --progressive",
    )
    command.add_argument(
        "--eager",
        action="append",
        metavar="NAME",
        help="declare this tool of a mounted server (mcp__NAME__TOOL) too; the start then waits for that server, and "
        "fails without the tool; repeatable; instead of those in the settings",
    )
    add_mount_flags(command)
    command.set_defaults(run=_run_serve)


def _add_tools(command: argparse.ArgumentParser) -> None:
    command.add_argument("--query", metavar="TEXT", help="rank as search_tools does for a model")
    command.add_argument("--read-only", action="store_true", help="as with seamfs serve --read-only")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    add_mount_flags(command)
    command.set_defaults(run=_run_tools)


def _add_read(command: argparse.ArgumentParser) -> None:
    command.add_argument("--offset", type=int, metavar="N", help="first line, 1 is the first of the file")
    command.add_argument("--limit", type=int, metavar="N", help="how many lines")
    command.set_defaults(run=_run_read)


def _add_write(command: argparse.ArgumentParser) -> None:
    command.add_argument("--content", metavar="TEXT", help="the new content; without it, standard input (UTF-8)")
    command.set_defaults(run=_run_write)


def _add_edit(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--old-string", required=True, metavar="TEXT", help="literal text; write --old-string=TEXT if it starts with -"
    )
    command.add_argument("--new-string", required=True, metavar="TEXT", help="what stands there instead")
    command.add_argument("--replace-all", action="store_true", help="at every place, not at exactly one")
    command.set_defaults(run=_run_edit)


_ADDERS: Final = {"read": _add_read, "write": _add_write, "edit": _add_edit}


def _prepare_logging(options: argparse.Namespace) -> None:
    from seamfs.logs import configure_logging, silence_logging

    if options.debug:
        configure_logging(verbose=True)
    else:
        silence_logging()


def _run_serve(options: argparse.Namespace) -> int:
    from seamfs.extras import require_extra

    require_extra("mcp", ("mcp", "uvicorn"), what="seamfs serve")
    from progressive import Mode
    from seamfs.serve import ServeOptions, serve

    return serve(
        ServeOptions(
            root=options.root,
            config_file=options.config,
            http=options.http,
            token_variable=options.token_env,
            allowed_hosts=tuple(options.allowed_host or ()),
            read_only=options.read_only,
            tools=options.tools,
            structured=options.structured,
            policy=options.policy,
            state=options.state,
            session=options.session,
            progressive=options.progressive,
            mode=None if options.mode is None else Mode(options.mode),
            eager=tuple(options.eager or ()),
            mounts=options.mounts,
            debug=options.debug,
        )
    )


def _run_tools(options: argparse.Namespace) -> int:
    from seamfs.extras import require_extra

    require_extra("mcp", ("mcp", "rich"), what="seamfs tools")
    from seamfs.tools import show_tools

    all_connected = show_tools(
        query=options.query,
        mounts=options.mounts,
        config_file=options.config,
        read_only=options.read_only,
        as_json=options.json,
    )
    return SUCCESS if all_connected else REFUSED


def _run_read(options: argparse.Namespace) -> int:
    window = {"offset": options.offset, "limit": options.limit}
    return _one_shot(options, {key: value for key, value in window.items() if value is not None}, "read")


def _run_write(options: argparse.Namespace) -> int:
    from seamfs.one_shot import standard_input

    content = standard_input() if options.content is None else options.content
    return _one_shot(options, {"content": content}, "write")


def _run_edit(options: argparse.Namespace) -> int:
    change = {"old_string": options.old_string, "new_string": options.new_string, "replace_all": options.replace_all}
    return _one_shot(options, change, "edit")


def _one_shot(options: argparse.Namespace, arguments: dict[str, str | int | bool], tool: str) -> int:
    # One call is over before there is garbage worth a search, which goes through everything that was loaded.
    gc.disable()
    atexit.register(gc.freeze)
    try:
        if tool == "read" and _was_read_plainly(options):
            return SUCCESS
        from seamfs.one_shot import run_tool

        code = run_tool(
            tool,
            {"file_path": options.path, **arguments},
            root=options.root,
            config_file=options.config,
            state=options.state,
            session=options.session,
            as_json=options.json,
        )
    finally:
        gc.enable()
    if code is None:
        return SUCCESS
    return USAGE if code == "INVALID_ARGS" else REFUSED


def _was_read_plainly(options: argparse.Namespace) -> bool:
    if any(option is not None for option in (options.config, options.state, options.session)):
        return False
    from seamfs.plain_read import print_page

    return print_page(options.root, options.path, offset=options.offset, limit=options.limit, as_json=options.json)


def _run_search(options: argparse.Namespace) -> int:
    from seamfs.search import run_search

    searched = run_search(
        options.tool,
        tool_arguments(options),
        root=options.root,
        config_file=options.config,
        gitignore=not options.no_ignore,
        as_json=options.json,
    )
    if searched.code is not None:
        return USAGE if searched.code == "INVALID_ARGS" else REFUSED
    # An empty directory is one, too.
    return SUCCESS if searched.found or options.tool == "list_dir" else NOTHING_FOUND


def _run_doctor(options: argparse.Namespace) -> int:
    from seamfs.doctor import run_doctor

    return SUCCESS if run_doctor(options.root, config_file=options.config) else REFUSED


def _run_demo(options: argparse.Namespace) -> int:
    from seamfs.extras import require_extra

    del options
    require_extra("demo", ("moto", "flask", "boto3", "s3fs", "paramiko", "asyncssh"), what="seamfs demo")
    from seamfs.demo import run_demo

    return SUCCESS if run_demo() else REFUSED
