"""Django's `makemessages` without guesses: a message that is new stays empty until somebody translates it."""

from django.core.management.commands import makemessages


class Command(makemessages.Command):
    msgmerge_options = ["--quiet", "--backup=none", "--update", "--no-fuzzy-matching"]
