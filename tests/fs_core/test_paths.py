import pytest
from hypothesis import given
from hypothesis import strategies as st

from fs_core.errors import FsError, InvalidPath, SandboxDenied
from fs_core.paths import Root, RootedPath, display, has_lone_surrogate, is_staged_name, parse_path, staged_name

DISK = Root(url="/srv/share", prefixes=("/srv/share",))
WHOLE_DISK = Root(url="/", prefixes=("",))
BUCKET = Root(url="s3://bucket/team", prefixes=("s3://bucket/team",))
SERVER = Root(url="sftp://host/home/me", prefixes=("sftp://host/home/me", "/home/me"))


@pytest.mark.parametrize(
    ("root", "path", "names"),
    [
        pytest.param(DISK, "a.py", ("a.py",), id="one name"),
        pytest.param(DISK, "src/a.py", ("src", "a.py"), id="two names"),
        pytest.param(DISK, "./a.py", ("a.py",), id="leading dot"),
        pytest.param(DISK, "src/./a.py", ("src", "a.py"), id="dot inside"),
        pytest.param(DISK, "src//a.py", ("src", "a.py"), id="doubled slash"),
        pytest.param(DISK, "b/../a.py", ("a.py",), id="up and down"),
        pytest.param(DISK, "a/b/../../c", ("c",), id="up twice"),
        pytest.param(DISK, ".", (), id="root by dot"),
        pytest.param(DISK, "a/..", (), id="root by way of a name"),
        pytest.param(DISK, "/srv/share", (), id="root by its own spelling"),
        pytest.param(DISK, "/srv/share/", (), id="root by its own spelling and a slash"),
        pytest.param(DISK, "/srv/share/a.py", ("a.py",), id="absolute below the root"),
        pytest.param(DISK, "/srv/share//a.py", ("a.py",), id="absolute with doubled slash"),
        pytest.param(DISK, "/srv/share/b/../a.py", ("a.py",), id="absolute, up inside the root"),
        pytest.param(WHOLE_DISK, "/etc/hosts", ("etc", "hosts"), id="root is the whole disk"),
        pytest.param(BUCKET, "s3://bucket/team/a.py", ("a.py",), id="bucket url"),
        pytest.param(SERVER, "sftp://host/home/me/a.py", ("a.py",), id="server url"),
        pytest.param(SERVER, "/home/me/a.py", ("a.py",), id="path on the server"),
        pytest.param(DISK, "a%20b", ("a%20b",), id="percent is no escape"),
        pytest.param(DISK, "%2e%2e/a", ("%2e%2e", "a"), id="percent dots are names"),
        pytest.param(DISK, " a ", (" a ",), id="blanks are kept"),
        pytest.param(DISK, "v1..v2.diff", ("v1..v2.diff",), id="dots inside a name"),
        pytest.param(DISK, "...", ("...",), id="three dots are a name"),
        pytest.param(DISK, "..a", ("..a",), id="two dots begin a name"),
        pytest.param(DISK, "~", ("~",), id="tilde"),
        pytest.param(DISK, "~/a", ("~", "a"), id="tilde directory"),
        pytest.param(DISK, "$HOME/a", ("$HOME", "a"), id="variable"),
        pytest.param(DISK, "a\\b", ("a\\b",), id="backslash is a character"),
        pytest.param(DISK, "a:b", ("a:b",), id="colon is a character"),
        pytest.param(DISK, "C:", ("C:",), id="letter and colon alone"),
        pytest.param(DISK, "file", ("file",), id="the word file"),
        pytest.param(DISK, "line\nbreak", ("line\nbreak",), id="newline in a name"),
        pytest.param(DISK, "é", ("é",), id="precomposed letter"),
        pytest.param(DISK, "e\u0301", ("e\u0301",), id="decomposed letter"),
        pytest.param(DISK, ".seamfs-0123", (".seamfs-0123",), id="not quite a staged name"),
    ],
)
def test_an_accepted_spelling_gives_plain_names(root: Root, path: str, names: tuple[str, ...]) -> None:
    assert parse_path(path, root).names == names


@pytest.mark.parametrize(
    ("root", "path"),
    [
        pytest.param(DISK, "..", id="parent of the root"),
        pytest.param(DISK, "../a", id="sibling of the root"),
        pytest.param(DISK, "a/../../b", id="up once too often"),
        pytest.param(DISK, "../share/a", id="out and back in"),
        pytest.param(DISK, "/srv/share/..", id="own spelling and up"),
        pytest.param(DISK, "/srv/share/../share-secret/a", id="sibling by way of the root"),
        pytest.param(DISK, "/srv/share-secret", id="name that begins like the root"),
        pytest.param(DISK, "/srv/share-secret/a", id="file in a directory that begins like the root"),
        pytest.param(DISK, "/srv/shar", id="beginning of the root"),
        pytest.param(DISK, "/srv", id="directory above the root"),
        pytest.param(DISK, "/", id="top of the disk"),
        pytest.param(DISK, "//srv/share/a", id="two leading slashes"),
        pytest.param(DISK, "/etc/passwd", id="somewhere else"),
        pytest.param(DISK, "s3://bucket/a", id="url of another store"),
        pytest.param(DISK, "https://example.org/a", id="web address"),
        pytest.param(BUCKET, "s3://bucket/team2/a", id="prefix that begins like the root"),
        pytest.param(BUCKET, "s3://other/team/a", id="another bucket"),
        pytest.param(BUCKET, "/bucket/team/a", id="absolute path for a bucket"),
        pytest.param(BUCKET, "s3:/bucket/team/a", id="url with one slash"),
        pytest.param(SERVER, "sftp://other/home/me/a", id="another host"),
        pytest.param(WHOLE_DISK, "/..", id="above the whole disk"),
    ],
)
def test_a_path_out_of_the_root_is_denied_and_the_root_is_named(root: Root, path: str) -> None:
    with pytest.raises(SandboxDenied) as caught:
        parse_path(path, root)
    assert root.url in caught.value.reason
    assert caught.value.path == path
    assert caught.value.operation == "resolve"
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("", "blank", id="empty"),
        pytest.param(" ", "blank", id="blank"),
        pytest.param("\t\n", "blank", id="white space"),
        pytest.param("a\0b", "NUL", id="nul"),
        pytest.param("\ud800", "surrogate", id="lone surrogate"),
        pytest.param("a/\udcff", "surrogate", id="byte of another encoding"),
        pytest.param("C:\\x", "Windows", id="drive with backslash"),
        pytest.param("c:/x", "Windows", id="drive with slash"),
        pytest.param("\\\\host\\share", "Windows", id="share"),
        pytest.param("file:///srv/share/a", "file:", id="file uri"),
        pytest.param("file:a", "file:", id="file uri without slashes"),
        pytest.param("FILE:///a", "file:", id="file uri in capitals"),
        pytest.param(staged_name("0" * 16), "reserved", id="staged file"),
        pytest.param(f"a/{staged_name('0' * 16, suffix='lock')}", "reserved", id="lock file"),
        pytest.param(f"{staged_name('0' * 16)}/a", "reserved", id="below a staged name"),
    ],
)
def test_a_path_that_can_name_no_file_is_invalid(path: str, reason: str) -> None:
    with pytest.raises(InvalidPath, match=reason) as caught:
        parse_path(path, DISK)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("path", "suggestion"),
    [
        pytest.param("/src/a.py", '"src/a.py"', id="relative form"),
        pytest.param("//src/a.py", '"src/a.py"', id="every leading slash goes"),
        pytest.param("/data/x:/y", '"data/x:/y"', id="a colon inside stays"),
        pytest.param("/data/s3://y", '"data/s3://y"', id="a scheme inside stays"),
    ],
)
def test_an_absolute_path_outside_suggests_the_relative_form(path: str, suggestion: str) -> None:
    with pytest.raises(SandboxDenied) as caught:
        parse_path(path, DISK)
    assert caught.value.reason.endswith(f"use a path relative to the root; did you mean {suggestion}?")


@pytest.mark.parametrize("path", ["/", "/../a", "/a/../../b", "s3://bucket/a", "/a\nb"])
def test_no_suggestion_is_made_that_would_not_help(path: str) -> None:
    with pytest.raises(SandboxDenied) as caught:
        parse_path(path, DISK)
    assert "did you mean" not in caught.value.reason


@pytest.mark.parametrize(
    ("path", "is_directory"),
    [("a", False), ("a/", True), ("a//", True), ("/srv/share/a/", True), ("a/.", True), ("a/b/..", True)],
)
def test_a_slash_at_the_end_is_remembered(path: str, is_directory: bool) -> None:
    assert parse_path(path, DISK) == RootedPath(names=("a",), is_directory=is_directory)


def test_display_path_of_the_root_is_a_dot() -> None:
    assert display(()) == "."
    assert display(("a", "b c")) == "a/b c"


@pytest.mark.parametrize(
    ("name", "is_staged"),
    [
        (staged_name("0123456789abcdef"), True),
        (staged_name("0123456789abcdef", suffix="lock"), True),
        (".seamfs-0123456789ABCDEF.tmp", False),
        (".seamfs-0123456789abcde.tmp", False),
        (".seamfs-0123456789abcdef.tmp.bak", False),
        (".seamfs-0123456789abcdef.txt", False),
        ("a.seamfs-0123456789abcdef.tmp", False),
        (".seamfs-0123456789abcdef.tmp\n", False),
    ],
)
def test_only_the_exact_form_is_a_staged_name(name: str, is_staged: bool) -> None:
    assert is_staged_name(name) is is_staged


@given(st.text())
def test_any_text_is_a_path_below_the_root_or_refused(path: str) -> None:
    refusal = None
    names: tuple[str, ...] = ()
    try:
        names = parse_path(path, DISK).names
    except (InvalidPath, SandboxDenied) as error:
        refusal = str(error)
    assert refusal is None or "\n" not in refusal
    assert not {"", ".", ".."}.intersection(names)
    assert not any("/" in name for name in names)


@given(st.lists(st.sampled_from(["a", "b", "..", ".", "", "c d", "..."]), min_size=1))
def test_dots_move_as_on_paper(parts: list[str]) -> None:
    path = "x/" + "/".join(parts)
    depth = 1
    for part in parts:
        depth += 0 if part in {"", "."} else -1 if part == ".." else 1
        if depth < 0:
            with pytest.raises(SandboxDenied):
                parse_path(path, DISK)
            return
    assert len(parse_path(path, DISK).names) == depth
    assert parse_path(f"/srv/share/{path}", DISK) == parse_path(path, DISK)


@given(st.lists(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_a_display_path_names_its_own_file(names: list[str]) -> None:
    try:
        rooted = parse_path("./" + "/".join(names), DISK)
    except FsError:
        return
    assert parse_path(f"./{display(rooted.names)}", DISK).names == rooted.names


@pytest.mark.parametrize(
    ("text", "is_broken"), [("", False), ("é😀", False), ("a\ud800", True), ("\udc00", True), ("\ufffd", False)]
)
def test_a_lone_surrogate_is_seen(text: str, is_broken: bool) -> None:
    assert has_lone_surrogate(text) is is_broken
