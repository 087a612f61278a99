"""The programs that the page on disclosure prints run as they are printed, one after the other."""

from pathlib import Path
from textwrap import indent
from typing import Any, Final

import pytest

from tool_runtime import ToolResult

_PAGE: Final = Path(__file__).parent.parent / "docs" / "disclosure.md"


@pytest.mark.anyio
async def test_the_program_that_opens_a_sandbox_runs_one() -> None:
    names: dict[str, Any] = {}
    layer, sandbox = [part.split("```")[0] for part in _PAGE.read_text(encoding="utf-8").split("```python\n")[1:3]]
    exec(layer, names)
    exec(f"async def run():\n{indent(sandbox, '    ')}\n    return results", names)
    results: list[ToolResult] = await names["run"]()
    assert [result.text for result in results] == ['Returned:\n"rain"']
