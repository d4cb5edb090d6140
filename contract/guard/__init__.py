"""The one door to participants' servers: which URLs and addresses may be called, and how a connection is opened."""

from contract.guard.addresses import deny_reason
from contract.guard.connect import ConnectFailed, Connection, Connector
from contract.guard.policy import GuardPolicy, Refused, parse_targets
from contract.guard.urls import PLACEHOLDER, Endpoint, parse_endpoint

__all__ = [
    "PLACEHOLDER",
    "ConnectFailed",
    "Connection",
    "Connector",
    "Endpoint",
    "GuardPolicy",
    "Refused",
    "deny_reason",
    "parse_endpoint",
    "parse_targets",
]
