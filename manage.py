#!/usr/bin/env python
"""Runs Django's management commands with this project's settings."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aml.settings")
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        bool(settings.DEBUG)  # the first one that is asked for reads them all
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # of the settings, or of an app that reads one while it starts
        sys.exit(f"Settings: {error}")


if __name__ == "__main__":
    main()
