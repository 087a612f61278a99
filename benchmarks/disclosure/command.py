"""What the commands have in common: where the public sets are, and that they are needed."""

import argparse
import sys
from pathlib import Path
from typing import Final

from benchmarks.disclosure.corpora import Corpus, corpora

__all__ = ["NO_DATA", "load", "parser_of"]

NO_DATA: Final = 2
"""Exit code where there are no sets."""

_DATA: Final = Path(__file__).parents[3] / "shared" / "data"


def parser_of(module: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows `--data`."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.disclosure.{module}", description=description)
    parser.add_argument("--data", type=Path, default=_DATA, help="folder of the public sets")
    return parser


def load(data: Path) -> list[Corpus]:
    """Load all sets.

    Raises:
        SystemExit: There are none; with one line on standard error.
    """
    try:
        return corpora(data)
    except FileNotFoundError as error:
        print(f"no data: {error.filename} does not exist; give the folder of the sets with --data", file=sys.stderr)
        raise SystemExit(NO_DATA) from None
