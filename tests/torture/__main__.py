"""`python -m tests.torture`: agents in processes that are killed, on stores whose connections fail; then a judgement.

Exit status: 0 nothing found, 1 something found (the journals are kept, their directory is printed).
"""

import argparse
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.torture.mutations import MUTATIONS
from tests.torture.plan import STORES, StoreName
from tests.torture.report import Report, summary, table
from tests.torture.run import Load, torture
from tests.torture.stores import opened_store

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Torture the stores one after the other and print what came of it."""
    options = _parser().parse_args(arguments)
    names: tuple[StoreName, ...] = STORES if options.store == "all" else (options.store,)
    if options.mutation is not None:
        names = (MUTATIONS[options.mutation].store,)
    load = Load(
        duration_s=options.duration_s,
        processes=options.processes,
        agents=options.agents,
        kill_every_s=options.kill_every_s,
        seed=options.seed,
        mutation=options.mutation,
    )
    reports = [_run(name, load) for name in names]
    _say(f"\n{table(reports)}")
    if options.json is not None:
        text = ",\n".join(report.model_dump_json(indent=2) for report in reports)
        options.json.write_text(f"[{text}]\n")
    return 0 if all(report.is_clean for report in reports) else 1


def _run(name: StoreName, load: Load) -> Report:
    directory = Path(tempfile.mkdtemp(prefix="seamfs-torture-"))
    journals, served = directory / "journals", directory / "store"
    journals.mkdir()
    served.mkdir()
    with opened_store(name, served, seed=load.seed) as store:
        report = torture(store, load, journals, command=_command(name, load))
    _say(summary(report))
    shutil.rmtree(directory if report.is_clean else served)
    if not report.is_clean:
        _say(f"  journals: {journals}")
    return report


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _command(name: StoreName, load: Load) -> str:
    kills = "" if load.kill_every_s is None else f" --kill-every-s {load.kill_every_s:g}"
    mutation = "" if load.mutation is None else f" --mutation {load.mutation}"
    return (
        f"python -m tests.torture --store {name} --duration-s {load.duration_s:g} --processes {load.processes} "
        f"--agents {load.agents} --seed {load.seed}{kills}{mutation}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--store", choices=(*STORES, "all"), default="all")
    parser.add_argument("--duration-s", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--agents", type=int, default=4, help="of each process; one of them is unguarded")
    parser.add_argument("--kill-every-s", type=float, help="on average; by default as often as suits the store")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    parser.add_argument("--mutation", choices=sorted(MUTATIONS), help="break the library in this way; picks the store")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the reports there")
    return parser


if __name__ == "__main__":
    os.environ.setdefault("SEAMFS_REQUIRE_REAL", "1")
    sys.exit(main())
