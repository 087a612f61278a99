"""URLs and OpenSSH's client configuration."""

from pathlib import Path

import pytest

from backends.options import SftpOptions
from backends.sftp._config import Address, Hop, find_route, parse_url
from fs_core.errors import InvalidPath


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    return tmp_path


def _route(home: Path, config: str, host: str = "h", **options: object) -> tuple[Hop, ...]:
    file = home / "config"
    file.write_text(config)
    return find_route(Address(host), SftpOptions(config_file=file, **options))  # pyright: ignore[reportArgumentType] - fields of several types


@pytest.mark.parametrize(
    ("url", "host", "user", "port", "path"),
    [
        ("sftp://h/srv/a", "h", None, None, "/srv/a"),
        ("sftp://me@h:2222/srv/a", "h", "me", 2222, "/srv/a"),
        ("sftp://m%40e@h/srv/a%20b%2525", "h", "m@e", None, "/srv/a b%25"),
        ("sftp://[::1]:22/", "::1", None, 22, "/"),
        ("sftp://h/a#b?c", "h", None, None, "/a#b?c"),
    ],
)
def test_a_url_is_taken_apart(url: str, host: str, user: str | None, port: int | None, path: str) -> None:
    location = parse_url(url)
    assert location.address == Address(host, user, port)
    assert location.path == path


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidPath, match="must not hold a password") as refused:
        parse_url("sftp://me:s3cr3t@h:22/srv")
    assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["sftp://h", "sftp:///srv", "sftp://h:port/srv", "sftp://h:s3cr3t@@/x", "sftp://h/a%00b"]
)
def test_what_names_no_directory_of_a_host_is_refused(url: str) -> None:
    with pytest.raises(InvalidPath) as refused:
        parse_url(url)
    assert "s3cr3t" not in str(refused.value)


def test_a_host_is_found_by_its_alias(home: Path) -> None:
    (hop,) = _route(
        home,
        "Host h\n  HostName 10.0.0.1\n  Port 2222\n  User bob\n  IdentityFile ~/key\n  IdentitiesOnly yes\n"
        "  HostKeyAlias alias\n  ConnectTimeout 3\n  ProxyCommand nc %h %p\n",
    )
    assert (hop.host, hop.port, hop.user, hop.label_host) == ("10.0.0.1", 2222, "bob", "alias")
    assert hop.identities == (home / "key",)
    assert hop.identities_only
    assert hop.connect_timeout_s == 3.0
    assert hop.proxy_command == "nc 10.0.0.1 2222"


def test_options_go_before_the_configuration(home: Path) -> None:
    key = home / "mine"
    (hop,) = _route(home, "Host h\n IdentityFile ~/key\n ConnectTimeout 3\n", identity_file=key, connect_timeout_s=7.0)
    assert hop.identities == (key,)
    assert hop.connect_timeout_s == 7.0


def test_without_configuration_the_usual_keys_and_files_are_used(home: Path) -> None:
    (hop,) = _route(home, "")
    assert hop.identities[0] == home / ".ssh" / "id_ed25519"
    assert not hop.identities_are_configured
    assert hop.known_hosts_file == home / ".ssh" / "known_hosts"
    assert hop.port == 22


def test_known_hosts_of_user_and_system_are_read_together(home: Path) -> None:
    (home / "user").write_text("a ssh-ed25519 AAAA\n")
    (home / "global").write_text("b ssh-ed25519 AAAA\n")
    config = f"Host h\n UserKnownHostsFile ~/user ~/missing\n GlobalKnownHostsFile {home}/global\n"
    (hop,) = _route(home, config)
    assert [line.patterns for line in hop.known_hosts] == ["a", "b"]


def test_jump_hosts_come_first_and_have_their_own_jumps(home: Path) -> None:
    hops = _route(home, "Host h\n ProxyJump bob@j2:2200\nHost j2\n ProxyJump j1\nHost j1\n Port 99\n")
    assert [(hop.host, hop.port) for hop in hops] == [("j1", 99), ("j2", 2200), ("h", 22)]
    assert hops[1].user == "bob"


def test_jumps_in_a_circle_are_refused(home: Path) -> None:
    with pytest.raises(InvalidPath, match="ProxyJump"):
        _route(home, "Host h\n ProxyJump j\nHost j\n ProxyJump h\n")


def test_included_files_count_and_end_their_blocks(home: Path) -> None:
    (home / ".ssh" / "extra.conf").write_text("Host other\n User wrong\nHost h\n Port 77\n")
    (hop,) = _route(home, "Host h\n Include extra*.conf\n User right\n")
    assert (hop.port, hop.user) == (77, "right")


@pytest.mark.parametrize("config", ["Host h\n Port many\n", "!!!\n"])
def test_an_unusable_configuration_is_refused_in_one_line(home: Path, config: str) -> None:
    with pytest.raises(InvalidPath, match="configuration cannot be used") as refused:
        _route(home, config)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [Address("$(touch x)"), Address("-oProxyCommand=x"), Address("h", "a\nProxyCommand x"), Address("h", "`x`")],
)
def test_names_that_a_shell_would_run_are_refused(home: Path, address: Address) -> None:
    (home / "config").write_text("Host *\n ProxyCommand nc %h %p\n")
    with pytest.raises(InvalidPath, match="no name of a host or user"):
        find_route(address, SftpOptions(config_file=home / "config"))


def test_port_and_user_of_the_url_go_before_and_reach_the_proxy_command(home: Path) -> None:
    (home / "config").write_text("Host h\n Port 1\n User other\n ProxyCommand nc %h %p %r\n")
    (hop,) = find_route(Address("h", "me", 2222), SftpOptions(config_file=home / "config"))
    assert (hop.port, hop.user, hop.proxy_command) == (2222, "me", "nc h 2222 me")


def test_a_missing_configuration_that_was_asked_for_is_refused(home: Path) -> None:
    with pytest.raises(InvalidPath, match="nowhere"):
        find_route(Address("h"), SftpOptions(config_file=home / "nowhere"))


def test_secrets_do_not_show(home: Path) -> None:
    options = SftpOptions(password="pa55word", passphrase="phra5e")  # pyright: ignore[reportArgumentType] - coerced
    assert "pa55word" not in repr(options)
    assert "phra5e" not in repr(options)
