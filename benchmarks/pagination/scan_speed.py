"""How fast 16 MB are looked through: `python -m benchmarks.pagination.scan_speed [--fast] [-o FILE]`.

`scan` is what a cold page costs without its reading: validity, NUL, newlines of every block, one window. The other
functions are those of the standard library that look at every byte once.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure.content import CONTENTS, make
from benchmarks.measure.micro import micro_runner
from benchmarks.measure.plan import MB
from fs_core.page import TextScanner, Window

_BYTES = 16 * MB
_PIECE_BYTES = MB


def main() -> None:
    runner = micro_runner()
    with TemporaryDirectory() as folder:
        for content in CONTENTS:
            data = make(Path(folder, "file.txt"), content, _BYTES).path.read_bytes()
            runner.bench_func(f"scan, {content}", _scan, data)
            runner.bench_func(f"bytes.decode, {content}", data.decode)
            runner.bench_func(f"bytes.count, {content}", data.count, b"\n")


def _scan(data: bytes) -> None:
    scanner = TextScanner(Window(lines_max=100))
    for start in range(0, len(data), _PIECE_BYTES):
        scanner.feed(data[start : start + _PIECE_BYTES])
    scanner.finish()


if __name__ == "__main__":
    main()
