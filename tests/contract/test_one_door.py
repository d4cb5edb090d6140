"""Nothing but the guarded client talks to participants: a test that reads the imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.cases import ROOT

PACKAGES = ("aml", "leaderboard", "evaluation", "benchmarks", "submissions", "contract")
NETWORK = {
    *(
        "httpx",
        "httpx2",
        "httpcore",
        "httpcore2",
        "h11",
        "h2",
        "aiohttp",
        "requests",
        "urllib3",
        "pycurl",
        "websockets",
    ),
    *("ssl", "http.client", "urllib.request", "xmlrpc", "ftplib", "smtplib", "telnetlib", "anyio"),
}
# who may open connections, and to whom
ALLOWED = {
    "contract/guard/": "participants, behind the guard",
    "contract/exchange.py": "participants, on a connection that the guard opened",
    "contract/client.py": "participants, through the two above",
    "contract/reference/": "nobody: it only listens",
    "contract/faulty/": "nobody: it only listens",
    "benchmarks/judging/": "the operator's answer and judge models",
    "benchmarks/agentmem/": "agents on the user's own machine",
    "aml/": "the portal itself and its own processes; the demo and the command",
}
HARMLESS = {"gethostname", "getfqdn"}  # of the module socket, which names this machine and opens connections
OPENERS = {"open_connection", "create_connection", "open_unix_connection", "urlopen", "create_datagram_endpoint"}


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def network_uses(source: str) -> set[str]:
    """Return the network modules that `source` imports and the calls that open connections."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            if node.module == "socket":
                found |= {f"socket.{alias.name}" for alias in node.names if alias.name not in HARMLESS}
        elif isinstance(node, ast.Attribute):
            of_socket = isinstance(node.value, ast.Name) and node.value.id == "socket" and node.attr not in HARMLESS
            if of_socket or node.attr in OPENERS:
                found.add(node.attr)
        found |= {network for name in names for network in NETWORK if name == network or name.startswith(network + ".")}
    return found


def test_only_the_named_places_may_open_connections() -> None:
    outside = {}
    for module in modules():
        place = module.relative_to(ROOT).as_posix()
        uses = network_uses(module.read_text(encoding="utf-8"))
        if uses and not place.startswith(tuple(ALLOWED)):
            outside[place] = uses
    assert not outside, "participants are called through contract.client alone; add a place here only for other peers"


def test_inside_the_contract_only_the_guard_and_the_exchange_know_the_network() -> None:
    listens_only = ROOT / "contract" / "faulty"
    users = {
        module.relative_to(ROOT).as_posix()
        for module in modules()
        if module.is_relative_to(ROOT / "contract") and network_uses(module.read_text(encoding="utf-8"))
        if not module.is_relative_to(listens_only)
    }
    assert users <= {
        "contract/guard/connect.py",
        "contract/guard/resolver.py",
        "contract/exchange.py",
        "contract/client.py",
    }
    assert "contract/guard/connect.py" in users


@pytest.mark.parametrize(
    "source",
    [
        "import httpx",
        "from httpx import get",
        "from http import client",
        "import urllib.request as u",
        "x.urlopen(1)",
        "socket.socket()",
        "from socket import socket",
    ],
)
def test_the_reader_of_imports_sees_each_way_to_write_one(source: str) -> None:
    assert network_uses(source)


def test_every_file_and_function_of_the_contract_can_be_read_in_one_sitting() -> None:
    long = []
    for module in sorted((ROOT / "contract").rglob("*.py")):
        source = module.read_text(encoding="utf-8")
        if source.count("\n") > 500:
            long.append(module.name)
        long += [
            f"{module.name}:{node.name}"
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno >= 60  # type: ignore[operator]
        ]
    assert not long
