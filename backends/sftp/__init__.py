"""SFTP store: a pool of SSH connections, staged uploads, and a lock that all clients of a server see."""

from backends.sftp._probe import ProbeReport
from backends.sftp.backend import SftpBackend, open_sftp

__all__ = ["ProbeReport", "SftpBackend", "open_sftp"]
