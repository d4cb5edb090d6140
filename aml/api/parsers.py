"""Reads the bodies of the API by the rules that hold on the wire: one JSON object in UTF-8, of a bounded size.

Python's own reader takes lone surrogates, U+0000, doubled keys and any depth; each of them fails later, far from the
caller's mistake: in a database, in an answer, or by running out of stack.
"""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from contract.jsonreader import Broken, read_object


class JSONObjectParser(BaseParser):
    """Parses `application/json` into a dict. Raises ParseError (400), or RequestDataTooBig (413)."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise RequestDataTooBig
        try:
            return read_object(body)
        except Broken as broken:
            raise ParseError from broken
