"""A tree of this machine: names, a glob and a grep, beside programs and libraries."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from anyio import to_thread

from benchmarks.measure.case import Contender, NotInstalled, size_text
from benchmarks.measure.compare import compare
from benchmarks.measure.plan import Plan
from benchmarks.measure.report import Goal, Report
from benchmarks.peers.trees import FIND, RIPGREP, TREE_PEERS, TreePeer
from benchmarks.search.asked import GLOB, GLOBBING, GREPPING, LISTING, SEAM, TOP, SeamSearch, checked, tree_case
from benchmarks.search.source_tree import NEEDLE, SourceTree
from seamfs import Settings, open_workspace

__all__ = ["measure_local"]

_Count = Callable[[], int]


@dataclass(frozen=True, slots=True)
class _Question:
    """One table: how we answer, how a peer does if it can, and who is compared with."""

    operation: str
    ours: Contender
    theirs: Callable[[TreePeer], _Count | None]
    expected: int
    base: TreePeer
    goal: Goal | None = None


async def measure_local(plan: Plan, report: Report, tree: SourceTree) -> None:
    """Compare what is in the cache of the machine; every answer is checked."""
    report.versions |= {peer.name: peer.version() or f"not installed (`{peer.install}`)" for peer in TREE_PEERS}
    top = await to_thread.run_sync(_top, tree.root)
    async with open_workspace(str(tree.root), settings=Settings()) as workspace:
        for question in _questions(SeamSearch(workspace.session()), tree, top=top):
            contenders = [_contender(peer, question) for peer in TREE_PEERS]
            able = [each for each in contenders if each is not None]
            has_base = any(isinstance(each, Contender) and each.name == question.base.name for each in able)
            comparison = await compare(
                tree_case(question.operation, tree),
                [question.ours, *able],
                base=question.base.name if has_base else SEAM,
                rounds=plan.rounds,
                budget_s=3 * plan.budget_s,
            )
            report.add(comparison, *([] if question.goal is None else [question.goal]))


def _questions(seam: SeamSearch, tree: SourceTree, *, top: int) -> list[_Question]:
    root, size = tree.root, size_text(tree.size_bytes)
    return [
        _Question(TOP, Contender(SEAM, checked(seam.top, top)), lambda peer: _bound(peer.top, root), top, FIND),
        _Question(
            LISTING,
            Contender(SEAM, checked(seam.names, tree.files)),
            lambda peer: _bound(peer.files, root),
            tree.files,
            FIND,
        ),
        _Question(
            GLOBBING,
            Contender(SEAM, checked(seam.glob, tree.python_files), note="in order; `.gitignore` is honoured"),
            lambda peer: _bound(peer.glob, root, GLOB),
            tree.python_files,
            FIND,
            Goal(f"{GLOBBING} in a tree of {size} over find", SEAM, FIND.name, "at most", 2.0),
        ),
        _Question(
            GREPPING,
            Contender(SEAM, checked(seam.grep, tree.needles), note="each file is checked to be text", may_be_slow=True),
            lambda peer: _bound(peer.grep, root, NEEDLE),
            tree.needles,
            RIPGREP,
            Goal(f"{GREPPING} in a tree of {size} over rg", SEAM, RIPGREP.name, "at most", 3.0),
        ),
    ]


def _bound(ask: Callable[..., int] | None, *arguments: Path | str) -> _Count | None:
    return None if ask is None else partial(ask, *arguments)


def _contender(peer: TreePeer, question: _Question) -> Contender | NotInstalled | None:
    ask = question.theirs(peer)
    if ask is None:
        return None
    if peer.version() is None:
        return NotInstalled(peer.name, peer.install)
    return Contender(peer.name, checked(ask, question.expected), note=peer.note)


def _top(root: Path) -> int:
    """Return how many entries the first two levels have, without those of version control."""
    levels = [*root.glob("*"), *root.glob("*/*")]
    return sum(".git" not in path.relative_to(root).parts for path in levels)
