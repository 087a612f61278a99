"""Which servers may be mounted."""

from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from progressive.gateway import Gateway, GatewayOptions, HttpMount, StdioMount
from tool_runtime import ToolRuntime


@pytest.mark.parametrize("name", ["", "a" * 33, "a b", "a__b", "a.b", "größe", "a\n"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="mount name"):
        StdioMount(name=name, command=("true",))
    with pytest.raises(ValueError, match="mount name"):
        HttpMount(name=name, url="http://127.0.0.1/mcp")


@pytest.mark.parametrize("command", [(), ("",), ("  ",), ("a", "b\0c")])
def test_a_bad_command_is_refused(command: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="mount x: the command"):
        StdioMount(name="x", command=command)


@pytest.mark.parametrize("env", [{"": "a"}, {"A=B": "a"}, {"A": "s3cret\0"}])
def test_a_bad_variable_is_refused_without_showing_its_value(env: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="environment variable") as caught:
        StdioMount(name="x", command=("true",), env=env)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "ftp://host/", "http://", "/path", "http://user:s3cret@/x", "http://s3cret:x@h:99999/", "http://h/\n"]
)
def test_a_bad_url_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ValueError, match="mount x: the URL") as caught:
        HttpMount(name="x", url=url)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "headers", [{"": "a"}, {"A B": "a"}, {"A": "s3cret\r\nB: c"}, {"Host": "h"}, {"Mcp-Session-Id": "1"}]
)
def test_a_bad_header_is_refused_without_showing_its_value(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="mount x: ") as caught:
        HttpMount(name="x", url="http://127.0.0.1/mcp", headers=headers)
    assert "s3cret" not in str(caught.value)


def test_two_mounts_of_one_name_are_refused() -> None:
    mounts = [StdioMount(name="x", command=("true",)), HttpMount(name="x", url="http://127.0.0.1/")]
    with pytest.raises(ValueError, match="two mounts are named 'x'"):
        Gateway(ToolRuntime(), mounts)


def test_a_mount_shows_no_secret() -> None:
    stdio = StdioMount(name="x", command=("true",), env={"TOKEN": "s3cret", "OTHER": SecretStr("s3cret")})
    http = HttpMount(name="y", url="https://user:s3cret@host:8443/mcp?key=s3cret#s3cret", headers={"X-Key": "s3cret"})
    assert "s3cret" not in f"{stdio!r} {http!r} {stdio} {http}"
    assert http.address == "https://host:8443/mcp"


@pytest.mark.parametrize("option", [{"tools_max": 0}, {"call_timeout_s": -1.0}, {"call_timeout": 1.0}])
def test_bad_options_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GatewayOptions(**option)
