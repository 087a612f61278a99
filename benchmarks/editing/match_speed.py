"""How fast a text is found in 16 MB: `python -m benchmarks.editing.match_speed [--fast] [-o FILE]`.

`edit` is what `fs_core.edit` takes to find the only place, know that it is the only one, and splice; `bytes.find` and
`bytes.count` look for the same text. The periodic text is one that a careless search takes quadratic time for.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure.content import ABSENT, CONTENTS, LAST, make
from benchmarks.measure.micro import micro_runner
from benchmarks.measure.plan import MB
from fs_core.edit import Edit, apply_edit

_BYTES = 16 * MB
_PERIODIC = "ab" * 2000


def main() -> None:
    runner = micro_runner()
    with TemporaryDirectory() as folder:
        for content in CONTENTS:
            data = make(Path(folder, "file.txt"), content, _BYTES).path.read_bytes()
            runner.bench_func(f"edit, {content}", apply_edit, data, Edit(LAST, "new"))
            runner.bench_func(f"edit, text absent, {content}", apply_edit, data, Edit(ABSENT, "new"))
            runner.bench_func(f"bytes.find, {content}", data.find, LAST.encode())
        periodic = b"ab" * (_BYTES // 2) + b"x" + _PERIODIC.encode() + b"y"
        runner.bench_func("edit, periodic", apply_edit, periodic, Edit(f"x{_PERIODIC}y", "new"))
        runner.bench_func("bytes.count, periodic", periodic.count, f"x{_PERIODIC}y".encode())


if __name__ == "__main__":
    main()
