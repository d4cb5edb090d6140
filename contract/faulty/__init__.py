"""A memory server that misbehaves on command, for tests and for people who test their own retry logic.

`FAULTS` names what it can do wrong; `breaks`, `bodies` and `certificates` spoil the bytes, `documents` the fields,
`refusals` statuses and keys, `behaviours` and `deferred` the memory itself.
"""

from contract.faulty.catalogue import FAULTS, choose, choose_all
from contract.faulty.faults import Fault, FaultError
from contract.faulty.run import run
from contract.faulty.server import FaultyServer

__all__ = ["FAULTS", "Fault", "FaultError", "FaultyServer", "choose", "choose_all", "run"]
