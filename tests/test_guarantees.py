"""Every test that the pages on guarantees and on security name exists."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.cases.report_table import report_cases

_ROOT: Final = Path(__file__).parent.parent
_PAGE: Final = (_ROOT / "docs" / "guarantees.md").read_text()
_SECURITY: Final = (_ROOT / "docs" / "security.md").read_text()
_THREATS: Final = _SECURITY.partition("\n## Threats\n")[2].partition("\n## ")[0]
_ROWS: Final = [line for line in _PAGE.splitlines() if line.startswith("| ") and not line.endswith("| proof |")]
_NODE: Final = re.compile(r"`([\w/.]+\.py::[\w:]+)`")
_CASE: Final = re.compile(r"\bTP\d{3}\b")


@cache
def _tests_in(path: Path) -> frozenset[str]:
    """Return the tests of a file as they stand in node ids after its path."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found |= {f"{prefix}{one.name}" for one in members if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    return frozenset(found)


@pytest.mark.parametrize("node", sorted(set(_NODE.findall(_PAGE + _SECURITY))))
def test_a_named_test_exists(node: str) -> None:
    path, _, name = node.partition("::")
    assert name.rpartition("::")[2].startswith("test_")
    assert name in _tests_in(_ROOT / path)


def test_every_named_case_is_in_the_table() -> None:
    assert set(_CASE.findall(_PAGE)) <= {report.id for report in report_cases()}


def test_every_guarantee_names_its_proof() -> None:
    assert len(_ROWS) > 60
    assert [row for row in _ROWS if not _NODE.search(row) and not _CASE.search(row)] == []


def test_every_threat_names_its_proof() -> None:
    rows = [line for line in _THREATS.splitlines() if line.startswith("| ") and not line.endswith("| proof |")]
    assert len(rows) > 25
    assert [row for row in rows if not _NODE.search(row)] == []
