"""A stored secret opens for its own version and URLs, with a key of the ring, and nowhere else."""

import base64
from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from submissions.keyring import key_ring, parse_key_ring
from submissions.models import MemorySystemKey, Version
from submissions.refusals import Refusal
from submissions.vault import (
    SecretUnavailable,
    open_memory_system_key,
    origins_of,
    rotate_secrets,
    seal,
    store_memory_system_key,
)
from tests.builders import SECRET, make_version

pytestmark = pytest.mark.django_db


def key(letter: str) -> str:
    return base64.b64encode(letter.encode() * 32).decode()


def test_a_secret_comes_back_as_it_was_entered():
    version = make_version()
    stored = MemorySystemKey.objects.get(version=version)
    assert open_memory_system_key(version=version) == SECRET
    assert SECRET not in stored.ciphertext
    assert stored.ciphertext.startswith("v1.dev.")
    assert len(stored.ciphertext.split(".")) == 4


def test_the_same_secret_never_looks_the_same_twice():
    version = make_version()
    assert seal(SECRET, version=version, ring=key_ring()) != seal(SECRET, version=version, ring=key_ring())


def test_a_ciphertext_copied_to_another_row_does_not_open():
    mine, theirs = make_version(), make_version()
    stolen = MemorySystemKey.objects.get(version=theirs).ciphertext
    MemorySystemKey.objects.filter(version=mine).update(ciphertext=stolen)
    with pytest.raises(SecretUnavailable) as refused:
        open_memory_system_key(version=mine)
    assert refused.value.code == "secret_undecryptable"


@pytest.mark.parametrize("name", ["add_url", "search_url", "add_status_url"])
@pytest.mark.parametrize(
    "url", ["https://thief.example.com/x", "http://memory.example.com/x", "https://memory.example.com:8443/x"]
)
def test_a_changed_origin_makes_the_secret_unreadable(name, url):
    version = make_version()
    Version.objects.filter(pk=version.pk).update(**{name: url})
    version.refresh_from_db()
    with pytest.raises(SecretUnavailable):
        open_memory_system_key(version=version)


@pytest.mark.parametrize(
    "change",
    [
        {"add_url": "https://memory.example.com/v2/add"},
        {"add_url": "https://memory.example.com:443/add"},
        {"health_url": "https://health.example.net/up"},
        {"add_status_url": "https://memory.example.com/status/{task_id}"},
    ],
)
def test_a_change_that_keeps_the_origins_keeps_the_secret(change):
    version = make_version()
    Version.objects.filter(pk=version.pk).update(**change)
    version.refresh_from_db()
    assert open_memory_system_key(version=version) == SECRET


def test_health_is_not_among_the_origins():
    version = make_version(
        health_url="https://health.example.net/up", add_url="http://a.example.org/add", allow_plain_http=True
    )
    assert origins_of(version) == ("http://a.example.org:80", "https://memory.example.com:443")


@pytest.mark.parametrize(
    "damage", ["", "v1", "v2.dev.AAAA.AAAA", "v1.dev.%%.%%", "v1.dev.AAAA.AAAA", "v1.dev..", "é.é.é.é"]
)
def test_a_damaged_ciphertext_is_unavailable_and_raises_nothing_else(damage):
    version = make_version()
    MemorySystemKey.objects.filter(version=version).update(ciphertext=damage)
    with pytest.raises(SecretUnavailable):
        open_memory_system_key(version=version)


def test_a_missing_secret_is_unavailable():
    version = make_version()
    MemorySystemKey.objects.all().delete()
    with pytest.raises(SecretUnavailable) as refused:
        open_memory_system_key(version=version)
    assert refused.value.code == "secret_missing"


def test_another_key_under_the_same_name_does_not_open(settings):
    version = make_version()
    settings.AML_SECRETS_KEYS = f"dev:{key('b')}"
    with pytest.raises(SecretUnavailable):
        open_memory_system_key(version=version)


def test_rotation_moves_every_row_and_the_old_key_may_then_leave(settings):
    settings.AML_SECRETS_KEYS = f"k1:{key('a')}"
    versions = [make_version() for _ in range(3)]
    settings.AML_SECRETS_KEYS = f"k2:{key('b')},k1:{key('a')}"
    assert [open_memory_system_key(version=version) for version in versions] == [SECRET] * 3
    rotation = rotate_secrets()
    assert (rotation.renewed, rotation.failed, rotation.by_key_id) == (3, (), {"k2": 3, "k1": 0})
    assert rotate_secrets().renewed == 0
    settings.AML_SECRETS_KEYS = f"k2:{key('b')}"
    assert [open_memory_system_key(version=version) for version in versions] == [SECRET] * 3


def test_a_key_that_left_too_early_is_named(settings):
    settings.AML_SECRETS_KEYS = f"k1:{key('a')}"
    version = make_version()
    settings.AML_SECRETS_KEYS = f"k2:{key('b')}"
    with pytest.raises(SecretUnavailable) as refused:
        open_memory_system_key(version=version)
    assert refused.value.code == "secret_key_unknown"
    with pytest.raises(CommandError, match=str(version.pk)):
        call_command("rotate_secrets", stdout=StringIO())


def test_rotation_goes_on_behind_a_row_that_does_not_open(settings):
    settings.AML_SECRETS_KEYS = f"k1:{key('a')}"
    damaged, whole = make_version(), make_version()
    MemorySystemKey.objects.filter(version=damaged).update(ciphertext="v1.k1.AAAA.AAAA")
    settings.AML_SECRETS_KEYS = f"k2:{key('b')},k1:{key('a')}"
    rotation = rotate_secrets()
    assert rotation.renewed == 1
    assert len(rotation.failed) == 1
    assert open_memory_system_key(version=whole) == SECRET


def test_the_command_counts_rows_by_key(settings):
    settings.AML_SECRETS_KEYS = f"k1:{key('a')}"
    make_version()
    settings.AML_SECRETS_KEYS = f"k2:{key('b')},k1:{key('a')}"
    out = StringIO()
    call_command("rotate_secrets", stdout=out)
    assert out.getvalue().splitlines() == ["1 encrypted anew with k2", "k2: 1", "k1: 0 (may leave the ring)"]


@pytest.mark.parametrize(
    "secret", ["short77", "x" * 513, "with space1", "tab\tinside", "line\nbreak", "nul\x00inside", "schlüssel1"]
)
def test_a_secret_that_no_header_can_carry_is_refused(secret):
    version = make_version()
    with pytest.raises(Refusal) as refused:
        store_memory_system_key(version=version, secret=secret)
    assert refused.value.code == "secret_malformed"
    assert secret not in str(refused.value.message)


@pytest.mark.parametrize("secret", ["!" * 8, "~" * 512])
def test_secrets_at_the_limits_are_taken(secret):
    version = make_version()
    store_memory_system_key(version=version, secret=secret)
    assert open_memory_system_key(version=version) == secret


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no key"),
        (" , ", "holds no key"),
        ("k1", "entry 1 has no name"),
        (f":{key('a')}", "entry 1 has no name"),
        (f"ninechars:{key('a')}", "entry 1 has no name"),
        (f"k.1:{key('a')}", "entry 1 has no name"),
        ("k1:###", "k1 is not base64"),
        ("k1:QUJD", "k1 has 3 bytes"),
        (f"k1:{key('a')},k1:{key('b')}", "k1 stands twice"),
        (f"k1:{key('a')},k2:{key('a')}", "two names have the same key"),
    ],
)
def test_a_malformed_ring_stops_the_start_and_shows_no_key(text, says):
    with pytest.raises(ImproperlyConfigured, match="AML_SECRETS_KEYS") as stopped:
        parse_key_ring(text)
    assert says in str(stopped.value)
    assert key("a") not in str(stopped.value)


def test_the_ring_keeps_its_keys_out_of_repr():
    assert "aaaa" not in repr(parse_key_ring(f"k1:{key('a')}"))
