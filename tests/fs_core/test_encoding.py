"""Why a file is not text, in words: by what real sentences look like in the encodings that people still have."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fs_core._encoding import HEAD_BYTES, SAMPLE_BYTES_MAX
from fs_core.page import TextScanner, Window
from fs_core.text import BOM, NotTextFinding, find_not_text
from tests.fs_core.text_reference import chunked, cuts, first_offence, near_texts, scan

CHINESE = (
    "近年来，随着计算机技术的不断发展，越来越多的文件以电子形式保存。"
    "本程序用于读取配置文件并输出结果，如果文件不存在则返回错误信息。"
)
TAIWANESE = "近年來，隨著電腦技術的不斷發展，越來越多的檔案以電子形式保存。本程式用於讀取設定檔並輸出結果。"
JAPANESE = "近年、多くの文書が電子形式で保存されるようになりました。このプログラムは設定ファイルを読み込みます。"
KOREAN = "최근 많은 문서가 전자 형식으로 저장되고 있습니다. 이 프로그램은 설정 파일을 읽고 결과를 출력합니다."
RUSSIAN = "В последние годы всё больше документов хранится в электронном виде. Эта программа читает файл настроек."
UKRAINIAN = "Останніми роками все більше документів зберігається в електронному вигляді. Ця програма читає файл."
GREEK = "Τα τελευταία χρόνια όλο και περισσότερα έγγραφα αποθηκεύονται σε ηλεκτρονική μορφή."
HEBREW = "בשנים האחרונות, עם התפתחות טכנולוגיית המחשבים, יותר ויותר מסמכים נשמרים בצורה אלקטרונית."
ARABIC = "في السنوات الأخيرة، مع تطور تقنيات الحاسوب، أصبح المزيد من المستندات يحفظ في شكل إلكتروني."
THAI = "ในช่วงไม่กี่ปีที่ผ่านมา ด้วยการพัฒนาของเทคโนโลยีคอมพิวเตอร์ เอกสารจำนวนมากถูกเก็บในรูปแบบอิเล็กทรอนิกส์"
POLISH = "W ostatnich latach coraz więcej dokumentów przechowuje się w postaci elektronicznej. Zażółć gęślą jaźń."
FRENCH = "Depuis quelques années, de plus en plus de documents sont conservés sous forme électronique, où êtes-vous né?"
GERMAN = "Größere Straßen führen über die Brücke; schöne Grüße aus München."
SPANISH = "En los últimos años, ¿dónde está el niño? ¡Mañana será otro día!"

SINGLE_BYTE = "likely text in a single-byte legacy encoding such as Latin-1/Windows-1252"
DAMAGED = "it is UTF-8 elsewhere: likely damaged, or a mix of encodings"
BINARY = "it holds NUL bytes: likely a binary file"


def reason_of(data: bytes) -> str:
    finding = find_not_text(data)
    assert finding is not None
    return finding.reason()


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        pytest.param(CHINESE, "gbk", "GB18030/GBK", id="gbk"),
        pytest.param(CHINESE, "gb18030", "GB18030/GBK", id="gb18030"),
        pytest.param(TAIWANESE, "big5", "Big5", id="big5"),
        pytest.param(JAPANESE, "shift_jis", "Shift-JIS", id="shift-jis"),
        pytest.param(JAPANESE, "euc_jp", "EUC-JP", id="euc-jp"),
        pytest.param(KOREAN, "euc_kr", "EUC-KR", id="euc-kr"),
        pytest.param(RUSSIAN, "cp1251", "Windows-1251 (Cyrillic)", id="cp1251"),
        pytest.param(RUSSIAN, "koi8_r", "KOI8-R (Cyrillic)", id="koi8-r"),
        pytest.param(RUSSIAN, "cp866", "CP866 (Cyrillic)", id="cp866"),
        pytest.param(RUSSIAN, "iso8859_5", "ISO-8859-5 (Cyrillic)", id="iso-8859-5"),
        pytest.param(UKRAINIAN, "cp1251", "Windows-1251 (Cyrillic)", id="cp1251 ukrainian"),
        pytest.param(GREEK, "iso8859_7", "Windows-1253/ISO-8859-7 (Greek)", id="iso-8859-7"),
        pytest.param(HEBREW, "cp1255", "Windows-1255/ISO-8859-8 (Hebrew)", id="cp1255"),
        pytest.param(ARABIC, "cp1256", "Windows-1256 (Arabic)", id="cp1256"),
        pytest.param(THAI, "tis_620", "Windows-874 (Thai)", id="tis-620"),
        pytest.param(POLISH, "cp1250", "Latin-2/Windows-1250", id="cp1250"),
    ],
)
@pytest.mark.parametrize(
    "surroundings",
    [
        pytest.param(b"%s", id="alone"),
        pytest.param(b"%s\n" * 20, id="many lines"),
        pytest.param(b"int main(void) { return 0; }\n" * 50 + b"/* %s */\n", id="comment in code"),
        pytest.param(b"int main(void) { return 0; }\n" * 5000 + b"/* %s */\n", id="comment far behind the start"),
        pytest.param(b"# start\n%s\n" + b"x = 1\n" * 50_000, id="comment before much code"),
    ],
)
def test_an_encoding_that_fits_clearly_is_named(text: str, encoding: str, name: str, surroundings: bytes) -> None:
    data = surroundings.replace(b"%s", text.encode(encoding))
    assert reason_of(data) == f"likely {name} text"


@pytest.mark.parametrize("text", [FRENCH, GERMAN, SPANISH], ids=["french", "german", "spanish"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso8859_15"])
def test_latin_script_is_not_told_apart_any_further(text: str, encoding: str) -> None:
    assert reason_of(text.encode(encoding)) == SINGLE_BYTE


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"const x = 1;\n// caf\xe9 note\n", id="one letter"),
        pytest.param(b"// (c) \xa9 Org\r\nint main() { return 0; }\r\n", id="one sign"),
        pytest.param(b"a" * 5000 + b"\n\xe9t\xe9 \n" + b"b" * 100_000, id="two letters in a long file"),
        pytest.param(
            "He said \u201chello\u201d \u2014 it\u2019s \u20ac 100\n".encode("cp1252"), id="typographic signs"
        ),
    ],
)
def test_a_few_bytes_that_many_encodings_explain_claim_none(data: bytes) -> None:
    assert reason_of(data) == SINGLE_BYTE


@pytest.mark.parametrize(
    ("data", "candidate"),
    [
        pytest.param("# 测试\nprint(1)\n".encode("gbk"), "GB18030/GBK", id="two characters of gbk"),
        pytest.param("說明\n".encode("big5"), "Big5", id="two characters of big5"),
    ],
)
def test_a_few_characters_that_several_encodings_explain_give_candidates(data: bytes, candidate: str) -> None:
    reason = reason_of(data)
    assert reason.startswith("likely text in a legacy encoding; ")
    assert reason.endswith(" would fit")
    assert candidate in reason


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-16-le", "UTF-16 little-endian"),
        ("utf-16-be", "UTF-16 big-endian"),
        ("utf-32-le", "UTF-32 little-endian"),
        ("utf-32-be", "UTF-32 big-endian"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ab\ncd\n", id="short"),
        pytest.param(FRENCH, id="latin"),
        pytest.param(RUSSIAN, id="cyrillic"),
        pytest.param(CHINESE + "\n一二三\n", id="chinese"),
        pytest.param("smile 😀\n" * 100, id="astral"),
    ],
)
def test_wide_text_without_a_mark_is_known_by_what_it_decodes_to(text: str, encoding: str, name: str) -> None:
    assert reason_of(text.encode(encoding)) == f"likely {name} text without a byte order mark"
    assert reason_of(f"\ufeff{text}".encode(encoding)) == f"it begins with the byte order mark of {name} text"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0", id="elf"),
        pytest.param(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10", id="png"),
        pytest.param(b"first name\0second name\0third name\0", id="names ended by nul"),
        pytest.param(b"plain\n" * 5000 + b"\0", id="nul far behind the start"),
        pytest.param(b"\xff\xfd" + b"\xe9" * 600 + b"\0", id="nul behind an invalid byte"),
        pytest.param(b"A\0", id="one character"),
        pytest.param(b"plain\n" * 5000 + "appended\n".encode("utf-16-le"), id="wide text behind plain text"),
    ],
)
def test_nul_in_what_is_no_wide_text_is_binary(data: bytes) -> None:
    assert reason_of(data) == BINARY


@pytest.mark.parametrize(
    "data",
    [bytes(range(1, 256)), b"\x89PNG\r\n\x1a\n", b"\x01\x02\x03\xff"],
    ids=["all bytes", "png start", "controls"],
)
def test_control_bytes_without_nul_are_binary(data: bytes) -> None:
    assert reason_of(data) == "it holds control bytes: likely a binary file"


def test_bytes_that_no_encoding_explains_leave_the_question_open() -> None:
    assert reason_of(bytes(range(0x80, 0x100)) * 3) == "likely in a legacy encoding, or a binary file"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param(b"abc\n\xe6\x97", "the last 2 bytes are", id="two of three"),
        pytest.param("日本".encode()[:-1], "the last 2 bytes are", id="two of three after another"),
        pytest.param("日本".encode()[:-2], "the last byte is", id="one of three after another"),
        pytest.param("a😀".encode()[:-1], "the last 3 bytes are", id="three of four"),
        pytest.param("é".encode() + b"x" * 9000 + b"\xc3", "the last byte is", id="far behind the start"),
        pytest.param(BOM[:2], "the last 2 bytes are", id="half a byte order mark"),
    ],
)
def test_a_sequence_cut_by_the_end_of_the_file_is_told_as_such(data: bytes, told: str) -> None:
    assert reason_of(data) == f"{told} the beginning of a longer UTF-8 sequence: the file may be cut off"


def test_one_byte_at_the_end_of_ascii_may_also_be_a_letter() -> None:
    assert reason_of(b"caf\xe9") == (
        "the last byte is the beginning of a longer UTF-8 sequence: the file may be cut off, "
        "or be in a single-byte legacy encoding such as Latin-1/Windows-1252"
    )


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("größer, schöner, für später\n".encode() + b"gr\xf6\xdfer\n", id="a line of latin-1 in utf-8"),
        pytest.param("日本".encode() + b"\xe6\x97" + "語です\n".encode(), id="a byte lost"),
        pytest.param("©\n".encode() + b"x" * 5000 + b"caf\xe9\n", id="utf-8 far before"),
        pytest.param("a\ufffdb\ufffd ".encode() + b"\xff\n", id="replacement characters are utf-8"),
    ],
)
def test_what_is_mostly_utf_8_is_damaged_or_mixed(data: bytes) -> None:
    assert reason_of(data) == DAMAGED


def test_a_sample_that_ends_inside_a_character_is_judged_without_it() -> None:
    for shift in range(4):
        assert reason_of(b"x" * shift + CHINESE.encode("gbk") * 1000) == "likely GB18030/GBK text"


def test_what_is_judged_is_what_stands_around_the_odd_bytes() -> None:
    text = CHINESE.encode("gbk")
    data = b"# start\n" + b"x" * 4000 + text + b"y" * SAMPLE_BYTES_MAX
    assert reason_of(data) == "likely GB18030/GBK text"


@st.composite
def large_files(draw: st.DrawFn) -> bytes:
    """Files whose first offence is near the border up to which a sample begins at the file's start."""
    piece = draw(st.sampled_from([b"x", b"ab\n", "é".encode(), "日".encode(), "😀\n".encode()]))
    start = piece * draw(st.sampled_from([0, HEAD_BYTES // len(piece) - 1, HEAD_BYTES // len(piece) + 1, HEAD_BYTES]))
    return start + draw(st.one_of(near_texts, st.binary(max_size=30)))


tails = st.sampled_from([b"", b"\xe9t\xe9\n" * 20_000, b"\0" * 70_000, CHINESE.encode("gbk") * 600])


@given(data=large_files(), tail=tails, at=st.lists(st.integers(0, 90_000), max_size=8), near=cuts)
@example(data=b"x" * (HEAD_BYTES - 1) + b"\xe6\x97", tail=b"", at=[HEAD_BYTES], near=[])
@example(data="é".encode() * 3000 + b"\xc3", tail=b"\xff", at=[6001], near=[])
def test_finding_and_sample_do_not_depend_on_how_the_bytes_arrive(
    data: bytes, tail: bytes, at: list[int], near: list[int]
) -> None:
    whole = data + tail
    offence = first_offence(whole)
    around = [] if offence is None else [max(0, offence - 4 + cut % 9) for cut in near]
    found = scan(chunked(whole, at + around), Window())
    assert (found if isinstance(found, NotTextFinding) else None) == find_not_text(whole)


@given(data=st.one_of(near_texts, st.binary(max_size=60), st.text(max_size=30).map(lambda text: text.encode("utf-16"))))
def test_every_file_that_is_no_text_has_a_reason_on_one_plain_line(data: bytes) -> None:
    finding = find_not_text(data)
    assert (finding is None) == (first_offence(data) is None)
    if finding is not None:
        assert finding.reason().isprintable()
        assert finding.reason().isascii()


def test_of_a_file_that_is_no_text_a_bounded_sample_is_held() -> None:
    scanner = TextScanner(Window())
    piece = b"\xe9t\xe9\n" * 16_384
    tracemalloc.start()
    for _ in range(100):
        scanner.feed(piece)
    held_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    finding = scanner.finish()
    assert isinstance(finding, NotTextFinding)
    assert len(finding.evidence.sample) == SAMPLE_BYTES_MAX
    assert held_bytes < 2 * SAMPLE_BYTES_MAX


_READ = """
import sys
from seamfs.cli import main

status = main(["read", *sys.argv[1:]])
print(f"status {status}, detector loaded: {'charset_normalizer' in sys.modules}")
"""


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param("größer\n".encode(), "status 0, detector loaded: False", id="text"),
        pytest.param(b"a\0b\n", "status 1, detector loaded: False", id="binary"),
        pytest.param(CHINESE.encode("gbk"), "status 1, detector loaded: True", id="legacy text"),
    ],
)
def test_the_detector_is_loaded_for_legacy_text_alone(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    arguments = [sys.executable, "-c", _READ, str(tmp_path), "a.txt"]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.splitlines()[-1] == told
