"""The arguments of `seamfs ls`, `glob` and `grep`. Loads nothing that is not needed to read them."""

import argparse
from typing import Final

__all__ = ["SEARCHES", "add_search_arguments", "tool_arguments"]

SEARCHES: Final = {
    "ls": ("list_dir", "list a directory"),
    "glob": ("glob", "find files by name"),
    "grep": ("grep", "search the lines of files"),
}
"""Of each command the tool and a few words."""

_ABOUT: Final = (
    "One search, as a model makes it with the tool {tool}. What is found goes to standard output, how much it is and "
    "what was left out to standard error. Bounds of time and size are those of the settings (search). Exit status: 0 "
    "done, 1 refused (CODE: message on standard error), 2 usage{nothing}."
)
_NOTHING: Final = ", 3 nothing matches (not 1 as of grep, since that is a refusal)"
_PATH: Final = {
    "ls": "the directory, relative to ROOT; without it ROOT itself",
    "glob": "the directory to search, relative to ROOT; without it ROOT itself",
    "grep": "the directory or file to search, relative to ROOT; without it all of ROOT",
}
_TOOL_ARGUMENTS: Final = ("pattern", "path", "depth", "include", "context", "ignore_case")


def add_search_arguments(command: argparse.ArgumentParser, name: str) -> None:
    """Add what one of the commands takes besides ROOT, and what it says of itself."""
    tool, _ = SEARCHES[name]
    command.description = _ABOUT.format(tool=tool, nothing="" if name == "ls" else _NOTHING)
    if name == "glob":
        command.add_argument("pattern", metavar="PATTERN", help="such as '*.py' or 'src/**/test_*.py'")
    if name == "grep":
        command.add_argument("pattern", metavar="PATTERN", help="a regular expression in the syntax of RE2")
        command.add_argument("--include", metavar="GLOB", help="search only files that match")
        command.add_argument("-C", "--context", type=int, metavar="N", help="lines around each match")
        command.add_argument("-i", "--ignore-case", action="store_true", help="letters match in either case")
    if name == "ls":
        command.add_argument("--depth", type=int, metavar="N", help="how many levels; without it 1")
    command.add_argument("path", nargs="?", metavar="PATH", help=_PATH[name])
    command.add_argument("--json", action="store_true", help="print the structured value, or the error object")
    command.add_argument(
        "--no-ignore", action="store_true", help="look at .git and the like too, and at what .gitignore files name"
    )
    command.set_defaults(tool=tool)


def tool_arguments(options: argparse.Namespace) -> dict[str, str | int | bool]:
    """Return what the tool is called with."""
    given = {name: getattr(options, name, None) for name in _TOOL_ARGUMENTS}
    return {name: value for name, value in given.items() if value is not None}
