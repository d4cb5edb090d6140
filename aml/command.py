"""The front door of `agentmem`. Each subcommand imports what it needs when it is called, so that `--help` is quick."""

from pathlib import Path
from typing import Annotated

import typer

from aml.speech import gettext as _
from contract.auth import AuthScheme

app = typer.Typer(
    name="agentmem",
    help=_("Tools around memory systems for AI agents."),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def family() -> None:
    """Keep subcommands by name even while there is only one."""


@app.command(help=_("Run the reference memory server: Add, Search and Health on the wire contract."))
def serve(
    host: Annotated[str, typer.Option(help=_("address to listen on"))] = "127.0.0.1",
    port: Annotated[int, typer.Option(help=_("port to listen on"), min=1, max=65535)] = 8801,
    database: Annotated[str, typer.Option(help=_("SQLite file; memory when left out"))] = ":memory:",
    auth: Annotated[AuthScheme, typer.Option(help=_("how callers prove themselves"))] = AuthScheme.NONE,
    key: Annotated[
        str, typer.Option(help=_("the Memory System Key that callers must send"), envvar="AGENTMEM_SERVE_KEY")
    ] = "",
    deferred: Annotated[
        float | None,
        typer.Option(help=_("answer Add with 202 and store this many seconds later"), min=0, metavar="SECONDS"),
    ] = None,
) -> None:
    if auth is not AuthScheme.NONE and not key:
        raise typer.BadParameter(
            _("this authentication needs a key: set --key or AGENTMEM_SERVE_KEY"), param_hint="--key"
        )
    from contract.reference.run import run

    if database != ":memory:":
        Path(database).parent.mkdir(parents=True, exist_ok=True)
    typer.echo(
        _("Listening on http://%(host)s:%(port)d (Add /add, Search /search, Health /health)")
        % {"host": host, "port": port}
    )
    if deferred is not None:
        typer.echo(_("Add-status: http://%(host)s:%(port)d/add-status/{task_id}") % {"host": host, "port": port})
    run(host=host, port=port, database=database, auth=auth, key=key, deferred_s=deferred)


def main() -> None:
    """Entry point of the `agentmem` command."""
    app()


if __name__ == "__main__":
    main()
