"""Ends programs whose starter is gone: one that is killed outright can't end what it has started.

Reads the ids of process groups from its standard input, one a line. The input ends with the starter, however that ends;
what it has not taken back by `released` is ended then.
"""

import contextlib
import os
import signal
import sys
import time

RELEASED = "released"
ENDS_WITHIN_S = 8.0
"""How long a program may take to end by itself before its group is killed."""


def main() -> None:
    lines = [line.strip() for line in sys.stdin]
    if RELEASED in lines:
        return
    groups = [int(line) for line in lines]
    _send(groups, signal.SIGTERM)
    deadline = time.monotonic() + ENDS_WITHIN_S
    while _send(groups, 0) and time.monotonic() < deadline:
        time.sleep(0.1)
    _send(groups, signal.SIGKILL)


def _send(groups: list[int], number: int) -> bool:
    """Send a signal to each group; whether any is still there."""
    alive = False
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)
            alive = True
    return alive


if __name__ == "__main__":
    main()
