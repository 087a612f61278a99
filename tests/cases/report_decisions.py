"""What comes of each reported case here: which calls are refused with which code, and what the specification decides.

A case that is not named has all its calls succeed. `RULINGS` is the whole list of those that the specification
overrides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

__all__ = ["BIG_CONTENT", "DECISIONS", "OWNERS_APART", "RULINGS", "TOO_LARGE_CONTENT", "Decision"]

BIG_CONTENT: Final = "n" * 1_000_000
TOO_LARGE_CONTENT: Final = "x" * 1_000_000

OWNERS_APART: Final = frozenset({"TP187"})
"""Cases whose parallel calls come from different agents, each with a workspace of its own."""


@dataclass(frozen=True)
class Decision:
    """The codes of all calls in order (`None`: success; empty: all succeed; of a turn of several agents: sorted).

    `says` must stand in what the model is shown, `after` in the store. `rule` tells which section decides a `policy`.
    """

    codes: tuple[str | None, ...] = ()
    says: tuple[str, ...] = ()
    after: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    rule: str = ""


_NOT_TEXT: Final = (
    "FS_NOT_TEXT",
    "FS_NOT_OBSERVED",
)
_EDIT_NOT_FOUND: Final = (None, "FS_EDIT_NOT_FOUND")
_STALE: Final = (None, "FS_STALE_VERSION")
_SPECIAL: Final = "FS_NOT_REGULAR_FILE"
_LINES: Final = b"".join(b"%d\n" % number for number in range(1, 101))

_TEXT: Final = {
    "TP006": Decision(
        says=("line endings changed from CRLF to LF",),
        after={"r.md": b"a\nb\nc\n"},
        rule="filesystem, section 3 (exactly the bytes given); tools, section 2 (a note tells it)",
    ),
    "TP016": Decision(says=("only line endings are CR",)),
    "TP024": Decision(
        _NOT_TEXT, ("byte 12 of 22", "Latin-1"), rule="filesystem, section 4: strict UTF-8, for read and for edit"
    ),
    "TP026": Decision(_NOT_TEXT, ("byte 19 of 26",), rule="filesystem, section 4"),
    "TP027": Decision(_NOT_TEXT, ("byte 7 of 40",), rule="filesystem, section 4"),
    "TP030": Decision(_NOT_TEXT, ("byte 2 of 16", "GBK"), rule="filesystem, section 4"),
    "TP032": Decision(("FS_NOT_TEXT",), ("byte 0 of 5", "Big5"), rule="filesystem, section 4"),
    "TP033": Decision(_NOT_TEXT, ("UTF-16",), rule="filesystem, section 4"),
    "TP035": Decision(("FS_NOT_TEXT",), ("UTF-16",)),
    "TP036": Decision(_NOT_TEXT, ("byte 4 of 6", "cut off"), rule="filesystem, section 4"),
    "TP041": Decision(_EDIT_NOT_FOUND, ("line 2", "the file has 1 tab, old_string has 4 spaces")),
    "TP045": Decision(_EDIT_NOT_FOUND, ("line 2", "the file has 3 spaces, old_string has 4 spaces")),
    "TP046": Decision(_EDIT_NOT_FOUND, ("line 1", "2 spaces")),
    "TP058": Decision(_EDIT_NOT_FOUND, ("U+FF08", "U+0028")),
    "TP061": Decision(_EDIT_NOT_FOUND, ("NFC",)),
    "TP065": Decision(_EDIT_NOT_FOUND, ("line 1 holds U+200B", "the file has U+200B ZERO WIDTH SPACE")),
    "TP071": Decision(("FS_OUT_OF_RANGE",), ("has 2 lines",), rule="tools, section 2: past the end, with the total"),
    "TP073": Decision(
        says=("2000 of its 600006 characters are shown",),
        after={"min2.js": b"a" * 300_000 + b"needle" + b"b" * 300_000 + b"\n"},
        rule="filesystem, section 7: any window authorises a later edit",
    ),
    "TP074": Decision(says=("Continue with offset=",)),
    "TP075": Decision(says=("lines 1 to 2000 of 2500. Continue with offset=2001",)),
    "TP085": Decision(_NOT_TEXT, ("byte 2 of 9", "NUL"), rule="filesystem, section 4: a NUL anywhere is no text"),
}

_CHANGES: Final = {
    "TP094": Decision(_STALE, ("old_string still occurs exactly once", "-x=1", "+x = 1")),
    "TP095": Decision(_STALE, ("old_string still occurs exactly once", "-v2=1", "+v2 = 1")),
    "TP096": Decision(_STALE, ("-a", "+a2"), {"g.txt": b"a2\nb\n"}),
    "TP100": Decision(_STALE, after={"n.md": b"alpha\nBETA\n"}),
    "TP110": Decision(("FS_NOT_OBSERVED",)),
    "TP111": Decision(after={"race.txt": _LINES.replace(b"50\n", b"FIFTY\n").replace(b"75\n", b"SEVENTYFIVE\n")}),
    "TP113": Decision(after={"tr.md": b"# A1\n" + b"x" * 50_000 + b"\n# B1\n"}),
    "TP124": Decision((None, "INVALID_ARGS"), ("must not be empty",)),
    "TP127": Decision((None, "INVALID_ARGS"), ("must not be empty",)),
    "TP129": Decision((None, "INVALID_ARGS")),
    "TP130": Decision(says=("2 places replaced",)),
    "TP134": Decision(_EDIT_NOT_FOUND),
    "TP138": Decision(
        ("INVALID_ARGS", None), ("2: b",), rule="tools, section 2: 2.0 is accepted as an integer, 1.5 is not"
    ),
    "TP139": Decision(("INVALID_ARGS",), ("lines start at 1", '"offset":1')),
    "TP141": Decision(("INVALID_ARGS",), ("must be at least 1",)),
    "TP142": Decision(
        ("FS_OUT_OF_RANGE", None, "FS_OUT_OF_RANGE"),
        ("has 2 lines", "The file is empty: 0 lines", "has 0 lines"),
        rule="tools, section 2: past the end FS_OUT_OF_RANGE with the total; an empty file has zero lines, said",
    ),
    "TP145": Decision(after={"s.css": b"b\n"}),
    "TP150": Decision(
        ("FS_NOT_FOUND", None),
        after={"nowhere/x.txt": b"a\n"},
        rule="filesystem, section 3: a dangling link creates its target if that is inside the root",
    ),
    "TP153": Decision(says=("it was overwritten",)),
    "TP154": Decision(after={"big.bin": BIG_CONTENT.encode()}),
    "TP155": Decision((None, "FS_NO_SPACE"), ("Free space on the store",), {"q.txt": b"original\n"}),
    "TP158": Decision(after={"rd.txt": b"s" * 2_000_000}),
    "TP187": Decision(("FS_NOT_OBSERVED", None), rule="filesystem, section 7: the file of the first creator is kept"),
}

_PATHS: Final = {
    "TP079": Decision((_SPECIAL,)),
    "TP080": Decision((_SPECIAL, _SPECIAL)),
    "TP081": Decision(("FS_SANDBOX_DENIED", "FS_SANDBOX_DENIED")),
    "TP159": Decision(("FS_SANDBOX_DENIED", "FS_SANDBOX_DENIED")),
    "TP162": Decision(("FS_SANDBOX_DENIED",)),
    "TP164": Decision(
        ("FS_INVALID_PATH", "FS_INVALID_PATH"),
        ("Windows paths are not accepted",),
        rule=r"filesystem, section 2: C:\x on a POSIX backend is an invalid path",
    ),
    "TP165": Decision(
        (None, "FS_INVALID_PATH"),
        ("file: URIs are not accepted",),
        rule="filesystem, section 2: no percent-decoding, a file: URI is an invalid path",
    ),
    "TP168": Decision(("FS_NOT_FOUND",), ("are not expanded; paths are relative to the root",)),
    "TP169": Decision(
        (None, None, "FS_SANDBOX_DENIED"),
        ("<path>logs/a.log</path>", 'did you mean "logs/a.log"?'),
        rule="filesystem, section 2: relative, or the root's own absolute form; the relative form is suggested",
    ),
    "TP171": Decision(("FS_NOT_FOUND", "FS_NOT_FOUND"), ("goes through a file", "is not a directory")),
    "TP173": Decision((None, "FS_NOT_OBSERVED"), after={"Foo.js": b"1\n"}),
    "TP175": Decision(("FS_NOT_FOUND", "FS_NOT_FOUND"), ("config.yaml", "Readme.md")),
    "TP178": Decision(after={"a+b%20c d.txt": b"y\n"}),
    "TP181": Decision(("FS_NOT_FOUND", None)),
    "TP189": Decision(
        says=("of its 9000000 characters",),
        rule="filesystem, section 3: ranges are pinned to one version; a change in between is retried from the start",
    ),
    "TP193": Decision((None, "FS_UNAVAILABLE"), ("nothing was written",), {"u.txt": b"1\n"}),
}

RULINGS: Mapping[str, Decision] = MappingProxyType(
    {
        "TP083": Decision(
            (_SPECIAL,),
            ("is a directory", "a.txt, run.fifo"),
            rule="tools, section 2: a directory is FS_NOT_REGULAR_FILE naming what to use instead; it is not opened",
        ),
        "TP182": Decision(
            (_SPECIAL, None, _SPECIAL),
            ("b.txt, c.txt",),
            {"a/c.txt": b"y"},
            rule="tools, section 2: a directory is FS_NOT_REGULAR_FILE naming what to use instead, freshly listed",
        ),
    }
)
"""Where a reported case and the specification disagree, by id: what holds instead, and the section that says so."""

DECISIONS: Mapping[str, Decision] = MappingProxyType(_TEXT | _CHANGES | _PATHS | dict(RULINGS))
