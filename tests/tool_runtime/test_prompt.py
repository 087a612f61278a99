from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tool_runtime import DuplicateNameError, PromptSection, ToolRuntime, UnknownScopeError


def test_sections_stand_by_order_then_name_with_one_empty_line_between() -> None:
    prompt = ToolRuntime().prompt
    prompt.add("zeta", "first", order=-1)
    prompt.add("beta", "third")
    prompt.add("alpha", "second")
    assert prompt.text() == "first\n\nsecond\n\nthird"


def test_no_section_is_no_text() -> None:
    assert ToolRuntime().prompt.text() == ""


sections = st.dictionaries(st.text(max_size=3), st.tuples(st.text(max_size=5), st.integers(-2, 2)), max_size=6)


@given(sections, st.randoms(use_true_random=False))
def test_the_text_is_byte_identical_for_the_same_set_of_sections(
    chosen: dict[str, tuple[str, int]], shuffled: Random
) -> None:
    texts: list[str] = []
    for _ in range(2):
        prompt, names = ToolRuntime().prompt, list(chosen)
        shuffled.shuffle(names)
        prompt.add("gone", "gone")()
        for name in names:
            prompt.add(name, chosen[name][0], order=chosen[name][1])
        texts.append(prompt.text())
    assert texts[0] == texts[1]


def test_a_scoped_section_shadows_the_outer_one_of_its_name() -> None:
    runtime = ToolRuntime()
    scope = runtime.scope()
    runtime.prompt.add("role", "outer", order=5)
    runtime.prompt.add("rules", "rules", order=7)
    dispose = runtime.prompt.add("role", "inner", order=9, scope=scope)
    assert runtime.prompt.text(runtime.scope(scope)) == "rules\n\ninner"
    assert runtime.prompt.text() == "outer\n\nrules"
    dispose()
    assert runtime.prompt.text(scope) == runtime.prompt.text()


def test_an_empty_scoped_section_hides_the_outer_one() -> None:
    runtime = ToolRuntime()
    scope = runtime.scope()
    runtime.prompt.add("a", "first")
    runtime.prompt.add("b", "outer")
    runtime.prompt.add("c", "last")
    runtime.prompt.add("b", "", scope=scope)
    assert runtime.prompt.text(scope) == "first\n\nlast"


def test_a_duplicate_name_in_one_scope_is_an_error() -> None:
    prompt = ToolRuntime().prompt
    prompt.add("role", "a")
    with pytest.raises(DuplicateNameError, match="the prompt section 'role' is already registered"):
        prompt.add("role", "b")


def test_the_sections_of_a_closed_scope_are_gone() -> None:
    runtime = ToolRuntime()
    scope = runtime.scope()
    runtime.prompt.add("role", "a", scope=scope)
    runtime.close_scope(scope)
    with pytest.raises(UnknownScopeError):
        runtime.prompt.text(scope)
    assert runtime.prompt.text() == ""


def test_a_section_of_the_asker_stands_by_its_order_and_is_shadowed_by_a_registered_one() -> None:
    prompt = ToolRuntime().prompt
    outer = (PromptSection("mode", "how to", order=5),)
    prompt.add("files", "Files.")
    prompt.add("zoo", "Zoo.", order=9)
    assert prompt.text(outer=outer) == "Files.\n\nhow to\n\nZoo."
    prompt.add("mode", "mine")
    assert prompt.text(outer=outer) == "Files.\n\nmine\n\nZoo."
    assert prompt.text() == "Files.\n\nmine\n\nZoo."
