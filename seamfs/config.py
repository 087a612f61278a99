"""Settings from flags, the environment and `seamfs.toml`, in that order; the first that names a setting wins."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from backends.local_options import LocalOptions
from backends.options import BackendOptions, FsspecOptions, S3Options, SftpOptions
from fs_core.checked import CheckedOptions
from progressive.code.options import CodeOptions
from progressive.gateway.options import GatewayOptions
from progressive.options import DisclosureOptions
from progressive.protocol import Mode
from seamfs.mount_settings import MountSettings
from seamfs.setting_sources import CONFIG_FILE, ENV_PREFIX, set_variables
from tool_fs.limits import ReadLimits
from tool_fs.search.limits import SearchLimits

if TYPE_CHECKING:
    from pydantic_settings import BaseSettings, EnvSettingsSource

__all__ = [
    "BadSettingError",
    "HttpSettings",
    "PolicyName",
    "ProgressiveSettings",
    "Settings",
    "ToolName",
    "load_settings",
    "mounting_file",
    "refuse_unused_state",
    "session_name",
]

NESTED: Final = "__"

MOUNTS: Final = "mounts"
_FLAGS: Final = {"enabled": "progressive", "eager_tools": "eager", MOUNTS: "mount"}
"""Settings whose flag is not called as they are."""

PolicyName = Literal["read-before-write", "none"]
ToolName = Literal["read", "write", "edit", "list_dir", "glob", "grep"]

_SESSION_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class BadSettingError(ValueError):
    """Raised when a setting is unknown or has a bad value; one line that names where it was set, without the value."""


def session_name(text: str) -> str:
    """Return a name that a session may have: it can stand in the name of a file.

    Raises:
        ValueError: It may not.
    """
    if _SESSION_NAME.fullmatch(text) is None:
        raise ValueError("the name of a session is 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit")
    return text


def _split(value: object) -> object:
    """Return the names in a text that is meant for a shell."""
    return [name.strip() for name in value.split(",")] if isinstance(value, str) else value


class HttpSettings(BaseModel):
    """The MCP server over HTTP."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    token: SecretStr | None = Field(default=None, description="bearer token that every request must carry")
    token_file: Path | None = Field(default=None, description="file that holds the token, instead of `token`")
    allowed_hosts: tuple[str, ...] = Field(default=(), description="names in Host and Origin besides the one bound")
    request_size_bytes_max: PositiveInt = 16 * 1024 * 1024
    connections_max: PositiveInt = Field(default=1_024, description="further ones are answered 503")
    sessions_max: PositiveInt = 256
    session_idle_timeout_s: PositiveFloat = 1800.0


class ProgressiveSettings(DisclosureOptions):
    """What is declared to a client and what it has to look for. A mode other than native implies `enabled`."""

    enabled: bool = Field(default=False, description="declare three discovery tools instead of every mounted tool")
    mode: Mode = Field(default=Mode.NATIVE, description="whether a model calls tools itself, in programs, or both")

    @model_validator(mode="before")
    @classmethod
    def _programs_enable(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        table = cast("dict[str, object]", given)
        return table if table.get("mode", Mode.NATIVE) == Mode.NATIVE else {"enabled": True, **table}

    @field_validator("mode")
    @classmethod
    def _is_enabled(cls, mode: Mode, info: ValidationInfo) -> Mode:
        if mode is not Mode.NATIVE and info.data.get("enabled") is False:
            raise ValueError(f"{mode} needs progressive.enabled, which is set to false")
        return mode


class Settings(BaseModel):
    """Everything that can be set. Constructed directly it takes only what it is given; see `load_settings`."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    policy: PolicyName = "read-before-write"
    state: Path | None = Field(default=None, description="file that keeps what named sessions have read")
    session: Annotated[str, AfterValidator(session_name)] | None = Field(
        default=None, description="whose reads these are, over stdio and of single commands; needs `state`"
    )
    tools: Annotated[tuple[ToolName, ...] | None, BeforeValidator(_split)] = Field(
        default=None, min_length=1, description="the tools for files that are offered, instead of all six"
    )
    read: ReadLimits = ReadLimits()
    search: SearchLimits = SearchLimits()
    local: LocalOptions = LocalOptions()
    s3: S3Options = S3Options()
    sftp: SftpOptions = SftpOptions()
    fsspec: FsspecOptions = FsspecOptions()
    http: HttpSettings = HttpSettings()
    progressive: ProgressiveSettings = ProgressiveSettings()
    mounts: dict[str, MountSettings] = {}
    gateway: GatewayOptions = GatewayOptions()
    code: CodeOptions = CodeOptions()

    @property
    def backends(self) -> BackendOptions:
        """Return the settings of every kind of store."""
        return BackendOptions(local=self.local, s3=self.s3, sftp=self.sftp, fsspec=self.fsspec)


@dataclass(frozen=True, slots=True)
class _Source:
    """Settings from one place. `kind` decides how a setting is called there."""

    kind: Literal["flag", "environment", "file"]
    values: Mapping[str, Any]
    file: Path | None = None

    def has(self, path: tuple[str, ...]) -> bool:
        node: object = self.values
        for part in path:
            if not isinstance(node, Mapping) or part not in node:
                return False
            node = cast("Mapping[str, object]", node)[part]
        return True

    def name_of(self, path: tuple[str, ...]) -> str:
        match self.kind:
            case "flag":
                name = MOUNTS if path[0] == MOUNTS else path[-1]
                return f"--{_FLAGS.get(name, name).replace('_', '-')}"
            case "environment" if path[0] == MOUNTS:
                return ": ".join(filter(None, [f"{ENV_PREFIX}MOUNTS", ".".join(path[1:])]))
            case "environment":
                return ENV_PREFIX + NESTED.join(path).upper()
            case "file":
                return f"{self.file}: {'.'.join(path)}"


def load_settings(
    *,
    flags: Mapping[str, Any] | None = None,
    config_file: Path | None = None,
    ignored_variables: Iterable[str] = (),
) -> Settings:
    """Return the settings of this process.

    Args:
        flags: Nested by section, as the fields of `Settings` are; they win over everything.
        config_file: Read instead of `seamfs.toml` in the working directory; it must exist.
        ignored_variables: Variables with the prefix `SEAMFS_` that are no settings.

    Raises:
        BadSettingError: A source cannot be read, or a setting is unknown or has a bad value.
    """
    sources = (_Source("flag", flags or {}), _environment(frozenset(ignored_variables)), _file(config_file))
    merged: dict[str, Any] = {}
    for source in reversed(sources):
        merged = _merged(merged, source.values)
    try:
        return Settings(**merged)
    except ValidationError as error:
        raise BadSettingError(_explain(error, sources)) from None


def refuse_unused_state(settings: Settings, *, state: Path | None, read_only: bool = False) -> None:
    """Refuse settings of observations that nothing would come of.

    Args:
        settings: As loaded.
        state: What the command line itself names, which has to be of use; settings for many servers need not.
        read_only: Whether no tool is offered that changes a file.

    Raises:
        BadSettingError: A session that is kept nowhere, or a state where nothing has to be remembered.
    """
    if settings.session is not None and settings.state is None:
        raise BadSettingError(
            "--session: a session is kept in a file; name that with --state (or state in seamfs.toml)"
        )
    if state is not None and (read_only or settings.policy == "none"):
        raise BadSettingError(
            "--state: with --read-only or --policy none, or without a tool that changes files, nothing is remembered; "
            "leave one of them out"
        )


def mounting_file() -> Path | None:
    """Return where the settings file really is that the working directory has, if it mounts servers.

    Raises:
        BadSettingError: It cannot be read.
    """
    return CONFIG_FILE.resolve() if _file(None).values.get(MOUNTS) else None


def _environment(ignored: frozenset[str]) -> _Source:
    variables = set_variables()
    for name in variables:
        if name.startswith(ENV_PREFIX) and name not in ignored:
            section = name.removeprefix(ENV_PREFIX).lower().split(NESTED)[0]
            if section not in Settings.model_fields:
                raise BadSettingError(f"{name}: unknown setting; known here: {_known_at(())}")
            if section == MOUNTS and name.upper() != ENV_PREFIX + section.upper():
                # Names of variables would lose their case here, and so would those of headers and mounts.
                raise BadSettingError(
                    f"{name}: mounts belong into a file, or as one JSON object into {ENV_PREFIX}MOUNTS"
                )
            if name.upper() != ENV_PREFIX + section.upper() and not _tables(Settings.model_fields[section].annotation):
                raise BadSettingError(f"{name}: unknown setting; {ENV_PREFIX}{section.upper()} holds one value")
    if not variables:
        return _Source("environment", {})
    # It takes a quarter of the time of a whole `seamfs read`, and few processes have such variables.
    from pydantic_settings import EnvSettingsSource, SettingsError

    # Nothing but fields and configuration is asked of the class, which every model has.
    model = cast("type[BaseSettings]", Settings)
    source = EnvSettingsSource(model, env_prefix=ENV_PREFIX, env_nested_delimiter=NESTED)
    try:
        return _Source("environment", source())
    except SettingsError:
        raise BadSettingError(f'{_unread(source)}: a list or table has to be JSON here, such as ["a", "b"]') from None


def _unread(source: "EnvSettingsSource") -> str:
    """Return which variable cannot be read; the error of the library names no more than its section."""
    from pydantic_settings import SettingsError

    for name, value in os.environ.items():
        source.env_vars = {name.lower(): value}
        try:
            source()
        except SettingsError:
            return name
    return f"{ENV_PREFIX}*"


def _file(config_file: Path | None) -> _Source:
    file = config_file or CONFIG_FILE
    if config_file is None and not file.is_file():
        return _Source("file", {}, file)
    import tomllib

    try:
        with file.open("rb") as opened:
            return _Source("file", tomllib.load(opened), file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadSettingError(f"{file}: {reason}") from None


def _merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(low)
    for key, value in high.items():
        below = merged.get(key)
        if key == MOUNTS and isinstance(below, Mapping) and isinstance(value, Mapping):
            # Half of one mount and half of another would be none.
            merged[key] = {**cast("Mapping[str, Any]", below), **cast("Mapping[str, Any]", value)}
        elif isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged(cast("Mapping[str, Any]", below), cast("Mapping[str, Any]", value))
        else:
            merged[key] = value
    return merged


def _explain(error: ValidationError, sources: tuple[_Source, ...]) -> str:
    details = error.errors(include_url=False, include_context=False, include_input=False)
    first = details[0]
    path = tuple(str(part) for part in first["loc"])
    more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    while path:
        for source in sources:
            if source.has(path):
                return f"{source.name_of(path)}: {_what(first, path)}{more}"
        # Positions inside a list or a union exist in no source; what holds them does.
        path = path[:-1]
    return f"settings: {_what(first, path)}{more}"


def _what(detail: ErrorDetails, path: tuple[str, ...]) -> str:
    if detail["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        return f"unknown setting; known here: {_known_at(path[:-1])}"
    return detail["msg"].removeprefix("Value error, ")


def _known_at(path: tuple[str, ...]) -> str:
    known = _settings_of(Settings)
    for part in path:
        # Between a table of tables and its settings there is a name that is no field.
        if part in known:
            known = _settings_of(_tables(known[part])[0])
    return ", ".join(known)


def _settings_of(table: type[BaseModel | CheckedOptions]) -> dict[str, object]:
    """Return the types of the settings in a table."""
    if issubclass(table, BaseModel):
        return {name: item.annotation for name, item in table.model_fields.items()}
    return {item.name: item.type for item in fields(table)}


def _tables(annotation: object) -> list[type[BaseModel | CheckedOptions]]:
    candidates = (annotation, *get_args(annotation))
    return [item for item in candidates if isinstance(item, type) and issubclass(item, BaseModel | CheckedOptions)]
