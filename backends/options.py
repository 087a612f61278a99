"""Settings of the stores, importable without loading any store's library."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, SecretStr

from backends.local_options import LocalOptions

__all__ = ["BackendOptions", "FsspecOptions", "LocalOptions", "S3Options", "SftpOptions"]

_MIB = 1024 * 1024


def _http_url(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("an endpoint is a URL that begins with https:// or http://")
    return value


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    concurrency_max: PositiveInt = Field(default=8, description="operations in flight; further ones wait")
    write_size_bytes_max: PositiveInt = Field(default=512 * _MIB, description="largest file that is written")


class S3Options(_Options):
    """S3 and compatible stores. Credentials come from the standard AWS chain unless given here."""

    concurrency_max: PositiveInt = 32
    endpoint_url: Annotated[str, AfterValidator(_http_url)] | None = None
    region: str | None = None
    profile: str | None = None
    access_key_id: str | None = Field(default=None, repr=False)
    secret_access_key: SecretStr | None = None
    session_token: SecretStr | None = None
    addressing_style: Literal["auto", "path", "virtual"] = Field(
        default="auto", description="bucket in the path or in the host name of the endpoint"
    )
    request_timeout_s: PositiveFloat = Field(
        default=60.0, description="per request, plus one second per MiB sent or received"
    )
    connect_timeout_s: PositiveFloat = 10.0
    allow_unsafe_writes: bool = Field(
        default=False, description="write to a store that ignores conditions, without protection from lost updates"
    )


class SftpOptions(_Options):
    """SFTP over SSH. Users, keys, hosts and jump hosts come from `~/.ssh/config`, the agent and known_hosts."""

    concurrency_max: PositiveInt = Field(default=4, description="connections, one operation each")
    request_timeout_s: PositiveFloat = 30.0
    connect_timeout_s: PositiveFloat = 10.0
    idle_timeout_s: PositiveFloat = Field(default=60.0, description="close a pooled connection after this")
    keepalive_interval_s: PositiveFloat = Field(default=15.0, description="between signs of life to the server")
    lock_lease_s: PositiveFloat = Field(default=15.0, description="after which a dead client's lock may be broken")
    config_file: Path | None = Field(default=None, description="instead of ~/.ssh/config")
    known_hosts_file: Path | None = Field(default=None, description="instead of ~/.ssh/known_hosts")
    identity_file: Path | None = None
    password: SecretStr | None = None
    passphrase: SecretStr | None = None
    use_agent: bool = True


class FsspecOptions(_Options):
    """Any other fsspec URL, read only. `storage` is passed to the file system's constructor."""

    request_timeout_s: PositiveFloat = 60.0
    storage: dict[str, str | int | float | bool] = Field(default_factory=dict)


class BackendOptions(BaseModel):
    """Settings of every kind of store; only those of the root's scheme are used."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    local: LocalOptions = LocalOptions()
    s3: S3Options = S3Options()
    sftp: SftpOptions = SftpOptions()
    fsspec: FsspecOptions = FsspecOptions()
