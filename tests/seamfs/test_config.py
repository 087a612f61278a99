"""Settings: who wins, what is refused, and what an error says."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from seamfs.config import BadSettingError, Settings, load_settings


def test_without_any_source_the_defaults_hold() -> None:
    settings = load_settings()
    assert settings == Settings()
    assert settings.policy == "read-before-write"
    assert settings.read.max_lines == 2_000
    assert settings.backends.s3 == settings.s3


def test_a_flag_wins_over_the_environment_and_that_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("seamfs.toml").write_text(
        'policy = "none"\n[read]\nmax_lines = 1\nmax_line_chars = 2\nmax_page_bytes = 3\n[s3]\nregion = "file"\n'
    )
    monkeypatch.setenv("SEAMFS_READ__MAX_LINES", "10")
    monkeypatch.setenv("SEAMFS_READ__MAX_LINE_CHARS", "20")
    settings = load_settings(flags={"read": {"max_lines": 100}})
    assert settings.read.max_lines == 100
    assert settings.read.max_line_chars == 20
    assert settings.read.max_page_bytes == 3
    assert settings.policy == "none"
    assert settings.s3.region == "file"


def test_nested_settings_of_a_store_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAMFS_POLICY", "none")
    monkeypatch.setenv("SEAMFS_S3__ENDPOINT_URL", "http://127.0.0.1:9000")
    monkeypatch.setenv("SEAMFS_SFTP__USE_AGENT", "false")
    monkeypatch.setenv("SEAMFS_LOCAL__FSYNC", "0")
    monkeypatch.setenv("SEAMFS_HTTP__ALLOWED_HOSTS", '["files.example.org"]')
    settings = load_settings()
    assert settings.policy == "none"
    assert settings.s3.endpoint_url == "http://127.0.0.1:9000"
    assert not settings.sftp.use_agent
    assert not settings.local.fsync
    assert settings.http.allowed_hosts == ("files.example.org",)


def test_a_named_file_is_read_instead_of_the_usual_one(tmp_path: Path) -> None:
    Path("seamfs.toml").write_text("[read]\nmax_lines = 1\n")
    other = tmp_path / "other.toml"
    other.write_text("[read]\nmax_line_chars = 7\n")
    settings = load_settings(config_file=other)
    assert (settings.read.max_lines, settings.read.max_line_chars) == (2_000, 7)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SEAMFS_READ__MAX_LINES", "-3", "SEAMFS_READ__MAX_LINES: Input should be greater than 0"),
        ("SEAMFS_READ__MAX_LINES", "many", "SEAMFS_READ__MAX_LINES: Input should be a valid integer"),
        ("SEAMFS_POLICY", "sometimes", "SEAMFS_POLICY: Input should be 'read-before-write' or 'none'"),
        ("SEAMFS_READ__LINES", "3", "SEAMFS_READ__LINES: unknown setting; known here: max_lines, max_line_chars"),
        (
            "SEAMFS_REED__MAX_LINES",
            "3",
            "SEAMFS_REED__MAX_LINES: unknown setting; known here: policy, state, session, tools, read, search",
        ),
        ("SEAMFS_POLICY__X", "1", "SEAMFS_POLICY__X: unknown setting; SEAMFS_POLICY holds one value"),
        ("SEAMFS_S3__ENDPOINT_URL", "127.0.0.1:9000", "SEAMFS_S3__ENDPOINT_URL: an endpoint is a URL that begins with"),
        ("SEAMFS_POLCIY", "none", "SEAMFS_POLCIY: unknown setting; known here: policy, state, session, tools, read"),
        ("SEAMFS_READ", "{not json", "SEAMFS_READ: "),
    ],
)
def test_a_bad_variable_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettingError) as caught:
        load_settings()
    line = str(caught.value)
    assert line.startswith(expected)
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[read]\nmax_lines = 0\n", "seamfs.toml: read.max_lines: Input should be greater than 0"),
        (
            "[reed]\nmax_lines = 5\n",
            "seamfs.toml: reed: unknown setting; known here: policy, state, session, tools, read",
        ),
        ("[s3]\nregoin = 'x'\n", "seamfs.toml: s3.regoin: unknown setting; known here: concurrency_max"),
        ("[read\n", "seamfs.toml: "),
        (
            "[read]\nmax_lines = 0\nmax_line_chars = 0\n",
            "seamfs.toml: read.max_lines: Input should be greater than 0 (and",
        ),
        ("[http]\nallowed_hosts = ['a', 5]\n", "seamfs.toml: http.allowed_hosts: Input should be a valid string"),
    ],
)
def test_a_bad_file_is_one_line_that_names_file_and_setting(text: str, expected: str) -> None:
    Path("seamfs.toml").write_text(text)
    with pytest.raises(BadSettingError) as caught:
        load_settings()
    line = str(caught.value)
    assert line.startswith(expected)
    assert "\n" not in line


def test_a_bad_flag_is_named_as_the_command_line_writes_it() -> None:
    with pytest.raises(BadSettingError, match=r"^--policy: Input should be"):
        load_settings(flags={"policy": "perhaps"})


def test_a_file_that_was_named_has_to_exist(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(BadSettingError, match=f"^{missing}: No such file"):
        load_settings(config_file=missing)
    with pytest.raises(BadSettingError, match=f"^{tmp_path}: Is a directory"):
        load_settings(config_file=tmp_path)


def test_a_variable_that_holds_the_token_under_our_prefix_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAMFS_MY_TOKEN", "x")
    with pytest.raises(BadSettingError, match="SEAMFS_MY_TOKEN"):
        load_settings()
    assert load_settings(ignored_variables=["SEAMFS_MY_TOKEN"]) == Settings()


def test_secrets_show_neither_in_repr_nor_in_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAMFS_S3__SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("SEAMFS_HTTP__TOKEN", "hunter3")
    settings = load_settings()
    assert settings.s3.secret_access_key is not None
    assert settings.s3.secret_access_key.get_secret_value() == "hunter2"
    assert "hunter" not in repr(settings)
    assert "hunter" not in str(settings)
    Path("seamfs.toml").write_text("[sftp]\npassword = ['hunter4']\n")
    with pytest.raises(BadSettingError) as caught:
        load_settings()
    assert str(caught.value) == "seamfs.toml: sftp.password: Input should be a valid string"
    assert caught.value.__cause__ is None


def test_constructed_directly_settings_take_what_they_are_given_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAMFS_POLICY", "none")
    assert Settings().policy == "read-before-write"
    with pytest.raises(ValidationError):
        Settings.model_validate({"polcy": "none"})
