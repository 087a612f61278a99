"""Which host keys are trusted."""

import base64
import hashlib
import hmac

import pytest

from backends.sftp._known_hosts import Verdict, host_label, judge, known_key_types, parse_known_hosts

_KEY, _OTHER = b"the key", b"another key"


def _line(hosts: str, key: bytes = _KEY, *, kind: str = "ssh-ed25519", marker: str = "") -> str:
    return f"{marker} {hosts} {kind} {base64.b64encode(key).decode()} comment".strip()


def _hashed(host: str) -> str:
    salt = b"0123456789abcdefghij"
    digest = hmac.new(salt, host.encode(), hashlib.sha1).digest()
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"


@pytest.mark.parametrize(
    ("hosts", "label", "verdict"),
    [
        ("example.org", "example.org", Verdict.TRUSTED),
        ("EXAMPLE.org", "example.ORG", Verdict.TRUSTED),
        ("a,example.org,b", "example.org", Verdict.TRUSTED),
        ("[example.org]:2222", "[example.org]:2222", Verdict.TRUSTED),
        ("[example.org]:2222", "example.org", Verdict.UNKNOWN),
        ("example.org", "[example.org]:2222", Verdict.UNKNOWN),
        ("*.example.org", "a.example.org", Verdict.TRUSTED),
        ("*.example.org", "example.org", Verdict.UNKNOWN),
        ("*.example.org,!bad.example.org", "bad.example.org", Verdict.UNKNOWN),
        ("host?", "host1", Verdict.TRUSTED),
        ("exampleXorg", "example.org", Verdict.UNKNOWN),
        (_hashed("example.org"), "example.org", Verdict.TRUSTED),
        (_hashed("example.org"), "example.com", Verdict.UNKNOWN),
        ("|1|broken", "example.org", Verdict.UNKNOWN),
    ],
)
def test_a_line_speaks_for_the_hosts_it_names(hosts: str, label: str, verdict: Verdict) -> None:
    assert judge(parse_known_hosts(_line(hosts)), label, _KEY) is verdict


def test_another_key_than_the_known_one_is_a_change() -> None:
    assert judge(parse_known_hosts(_line("h")), "h", _OTHER) is Verdict.CHANGED


def test_one_of_several_known_keys_is_enough() -> None:
    lines = parse_known_hosts(f"{_line('h', _OTHER)}\n{_line('h')}")
    assert judge(lines, "h", _KEY) is Verdict.TRUSTED


def test_a_revoked_key_is_refused_even_if_another_line_trusts_it() -> None:
    lines = parse_known_hosts(f"{_line('h')}\n{_line('*', marker='@revoked')}")
    assert judge(lines, "h", _KEY) is Verdict.REVOKED
    assert judge(lines, "elsewhere", _OTHER) is Verdict.UNKNOWN


@pytest.mark.parametrize(
    "line", ["", "# h ssh-ed25519 AAAA", "h ssh-ed25519", "h ssh-ed25519 !!!", _line("h", marker="@cert-authority")]
)
def test_other_lines_trust_nothing(line: str) -> None:
    assert parse_known_hosts(line) == ()


def test_known_types_are_told_in_order_without_revoked_ones() -> None:
    lines = parse_known_hosts(
        f"{_line('h', kind='ssh-rsa')}\n{_line('h', _OTHER)}\n{_line('h', b'x', kind='ecdsa', marker='@revoked')}"
    )
    assert known_key_types(lines, "h") == ("ssh-rsa", "ssh-ed25519")


def test_the_usual_port_is_not_part_of_the_label() -> None:
    assert (host_label("h", 22), host_label("h", 23)) == ("h", "[h]:23")
