"""Addresses, tokens and names of the HTTP server."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from seamfs.cli import main
from seamfs.config import BadSettingError, HttpSettings
from seamfs.http_guard import choose_token, parse_address, transport_security

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("127.0.0.1:8000", ("127.0.0.1", 8000)), ("[::1]:0", ("::1", 0)), ("localhost:65535", ("localhost", 65535))],
)
def test_an_address_is_host_and_port(text: str, expected: tuple[str, int]) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize("text", ["8000", ":8000", "host:", "host:http", "host:65536", "host:-1", ""])
def test_anything_else_is_refused_as_an_address(text: str) -> None:
    with pytest.raises(BadSettingError, match="--http: expected HOST:PORT"):
        parse_address(text)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_a_loopback_address_needs_no_token(host: str) -> None:
    assert choose_token(HttpSettings(), host=host, variable=None) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "::ffff:0.0.0.0", "192.0.2.1", "localhost.example.org", "files"])
def test_any_other_address_refuses_to_start_without_a_token(host: str) -> None:
    with pytest.raises(BadSettingError, match="bearer token is needed"):
        choose_token(HttpSettings(), host=host, variable=None)
    token = choose_token(HttpSettings(token=SecretStr(TOKEN)), host=host, variable=None)
    assert token is not None
    assert token.get_secret_value() == TOKEN


def test_the_named_variable_wins_over_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FILES_TOKEN", f" {TOKEN}\n")
    token = choose_token(HttpSettings(token=SecretStr("another-token-here")), host="::1", variable="FILES_TOKEN")
    assert token is not None
    assert token.get_secret_value() == TOKEN


def test_a_variable_that_is_not_set_is_refused() -> None:
    with pytest.raises(BadSettingError, match="--token-env: the environment variable FILES_TOKEN is not set"):
        choose_token(HttpSettings(), host="127.0.0.1", variable="FILES_TOKEN")


@pytest.mark.parametrize("flags", [["--token-env", "FILES_TOKEN"], ["--allowed-host", "files.example.org"]])
def test_flags_of_the_http_server_without_it_are_wrong_usage(
    tmp_path: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(tmp_path), *flags]) == 2
    assert capsys.readouterr().err == "seamfs: --token-env and --allowed-host need --http\n"


def test_a_token_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    token = choose_token(HttpSettings(token_file=file), host="0.0.0.0", variable=None)
    assert token is not None
    assert token.get_secret_value() == TOKEN
    with pytest.raises(BadSettingError, match=r"token_file: .*missing: No such file"):
        choose_token(HttpSettings(token_file=tmp_path / "missing"), host="127.0.0.1", variable=None)


@pytest.mark.parametrize("token", ["", "short", "with a space in it", "caf\u00e9-caf\u00e9-caf\u00e9-caf\u00e9"])
def test_a_weak_or_unsendable_token_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(BadSettingError, match="a token is at least 16") as caught:
        choose_token(HttpSettings(token=SecretStr(token)), host="127.0.0.1", variable=None)
    assert not token or token not in str(caught.value)


def test_only_loopback_the_bound_and_the_allowed_names_are_taken() -> None:
    security = transport_security(HttpSettings(allowed_hosts=("files.example.org",)), host="192.0.2.1")
    assert security.enable_dns_rebinding_protection
    assert {"192.0.2.1:*", "localhost", "files.example.org:*"} <= set(security.allowed_hosts)
    assert "https://files.example.org" in security.allowed_origins
    assert not any("*" in host.removesuffix(":*") for host in security.allowed_hosts)
