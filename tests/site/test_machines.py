"""What machines ask the site for."""

import pytest
from django.conf import settings
from django.db import connection
from django.db.utils import OperationalError
from django.utils.translation import activate


def test_health_asks_nothing_of_the_database(client):
    response = client.get("/healthz")
    assert response.json() == {"status": "ok"}
    assert "no-store" in response.headers["Cache-Control"]


def test_ready_means_the_database_answers_and_is_migrated(client, db):
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "ready")


def test_not_ready_while_the_database_is_away(client, db):
    def refuse(*args, **kwargs):
        raise OperationalError("gone")

    with connection.execute_wrapper(refuse):
        response = client.get("/readyz")
    assert (response.status_code, response.json()["database"]) == (503, False)
    assert "gone" not in response.content.decode()


def test_crawlers_stay_out_of_what_belongs_to_teams(client):
    lines = client.get("/robots.txt").content.decode().splitlines()
    assert f"Disallow: /*/{settings.AML_ADMIN_PATH}/" in lines
    assert "Disallow: /*/evaluation/" in lines
    assert f"Sitemap: {settings.AML_SITE_URL}/sitemap.xml" in lines


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_map_of_the_site_names_pages_that_exist(client, db, language):
    activate("en")
    text = client.get("/sitemap.xml").content.decode()
    addresses = [part.partition("</loc>")[0] for part in text.split("<loc>")[1:]]
    own = [address for address in addresses if f"/{language}/" in address]
    assert len(own) == len(addresses) / 2
    assert all(client.get(address.removeprefix(settings.AML_SITE_URL)).status_code == 200 for address in own)
