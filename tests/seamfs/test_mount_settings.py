"""Settings of the disclosure layer and of mounted servers: where they come from, what is refused, what is not shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from progressive.gateway import HttpMount, Mount, StdioMount
from progressive.gateway.mounts import revealed
from seamfs.config import BadSettingError, Settings, load_settings, mounting_file
from seamfs.disclosed import disclosed
from tool_runtime import ToolRuntime

SECRET = "hunter2-and-more"


def mount_of(table: dict[str, Any]) -> Mount:
    return Settings.model_validate({"mounts": {"box": table}}).mounts["box"].mount("box")


def test_the_layer_is_off_and_has_its_bounds_by_default() -> None:
    settings = load_settings()
    assert not settings.progressive.enabled
    assert settings.progressive.max_search_results == 10
    assert settings.progressive.eager_tools == ()
    assert settings.mounts == {}
    assert settings.gateway.connect_timeout_s == 60


def test_bounds_come_from_the_file_and_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("seamfs.toml").write_text(
        '[progressive]\nenabled = true\nmax_search_results = 5\neager_tools = ["mcp__a__b"]\n'
        "[gateway]\nconnect_timeout_s = 2\ntools_max = 7\n"
    )
    monkeypatch.setenv("SEAMFS_PROGRESSIVE__MAX_SEARCH_RESULTS", "20")
    monkeypatch.setenv("SEAMFS_GATEWAY__CONNECT_TIMEOUT_S", "0.5")
    settings = load_settings()
    assert settings.progressive.enabled
    assert settings.progressive.max_search_results == 20
    assert settings.progressive.eager_tools == ("mcp__a__b",)
    assert (settings.gateway.connect_timeout_s, settings.gateway.tools_max) == (0.5, 7)


def test_eager_names_come_from_the_environment_as_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAMFS_PROGRESSIVE__EAGER_TOOLS", '["mcp__a__b", "mcp__a__c"]')
    monkeypatch.setenv("SEAMFS_PROGRESSIVE__ENABLED", "true")
    assert load_settings().progressive.eager_tools == ("mcp__a__b", "mcp__a__c")


def test_a_server_is_started_with_what_its_table_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOKEN_OF_OURS", SECRET)
    Path("seamfs.toml").write_text(
        f'[mounts.git]\ncommand = ["npx", "-y", "a server"]\nenv = {{Mode = "fast"}}\nenv_from = ["TOKEN_OF_OURS"]\n'
        f'cwd = "{tmp_path}"\n'
    )
    mount = load_settings().mounts["git"].mount("git")
    assert isinstance(mount, StdioMount)
    assert mount.command == ("npx", "-y", "a server")
    assert revealed(mount.env) == {"Mode": "fast", "TOKEN_OF_OURS": SECRET}
    assert mount.cwd == tmp_path


def test_a_command_in_one_text_is_split_as_a_shell_would_and_nothing_is_expanded() -> None:
    mount = mount_of({"command": "npx -y 'a server' --dir=$HOME;ls"})
    assert isinstance(mount, StdioMount)
    assert mount.command == ("npx", "-y", "a server", "--dir=$HOME;ls")


def test_a_server_is_reached_with_headers_of_the_table_and_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTH", f"Bearer {SECRET}")
    mount = mount_of(
        {
            "url": "https://example.org/mcp",
            "headers": {"X-Team": "files"},
            "headers_from": {"Authorization": "AUTH"},
        }
    )
    assert isinstance(mount, HttpMount)
    assert mount.url == "https://example.org/mcp"
    assert revealed(mount.headers) == {"X-Team": "files", "Authorization": f"Bearer {SECRET}"}


def test_mounts_of_two_sources_are_put_together_and_one_of_the_same_name_is_replaced_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("seamfs.toml").write_text(
        '[mounts.a]\ncommand = "from-file"\nenv = {X = "1"}\n[mounts.b]\ncommand = "b"\n[mounts.c]\ncommand = "c"\n'
    )
    monkeypatch.setenv("SEAMFS_MOUNTS", json.dumps({"b": {"url": "http://environment/"}, "D": {"command": "d"}}))
    mounts = load_settings(flags={"mounts": {"a": {"url": "http://flag/"}}}).mounts
    assert sorted(mounts) == ["D", "a", "b", "c"]
    assert [mounts[name].command is None for name in ("a", "b", "c")] == [True, True, False]
    assert mounts["a"].env == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[progressive]\nmax_search_result = 5\n",
            "progressive.max_search_result: unknown setting; known here: eager_t",
        ),
        ("[progressive]\nmax_search_results = 0\n", "progressive.max_search_results: Input should be greater than 0"),
        ('[progressive]\neager_tools = ["search_tools"]\n', "progressive.eager_tools: reserved for the discovery"),
        ('[progressive]\neager_tools = ["a", "a"]\n', "progressive.eager_tools: given twice: a"),
        ("[gateway]\nconnect_timeout = 5\n", "gateway.connect_timeout: unknown setting; known here: connect_timeout_s"),
        ("[gateway]\ntools_max = 0\n", "gateway.tools_max: Input should be greater than 0"),
        ('[mounts]\na = "npx"\n', "mounts.a: Input should be"),
        ("[mounts.a]\n", "mounts.a: give either command or url"),
        ('[mounts.a]\ncommand = "x"\nurl = "http://h/"\n', "mounts.a: give either command or url"),
        ('[mounts.a]\ncommand = "x"\nheaders = {A = "b"}\n', "mounts.a: headers: not for a command"),
        ('[mounts.a]\nurl = "http://h/"\ncwd = "/"\nenv_from = ["A"]\n', "mounts.a: env_from, cwd: not for a url"),
        (
            '[mounts.a]\ncommand = "x"\nargs = ["y"]\n',
            "mounts.a.args: unknown setting; known here: command, env, env_fr",
        ),
        ('[mounts.a]\ncommand = "x \'y"\n', "mounts.a.command: No closing quotation"),
        ('[mounts.a]\ncommand = ["x", 5]\n', "mounts.a.command: Input should be a valid string"),
        ('[mounts.a]\ncommand = "x"\nenv = {A = 5}\n', "mounts.a.env.A: Input should be a valid string"),
        ('[mounts.a]\ncommand = "x"\nenv = {A = "b"}\nenv_from = ["A"]\n', "mounts.a: A: given in env and in env_from"),
        (
            '[mounts.a]\nurl = "http://h/"\nheaders = {Auth = "b"}\nheaders_from = {auth = "A"}\n',
            "mounts.a: auth: given in headers and in headers_from",
        ),
    ],
)
def test_a_wrong_table_is_one_line_that_names_file_and_setting(text: str, expected: str) -> None:
    Path("seamfs.toml").write_text(text)
    with pytest.raises(BadSettingError) as caught:
        load_settings()
    assert str(caught.value).startswith(f"seamfs.toml: {expected}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SEAMFS_PROGRESSIVE__MAX_SEARCH_RESULTS", "true", "SEAMFS_PROGRESSIVE__MAX_SEARCH_RESULTS: "),
        ("SEAMFS_PROGRESSIVE__ENABLED", "perhaps", "SEAMFS_PROGRESSIVE__ENABLED: Input should be a valid boolean"),
        ("SEAMFS_PROGRESSIVE__EAGER", "[]", "SEAMFS_PROGRESSIVE__EAGER: unknown setting; known here: eager_tools"),
        ("SEAMFS_MOUNTS__GIT__COMMAND", "x", "SEAMFS_MOUNTS__GIT__COMMAND: mounts belong into a file, or as one JSON"),
        ("SEAMFS_PROGRESSIVE__EAGER_TOOLS", "mcp__a__b", "SEAMFS_PROGRESSIVE__EAGER_TOOLS: a list or table has to be"),
        ("SEAMFS_MOUNTS", "{not json", "SEAMFS_MOUNTS: "),
        ("SEAMFS_MOUNTS", '{"a": {"comand": "x"}}', "SEAMFS_MOUNTS: a.comand: unknown setting; known here: command"),
    ],
)
def test_a_wrong_variable_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettingError) as caught:
        load_settings()
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


def test_a_wrong_flag_is_named_as_the_command_line_writes_it() -> None:
    with pytest.raises(BadSettingError, match=r"^--mount: give either command or url"):
        load_settings(flags={"mounts": {"a": {}}})
    with pytest.raises(BadSettingError, match=r"^--eager: Input should be a valid"):
        load_settings(flags={"progressive": {"eager_tools": (5,)}})


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"command": "x", "env_from": ["NOT_HERE"]}, "mount box: env_from: NOT_HERE is not set in the environment"),
        (
            {"url": "http://h/", "headers_from": {"A": "NOT_HERE"}},
            "mount box: headers_from: NOT_HERE is not set in the environment",
        ),
        ({"command": ""}, "mount box: the command is empty"),
        ({"command": "x", "env": {"A=B": SECRET}}, "mount box: 'A=B' cannot be set as an environment variable"),
        ({"url": f"ftp://user:{SECRET}@h/"}, "mount box: the URL must be http:// or https:// with a host"),
        ({"url": "http://h/", "headers": {"Host": SECRET}}, "mount box: the header 'Host' belongs to the protocol"),
        ({"url": "http://h/", "headers": {"A": f"{SECRET}\n"}}, "mount box: 'A' cannot be sent as a header"),
    ],
)
async def test_a_mount_that_cannot_be_used_is_one_line_without_its_secrets(
    table: dict[str, Any], expected: str
) -> None:
    settings = Settings.model_validate({"mounts": {"box": table}})
    with pytest.raises(BadSettingError) as caught:
        async with disclosed(ToolRuntime(), settings):
            pytest.fail("it was opened")
    assert str(caught.value) == expected
    assert caught.value.__cause__ is None


@pytest.mark.anyio
async def test_a_name_that_no_tool_could_carry_is_a_bad_setting() -> None:
    settings = Settings.model_validate({"mounts": {"a__b": {"command": "x"}}})
    with pytest.raises(BadSettingError, match=r"^mount name 'a__b': 1 to 32 of"):
        async with disclosed(ToolRuntime(), settings):
            pytest.fail("it was opened")


def test_secrets_of_mounts_show_neither_in_repr_nor_in_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTH", SECRET)
    settings = Settings.model_validate(
        {
            "mounts": {
                "a": {"command": "x", "env": {"TOKEN": SECRET}, "env_from": ["AUTH"]},
                "b": {
                    "url": f"http://user:{SECRET}@h/?key={SECRET}",
                    "headers": {"A": SECRET},
                    "headers_from": {"B": "AUTH"},
                },
            }
        }
    )
    mounts = [mount.mount(name) for name, mount in settings.mounts.items()]
    for shown in (repr(settings), str(settings), repr(mounts), settings.model_dump_json()):
        assert SECRET not in shown
    Path("seamfs.toml").write_text(f'[mounts.a]\ncommand = "x"\nenv = {{A = ["{SECRET}"]}}\nurl = "{SECRET}"\n')
    with pytest.raises(BadSettingError) as caught:
        load_settings()
    assert SECRET not in str(caught.value)


def test_the_file_that_mounts_is_found_where_it_really_is(tmp_path: Path) -> None:
    assert mounting_file() is None
    Path("seamfs.toml").write_text('policy = "none"\n')
    assert mounting_file() is None
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text('[mounts.a]\ncommand = "x"\n')
    Path("seamfs.toml").unlink()
    Path("seamfs.toml").symlink_to(elsewhere)
    assert mounting_file() == elsewhere.resolve()
