"""SFTP keeps every promise of the seam: on an embedded server and on OpenSSH's."""

import pytest

from fs_core.testing.conformance import BackendConformance
from fs_core.testing.harness import StoreHarness
from tests.support.sftp_servers import SftpServer


class TestEmbedded(BackendConformance):
    @pytest.fixture
    def harness(self, embedded_sftp_server: SftpServer) -> StoreHarness:
        return embedded_sftp_server.harness()


class TestSshd(BackendConformance):
    @pytest.fixture
    def harness(self, sshd_server: SftpServer) -> StoreHarness:
        return sshd_server.harness()
