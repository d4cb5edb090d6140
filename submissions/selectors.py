"""Reads that page, API and admin share."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from submissions.models import AccessRequest, AuditEvent, Cycle, LeaderboardKey, Version
from submissions.services.access import receipt_digest


@dataclass(frozen=True)
class Disclosure:
    """Something that this version shares with another; `first` is whoever disclosed it first."""

    kind: str
    other: Version
    first: Version


def request_of_receipt(receipt: str) -> AccessRequest | None:
    """The access request whose receipt this is."""
    rows = AccessRequest.objects.select_related("version__system__team", "cycle", "team", "existing_key")
    return rows.filter(receipt_digest=receipt_digest(receipt)).first()


def cycles_for_requests(at: datetime) -> list[Cycle]:
    """Cycles that take access requests at `at`, the one that closes first in front."""
    far = datetime.max.replace(tzinfo=at.tzinfo)
    return sorted(Cycle.objects.taking_materials(at), key=lambda cycle: (cycle.materials_close_at or far, cycle.number))


def next_cycle(at: datetime) -> Cycle | None:
    """The public cycle that opens next after `at`."""
    return Cycle.objects.public().filter(opens_at__gt=at).order_by("opens_at").first()


def events_of_request(access_request: AccessRequest) -> list[AuditEvent]:
    """What happened to a request and its version, oldest first."""
    about_request = Q(subject_type="submissions.accessrequest", subject_id=str(access_request.pk))
    about_version = Q(subject_type="submissions.version", subject_id=str(access_request.version_id))
    return list(AuditEvent.objects.filter(about_request | about_version).order_by("sequence"))


def disclosures_of(version: Version) -> list[Disclosure]:
    """Versions of other systems with the same repository and commit, or the same Add or Search URL."""
    others = Version.objects.exclude(system=version.system).exclude(pk=version.pk).select_related("system__team")
    found = [Disclosure("endpoint", other, _first(version, other)) for other in others.filter(_same_endpoint(version))]
    if version.repository and version.commit:
        for other in others.filter(commit__iexact=version.commit).exclude(repository=""):
            if _plain_repository(other.repository) == _plain_repository(version.repository):
                found.append(Disclosure("source", other, _first(version, other)))
    return found


def keys_of_team(access_request: AccessRequest, at: datetime) -> list[LeaderboardKey]:
    """Keys that the named team holds in this cycle already: quotas follow a key, so a second one is a decision."""
    keys = LeaderboardKey.objects.valid(at).filter(team=access_request.team, cycle=access_request.cycle)
    return list(keys.order_by("pk"))


def _same_endpoint(version: Version) -> Q:
    urls = [url for url in (version.add_url, version.search_url) if url]
    return Q(add_url__in=urls) | Q(search_url__in=urls)


def _first(one: Version, other: Version) -> Version:
    return min(one, other, key=lambda version: version.created_at)


def _plain_repository(url: str) -> str:
    return url.lower().removeprefix("https://").removeprefix("http://").rstrip("/").removesuffix(".git")
