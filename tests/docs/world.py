"""A place where the commands of the pages run: a home, servers that stand in, and what words mean here."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.docs.blocks import PROJECT, Block
from tests.docs.forks import CLIENT, VARIABLE
from tests.support.ports import free_port
from tests.support.s3_servers import S3Server
from tests.support.sftp_servers import SftpServer

__all__ = ["Ran", "World"]

BUCKET: Final = "my-bucket"
PREFIX: Final = "workspace"
TREE: Final = {
    "README.md": "# A project\n",
    "main.py": "timeout = 10\nretries = 3\n",
    "src/main.c": "".join(f"int line_{number:03};\n" for number in range(1, 200)),
    "tests/test_main.py": "from main import timeout\nassert timeout\n",
}
"""What every root of a page holds, local or not."""

_TIMEOUT_S: Final = 110
_MARK: Final = "--- block at line "
_PROGRAMS: Final = PROJECT / "tests" / "docs" / "programs"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a block printed, standard output and standard error apart."""

    output: str
    errors: str


class World:
    """A home directory with a workspace, and servers on loopback.

    Attributes:
        home: Stands for `/home/me`, and is where the commands run.
    """

    def __init__(self, home: Path, *, s3: S3Server, sftp: SftpServer, forks: str, variables: Mapping[str, str]) -> None:
        self.home = home
        self._s3, self._sftp, self._forks, self._variables = s3, sftp, forks, variables
        self._remote = sftp.fresh_directory()
        self._http_port = free_port()
        for root in (home / "repo", self._remote):
            _plant(root)
        self._plant_bucket()
        self._plant_ssh()
        self._plant_programs()
        self._plant_profile()
        (home / ".local" / "state").mkdir(parents=True)
        releases = home / "releases"
        releases.mkdir()
        with zipfile.ZipFile(releases / "app.zip", "w") as archive:
            for name, text in TREE.items():
                archive.writestr(name, text)

    def _plant_programs(self) -> None:
        programs = self.home / "bin"
        shutil.copytree(_PROGRAMS, programs)
        (programs / "seamfs").write_text(CLIENT)
        (programs / "seamfs").chmod(0o755)

    def _plant_profile(self) -> None:
        (self.home / ".aws").mkdir()
        (self.home / ".aws" / "config").write_text("[profile agents]\nregion = eu-central-1\n")

    def _plant_bucket(self) -> None:
        self._s3.client.create_bucket(Bucket=BUCKET)
        for page in self._s3.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
            for item in page.get("Contents", []):
                self._s3.client.delete_object(Bucket=BUCKET, Key=item["Key"])
        for name, text in TREE.items():
            self._s3.client.put_object(Bucket=BUCKET, Key=f"{PREFIX}/{name}", Body=text.encode())

    def _plant_ssh(self) -> None:
        ssh = self.home / ".ssh"
        ssh.mkdir(mode=0o700)
        shutil.copy(self._sftp.known_hosts_file, ssh / "known_hosts")
        hosts = "Host build-host\n    HostName build-host.internal\n    User me\n"
        (ssh / "config").write_text(self.here(hosts))

    @property
    def words(self) -> dict[str, str]:
        """What stands in the pages, and what it means here; longer ones first where one begins another."""
        port = f"\n    Port {self._sftp.port}"
        known_hosts = f"\n    UserKnownHostsFile {self.home / '.ssh' / 'known_hosts'}"
        return {
            "https://ACCOUNT_ID.r2.cloudflarestorage.com": self._s3.endpoint_url,
            "https://ceph.example.org": self._s3.endpoint_url,
            "https://s3.example.org": self._s3.endpoint_url,
            "http://seaweedfs.example.org:8333": self._s3.endpoint_url,
            "https://tickets.example.org/mcp": "http://127.0.0.1:9/mcp",
            "HostName gate.example.org": f"HostName {self._sftp.host}{port}",
            "HostName build-host.internal": f"HostName {self._sftp.host}{port}",
            "User me": f"User {self._sftp.user}\n    IdentityFile {self._sftp.identity_file}{known_hosts}",
            "/srv/repo": str(self._remote),
            "/home/me": str(self.home),
            "127.0.0.1:8000": f"127.0.0.1:{self._http_port}",
        }

    def here(self, text: str) -> str:
        """Return a text of a page with its words put into those of this world."""
        for word, meaning in self.words.items():
            text = text.replace(word, meaning)
        return text

    def run(self, blocks: Sequence[Block]) -> dict[int, Ran]:
        """Lay down the files of a page and run its commands in one shell, in order; return what each block printed.

        Raises:
            AssertionError: A command failed.
        """
        script = "\n".join([_PRELUDE, *(self._step(block) for block in blocks)])
        environment = {
            "PATH": f"{self.home / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "DOCS_PROJECT": str(PROJECT),
            VARIABLE: self._forks,
        }
        with subprocess.Popen(
            ["bash", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.home,
            env=environment | dict(self._variables),
            process_group=0,
            text=True,
        ) as shell:
            try:
                printed, told = shell.communicate(timeout=_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                os.killpg(shell.pid, signal.SIGKILL)
                raise
        assert shell.returncode == 0, f"{script}\n{printed}\n{told}"
        output, errors = _by_line(printed), _by_line(told)
        return {line: Ran(text, errors[line]) for line, text in output.items()}

    def _step(self, block: Block) -> str:
        mark = shlex.quote(f"\n{_MARK}{block.line}\n")
        text = self.here(block.text)
        elsewhere = _ELSEWHERE.search(text)
        assert elsewhere is None, f"{block.place}: what does {elsewhere and elsewhere[0]} stand for here? See `words`"
        if block.language != "sh":
            file = Path((block.file or "clients.json").replace("~", str(self.home), 1))
            text = f"mkdir -p {shlex.quote(str(file.parent))}\nprintf %s {shlex.quote(text)} > {shlex.quote(str(file))}"
            if block.servers:
                text += f"\nconnect {shlex.quote(str(file))}"
        elif "--http" in text:
            # A server that stays; what follows on the page needs it.
            text = (
                f"{text.rstrip()} &\nuntil (: </dev/tcp/127.0.0.1/{self._http_port}) 2>/dev/null; do kill -0 $!; done"
            )
        return f"printf %s {mark} | tee /dev/stderr\n{text}"


_ELSEWHERE: Final = re.compile(r"[a-z0-9.-]*\.(?:example\.(?:org|com)|internal)\b|ACCOUNT_ID")
"""Names that only a reader has something for."""
_PRELUDE: Final = "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT"


def _by_line(text: str) -> dict[int, str]:
    parts = text.split(f"\n{_MARK}")[1:]
    return {int(line): rest for line, _, rest in (part.partition("\n") for part in parts)}


def _plant(root: Path) -> None:
    for name, text in TREE.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
