"""Fixtures of the evaluation tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from evaluation.models import Release
from tests.evaluation import builders
from tests.evaluation.builders import Entrant


@pytest.fixture
def release(db: None, tmp_path: Path) -> Release:
    """An open textual release over a bundle of two conversations and six questions."""
    return builders.make_release(tmp_path / "talks")


@pytest.fixture
def entrant(release: Release) -> Entrant:
    return builders.make_entrant()


@pytest.fixture
def keyed(entrant: Entrant, client: Client) -> Iterator[Client]:
    """A browser in which the entrant's key is open."""
    response = client.post("/en/evaluation/key/", {"key": entrant.text})
    assert response.status_code == 302
    return client
