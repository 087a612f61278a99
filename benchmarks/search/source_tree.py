"""A tree of files like that of a large program, the same for the same seed."""

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["NEEDLE", "SourceTree", "make_tree"]

NEEDLE: Final = "acquireTenantQuota"
"""Stands in one file of `_FILES_PER_NEEDLE`, and nowhere else."""

VERSION_CONTROL: Final = ".git"
_FILES_PER_NEEDLE: Final = 400
_FILES_PER_DIRECTORY: Final = 14.5
_DEPTH_MAX: Final = 11
_SIZE_MEDIAN_BYTES: Final = 5_600
_SIZE_SIGMA: Final = 1.42
"""Sizes have a logarithmic normal distribution: half of the files are smaller than the median, the mean is 15 KB."""

_SIZE_MAX_BYTES: Final = 2 << 20
_POOL_BYTES: Final = 6 << 20
_LINES: Final = 10_000
_LINE_WORDS_MAX: Final = 11
_SYLLABLES: Final = (
    "ac al an ar at ba be bit buf cap cell con cor cou da de dex di dle e el en er ex fer fi fo for gen get hand i in "
    "ing ion is ker la le lis lo lock map mem min mo mon na ne net no nt o on or pa page par pe po port pro que quo re "
    "ren ro sa se ser set sh si so sta ste sub sys ta te ten ter ti to tor tra u un val ver vi vo war wa we zo"
)
_SUFFIXES: Final = ((".c", 34), (".h", 24), (".py", 16), (".ts", 10), (".md", 5), (".json", 5), (".yaml", 4), ("", 2))


@dataclass(frozen=True, slots=True)
class SourceTree:
    """What was made. Numbers are without what belongs to version control, which everyone is asked to leave out."""

    root: Path
    files: int
    python_files: int
    directories: int
    size_bytes: int
    needles: int

    def paths(self) -> Iterator[Path]:
        """Return the files, without what belongs to version control."""
        for directory, below, names in os.walk(self.root):
            if VERSION_CONTROL in below:
                below.remove(VERSION_CONTROL)
            yield from (Path(directory, name) for name in names)


def make_tree(root: Path, *, size_bytes: int, seed: int = 20261130, has_version_control: bool = True) -> SourceTree:
    """Make a tree of about `size_bytes` in the empty directory `root`."""
    rng = random.Random(seed)
    words = _vocabulary(rng)
    pool = _pool(rng, words)
    sizes = _sizes(rng, size_bytes)
    directories = _directories(rng, words, count=max(1, round(len(sizes) / _FILES_PER_DIRECTORY)))
    for directory in directories:
        (root / directory).mkdir(exist_ok=True)
    suffixes, weights = zip(*_SUFFIXES, strict=True)
    needles = written = python_files = 0
    for number, size in enumerate(sizes):
        suffix = rng.choices(suffixes, weights)[0]
        name = f"{rng.choice(words)}_{rng.choice(words)}{number}{suffix}"
        python_files += suffix == ".py"
        start = rng.randrange(len(pool) - size)
        content = pool[pool.index(b"\n", start) + 1 :][:size]
        if number % _FILES_PER_NEEDLE == 0:
            content += f"\treturn {NEEDLE}(session, {number});\n".encode()
            needles += 1
        elif number % 250 == 1:
            content = b"\x89PNG\r\n\x1a\n\0\0" + content  # a binary file
        elif number % 500 == 2:
            content += "// gepr\u00fcft\n".encode("latin-1")  # no UTF-8
        path = root / rng.choice(directories) / name
        path.write_bytes(content)
        written += len(content)
    ignore_files = _write_ignore_files(root, directories)
    if has_version_control:
        _make_version_control(root, rng)
    return SourceTree(
        root,
        files=len(sizes) + ignore_files,
        python_files=python_files,
        directories=len(directories),
        size_bytes=written,
        needles=needles,
    )


def _vocabulary(rng: random.Random) -> list[str]:
    syllables = _SYLLABLES.split()
    words = sorted({"".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(4_000)})
    return rng.sample(words, len(words))


def _pool(rng: random.Random, words: list[str]) -> bytes:
    """Return lines of something like code, of which every file takes a piece."""
    weights = [1 / (rank + 3) for rank in range(len(words))]
    drawn = iter(rng.choices(words, weights, k=_LINES * _LINE_WORDS_MAX))
    lines = [_line(rng, drawn) for _ in range(_LINES)]
    count = _POOL_BYTES * _LINES // sum(map(len, lines))
    return "".join(rng.choices(lines, k=count)).encode()


def _line(rng: random.Random, words: Iterator[str]) -> str:
    indent = "\t" * rng.randint(0, 5)
    match rng.randrange(10):
        case 0:
            return "\n"
        case 1 | 2:
            return f"{indent}// {' '.join(next(words) for _ in range(rng.randint(4, _LINE_WORDS_MAX)))}\n"
        case 3 | 4:
            return f"{indent}if ({next(words)}->{next(words)} != {next(words)}_{next(words)}) {{\n"
        case 5:
            return f"{indent}}}\n"
        case _:
            called = f"{next(words)}_{next(words)}"
            return f"{indent}{called}({next(words)}, &{next(words)}[{rng.randrange(256)}]);\n"


def _sizes(rng: random.Random, size_bytes: int) -> list[int]:
    sizes: list[int] = []
    total = 0
    while total < size_bytes:
        size = min(int(_SIZE_MEDIAN_BYTES * rng.lognormvariate(0, _SIZE_SIGMA)), _SIZE_MAX_BYTES)
        sizes.append(size)
        total += size
    return sizes


def _directories(rng: random.Random, words: list[str], *, count: int) -> list[str]:
    """Return directories, each behind the one that holds it."""
    made = {".": None}
    names = ["."]
    while len(names) < count:
        parent = rng.choice(names[-(count // 3 + 1) :] if rng.random() < 0.5 else names)
        name = rng.choice(words) if parent == "." else f"{parent}/{rng.choice(words)}"
        if name not in made and name.count("/") < _DEPTH_MAX:
            made[name] = None
            names.append(name)
    return names


def _write_ignore_files(root: Path, directories: list[str]) -> int:
    """Write `.gitignore` files as programs have them; what they name is not there, so that all tools see the same."""
    (root / ".gitignore").write_text("*.o\n*.pyc\n/build/\nnode_modules/\n!keep.o\n*~\n.*.swp\ntags\n")
    below = directories[10::60]
    for directory in below:
        (root / directory / ".gitignore").write_text("# generated\n/generated/\n*.tmp\n")
    return 1 + len(below)


def _make_version_control(root: Path, rng: random.Random) -> None:
    for number in range(200):
        directory = root / VERSION_CONTROL / "objects" / f"{number % 50:02x}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{rng.getrandbits(152):038x}").write_bytes(rng.randbytes(700))
