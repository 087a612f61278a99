"""Bounds of one page, configurable."""

from dataclasses import dataclass, field

from fs_core.checked import CheckedOptions

__all__ = ["ReadLimits"]


@dataclass(frozen=True, kw_only=True)
class ReadLimits(CheckedOptions):
    """How much `read` shows at once."""

    max_lines: int = field(default=2_000, metadata={"gt": 0, "description": "lines of a page, and the largest limit"})
    max_line_chars: int = field(default=2_000, metadata={"gt": 0, "description": "characters shown of one line"})
    max_page_bytes: int = field(default=51_200, metadata={"gt": 0, "description": "bytes of text of a page"})
