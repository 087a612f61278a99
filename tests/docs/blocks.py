"""The code blocks of the pages, and what the pages say about each."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt

__all__ = ["PROJECT", "Block", "blocks_of", "is_output", "pages"]

PROJECT: Final = Path(__file__).parents[2]

_FILE: Final = re.compile(r"`([^`]+)`:$")
"""A block is the content of a file if the line above it ends so."""
_NOT_RUN: Final = re.compile(r"^\*Not run by the tests: (.+)\*$")
"""What the line above a block says, for every reader to see, if nothing can run it here."""

_SERVERS: Final = ("mcpServers", "servers", "mcp")
"""Under which clients keep their servers."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of code.

    Attributes:
        page: Relative to the project.
        line: Of its fence or beginning, counted from 1.
        heading: The last one above it.
        language: What stands behind the fence; nothing for a block that is only indented.
        text: Its content.
        file: The file whose content it is.
        not_run: Why nothing runs it.
    """

    page: str
    line: int
    heading: str
    language: str
    text: str
    file: str | None
    not_run: str | None

    @property
    def servers(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the MCP servers that it names, if it is the configuration of a client."""
        config: Mapping[str, Any] = json.loads(self.text) if self.language == "json" else {}
        found: list[Mapping[str, Mapping[str, Any]]] = [config[key] for key in _SERVERS if key in config]
        return found[0] if found else {}

    @property
    def place(self) -> str:
        """Return where it stands, for messages."""
        return f"{self.page}:{self.line}"


def pages() -> Sequence[str]:
    """Return all pages that are shown to readers, relative to the project."""
    found = [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *(PROJECT / "docs").rglob("*.md")]
    found += (PROJECT / "benchmarks").rglob("*.md")
    return sorted(str(page.relative_to(PROJECT)) for page in found)


@cache
def blocks_of(page: str) -> Sequence[Block]:
    """Return the blocks of a page, in order."""
    text = (PROJECT / page).read_text(encoding="utf-8")
    lines = text.splitlines()
    heading = ""
    blocks: list[Block] = []
    tokens = MarkdownIt().parse(text)
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            heading = tokens[index + 1].content
        if token.type not in {"fence", "code_block"} or token.map is None:
            continue
        start = token.map[0]
        above = next((line.strip() for line in reversed(lines[:start]) if line.strip()), "")
        file, not_run = _FILE.search(above), _NOT_RUN.match(above)
        blocks.append(
            Block(
                page=page,
                line=start + 1,
                heading=heading,
                language=token.info.split(maxsplit=1)[0] if token.info.strip() else "",
                text=token.content,
                file=None if file is None else file[1],
                not_run=None if not_run is None else not_run[1],
            )
        )
    return blocks


def is_output(above: Block, block: Block) -> bool:
    """Whether a block shows what the commands above it print."""
    return block.language == "text" and block.file is None and above.language == "sh" and above.not_run is None
