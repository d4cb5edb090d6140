# translates messages from data
"""`agentmem serve --fault`: lists what the misbehaving server can do, and runs it."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from aml.speech import gettext as _
from contract.auth import AuthScheme
from contract.faulty import FAULTS, FaultyServer, run

__all__ = ["list_faults", "serve_faulty"]


def list_faults() -> None:
    """Print every fault with its argument and its sentence."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for fault in FAULTS.values():
        argument = f":{fault.takes}" if fault.takes else ""
        default = f" ({fault.argument})" if fault.argument else ""
        table.add_row(f"{fault.name}{argument}", _(fault.sentence) + default)
    screen = Console(highlight=False, markup=False)
    screen.print(table)
    screen.print()
    screen.print(
        _("Behind a name, @add, @search, @health or @add-status chooses the endpoint, as in reset_in_body@search.")
    )


def serve_faulty(faults: list[str], *, host: str, port: int, auth: AuthScheme, key: str) -> None:
    """Serve with `faults` until SIGINT or SIGTERM. Raises `FaultError` for an unknown one, `OSError` for the port."""
    server = FaultyServer(*faults, host=host, port=port, auth=auth, key=key)
    run(server, started=_announce)


def _announce(server: FaultyServer) -> None:
    screen = Console(highlight=False, markup=False, soft_wrap=True)
    screen.print(_("Listening on %(url)s (Add /add, Search /search, Health /health)") % {"url": server.url})
    if server.authority:
        screen.print(_("The certificate's authority: %(file)s") % {"file": server.authority})
    for fault in server.faults:
        screen.print(f"{fault.name}: {_(fault.sentence)}")
