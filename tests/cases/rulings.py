"""Where a given case and the specification disagree, the specification holds: the whole list, with what it demands."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tests.cases.case_table import Expect

__all__ = ["RULINGS", "Ruling"]


@dataclass(frozen=True)
class Ruling:
    """What the specification demands of one step instead, and the rule with the section that it stands in."""

    expect: Expect
    rule: str


_EVIDENCE = "filesystem, section 3: content is the evidence, so a file made again with the same bytes is unchanged"
_OVERLAP = "filesystem, section 6: overlapping places are ambiguous without replace_all"
_ABORTED = "tools, section 1: the runtime's code for a call that was given up is ABORTED"
_CONFINED = "filesystem, section 2: every operation is confined to the root, reading too"

RULINGS: Mapping[tuple[str, int], Ruling] = MappingProxyType(
    {
        ("edit-overlap-counts-once", 1): Ruling(
            Expect(ok=False, code="FS_AMBIGUOUS_EDIT", file_after_utf8="aaa"), _OVERLAP
        ),
        ("edit-overlap-newlines", 1): Ruling(
            Expect(ok=False, code="FS_AMBIGUOUS_EDIT", file_after_utf8="x\n\n\ny"), _OVERLAP
        ),
        ("policy-delete-recreate-stale", 3): Ruling(
            Expect(ok=True, operation="update", file_after_utf8="z"),
            _EVIDENCE,
        ),
        ("read-extra-arg-ignored", 0): Ruling(
            Expect(ok=False, code="INVALID_ARGS"),
            "tools, section 2: unknown extra keys are refused with the list of known ones",
        ),
        ("read-limit-cap", 0): Ruling(
            Expect(ok=True, lines=((1, "x"),), note="limit_clamped"),
            "tools, section 2: a larger limit is clamped and said",
        ),
        ("read-offset-string", 0): Ruling(
            Expect(ok=False, code="FS_OUT_OF_RANGE"),
            'tools, section 2: an integer given as "2" is accepted; the file has one line',
        ),
        ("reg-abort-edit", 1): Ruling(Expect(ok=False, code="ABORTED", file_after_utf8="hello"), _ABORTED),
        ("reg-abort-read", 0): Ruling(Expect(ok=False, code="ABORTED"), _ABORTED),
        ("sandbox-ww-edit-outside", 0): Ruling(
            Expect(ok=False, code="FS_SANDBOX_DENIED", file_after_path="out/file.txt", file_after_utf8="original"),
            _CONFINED,
        ),
    }
)
"""By case id and index of the step."""
