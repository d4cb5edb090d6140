"""Peak memory of a process and of all that it started, read from Linux's /proc."""

import contextlib
from pathlib import Path


def peak_memory_mib(group: int) -> float:
    """The largest resident size, in MiB, that any live process of the group has had; 0 without /proc."""
    return (
        max((_peak_kib(folder) for folder in Path("/proc").glob("[0-9]*") if _group(folder) == group), default=0) / 1024
    )


def _group(folder: Path) -> int:
    with contextlib.suppress(OSError, IndexError, ValueError):
        # The name in parentheses may hold spaces; the fields after it do not: state, parent, group.
        return int((folder / "stat").read_text().rpartition(")")[2].split()[2])
    return -1


def _peak_kib(folder: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in (folder / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0
