"""`manage.py serve`: the web server and the workers, for real use."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from aml.processes import Fleet, StartFailed, python, web_server


class Command(BaseCommand):
    help = (
        "Serve the portal: granian for the pages and the API, runworker for evaluations. Ctrl-C or SIGTERM ends both."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on; a reverse proxy stands in front")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--web-workers", type=int, default=2, help="processes that answer pages and API")
        parser.add_argument("--without-workers", action="store_true", help="pages only; evaluations run elsewhere")
        parser.add_argument("--i-know-it-is-unsafe", action="store_true", help="start in spite of unsafe settings")

    def handle(self, *args: Any, **options: Any) -> None:
        self._name_what_is_unsafe(start_anyway=options["i_know_it_is_unsafe"])
        self._refuse_unapplied_migrations()
        call_command("collectstatic", interactive=False, verbosity=0)
        host, port = options["host"], options["port"]
        with Fleet() as fleet:
            try:
                if not options["without_workers"]:
                    fleet.start("runworker", python("manage.py", "runworker"), log=None)
                web = fleet.start("granian", web_server(host=host, port=port, workers=options["web_workers"]), log=None)
                fleet.wait_until_answers(web, f"http://{host}:{port}/healthz")
                self.stdout.write(f"Serving {settings.AML_SITE_URL} on http://{host}:{port}")
                ended = fleet.wait_for_any_end()
            except StartFailed as error:
                raise CommandError(str(error)) from error
            except KeyboardInterrupt:
                self.stdout.write("Stopping.")
                return
        raise CommandError(f"{ended.name} ended with exit code {ended.process.returncode}; everything was stopped.")

    def _name_what_is_unsafe(self, *, start_anyway: bool) -> None:
        found = checks.run_checks(include_deployment_checks=True)
        for message in found:
            self.stderr.write(str(message))
        if any(message.is_serious() for message in found) and not start_anyway:
            raise CommandError("These settings are not fit for real use. Mend the errors above, then start again.")

    def _refuse_unapplied_migrations(self) -> None:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if plan:
            raise CommandError(
                f"{len(plan)} migrations are not applied. "
                "Back up the database, run `manage.py migrate`, then start again."
            )
