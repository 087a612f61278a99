import pytest
from pydantic import JsonValue

from fs_core.digest import content_digest
from tests.tool_fs.toolkit import Bench

pytestmark = pytest.mark.anyio


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def read(bench: Bench, path: str = "a.txt") -> None:
    await bench.value("read", file_path=path)


async def test_the_value_of_a_created_file(bench: Bench) -> None:
    assert await bench.value("write", file_path="d/a.txt", content="é\n") == {
        "path": "d/a.txt",
        "operation": "create",
        "version": content_digest("é\n".encode()),
        "bytes": 3,
        "diff": "--- d/a.txt\n+++ d/a.txt\n@@ -0,0 +1 @@\n+é\n",
        "notes": [{"kind": "parents_created", "text": "directories created: d"}],
    }
    assert bench.seam.get("d/a.txt") == "é\n".encode()


async def test_the_value_of_a_replaced_file(bench: Bench) -> None:
    bench.seam.put("a.txt", b"\xef\xbb\xbfone\r\n")
    await read(bench)
    value = await bench.value("write", file_path="a.txt", content="two\n")
    assert (value["operation"], value["bytes"]) == ("update", 4)
    assert value["diff"] == "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-\ufeffone\r\n+two\n"
    assert value["notes"] == [
        {"kind": "line_endings_changed", "text": "line endings changed from CRLF to LF"},
        {"kind": "byte_order_mark_changed", "text": "the file's UTF-8 byte order mark is gone"},
    ]


async def test_there_is_no_difference_to_what_was_no_text(bench: Bench) -> None:
    bench.seam.put("a.txt", b"\xff")
    assert (await bench.failure("read", file_path="a.txt")).code == "FS_NOT_TEXT"
    assert (await bench.value("write", file_path="a.txt", content="two\n"))["diff"] is None


@pytest.mark.parametrize(
    ("before", "content", "text"),
    [
        pytest.param(None, "secret\n", "Created a.txt (7 bytes).", id="created"),
        pytest.param(None, "", "Created a.txt (0 bytes).", id="created empty"),
        pytest.param(b"one\n", "x", "Replaced a.txt (1 byte).", id="replaced"),
        pytest.param(
            b"one\r\n",
            "secret\n",
            "Replaced a.txt (7 bytes).\n(Note: line endings changed from CRLF to LF.)",
            id="line endings changed",
        ),
    ],
)
async def test_writing_tells_the_fact_and_not_the_content(
    bench: Bench, before: bytes | None, content: str, text: str
) -> None:
    if before is not None:
        bench.seam.put("a.txt", before)
        await read(bench)
    assert await bench.text("write", file_path="a.txt", content=content) == text


async def test_the_value_of_an_edit(bench: Bench) -> None:
    bench.seam.put("a.txt", b"one\ntwo\none\n")
    await read(bench)
    value = await bench.value("edit", file_path="./a.txt", old_string="one", new_string="1", replace_all=True)
    assert value == {
        "path": "a.txt",
        "replacements": 2,
        "version": content_digest(b"1\ntwo\n1\n"),
        "diff": "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n-one\n+1\n",
        "notes": [],
    }


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(
            {"old_string": "five", "new_string": "5"},
            "Edited a.txt: 1 place replaced.\n@@ -2,7 +2,7 @@\n two\n three\n four\n-five\n+5\n six\n seven\n eight",
            id="lines around",
        ),
        pytest.param(
            {"old_string": "e\n", "new_string": "E\n", "replace_all": True},
            "Edited a.txt: 4 places replaced.\n@@ -1,9 +1,9 @@\n-one\n+onE\n two\n-three\n+threE\n four\n-five\n+fivE\n"
            " six\n seven\n eight\n-nine\n+ninE",
            id="several places",
        ),
        pytest.param(
            {"old_string": "nine\n", "new_string": "nine"},
            "Edited a.txt: 1 place replaced.\n@@ -6,4 +6,4 @@\n six\n seven\n eight\n-nine\n+nine\n"
            "\\ No newline at end of file",
            id="final newline",
        ),
    ],
)
async def test_an_edit_shows_the_change_with_the_lines_around(
    bench: Bench, arguments: dict[str, JsonValue], text: str
) -> None:
    bench.seam.put("a.txt", b"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n")
    await read(bench)
    assert await bench.text("edit", file_path="a.txt", **arguments) == text


async def test_the_change_of_a_large_edit_is_shown_in_part(bench: Bench) -> None:
    bench.seam.put("a.txt", b"x\n" * 100)
    await read(bench)
    rows = (await bench.text("edit", file_path="a.txt", old_string="x", new_string="y", replace_all=True)).split("\n")
    assert rows[:2] == ["Edited a.txt: 100 places replaced.", "@@ -1,100 +1,100 @@"]
    assert len(rows) == 62
    assert rows[-1] == "[the rest of the change is not shown]"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"content": "two\n"}),
        ("edit", {"old_string": "one", "new_string": "two"}),
    ],
)
async def test_a_path_with_control_characters_stays_on_its_line(
    bench: Bench, name: str, arguments: dict[str, JsonValue]
) -> None:
    bench.seam.put("a\nb", b"one\n")
    await read(bench, "a\nb")
    text = await bench.text(name, file_path="a\nb", **arguments)
    assert text.split("\n")[0] in {r"Replaced 'a\nb' (4 bytes).", r"Edited 'a\nb': 1 place replaced."}


async def test_a_failed_change_leaves_the_file(bench: Bench) -> None:
    bench.seam.put("a.txt", b"one\none\n")
    await read(bench)
    assert (
        await bench.failure("edit", file_path="a.txt", old_string="one", new_string="1")
    ).code == "FS_AMBIGUOUS_EDIT"
    assert (
        await bench.failure("edit", file_path="a.txt", old_string="two", new_string="2")
    ).code == "FS_EDIT_NOT_FOUND"
    assert (await bench.failure("write", file_path="a.txt", content="\0")).code == "FS_NOT_TEXT"
    assert bench.seam.get("a.txt") == b"one\none\n"
