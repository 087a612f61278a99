"""Compares one step as it went with what is expected of it. Pure; every disagreement is a line of text."""

from collections.abc import Iterator
from posixpath import normpath
from typing import Any, cast

from fs_core.paths import is_staged_name
from tests.cases.case_root import Stored, Tree
from tests.cases.case_table import Call, Expect, Parallel
from tests.cases.replay import Played
from tool_runtime import ToolFailure, ToolResult, ToolSuccess

__all__ = ["call_problems", "parallel_problems", "residue_problems"]

_REMEDIES = {"read": "Read the file first", "reread": "Read the file again"}


def call_problems(step: Call, expect: Expect, played: Played, *, workspace: str) -> Iterator[str]:
    """Yield what of one call is not as expected."""
    [result] = played.results
    yield from _result_problems(expect, result)
    yield from _store_problems(expect, _path_after(step, expect, workspace), played.after)
    if isinstance(result, ToolFailure) and played.before != played.after:
        yield f"a refused call changed the store from {played.before} to {played.after}"


def parallel_problems(step: Parallel, played: Played) -> Iterator[str]:
    """Yield what of a turn is not as expected."""
    expect = step.expect
    for call, result in zip(step.parallel, played.results, strict=True):
        yield from _result_problems(call.expect, result)
    codes = tuple(sorted(result.code for result in played.results if isinstance(result, ToolFailure)))
    yield from _differ("error codes", expect.error_codes, codes)
    yield from _differ("successes", expect.ok_count, len(played.results) - len(codes))
    if expect.path is not None:
        stored = played.after.get(expect.path)
        if stored is None or stored.data not in {text.encode() for text in expect.file_after_any}:
            yield f"{expect.path} is {stored}, expected one of {expect.file_after_any}"


def residue_problems(played: Played) -> Iterator[str]:
    """Yield every unfinished write that was left behind."""
    for path in played.after:
        if is_staged_name(path.rpartition("/")[2]):
            yield f"left behind: {path}"


def _path_after(step: Call, expect: Expect, workspace: str) -> str:
    """Return which file an expectation is about, relative to the case's root: by default the one that was asked for."""
    if expect.file_after_path is not None:
        return expect.file_after_path
    asked = str(step.args["file_path"]).replace("${ROOT}", "")
    return normpath(f"{workspace}/{asked}")


def _result_problems(expect: Expect, result: ToolResult) -> Iterator[str]:
    match result:
        case ToolFailure(code=code, message=message):
            yield from _differ("ok", expect.ok, False)
            yield from _differ("code", expect.code, code)
            if expect.remedy is not None and _REMEDIES[expect.remedy] not in message:
                yield f"the remedy {_REMEDIES[expect.remedy]!r} is missing in {message!r}"
        case ToolSuccess(value=value):
            yield from _differ("ok", expect.ok, True)
            yield from _value_problems(expect, cast("dict[str, Any]", value))


def _value_problems(expect: Expect, value: dict[str, Any]) -> Iterator[str]:
    lines = {line["number"]: line for line in value.get("lines", ())}
    for number, text in expect.lines:
        yield from _differ(f"line {number}", text, lines.get(number, {}).get("text"))
        yield from _differ(f"real length of line {number}", None, lines.get(number, {}).get("length"))
    for number, start in expect.line_truncated:
        yield from _differ(f"shown of line {number}", start, lines.get(number, {}).get("text"))
        if (lines.get(number, {}).get("length") or 0) <= len(start):
            yield f"line {number} does not tell its real length"
    if expect.line_count is not None:
        yield from _differ("number of lines", expect.line_count, len(lines))
    if "next_offset" in expect.model_fields_set:
        yield from _differ("next_offset", expect.next_offset, value["next_offset"])
    if expect.total_lines is not None:
        yield from _differ("total_lines", expect.total_lines, value["total_lines"])
    if expect.capped_by_bytes:
        yield from _differ("truncated_by", "bytes", value["truncated_by"])
    if expect.operation is not None:
        yield from _differ("operation", expect.operation, value["operation"])
    if expect.note is not None:
        yield from _differ("a note of kind", expect.note, *[note["kind"] for note in value["notes"]])


def _store_problems(expect: Expect, path: str, after: Tree) -> Iterator[str]:
    if expect.file_after is not None:
        yield from _differ(path, expect.file_after, _data(after, path))
    if expect.other_after is not None:
        other, text = expect.other_after
        yield from _differ(other, text.encode(), _data(after, other))
    for missing in (path if expect.absent_after else None, expect.missing_after):
        if missing is not None and missing in after:
            yield f"{missing} exists"
    if expect.mode_after is not None:
        yield from _differ(f"mode of {path}", expect.mode_after, after[path].mode)
    if expect.symlink_after is not None:
        link = after.get(expect.symlink_after, Stored("file"))
        yield from _differ(f"kind of {expect.symlink_after}", "link", link.kind)
    if expect.dir_list_after is not None:
        directory, names = expect.dir_list_after
        found = tuple(sorted(path.removeprefix(f"{directory}/") for path in after if path.startswith(f"{directory}/")))
        yield from _differ(f"names in {directory}", names, found)


def _data(tree: Tree, path: str) -> bytes | None:
    stored = tree.get(path)
    return stored.data if stored is not None and stored.kind == "file" else None


def _differ(what: str, wanted: object, *found: object) -> Iterator[str]:
    if wanted not in found:
        yield f"{what}: expected {wanted!r}, got {', '.join(map(repr, found))}"
