"""`python -m aml.demo`: chooses ports and a database, then walks the road. `make demo` and `make locomo` call it.

Settings are put into the environment before Django reads them: the demo neither uses nor touches a real database.
"""

import argparse
import base64
import contextlib
import os
import secrets
import shutil
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

from aml.claims import Taken, claim_folder, claim_port

PROJECT = Path(__file__).resolve().parent.parent.parent


def free_port(preferred: int) -> int:
    """`preferred` when nobody else has it, else a port that the system chooses. It is this process's from now on."""
    for port in (preferred, *(_any_port() for _ in range(8))):
        with contextlib.suppress(Taken):
            if port:
                claim_port("127.0.0.1", port)
                return port
    raise SystemExit("No free port on 127.0.0.1.")


def own_folder(asked: Path | None, *, name: str = "demo") -> Path:
    """A folder that no other demo works in: the one that was asked for, else the first free one below var/."""
    usual = PROJECT / "var" / name
    folders = [asked.resolve()] if asked else [usual, *(usual.with_name(f"{name}-{number}") for number in range(2, 10))]
    for folder in folders:
        with contextlib.suppress(Taken):
            claim_folder(folder)
            return folder
    raise SystemExit(f"Another demo works in {folders[0]}. Stop it, or name another folder with --folder.")


def _any_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m aml.demo", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--bundle", type=Path, help="folder of a dataset to evaluate instead of the project's own suite"
    )
    parser.add_argument("--dataset", default="locomo", help="the kind of that dataset")
    parser.add_argument("--server", help="address of a memory server of yours, with /add, /search and /health below it")
    parser.add_argument("--server-key", default="", help="the key that your server wants as a bearer token")
    parser.add_argument("--figures", action="store_true", help="print wall time and peak memory")
    parser.add_argument("--database", help="database address; a fresh SQLite file when left out")
    parser.add_argument("--folder", type=Path, help="emptied first; var/demo, or var/demo-2 beside a demo that runs")
    parser.add_argument(
        "--only-prepare", action="store_true", help="start everything and stay, without walking the road"
    )
    parser.add_argument("--stay", action="store_true", help="stay up until Ctrl-C or SIGTERM")
    parser.add_argument("--facts", type=Path, help="write addresses and logins there as JSON once all is up")
    return parser.parse_args()


def set_environment(folder: Path, *, web_port: int, server: str, database: str | None = None) -> None:
    """Everything that the portal's programs need to know; they inherit it."""
    os.environ.update(
        DJANGO_SETTINGS_MODULE="aml.settings",
        # As for real use, but over plain http and with secrets that live as long as the demo.
        DEBUG="off",
        AML_HTTPS="off",
        ALLOWED_HOSTS="127.0.0.1,localhost",
        SECRET_KEY=secrets.token_urlsafe(50),
        AML_KEY_PEPPER=secrets.token_urlsafe(32),
        AML_SECRETS_KEYS="demo:" + base64.b64encode(secrets.token_bytes(32)).decode(),
        AML_VAR_DIR=str(folder),
        AML_SITE_URL=f"http://127.0.0.1:{web_port}",
        DATABASE_URL=database or f"sqlite:///{folder / 'demo.sqlite3'}",
        EMAIL_URL=f"filemail:///{folder / 'mail'}",
        AML_ALLOWED_PRIVATE_TARGETS=_host_and_port(server),
        AML_ALLOW_PRIVATE_IN_PRODUCTION="on",
        AML_ANSWER_BASE_URL="",
        AML_JUDGE_BASE_URL="",
        LOG_LEVEL="WARNING",
    )


def _host_and_port(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SystemExit(f"Expected an address like http://127.0.0.1:9000 for --server, got {address}")
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def main() -> int:
    arguments = read_arguments()
    os.chdir(PROJECT)
    arguments.folder = own_folder(arguments.folder)
    shutil.rmtree(arguments.folder, ignore_errors=True)
    web_port = free_port(8000)
    # of demos that start at once only one has port 8000, so the others stay clear of 8801 too
    server_port = free_port(8801 if web_port == 8000 else 0)
    server = (arguments.server or f"http://127.0.0.1:{server_port}").rstrip("/")
    set_environment(arguments.folder, web_port=web_port, server=server, database=arguments.database)

    import django

    django.setup()
    from aml.demo.show import Plan, run

    leaves = "DEMO_EXIT" in os.environ or not sys.stdin.isatty()
    return run(
        Plan(
            folder=arguments.folder,
            web_port=web_port,
            server=server,
            server_key=arguments.server_key or secrets.token_urlsafe(24),
            starts_server=arguments.server is None,
            bundle=arguments.bundle,
            dataset=arguments.dataset,
            figures=arguments.figures,
            walks=not arguments.only_prepare,
            stays=arguments.stay or arguments.only_prepare or not leaves,
            facts_file=arguments.facts,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
