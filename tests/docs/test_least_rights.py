"""The rights that the recipes give: enough, and no more."""

import json
import subprocess
from pathlib import Path
from typing import Final

import pytest

from backends.s3._session import RawClient
from fs_core.errors import PermissionDenied, Unsupported
from fs_core.page import Window
from seamfs.config import Settings
from seamfs.workspace import open_workspace
from tests.docs.blocks import blocks_of
from tests.support.sftp_servers import SftpServer

ACTIONS: Final = {
    "list_objects_v2": {"s3:ListBucket"},
    "get_object": {"s3:GetObject"},
    "head_object": {"s3:GetObject"},
    # The tags of what is replaced are sent with its successor.
    "put_object": {"s3:PutObject", "s3:PutObjectTagging"},
    "delete_object": {"s3:DeleteObject"},
    "get_object_tagging": {"s3:GetObjectTagging"},
}
"""Which rights Amazon wants for a request (Service Authorization Reference, Amazon S3)."""


def file_of(page: str, name: str) -> str:
    (text,) = [block.text for block in blocks_of(page) if block.file == name]
    return text


def test_the_policy_of_a_role_allows_what_the_client_sends_and_nothing_else() -> None:
    policy = json.loads(file_of("docs/recipes/aws.md", "agents-policy.json"))
    allowed = {action for statement in policy["Statement"] for action in statement["Action"]}
    sent = {name for name in vars(RawClient) if not name.startswith("_")} - {"meta", "close"}
    assert sent == ACTIONS.keys()
    assert allowed == set[str]().union(*ACTIONS.values())


@pytest.fixture
def read_only_key(sshd_server: SftpServer, tmp_path: Path) -> Path:
    """A key that the server takes with what the recipe has before it."""
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    options, _, _ = file_of("docs/recipes/read-only.md", "authorized_keys").partition(" ssh-ed25519 ")
    with (sshd_server.identity_file.parent / "authorized_keys").open("a") as keys:
        keys.write(f"{options} {key.with_suffix('.pub').read_text()}")
    return key


@pytest.mark.anyio
async def test_a_key_tied_to_read_only_sftp_reads_and_cannot_write(
    sshd_server: SftpServer, read_only_key: Path
) -> None:
    root = sshd_server.fresh_directory()
    (root / "a.txt").write_text("one\n")
    settings = Settings(sftp=sshd_server.options(identity_file=read_only_key))
    async with open_workspace(sshd_server.url(root), settings=settings) as workspace:
        agent = workspace.session()
        read = await agent.read("a.txt", Window())
        with pytest.raises(PermissionDenied):
            await agent.write("b.txt", "two\n")
        # Such a server does not offer what replaces a file either.
        with pytest.raises(Unsupported):
            await agent.write("a.txt", "two\n")
    assert [line.text for line in read.page.lines] == ["one"]
    assert {file.name: file.read_text() for file in root.iterdir()} == {"a.txt": "one\n"}
