"""What went wrong in a program, in one line for the model."""

from typing import Final

from tool_runtime.problems import cut

__all__ = ["located", "one_line", "text_fault"]

_LINE_CHARS_MAX: Final = 160
_MESSAGE_CHARS_MAX: Final = 1_000


def one_line(text: str) -> str:
    """Return a message on one line, bounded."""
    return cut(" ".join(text.split()), _MESSAGE_CHARS_MAX)


def located(message: str, lines: list[int], code: str) -> str:
    """Return a message with the place where it happened.

    Args:
        message: What happened.
        lines: Numbers of the program's lines on the way there, the last one being the place.
        code: The program.
    """
    texts = code.splitlines()
    inside = [line for line in lines if 1 <= line <= len(texts)]
    if not inside:
        return one_line(message)
    place = f"line {inside[-1]}: {one_line(message)}: {cut(texts[inside[-1] - 1].strip(), _LINE_CHARS_MAX)}"
    if len(inside) == 1:
        return place
    return f"{place} (called from line {inside[-2]})"


def text_fault(code: str, bytes_max: int) -> str | None:
    """Return why a text is no program at all, before anything looks at its syntax."""
    try:
        size_bytes = len(code.encode())
    except UnicodeEncodeError as error:
        return f"the program holds a lone surrogate at character {error.start}, which is not Unicode text"
    if size_bytes > bytes_max:
        return f"the program has {size_bytes} bytes, at most {bytes_max} are run; read large data through tools"
    return None
