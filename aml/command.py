"""The front door of `agentmem`. Each subcommand imports what it needs when it is called, so that `--help` is quick."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from aml.bench.command import BenchCommand, bench
from aml.speech import gettext as _
from aml.speech import speak, terminal_language
from contract.auth import AuthScheme, is_usable_secret
from contract.messages import Track

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
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help=_("misbehave like this; list shows the names, and several may be given"), metavar="NAME[:ARGUMENT]"
        ),
    ] = None,
) -> None:
    if auth is not AuthScheme.NONE and not key:
        raise typer.BadParameter(
            _("this authentication needs a key: set --key or AGENTMEM_SERVE_KEY"), param_hint="--key"
        )
    if fault:
        _misbehave(fault, host, port, auth, key, alone=database == ":memory:" and deferred is None)
        return
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


def _misbehave(faults: list[str], host: str, port: int, auth: AuthScheme, key: str, *, alone: bool) -> None:
    from aml.misbehaving import list_faults, serve_faulty
    from contract.faulty import FaultError

    if "list" in faults:
        list_faults()
        return
    if not alone:
        raise typer.BadParameter(
            _("keeps nothing and answers at once: leave --database and --deferred out"), param_hint="--fault"
        )
    try:
        serve_faulty(faults, host=host, port=port, auth=auth, key=key)
    except FaultError as error:
        raise typer.BadParameter(str(error), param_hint="--fault") from None
    except OSError as error:
        typer.echo(
            _("Cannot listen on %(host)s:%(port)d: %(why)s") % {"host": host, "port": port, "why": error}, err=True
        )
        raise typer.Exit(1) from None


@app.command(help=_("Check a memory server against the whole wire contract, before a quota is at stake."))
def check(
    url: Annotated[str, typer.Argument(help=_("base address: /add, /search and /health stand below it"))],
    add_url: Annotated[str, typer.Option(help=_("Add, when it stands elsewhere"))] = "",
    search_url: Annotated[str, typer.Option(help=_("Search, when it stands elsewhere"))] = "",
    health_url: Annotated[str, typer.Option(help=_("Health, when it stands elsewhere"))] = "",
    status_url: Annotated[str, typer.Option(help=_("Add-status with {task_id} in it, when Add answers 202"))] = "",
    track: Annotated[Track, typer.Option(help=_("the track to check for"))] = "textual",
    auth: Annotated[AuthScheme, typer.Option(help=_("the header that carries the key"))] = AuthScheme.NONE,
    key: Annotated[str, typer.Option(help=_("the Memory System Key"), envvar="AGENTMEM_CHECK_KEY")] = "",
    timeout: Annotated[float, typer.Option(help=_("seconds to wait for an answer"), min=0.1, max=1800)] = 60.0,
    max_body: Annotated[
        float | None, typer.Option(help=_("MiB of the largest body tried"), min=0.02, max=40, metavar="MIB")
    ] = None,
    ca: Annotated[Path | None, typer.Option(help=_("certificates to trust instead of the public ones"))] = None,
    json: Annotated[str, typer.Option(help=_("write the report as JSON; - for the standard output"))] = "",
    junit: Annotated[str, typer.Option(help=_("write the report as JUnit XML; - for the standard output"))] = "",
    lang: Annotated[Literal["en", "zh"] | None, typer.Option(help=_("language of the report"))] = None,
) -> None:
    if bool(key) != (auth is not AuthScheme.NONE):
        raise typer.BadParameter(_("--auth and a key (--key or AGENTMEM_CHECK_KEY) go together"), param_hint="--auth")
    if key and not is_usable_secret(key):
        raise typer.BadParameter(_("a key has 8 to 512 visible ASCII characters and no spaces"), param_hint="--key")
    if json == "-" == junit:
        raise typer.BadParameter(_("only one report can go to the standard output"), param_hint="--junit")
    from aml.conformance import CheckRun, run_check
    from contract.conformance import addresses_below

    if lang:
        speak("zh_Hans" if lang == "zh" else "en")
    run = CheckRun(
        addresses=addresses_below(url, add=add_url, search=search_url, health=health_url, status=status_url),
        track=track,
        auth=auth,
        key=key,
        language=lang or ("zh" if terminal_language() == "zh_Hans" else "en"),
        timeout_s=timeout,
        max_body=None if max_body is None else int(max_body * 1024 * 1024),
        authority=ca,
        json_to=json,
        junit_to=junit,
    )
    try:
        raise typer.Exit(run_check(run))
    except OSError as error:
        typer.echo(_("Cannot use a file: %(why)s") % {"why": error}, err=True)
        raise typer.Exit(2) from None


app.command(cls=BenchCommand, help=_("Run the portal's pipeline on your own memory server, and report."))(bench)


def main() -> None:
    """Entry point of the `agentmem` command."""
    app()


if __name__ == "__main__":
    main()
