"""Marks text that people read, so that one catalogue translates it for the portal and for the command."""

__all__ = ["gettext_noop"]


def gettext_noop(message: str) -> str:
    """Return `message` unchanged; its literal goes into the message catalogue."""
    return message
