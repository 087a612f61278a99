"""What a model can do about the exceptions that it meets most where only a part of Python is."""

import re
from typing import Final

__all__ = ["advised"]

_ADVICE: Final = (
    (re.compile(r"\bcoroutine\b"), "a tool call needs `await`"),
    (re.compile(r"^PermissionError\b"), "a program has no files of its own; call the tools"),
    (re.compile(r"^ModuleNotFoundError\b"), "there are no packages, and only a part of the standard library"),
    (re.compile(r"^AttributeError: module 'asyncio' "), "of asyncio there are gather and sleep"),
)


def advised(message: str) -> str:
    """Return the message of an exception, `Name: text`, with what to do about it where that is known."""
    advice = next((advice for pattern, advice in _ADVICE if pattern.search(message)), None)
    return message if advice is None else f"{message}; {advice}"
