"""What all these tests share."""

import pytest

from tests.support.sftp_faults import be_patient


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give what was cancelled or cut on a server time to tidy up: here it is judged by what it leaves."""
    be_patient(monkeypatch)
