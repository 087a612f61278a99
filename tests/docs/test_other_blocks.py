"""No block of a page is left to itself: what is no command is read, compiled, or compared."""

import ast
from itertools import pairwise
from pathlib import Path
from textwrap import indent
from typing import Any, Final

import pytest

from seamfs.config import load_settings
from tests.docs.blocks import Block, blocks_of, is_output, pages

RECIPES: Final = "docs/recipes"
MARKED: Final = {f"{RECIPES}/read-only.md": 1}
"""How many blocks of a page say that nothing runs them; each one more has to be wanted."""


def all_blocks(language: str) -> list[Block]:
    return [block for page in pages() for block in blocks_of(page) if block.language == language]


def is_known(block: Block, above: Block | None) -> bool:
    """Whether a test of this folder has to do with a block, or `make docs`."""
    match block.language:
        case "sh" | "toml" | "python" | "mermaid" | "{toctree}":
            return True
        case "json" | "ini" | "text":
            return block.file is not None or bool(block.servers) or (above is not None and is_output(above, block))
        case _:
            return False


def test_no_block_is_of_a_kind_that_nothing_checks() -> None:
    for page in pages():
        blocks = blocks_of(page)
        for above, block in pairwise([None, *blocks]):
            assert block is not None
            assert is_known(block, above), f"{block.place}: {block.language!r} block that no test knows"


def test_only_these_blocks_are_not_run_and_say_why() -> None:
    marked = [block.page for page in pages() for block in blocks_of(page) if block.not_run is not None]
    assert {page: marked.count(page) for page in marked} == MARKED


@pytest.mark.parametrize("block", all_blocks("toml"), ids=lambda block: block.place)
def test_settings_are_accepted(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("GITHUB_PERSONAL_ACCESS_TOKEN", "TICKETS_AUTH"):
        monkeypatch.setenv(variable, "given")
    file = tmp_path / "named.toml"
    file.write_text(block.text)
    assert load_settings(config_file=file) != load_settings()


@pytest.mark.parametrize("block", all_blocks("python"), ids=lambda block: block.place)
def test_programs_compile_and_what_they_import_is_there(block: Block) -> None:
    imports = [node for node in ast.parse(block.text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names: dict[str, Any] = {}
    for node in imports:
        exec(compile(ast.unparse(node), block.place, "exec"), names)
    bound = {alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names}
    assert bound <= names.keys()
    assert compile(f"async def program():\n{indent(block.text, '    ')}", block.place, "exec")
