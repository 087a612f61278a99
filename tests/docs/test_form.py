"""What would fail the site: links that lead to no file, and headings that pass over a level."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.docs.blocks import PROJECT, pages


def tokens_of(text: str) -> Sequence[Token]:
    return MarkdownIt().enable("table").parse(text)


def heading_levels(text: str) -> list[int]:
    return [int(token.tag[1:]) for token in tokens_of(text) if token.type == "heading_open"]


def link_targets(text: str) -> Iterator[str]:
    for token in tokens_of(text):
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if isinstance(target, str):
                yield target


@pytest.mark.parametrize("page", pages())
def test_a_page_has_headings_in_order_and_links_that_lead_somewhere(page: str) -> None:
    file = PROJECT / page
    text = file.read_text()
    levels = heading_levels(text)
    assert levels[:1] == [1]
    assert [(above, below) for above, below in pairwise(levels) if below > above + 1] == []
    paths = [unquote(urlsplit(target).path) for target in link_targets(text) if not urlsplit(target).scheme]
    assert [path for path in paths if path and not (file.parent / path).exists()] == []


def test_links_in_tables_and_of_pictures_are_found() -> None:
    assert [*link_targets("| a |\n|---|\n| [x](gone.md#part) |\n\n![p](plot.png) <https://a.example>\n")] == [
        "gone.md#part",
        "plot.png",
        "https://a.example",
    ]
    assert heading_levels("# a\n\n### b\n\n```sh\n# no heading\n```\n") == [1, 3]
