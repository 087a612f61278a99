import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fs_core.near_names import NEAR_NAMES_MAX, near_names


@pytest.mark.parametrize(
    ("name", "candidates", "near"),
    [
        pytest.param("raedme.md", ["readme.md", "main.py"], ("readme.md",), id="swapped letters"),
        pytest.param("readme.md", ["README.md"], ("README.md",), id="letter case"),
        pytest.param(
            "readme", ["README", "ReadMe", "readme.md"], ("README", "ReadMe", "readme.md"), id="nearest first"
        ),
        pytest.param("strasse", ["Straße"], ("Straße",), id="case folding"),
        pytest.param("test_a.py", [f"test_{letter}.py" for letter in "bcdef"], None, id="three at the most"),
        pytest.param("alpha", ["omega", "readme.md"], (), id="nothing is like it"),
        pytest.param("a", [], (), id="empty directory"),
        pytest.param("", ["a"], (), id="no name"),
    ],
)
def test_similar_names_are_offered(name: str, candidates: list[str], near: tuple[str, ...] | None) -> None:
    found = near_names(name, candidates)
    assert found == near if near is not None else len(found) == NEAR_NAMES_MAX


@settings(deadline=None)
@given(st.text(max_size=8), st.lists(st.text("abAB.", max_size=6), max_size=12))
def test_only_candidates_are_offered_and_few(name: str, candidates: list[str]) -> None:
    found = near_names(name, candidates)
    assert len(found) <= NEAR_NAMES_MAX
    assert set(found) <= set(candidates)


def test_long_names_are_compared_by_their_beginning_so_that_the_work_is_bounded() -> None:
    assert near_names("a" * 64 + "x" * 150, ["a" * 64 + "y" * 150, "b" * 64 + "x" * 150]) == ("a" * 64 + "y" * 150,)
