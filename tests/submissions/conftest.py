"""A page in each language, and the fields of the form as a browser would send them."""

from typing import Any

import pytest
from django.core import signing
from django.urls import reverse
from django.utils import translation

from submissions.forms import RECEIPT_SALT
from submissions.services import new_receipt
from tests.builders import make_materials


@pytest.fixture(params=["en", "zh-hans"])
def language(request):
    return request.param


@pytest.fixture
def address(language):
    """`address(name, *args)`: the page's address in the language of the test."""

    def build(name: str, *args: Any) -> str:
        with translation.override(language):
            return reverse(f"submissions:{name}", args=args)

    return build


@pytest.fixture
def posted():
    """`posted(**changes)`: the access request form's fields, filled in completely."""

    def build(*, receipt: str | None = None, **changes: Any) -> dict[str, Any]:
        fields = {
            name: value for name, value in vars(make_materials(**changes)).items() if value not in (None, False, "")
        }
        for name in ("allow_plain_http", "stays_reachable"):
            if fields.get(name):
                fields[name] = "on"
        return {**fields, "receipt": signing.dumps(receipt or new_receipt(), salt=RECEIPT_SALT)}

    return build
