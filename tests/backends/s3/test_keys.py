import pytest

from backends.s3._keys import KEY_BYTES_MAX, Location, parse_location
from fs_core.errors import FsError, InvalidPath
from fs_core.paths import parse_path

LOCATION = Location(bucket="b", prefix="p/q")


@pytest.mark.parametrize(
    ("url", "bucket", "prefix"),
    [
        ("s3://b", "b", ""),
        ("s3://b/", "b", ""),
        ("s3://b/p", "b", "p"),
        ("s3://b/p/q/", "b", "p/q"),
        ("s3://b/a#b?c%20d +é", "b", "a#b?c%20d +é"),
    ],
)
def test_url_is_taken_apart_without_decoding(url: str, bucket: str, prefix: str) -> None:
    assert parse_location(url) == Location(bucket=bucket, prefix=prefix)


@pytest.mark.parametrize("url", ["", "s3://", "s3:///p", "http://b/p", "s3://b//p", "s3://b/p//q", "s3://b/p/../q"])
def test_url_that_no_path_can_continue_is_refused(url: str) -> None:
    with pytest.raises(InvalidPath):
        parse_location(url)


def test_credentials_in_the_url_are_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidPath, match="credentials do not belong") as caught:
        parse_location("s3://AKIAKEY:topsecret@b/p")
    assert "topsecret" not in f"{caught.value} {caught.value!r} {caught.value.path}"


@pytest.mark.parametrize("name", ["a#b", "a?b", "a+b", "a%20b", " a ", "é", "😀", "a\\b", "~", "$X"])
def test_names_become_keys_as_they_are(name: str) -> None:
    target = LOCATION.target(("d", name))
    assert LOCATION.key(target) == f"p/q/d/{name}"
    assert target.display_path == f"d/{name}"


def test_key_of_exactly_the_longest_length_is_accepted_and_one_byte_more_refused() -> None:
    room = KEY_BYTES_MAX - len("p/q/")
    assert len(LOCATION.key(LOCATION.target(("é" * (room // 2),))).encode()) == KEY_BYTES_MAX
    with pytest.raises(InvalidPath, match="1025 bytes"):
        LOCATION.target(("x" * (room + 1),))


def test_parents_are_the_directories_up_to_the_root_deepest_first() -> None:
    assert LOCATION.parents("p/q/a/b/c") == ("p/q/a/b", "p/q/a")
    assert LOCATION.parents("p/q/c") == ()
    assert Location(bucket="b", prefix="").parents("a/b") == ("a",)


def test_root_of_a_whole_bucket_has_an_empty_key() -> None:
    whole = Location(bucket="b", prefix="")
    assert whole.is_root(whole.key(whole.target(())))
    assert whole.below("") == ""
    assert whole.root.prefixes == ("s3://b",)


@pytest.mark.parametrize("directory", [(), ("d",), ("C:",), ("s3:",), ("...",)])
@pytest.mark.parametrize(
    "name",
    [
        *("a", "a/b", "a//b", "/a", "a/", "/", "", ".", "..", "./a", "a/.", "a/..", "a/./b", "a/../b", "...", ".a/..b"),
        *(" ", "\u3000", " /a", "a/ ", "\n", "a\n", "x\0", "\ud800", "C:", "C:/a", "C:\\a", "\\\\a", "\\a", "a\\b"),
        *("s3://b/a", "s3:/b", "file:a", "a/file:b", "http://x", "x:y", ".seamfs-0123456789abcdef.tmp", ".seamfs-x"),
        *("a/.seamfs-0123456789abcdef.lock", ".seamfs-0123456789abcdef.tmp/a", "a/.seamfs-0123456789abcdef.tmp2"),
    ],
)
def test_a_key_is_addressable_exactly_if_its_path_is_parsed_to_its_names(directory: tuple[str, ...], name: str) -> None:
    names = (*directory, *name.split("/"))
    try:
        expected = parse_path("/".join(names), LOCATION.root).names == names
    except FsError:
        expected = False
    assert LOCATION.is_addressable(LOCATION.target(directory), name) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a", True), ("a%2Fb", True), ("", False), ("..", False), (".", False), ("/", False), (" ", False)],
)
def test_name_is_addressable_only_if_a_path_says_exactly_it(name: str, expected: bool) -> None:
    assert LOCATION.is_addressable(LOCATION.target(()), name) is expected
