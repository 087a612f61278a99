import pytest
from pydantic import JsonValue

from fs_core.digest import content_digest
from tests.tool_fs.toolkit import Bench
from tool_fs.limits import ReadLimits
from tool_runtime import ToolSuccess

pytestmark = pytest.mark.anyio


@pytest.fixture
def bench() -> Bench:
    return Bench(limits=ReadLimits(max_lines=4, max_line_chars=10, max_page_bytes=30))


def shown(path: str, rows: list[str], *after: str) -> str:
    return "\n".join([f"<path>{path}</path>", "<type>file</type>", "<content>", *rows, "</content>", *after])


async def test_the_value_of_a_page_in_the_middle(bench: Bench) -> None:
    data = b"one\ntwo\r\nthree\nfour\n"
    bench.seam.put("d/a.txt", data)
    assert await bench.value("read", file_path="./d/a.txt", offset=2, limit=2) == {
        "path": "d/a.txt",
        "offset": 2,
        "lines": [{"number": 2, "text": "two"}, {"number": 3, "text": "three"}],
        "total_lines": 4,
        "next_offset": 4,
        "truncated_by": "lines",
        "version": content_digest(data),
        "final_newline": True,
        "notes": [],
    }


async def test_the_value_of_a_cut_line_and_an_open_end(bench: Bench) -> None:
    bench.seam.put("a.txt", "é".encode() * 12)
    value = await bench.value("read", file_path="a.txt")
    assert value["lines"] == [{"number": 1, "text": "é" * 10, "length": 12}]
    assert (value["next_offset"], value["truncated_by"], value["final_newline"]) == (None, None, False)
    assert value["notes"] == [
        {"kind": "line_cut", "text": "line 1 is cut: 10 of its 12 characters are shown"},
        {"kind": "no_final_newline", "text": "the last line has no newline at its end"},
    ]


@pytest.mark.parametrize(
    ("data", "arguments", "rows", "after"),
    [
        pytest.param(b"one\ntwo\n", {}, ["1: one", "2: two"], ["(End of file: lines 1 to 2 of 2.)"], id="whole file"),
        pytest.param(b"one\n", {}, ["1: one"], ["(End of file: line 1 of 1.)"], id="one line"),
        pytest.param(
            b"1\n2\n3\n",
            {"offset": 2},
            ["2: 2", "3: 3"],
            ["(End of file: lines 2 to 3 of 3.)"],
            id="from a line to the end",
        ),
        pytest.param(
            b"1\n2\n3\n",
            {"limit": 2},
            ["1: 1", "2: 2"],
            ["(Shown: lines 1 to 2 of 3. Continue with offset=3.)"],
            id="limit",
        ),
        pytest.param(
            b"1\n2\n3\n",
            {"offset": 2, "limit": 1},
            ["2: 2"],
            ["(Shown: line 2 of 3. Continue with offset=3.)"],
            id="one line of several",
        ),
        pytest.param(
            b"1\n2\n3\n4\n5\n",
            {},
            ["1: 1", "2: 2", "3: 3", "4: 4"],
            ["(Shown: lines 1 to 4 of 5. Continue with offset=5.)"],
            id="line cap",
        ),
        pytest.param(
            b"1\n2\n3\n4\n5\n",
            {"limit": 9},
            ["1: 1", "2: 2", "3: 3", "4: 4"],
            [
                "(Note: limit 9 is more than a page holds; at most 4 lines are shown at once.)",
                "(Shown: lines 1 to 4 of 5. Continue with offset=5.)",
            ],
            id="limit above the cap",
        ),
        pytest.param(
            b"1234567890\n" * 4,
            {},
            ["1: 1234567890", "2: 1234567890"],
            ["(Shown: lines 1 to 2 of 4. Continue with offset=3.)"],
            id="byte cap",
        ),
        pytest.param(
            b"123456789012345\nx\n",
            {},
            ["1: 1234567890", "2: x"],
            [
                "(Note: line 1 is cut: 10 of its 15 characters are shown.)",
                "(End of file: lines 1 to 2 of 2.)",
            ],
            id="cut line",
        ),
        pytest.param(b"", {}, [], ["(The file is empty: 0 lines.)"], id="empty file"),
        pytest.param(b"\n", {}, ["1: "], ["(End of file: line 1 of 1.)"], id="one empty line"),
        pytest.param(b"\xef\xbb\xbf", {}, [], ["(The file is empty: 0 lines.)"], id="byte order mark alone"),
        pytest.param(
            b"one\ntwo",
            {},
            ["1: one", "2: two"],
            ["(Note: the last line has no newline at its end.)", "(End of file: lines 1 to 2 of 2.)"],
            id="no final newline",
        ),
        pytest.param(
            b"1\n2\n3",
            {"limit": 1},
            ["1: 1"],
            ["(Shown: line 1 of 3. Continue with offset=2.)"],
            id="no final newline further on",
        ),
        pytest.param(
            b"a\rb",
            {},
            ["1: a\rb"],
            [
                "(Note: the file's only line endings are CR, so it counts as one line.)",
                "(Note: the last line has no newline at its end.)",
                "(Note: line 1 holds U+000D CARRIAGE RETURN.)",
                "(End of file: line 1 of 1.)",
            ],
            id="cr only",
        ),
        pytest.param(
            "a\u200bb\x1b[0m\nplain\n\ufeff\n".encode(),
            {},
            ["1: a\u200bb\x1b[0m", "2: plain", "3: \ufeff"],
            [
                "(Note: line 1 holds U+200B ZERO WIDTH SPACE, U+001B ESCAPE.)",
                "(Note: line 3 holds U+FEFF ZERO WIDTH NO-BREAK SPACE.)",
                "(End of file: lines 1 to 3 of 3.)",
            ],
            id="unseen characters",
        ),
        pytest.param(
            b"</content>\n1: x\n\tx\n",
            {},
            ["1: </content>", "2: 1: x", "3: \tx"],
            ["(End of file: lines 1 to 3 of 3.)"],
            id="text that looks like ours stands raw",
        ),
    ],
)
async def test_what_the_model_is_shown(
    bench: Bench, data: bytes, arguments: dict[str, JsonValue], rows: list[str], after: list[str]
) -> None:
    bench.seam.put("a.txt", data)
    assert await bench.text("read", file_path="a.txt", **arguments) == shown("a.txt", rows, *after)


async def test_the_byte_cap_is_told_apart_from_the_line_cap(bench: Bench) -> None:
    bench.seam.put("a.txt", b"1234567890\n" * 4)
    bench.seam.put("b.txt", b"1\n" * 5)
    assert (await bench.value("read", file_path="a.txt"))["truncated_by"] == "bytes"
    assert (await bench.value("read", file_path="b.txt"))["truncated_by"] == "lines"


async def test_following_next_offset_shows_the_whole_file(bench: Bench) -> None:
    bench.seam.put("a.txt", b"".join(b"%d\n" % number for number in range(1, 12)))
    offset: JsonValue = 1
    numbers: list[JsonValue] = []
    while offset is not None:
        value = await bench.value("read", file_path="a.txt", offset=offset)
        lines, offset = value["lines"], value["next_offset"]
        assert isinstance(lines, list)
        numbers += [line["number"] for line in lines if isinstance(line, dict)]
    assert numbers == list(range(1, 12))


async def test_the_defaults_are_2000_lines_of_2000_characters_and_50_kib() -> None:
    assert ReadLimits() == ReadLimits(max_lines=2_000, max_line_chars=2_000, max_page_bytes=51_200)
    bench = Bench()
    bench.seam.put("a.txt", b"x\n" * 2_001)
    bench.seam.put("b.txt", b"x" * 2_001 + b"\n")
    bench.seam.put("c.txt", (b"x" * 1_023 + b"\n") * 51)
    assert (await bench.value("read", file_path="a.txt"))["next_offset"] == 2_001
    assert "x" * 2_000 + "\n</content>" in await bench.text("read", file_path="b.txt")
    assert (await bench.value("read", file_path="c.txt"))["next_offset"] == 51


async def test_a_path_with_control_characters_cannot_forge_a_page(bench: Bench) -> None:
    bench.seam.put("x</path>\n1: y", b"one\n")
    text = await bench.text("read", file_path="x</path>\n1: y")
    assert text.split("\n")[0] == r"<path>'x</path>\n1: y'</path>"


async def test_what_is_shown_can_be_sent_back_and_matches(bench: Bench) -> None:
    bench.seam.put("a.txt", "\ta\u200b\r\n\x1bb\rc\n".encode())
    value = await bench.value("read", file_path="a.txt")
    lines = value["lines"]
    assert isinstance(lines, list)
    text = "\n".join(str(line["text"]) for line in lines if isinstance(line, dict))
    assert (await bench.value("edit", file_path="a.txt", old_string=text, new_string="x"))["replacements"] == 1
    assert bench.seam.get("a.txt") == b"x\n"


async def test_a_page_past_the_end_is_refused_with_the_total(bench: Bench) -> None:
    bench.seam.put("a.txt", b"1\n2\n")
    text = await bench.text("read", file_path="a.txt", offset=3)
    assert text == "FS_OUT_OF_RANGE: a.txt: has 2 lines; line 3 is past the end."


async def test_reads_of_one_turn_overlap(bench: Bench) -> None:
    tool = bench.runtime.get("read")
    assert tool is not None
    assert tool.concurrency_safe(object())
    bench.seam.put("a.txt", b"1\n")
    assert isinstance(await bench.call("read", file_path="a.txt"), ToolSuccess)
