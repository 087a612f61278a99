"""What the tortured files hold: a text that is a function of the changes made so far, so that every state is unique.

A token names one change. Whoever sees a content can tell whether it is whole and which changes are in it, in order.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fs_core.digest import content_digest
from fs_core.edit import Edit

__all__ = ["Content", "Shape", "added_by_edit", "digest_of", "parse", "render", "states"]


class Shape(StrEnum):
    """How a file is changed.

    COUNTER: edits of its first line. LOG: edits of its end marker. WHOLE: replaced by writes. ONCE: created, no more.
    """

    COUNTER = "counter"
    LOG = "log"
    WHOLE = "whole"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class Content:
    """A whole file: its shape and the tokens of its changes, the creation first."""

    shape: Shape
    tokens: tuple[str, ...]

    def after(self, token: str) -> "Content":
        """Return the content after one more change."""
        return Content(self.shape, (*self.tokens, token))


_END: Final = "end\n"
_PADDING: Final = "padding that makes one version longer than the next\n"
_PADDING_LINES_MAX: Final = 150


def render(content: Content) -> str:
    """Return the text of a file."""
    born, *later = content.tokens
    lines = [f"t {token}\n" for token in later]
    match content.shape:
        case Shape.COUNTER:
            return f"counter {len(later)}\n{''.join(reversed(lines))}born {born}\n{_END}"
        case Shape.WHOLE:
            length = int(content_digest(content.tokens[-1].encode())[:4], 16) % _PADDING_LINES_MAX
            return f"whole\nborn {born}\n{''.join(lines)}{_PADDING * length}{_END}"
        case Shape.LOG | Shape.ONCE:
            return f"{content.shape}\nborn {born}\n{''.join(lines)}{_END}"


def added_by_edit(content: Content, token: str) -> Edit:
    """Return the edit that makes `content.after(token)`, of a counter or a log."""
    if content.shape is Shape.COUNTER:
        count = len(content.tokens) - 1
        return Edit(f"counter {count}\n", f"counter {count + 1}\nt {token}\n")
    return Edit(_END, f"t {token}\n{_END}")


def parse(data: bytes) -> Content | None:
    """Return what a file holds, or `None` if it is not, byte for byte, what `render` makes of that."""
    try:
        text = data.decode()
        head, *rest = text.splitlines()
        shape = Shape(head.partition(" ")[0])
        born = next(line for line in rest if line.startswith("born "))
    except (ValueError, StopIteration):
        return None
    later = [line[2:] for line in rest if line.startswith("t ")]
    if shape is Shape.COUNTER:
        later.reverse()
    content = Content(shape, (born.removeprefix("born "), *later))
    is_whole = render(content) == text and not any(" " in token for token in content.tokens)
    return content if is_whole else None


def digest_of(content: Content) -> str:
    """Return the digest of the file's bytes."""
    return content_digest(render(content).encode())


def states(content: Content) -> list[str]:
    """Return the digests of all states that led to `content`, the creation first, itself last."""
    counts = range(1, len(content.tokens) + 1)
    return [digest_of(Content(content.shape, content.tokens[:count])) for count in counts]
