"""A small memory server that follows the wire contract: an example to read, and what the demo evaluates.

`tokens` cuts text into terms, `index` ranks turns by BM25, `rows` shapes them and `store` keeps them in SQLite;
`requests` reads what callers send, `answers` keeps to the limits, `app` speaks HTTP.
"""

from contract.reference.app import create_app
from contract.reference.run import run
from contract.reference.store import Conflict, MemoryStore

__all__ = ["Conflict", "MemoryStore", "create_app", "run"]
