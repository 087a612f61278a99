"""The examples of property tests are the same in every run, as `conftest.py` says."""

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st


def _examples() -> list[tuple[str, int]]:
    drawn: list[tuple[str, int]] = []

    @given(text=st.text(), number=st.integers())
    def draw(text: str, number: int) -> None:
        drawn.append((text, number))

    draw()
    return drawn


def test_examples_do_not_depend_on_which_modules_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _examples()
    file = tmp_path / "ours.py"
    file.write_text("\n".join(f"A_{number} = {number} * 1_000_003, 'text {number} of ours'" for number in range(500)))
    spec = importlib.util.spec_from_file_location("ours", file)
    assert spec is not None
    monkeypatch.setitem(sys.modules, "ours", importlib.util.module_from_spec(spec))
    assert _examples() == before
