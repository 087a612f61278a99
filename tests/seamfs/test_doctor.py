"""What the doctor says of each store, well or ailing."""

from pathlib import Path

import pytest

from backends.local import LocalProbe
from backends.local.backend import LocalBackend
from backends.options import BackendOptions, LocalOptions
from fs_core.protocol import Backend, Capabilities, Guard
from fs_core.testing.memory import MemoryBackend
from seamfs import doctor, doctor_s3
from seamfs.cli import main
from seamfs.config import Settings
from seamfs.demo_stores import DemoStore, local_store, s3_store, sftp_store
from seamfs.doctor import diagnose
from seamfs.doctor_clock import clock_finding
from seamfs.doctor_findings import Finding, Status
from seamfs.embedded.sftp import embedded_sftp

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("restored_logging")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def verdicts(findings: list[Finding]) -> dict[str, Status]:
    return {finding.subject: finding.status for finding in findings}


def names_in(directory: Path) -> list[str]:
    return [entry.name for entry in directory.iterdir()]


async def examine(store: DemoStore) -> dict[str, Status]:
    findings = await diagnose(store.url, store.settings)
    for finding in findings:
        assert finding.remedy or finding.status is Status.PASS
        assert "\n" not in finding.detail
    return verdicts(findings)


async def test_a_healthy_directory_passes_and_is_left_as_it_was(root: Path) -> None:
    with local_store(root) as store:
        found = await examine(store)
    assert set(found.values()) == {Status.PASS}
    assert {"reachable", "write", "exchange of names", "lock directory", "create guard", "replace guard"} <= set(found)
    assert names_in(root) == []


async def test_an_s3_service_is_asked_for_conditions_clock_and_credentials(tmp_path: Path) -> None:
    with s3_store(tmp_path) as store:
        findings = await diagnose(store.url, store.settings)
    found = verdicts(findings)
    assert set(found.values()) == {Status.PASS}
    assert {"credentials", "conditions", "clock"} <= set(found)
    assert "embedded" not in str([finding for finding in findings if finding.subject == "credentials"])


async def test_an_sftp_server_is_asked_for_extensions_clock_and_credentials(root: Path) -> None:
    with sftp_store(root) as store:
        found = await examine(store)
    assert set(found.values()) == {Status.PASS}
    assert {"credentials", "extensions", "atomic replace", "atomic create", "durability", "clock"} <= set(found)
    assert [name for name in names_in(root) if not name.startswith(".")] == []


async def test_where_nothing_can_be_written_no_guard_is_praised() -> None:
    findings = await diagnose("/proc/self", Settings())
    assert [finding.subject for finding in findings] == ["reachable", "write", "policy"]
    assert findings[1].status is Status.WEAKER


async def test_a_message_that_says_what_to_do_gets_no_second_advice(tmp_path: Path) -> None:
    with embedded_sftp(tmp_path) as server:
        options = server.options.model_copy(update={"known_hosts_file": tmp_path / "nobody-is-known"})
        (finding,) = await diagnose(server.url, Settings(sftp=options))
    assert "then trust it: echo " in finding.detail
    assert (finding.status, finding.remedy) == (Status.FAIL, "")


async def test_memory_is_said_to_be_gone_with_the_process() -> None:
    found = verdicts(await diagnose("memory://", Settings()))
    assert found["durability"] is Status.WEAKER
    assert found["create guard"] is Status.PASS


async def test_weaker_settings_are_said_to_be_so(root: Path) -> None:
    settings = Settings(policy="none", local=LocalOptions(fsync=False))
    found = verdicts(await diagnose(str(root), settings))
    assert (found["durability"], found["policy"]) == (Status.WEAKER, Status.WEAKER)


async def test_what_kernel_and_file_system_lack_is_told_with_its_consequence(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ailing(_backend: LocalBackend) -> LocalProbe:
        return LocalProbe(
            write=None, create="cannot", exchange="cannot", sync="cannot", lock="belongs to somebody else"
        )

    monkeypatch.setattr(LocalBackend, "probe", ailing)
    found = verdicts(await diagnose(str(root), Settings()))
    assert found["no-replace publish"] is Status.FAIL
    assert found["exchange of names"] is Status.WEAKER
    assert found["durability"] is Status.WEAKER
    assert found["lock directory"] is Status.FAIL


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [("zip", {"guards": Status.WEAKER}), ("s3", {"create guard": Status.WEAKER, "replace guard": Status.WEAKER})],
)
async def test_a_store_without_guards_is_said_to_be_so(
    scheme: str, expected: dict[str, Status], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unguarding(MemoryBackend):
        @property
        def capabilities(self) -> Capabilities:
            return Capabilities(create=Guard.NONE, replace=Guard.NONE, write_size_bytes_max=1)

    async def open_unguarding(_url: str, _options: BackendOptions) -> Backend:
        Unguarding.scheme = scheme
        return Unguarding()

    async def nothing_found(_backend: Backend, _settings: Settings) -> list[Finding]:
        return []

    monkeypatch.setattr(doctor, "open_backend", open_unguarding)
    monkeypatch.setattr(doctor_s3, "s3_findings", nothing_found)
    found = verdicts(await diagnose("x://", Settings()))
    assert expected.items() <= found.items()


def test_a_directory_that_cannot_be_opened_fails_with_status_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "missing"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("fail    reachable")
    assert "FS_NOT_FOUND" in line
    assert line.endswith("-> create it, or correct ROOT")


def test_a_healthy_directory_is_status_zero_with_a_line_a_finding(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("pass ") for line in lines)
    assert len(lines) >= 8


@pytest.mark.parametrize(
    ("offset_s", "limit_s", "status"),
    [
        (0.4, 900.0, Status.PASS),
        (-30.0, 900.0, Status.PASS),
        (61.0, 900.0, Status.WEAKER),
        (-901.0, 900.0, Status.FAIL),
        (-901.0, None, Status.WEAKER),
    ],
)
def test_a_clock_that_is_off_matters_by_how_much(offset_s: float, limit_s: float | None, status: Status) -> None:
    assert clock_finding(offset_s, refused_from_s=limit_s).status is status
