import pytest

from fs_core import errors
from fs_core.errors import ErrorCode, FsError, NotFound, StaleVersion, quote_path

SUBCLASSES = [kind for name in errors.__all__ if isinstance(kind := getattr(errors, name), type)]
ERRORS: list[type[FsError]] = [kind for kind in SUBCLASSES if issubclass(kind, FsError) and kind is not FsError]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        pytest.param("src/a.py", "src/a.py", id="plain"),
        pytest.param("a b", "a b", id="space inside"),
        pytest.param("é/日本", "é/日本", id="letters of any script"),
        pytest.param(" a", "' a'", id="leading space"),
        pytest.param("a ", "'a '", id="trailing space"),
        pytest.param("", "''", id="empty"),
        pytest.param("a\nb", r"'a\nb'", id="newline"),
        pytest.param("a\rb", r"'a\rb'", id="carriage return"),
        pytest.param("a\tb", r"'a\tb'", id="tab"),
        pytest.param("a\x1b[31mb", r"'a\x1b[31mb'", id="escape sequence"),
        pytest.param("a\u2028b", r"'a\u2028b'", id="line separator"),
        pytest.param("a\u202eb", r"'a\u202eb'", id="direction override"),
        pytest.param("a\u200bb", r"'a\u200bb'", id="zero width space"),
        pytest.param("a\u00a0b", r"'a\xa0b'", id="no-break space"),
        pytest.param("a\udc80b", r"'a\udc80b'", id="lone surrogate"),
    ],
)
def test_a_path_in_a_message_stays_on_its_line(path: str, shown: str) -> None:
    assert quote_path(path) == shown
    shown.encode()


def test_every_code_has_exactly_one_class() -> None:
    assert sorted(kind.code for kind in ERRORS) == sorted(ErrorCode)


def test_the_codes_are_the_public_contract() -> None:
    assert {code.value for code in ErrorCode} == {
        "FS_NOT_FOUND",
        "FS_NOT_DIRECTORY",
        "FS_NOT_REGULAR_FILE",
        "FS_NOT_TEXT",
        "FS_TOO_LARGE",
        "FS_PERMISSION_DENIED",
        "FS_SANDBOX_DENIED",
        "FS_INVALID_PATH",
        "FS_STALE_VERSION",
        "FS_NOT_OBSERVED",
        "FS_AMBIGUOUS_EDIT",
        "FS_EDIT_NOT_FOUND",
        "FS_OUT_OF_RANGE",
        "FS_NO_SPACE",
        "FS_UNAVAILABLE",
        "FS_OUTCOME_UNKNOWN",
        "FS_UNSUPPORTED",
        "FS_ABORTED",
        "FS_IO_ERROR",
    }


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.code)
def test_an_error_tells_path_and_reason_on_one_line(kind: type[FsError]) -> None:
    error = kind("did not work", path="a\nb", operation="read", retryable=True)
    assert str(error) == r"'a\nb': did not work"
    assert (error.path, error.reason, error.operation, error.retryable) == ("a\nb", "did not work", "read", True)


def test_an_error_is_not_retryable_unless_said() -> None:
    assert not StaleVersion("changed", path="a", operation="write").retryable
    assert NotFound("no such file", path="a", operation="read").near_names == ()


def test_a_long_path_is_cut_where_it_is_shown() -> None:
    error = NotFound("no such file", path="x" * 1_000_000, operation="read")
    assert len(str(error)) < 1_000
    assert error.path == "x" * 1_000_000
