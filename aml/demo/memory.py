"""Peak memory of a process and of all that it started, read from Linux's /proc while they run."""

import contextlib
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

SAMPLE_EVERY_S = 0.2


class PeakMemory:
    """Watches `root` and its descendants during a `with` block; without /proc it sees nothing.

    `largest_mib` is the largest resident size that any one of them has reached, `together_mib` the largest sum of
    resident sizes at one sampling; pages that they share count for each.
    """

    def __init__(self, root: int) -> None:
        self.largest_mib = 0.0
        self.together_mib = 0.0
        self._root = root
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            sizes = [_sizes_kib(pid) for pid in family(self._root)]
            self.largest_mib = max([self.largest_mib, *(peak / 1024 for _now, peak in sizes)])
            self.together_mib = max(self.together_mib, sum(now for now, _peak in sizes) / 1024)
            if self._ended.wait(SAMPLE_EVERY_S):
                return


def family(root: int) -> set[int]:
    """`root` and the live processes that descend from it, whatever sessions and groups they are in."""
    parents = {int(folder.name): _parent(folder) for folder in Path("/proc").glob("[0-9]*")}
    found, waiting = set(), [root]
    while waiting:
        pid = waiting.pop()
        found.add(pid)
        waiting += [child for child, parent in parents.items() if parent == pid and child not in found]
    return found


def _parent(folder: Path) -> int:
    with contextlib.suppress(OSError, IndexError, ValueError):
        # The name in parentheses may hold spaces; the fields after it do not: state, parent.
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    return -1


def _sizes_kib(pid: int) -> tuple[int, int]:
    """Resident size now and at its highest; zeros for a process that has ended."""
    sizes = {"VmRSS:": 0, "VmHWM:": 0}
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, rest = line.partition("\t")
            if name in sizes:
                sizes[name] = int(rest.split()[0])
    return sizes["VmRSS:"], sizes["VmHWM:"]
