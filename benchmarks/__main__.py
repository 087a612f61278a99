"""All benchmarks: `python -m benchmarks [--quick|--full] [--huge] [--only GROUPS]`.

Prints progress to standard error and at the end the tables, the goals first. Exit status 0 whether goals are met or
not: they are figures of a noisy machine; 1 if a group broke off.
"""

import argparse
import shlex
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

import anyio

from benchmarks.measure.environment import environment
from benchmarks.measure.plan import Plan
from benchmarks.measure.plots import draw
from benchmarks.measure.readme import fill
from benchmarks.measure.report import Report
from benchmarks.measure.tables import report_text

_GROUPS: Final = ("pagination", "editing", "backends", "search")
_README: Final = Path(__file__).with_name("README.md")
_PLOTS: Final = Path(__file__).with_name("plots")

_Run = Callable[[Plan, Report], Awaitable[None]]
"""What every group's module `suite` offers as `run`."""


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given)
    # Places of this machine are nobody's business.
    shown = [Path(each).name if Path(each).is_absolute() else each for each in given]
    command = f"python -m benchmarks {shlex.join(shown)}".strip()
    with TemporaryDirectory(prefix="seamfs-bench-", dir=options.scratch) as folder:
        plan = Plan(mode="full" if options.full else "quick", is_huge=options.huge, scratch=Path(folder).resolve())
        report = Report(environment(command, scratch=plan.scratch))
        for group in options.only:
            _run_group(group, plan, report)
            if options.json is not None:
                options.json.write_text(report.to_json(), encoding="utf-8")
    print(report_text(report))
    if options.plots is not None:
        draw(report.comparisons, options.plots)
    if options.readme:
        fill(_README, report, draw(report.comparisons, _PLOTS))
    return 1 if report.failures else 0


def _run_group(group: str, plan: Plan, report: Report) -> None:
    """Run one group; if it breaks off, what it has measured stays in the report."""
    try:
        run = cast("_Run", import_module(f"benchmarks.{group}.suite").run)
        anyio.run(partial(run, plan, report))
    except Exception as error:  # noqa: BLE001 - the other groups are measured all the same, and the report says so
        traceback.print_exc()
        report.failures.append(f"{group} broke off: {type(error).__name__}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    how_much = parser.add_mutually_exclusive_group()
    how_much.add_argument("--quick", action="store_true", help="the cells that goals are about; the default")
    how_much.add_argument("--full", action="store_true", help="the whole matrix")
    parser.add_argument("--huge", action="store_true", help="files of 1 GB too")
    parser.add_argument("--only", type=_groups, default=_GROUPS, metavar="GROUPS", help=f"some of {','.join(_GROUPS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single time there")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw the plots there")
    parser.add_argument("--readme", action="store_true", help="put tables and plots into benchmarks/README.md")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="where files are made; by default TMPDIR")
    return parser


def _groups(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    unknown = [name for name in chosen if name not in _GROUPS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no group {unknown[0]}; there are {', '.join(_GROUPS)}")
    return chosen


if __name__ == "__main__":
    sys.exit(main())
