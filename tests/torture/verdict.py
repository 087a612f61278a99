"""The judgement over a run: what every agent was told, held against what stands there in the end. Pure.

Three judges look at each file. The tokens in its final content: every acknowledged change exactly once, no refused one.
What readers saw: whole contents that somebody wrote. And whether all of it can have happened one after the other.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tests.torture.contents import Content, parse, states
from tests.torture.history import Event, Outcome, Read, Replace
from tests.torture.linearizability import check
from tests.torture.notes import Note, NoteKind
from tests.torture.plan import APPENDED

__all__ = ["Fault", "Finding", "Tree", "judge"]


class Fault(StrEnum):
    """What must never happen.

    LOST: an acknowledged change is not there. DUPLICATED: a change is there twice. REFUSED_PRESENT: a refused change is
    there. TORN: a content that is not whole, or that nobody wrote. STRAY: a name that nobody asked for. FALSE_ALARM: a
    refusal as stale although nothing had changed. DISORDER: any other contradiction between what agents were told.
    MISTOLD: an answer that does not fit the content. CRASHED: an exception that is no `FsError`, or a process that
    did not end.
    """

    LOST = "lost"
    DUPLICATED = "duplicated"
    REFUSED_PRESENT = "refused present"
    TORN = "torn"
    STRAY = "stray"
    FALSE_ALARM = "false alarm"
    DISORDER = "disorder"
    MISTOLD = "mistold"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that must never happen, and where."""

    fault: Fault
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Tree:
    """What stands behind the library in the end: files with their bytes, and directories."""

    files: Mapping[str, bytes]
    directories: frozenset[str]


_NOTED = {NoteKind.TORN: Fault.TORN, NoteKind.MISTOLD: Fault.MISTOLD, NoteKind.RAISED: Fault.CRASHED}


def judge(events: Sequence[Event], tree: Tree, notes: Iterable[Note], *, asked_for: frozenset[str]) -> list[Finding]:
    """Return everything that is wrong; `asked_for` are files that were written besides those in `events`."""
    by_key: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_key[event.key].append(event)
    findings = [Finding(_NOTED[note.kind], note.key, note.text) for note in notes if note.kind in _NOTED]
    for key, told in by_key.items():
        findings += _judge_file(key, told, tree.files.get(key))
    return findings + _strays(tree, asked_for | by_key.keys())


def _strays(tree: Tree, files: frozenset[str]) -> list[Finding]:
    directories = {parent for file in files for parent in _parents(file)}
    surplus = sorted(tree.files.keys() - files) + sorted(tree.directories - directories)
    return [Finding(Fault.STRAY, name, "nobody asked for this name") for name in surplus]


def _parents(file: str) -> list[str]:
    names = file.split("/")
    return ["/".join(names[:count]) for count in range(1, len(names))]


def _judge_file(key: str, events: Sequence[Event], data: bytes | None) -> list[Finding]:
    content = None if data is None else parse(data)
    if data is not None and content is None:
        return [Finding(Fault.TORN, key, f"in the end there is {data[-200:]!r}")]
    reached = {} if content is None else {digest: index for index, digest in enumerate(states(content))}
    resolved = [_resolved(event, content, list(reached)) for event in events]
    findings = _twice(key, content)
    findings += _unaccounted(key, resolved, reached, content)
    findings += _never_written(key, resolved, reached)
    return findings or _out_of_order(key, resolved, final=list(reached)[-1] if reached else None)


def _resolved(event: Event, content: Content | None, reached: Sequence[str]) -> Event:
    """Return an append of whatever was there as the change of one content into another that the end shows it to be."""
    action = event.action
    if not isinstance(action, Replace) or action.before != APPENDED:
        return event
    if content is None or action.after not in content.tokens:
        return event
    index = content.tokens.index(action.after)
    return replace(event, action=Replace(reached[index - 1] if index else None, reached[index]))


def _twice(key: str, content: Content | None) -> list[Finding]:
    counted = Counter(() if content is None else content.tokens)
    return [Finding(Fault.DUPLICATED, key, f"{token} is there {n} times") for token, n in counted.items() if n > 1]


def _unaccounted(
    key: str, events: Sequence[Event], reached: Mapping[str, int], content: Content | None
) -> list[Finding]:
    """Compare every change with what is there: its content was reached on the way to the final one, or not."""
    findings: list[Finding] = []
    attempted: set[str] = set()
    for event in events:
        if isinstance(event.action, Read):
            continue
        attempted.add(event.action.after)
        is_there = event.action.after in reached
        if event.outcome is Outcome.DONE and not is_there:
            findings.append(Finding(Fault.LOST, key, f"acknowledged and not there: {event}"))
        if event.outcome in {Outcome.STALE, Outcome.FAILED} and is_there:
            findings.append(Finding(Fault.REFUSED_PRESENT, key, f"refused and there: {event}"))
    tokens = () if content is None else content.tokens
    surplus = [token for token, digest in zip(tokens, reached, strict=False) if digest not in attempted]
    return findings + [Finding(Fault.TORN, key, f"nobody made the content with {token}") for token in surplus]


def _never_written(key: str, events: Sequence[Event], reached: Mapping[str, int]) -> list[Finding]:
    """Find contents that were read and never written."""
    written = {event.action.after for event in events if isinstance(event.action, Replace)} | reached.keys()
    return [
        Finding(Fault.TORN, key, f"read and never written: {event}")
        for event in events
        if isinstance(event.action, Read) and event.action.content is not None and event.action.content not in written
    ]


def _out_of_order(key: str, events: Sequence[Event], *, final: str | None) -> list[Finding]:
    """Check what was told for one order in which all of it can have happened."""
    told = [event for event in events if _says_something(event)]
    finding = check(told, initial=None, final=final)
    if finding is None:
        return []
    without_alarms = [event for event in told if event.outcome is not Outcome.STALE]
    is_alarm = check(without_alarms, initial=None, final=final) is None
    return [Finding(Fault.FALSE_ALARM if is_alarm else Fault.DISORDER, key, str(finding))]


def _says_something(event: Event) -> bool:
    if isinstance(event.action, Read):
        return event.outcome is Outcome.DONE
    return event.outcome is not Outcome.FAILED and event.action.before != APPENDED
