"""What goes wrong on the platform's own side while a run is worked on."""

__all__ = ["PlatformFault"]


class PlatformFault(Exception):
    """A run can't go on for a reason of the platform's; it ends without costing its slot.

    `code` is stable and for machines; `got` says what was found, at most 300 characters and without secrets.
    """

    def __init__(self, code: str, got: str = "") -> None:
        super().__init__(f"{code}: {got}" if got else code)
        self.code = code
        self.got = got[:300]
