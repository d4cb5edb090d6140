"""The API's errors and description say what a caller needs to go on."""

import json
from pathlib import Path

import pytest
from django.test import RequestFactory
from rest_framework.exceptions import ValidationError
from rest_framework.views import APIView

from aml.api.pagination import CursorPages
from submissions.endpoints import check_endpoint
from submissions.models import Track
from submissions.refusals import Refusal
from submissions.serializers import Choice

DESCRIPTION = json.loads(Path("aml/api/openapi.json").read_text())


def test_a_wrong_choice_is_told_the_right_ones() -> None:
    with pytest.raises(ValidationError, match=r"“memory” is not one of: textual, "):
        Choice(choices=Track.choices).run_validation("memory")


def test_operations_have_a_summary_and_no_docstring() -> None:
    for path, methods in DESCRIPTION["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], (method, path)
            assert "description" not in operation, (method, path)


def test_operations_list_the_errors_that_they_answer_with() -> None:
    start = DESCRIPTION["paths"]["/api/v1/eval-jobs"]["post"]["responses"]
    assert {"401", "409", "422", "429", "default"} <= set(start)
    assert "409" not in DESCRIPTION["paths"]["/api/v1/eval-jobs"]["get"]["responses"]


@pytest.mark.parametrize(("query", "size"), [("", 50), ("limit=2", 2), ("page_size=3", 3), ("limit=2&page_size=3", 3)])
def test_limit_is_understood_as_page_size(rf: RequestFactory, query: str, size: int) -> None:
    assert CursorPages().get_page_size(APIView().initialize_request(rf.get(f"/?{query}"))) == size


def test_a_loopback_server_is_shown_the_setting_while_developing(settings) -> None:  # type: ignore[no-untyped-def]
    settings.DEBUG, settings.AML_OWN_HOSTS, settings.AML_ALLOWED_PRIVATE_TARGETS = True, ["127.0.0.1"], []
    with pytest.raises(Refusal) as refused:
        check_endpoint("http://127.0.0.1:9100/add")
    assert refused.value.code == "host_is_self"
    assert "AML_ALLOWED_PRIVATE_TARGETS" in str(refused.value.message)
