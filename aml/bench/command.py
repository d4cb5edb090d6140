"""The command line of `agentmem bench`. Only what is parsed is imported here, so that `agentmem --help` is quick."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from aml.speech import gettext as _
from aml.speech import speak, terminal_language
from contract.auth import AuthScheme, is_usable_secret
from contract.messages import Track

__all__ = ["BenchCommand", "bench"]

USAGE = 2
"""What the library ends with where a command line can't be understood."""


class BenchCommand(TyperCommand):
    """Ends with 1 where the command line makes no sense; 2 says that the memory server has failed."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _usage_ends_with_1():
            return super().make_context(*arguments, **options)

    def invoke(self, *arguments: Any, **options: Any) -> Any:
        with _usage_ends_with_1():
            return super().invoke(*arguments, **options)


@contextmanager
def _usage_ends_with_1() -> Iterator[None]:
    try:
        yield
    except typer.Exit:
        raise
    except Exception as error:  # every error about usage carries the code that it ends the program with
        if getattr(error, "exit_code", None) == USAGE:
            error.exit_code = 1  # type: ignore[attr-defined]
        raise


def bench(
    url: Annotated[str, typer.Argument(help=_("base address: /add, /search and /health stand below it"))],
    suite: Annotated[str, typer.Option(help=_("a suite that comes with the project, such as hearth"))] = "",
    data: Annotated[Path | None, typer.Option(help=_("a folder of dataset files of your own"))] = None,
    format_: Annotated[
        str, typer.Option("--format", help=_("how to read --data, such as locomo; its bundle.json may say so too"))
    ] = "",
    add_url: Annotated[str, typer.Option(help=_("Add, when it stands elsewhere"))] = "",
    search_url: Annotated[str, typer.Option(help=_("Search, when it stands elsewhere"))] = "",
    health_url: Annotated[str, typer.Option(help=_("Health, when it stands elsewhere"))] = "",
    status_url: Annotated[str, typer.Option(help=_("Add-status with {task_id} in it, when Add answers 202"))] = "",
    track: Annotated[Track, typer.Option(help=_("the track to check for"))] = "textual",
    auth: Annotated[AuthScheme, typer.Option(help=_("the header that carries the key"))] = AuthScheme.NONE,
    key: Annotated[str, typer.Option(help=_("the Memory System Key"), envvar="AGENTMEM_BENCH_KEY")] = "",
    lanes: Annotated[int, typer.Option(help=_("calls that may be open at once"), min=1, max=256)] = 16,
    add_lanes: Annotated[
        int | None, typer.Option(help=_("Adds that may be open at once, when not --lanes"), min=1, max=64)
    ] = None,
    search_lanes: Annotated[
        int | None, typer.Option(help=_("Searches that may be open at once, when not --lanes"), min=1, max=256)
    ] = None,
    top_k: Annotated[int, typer.Option(help=_("memories that a Search may return"), min=1, max=1000)] = 100,
    out: Annotated[
        Path | None, typer.Option(help=_("folder of this run; the same command goes on in it"), metavar="DIR")
    ] = None,
    answer_base_url: Annotated[str, typer.Option(help=_("an OpenAI-compatible endpoint that answers"))] = "",
    answer_model: Annotated[str, typer.Option(help=_("the model that answers; offline without one"))] = "",
    answer_key: Annotated[str, typer.Option(help=_("its key"), envvar="AGENTMEM_ANSWER_KEY")] = "",
    judge_base_url: Annotated[str, typer.Option(help=_("an OpenAI-compatible endpoint that scores"))] = "",
    judge_model: Annotated[str, typer.Option(help=_("the model that scores; rules without one"))] = "",
    judge_key: Annotated[str, typer.Option(help=_("its key"), envvar="AGENTMEM_JUDGE_KEY")] = "",
    limit_scopes: Annotated[int | None, typer.Option(help=_("only the first conversations"), min=1)] = None,
    lang: Annotated[Literal["en", "zh"] | None, typer.Option(help=_("language of the report"))] = None,
) -> None:
    if lang:
        speak("zh_Hans" if lang == "zh" else "en")
    if not url.startswith(("http://", "https://")):
        message = _("expected a whole address such as http://127.0.0.1:9000, got %(url)s") % {"url": url}
        raise typer.BadParameter(message, param_hint="url")
    if bool(suite) == (data is not None):
        raise typer.BadParameter(_("give either --suite or --data"), param_hint="--suite")
    if bool(key) != (auth is not AuthScheme.NONE):
        raise typer.BadParameter(_("--auth and a key (--key or AGENTMEM_BENCH_KEY) go together"), param_hint="--auth")
    if key and not is_usable_secret(key):
        raise typer.BadParameter(_("a key has 8 to 512 visible ASCII characters and no spaces"), param_hint="--key")
    for name, base_url, model in (("answer", answer_base_url, answer_model), ("judge", judge_base_url, judge_model)):
        if bool(base_url) != bool(model):
            raise typer.BadParameter(_("a model needs both its address and its name"), param_hint=f"--{name}-model")
    from aml.bench.benching import Bench, run_bench
    from contract.conformance import addresses_below
    from evaluation.pipeline.backends import ModelEndpoint

    asked = Bench(
        addresses=addresses_below(url, add=add_url, search=search_url, health=health_url, status=status_url),
        suite=suite,
        data=data,
        dataset=format_ or None,
        track=track,
        auth=auth,
        key=key,
        add_lanes=add_lanes or min(lanes, 64),
        search_lanes=search_lanes or lanes,
        top_k=top_k,
        folder=out,
        answer=ModelEndpoint(answer_base_url, answer_model, answer_key),
        judge=ModelEndpoint(judge_base_url, judge_model, judge_key),
        limit_scopes=limit_scopes,
        language=lang or ("zh" if terminal_language() == "zh_Hans" else "en"),
    )
    raise typer.Exit(run_bench(asked))
