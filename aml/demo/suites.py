"""`python -m aml.demo.suites`: shows that the project's own suites tell good memories from bad ones. `make suites`.

Each suite is evaluated through the portal with the reference server, over real HTTP, and with the four reference arms.
The exit code is 1 where a suite doesn't put them in order.
"""

import argparse
import os
import secrets
import shutil
import sys
from pathlib import Path

from aml.demo.__main__ import PROJECT, free_port, own_folder, set_environment


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m aml.demo.suites", description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", help="names of suites below benchmarks/suites; all when left out")
    parser.add_argument("--folder", type=Path, help="emptied first; var/suites when left out")
    arguments = parser.parse_args()
    os.chdir(PROJECT)
    folder = own_folder(arguments.folder, name="suites")
    shutil.rmtree(folder, ignore_errors=True)
    web_port, server_port = free_port(0), free_port(0)
    server = f"http://127.0.0.1:{server_port}"
    set_environment(folder, web_port=web_port, server=server)

    import django

    django.setup()
    from aml.demo.ordering import run
    from aml.demo.show import Plan

    plan = Plan(
        folder=folder,
        web_port=web_port,
        server=server,
        server_key=secrets.token_urlsafe(24),
        starts_server=True,
        bundle=None,
        dataset="",
        figures=False,
        walks=True,
        stays=False,
        facts_file=None,
    )
    return run(plan, arguments.suites)


if __name__ == "__main__":
    sys.exit(main())
