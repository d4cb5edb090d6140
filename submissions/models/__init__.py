"""Tables of who takes part, and of the audit chain and mail outbox that every app above writes to."""

from .access import AccessRequest, KeyClaim
from .audit import AuditEvent, AuditHead
from .cycles import Cycle, Division, Prize, Track
from .keys import LeaderboardKey, MemorySystemKey
from .outbox import OutboxMail
from .systems import System, Team, Version
from .throttle import ThrottleCounter

__all__ = [
    "AccessRequest",
    "AuditEvent",
    "AuditHead",
    "Cycle",
    "Division",
    "KeyClaim",
    "LeaderboardKey",
    "MemorySystemKey",
    "OutboxMail",
    "Prize",
    "System",
    "Team",
    "ThrottleCounter",
    "Track",
    "Version",
]
