import pytest

from fs_core.edit import Spliced, apply_edit
from tests.torture.contents import Content, Shape, added_by_edit, digest_of, parse, render, states

SHAPES = list(Shape)


def content(shape: Shape, count: int) -> Content:
    return Content(shape, tuple(f"w{number}a0.{number}" for number in range(count)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 2, 30])
def test_what_is_rendered_is_parsed_again(shape: Shape, count: int) -> None:
    assert parse(render(content(shape, count)).encode()) == content(shape, count)


@pytest.mark.parametrize("shape", SHAPES)
def test_any_part_of_a_file_is_recognised_as_torn(shape: Shape) -> None:
    data = render(content(shape, 5)).encode()
    assert [size for size in range(len(data)) if parse(data[:size]) is not None] == []


@pytest.mark.parametrize("shape", SHAPES)
def test_a_mixture_of_two_versions_is_recognised_as_torn(shape: Shape) -> None:
    before, after = render(content(shape, 5)).encode(), render(content(shape, 6)).encode()
    mixtures = {before[:size] + after[size:] for size in range(1, len(before))} - {before, after}
    torn = {mixture for mixture in mixtures if parse(mixture) is None or parse(mixture) == content(shape, 5)}
    assert torn == mixtures


@pytest.mark.parametrize("data", [b"", b"\n", b"\xff", b"log\nend\n", b"other\nborn a\nend\n"])
def test_other_contents_are_no_files_of_the_bench(data: bytes) -> None:
    assert parse(data) is None


@pytest.mark.parametrize("shape", [Shape.COUNTER, Shape.LOG])
def test_an_edit_makes_the_content_after_it(shape: Shape) -> None:
    before = content(shape, 3)
    spliced = apply_edit(render(before).encode(), added_by_edit(before, "new"))
    assert isinstance(spliced, Spliced)
    assert spliced.splice.joined() == render(before.after("new")).encode()


def test_states_are_those_on_the_way_each_with_its_own_digest() -> None:
    whole = content(Shape.WHOLE, 4)
    assert states(whole) == [digest_of(content(Shape.WHOLE, count)) for count in (1, 2, 3, 4)]
    assert len(set(states(whole))) == 4
