"""What one process may have to itself on this machine: a port, a folder. Its end gives it back, however it ends.

The web server lets others listen on its port beside it, as its own workers do. Two portals on one port would each get a
part of the requests and answer them from different databases, so a port is claimed before a server is started on it.
"""

import errno
import fcntl
import os
import socket
import tempfile
from pathlib import Path
from typing import IO

_held: dict[Path, IO[bytes]] = {}
"""Locks of this process; a child does not inherit them."""


class Taken(RuntimeError):
    """Another process has it; the message says what and where."""


def claim_folder(folder: Path) -> None:
    """Have `folder` to oneself, also when it is emptied. Raises Taken while another process has claimed it."""
    if not _lock(folder.parent / f".{folder.name}.lock"):
        raise Taken(f"{folder} is in use by another process.")


def claim_port(host: str, port: int) -> None:
    """Have `port` to oneself. Raises Taken when somebody listens there, or is about to."""
    lock = Path(tempfile.gettempdir()) / f"agent-memory-leaderboard-{os.getuid()}-{port}.lock"
    if somebody_listens(host, port) or not _lock(lock):
        raise Taken(f"Something listens on {host}:{port} already. Stop it, or choose another port.")


def _lock(path: Path) -> bool:
    if path in _held:
        return True
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return False
    _held[path] = file
    return True


def somebody_listens(host: str, port: int) -> bool:
    """Whether a server on `host` and `port` would not be alone there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what closed a moment ago may still linger
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            return error.errno == errno.EADDRINUSE  # what else is wrong the server says better
    return False
