"""Writes of the benchmarks room: registering bundles."""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext  # translates messages from data
from django.utils.translation import gettext as _

from benchmarks.datasets.bundle import MANIFEST, BundleFacts, inspect_bundle
from benchmarks.datasets.model import DatasetError
from benchmarks.models import Bundle
from submissions.audit import append_event
from submissions.refusals import Refusal

OWN_SUITES = settings.BASE_DIR / "benchmarks" / "suites"
_SLUG = re.compile(r"[-a-zA-Z0-9_]{1,50}")


def register_bundle(
    *,
    folder: Path,
    dataset: str | None = None,
    origin: str = Bundle.Origin.IMPORTED,
    actor: str,
    at: datetime,
    name: str = "",
    licence: str = "",
    source: str = "",
) -> Bundle:
    """Read a folder of dataset files to its end and register it with its hashes and counts.

    `name`, `licence` and `source` go before what the folder's manifest says. The same files under the same name give
    the row that is there already, with its folder brought up to date. Raises Refusal with what is off, and where.
    """
    folder = folder.resolve()
    facts = _inspect(folder, dataset)
    fields = _fields(facts, folder=folder, name=name, licence=licence, source=source)
    try:
        return _known(fields, folder) or _create(fields, origin=origin, actor=actor, at=at)
    except IntegrityError as error:
        # somebody else has registered the same files a moment ago
        known = _known(fields, folder)
        if known is None:
            raise Refusal("try_again", _("Another change came in between. Try again.")) from error
        return known


def register_own_suites(*, at: datetime, actor: str = "platform") -> list[Bundle]:
    """Register the suites that the project ships; nothing happens to those that are registered."""
    folders = sorted(path.parent for path in OWN_SUITES.glob(f"*/{MANIFEST}"))
    return [register_bundle(folder=folder, origin=Bundle.Origin.OWN, actor=actor, at=at) for folder in folders]


def _inspect(folder: Path, dataset: str | None) -> BundleFacts:
    try:
        return inspect_bundle(folder, dataset)
    except DatasetError as error:
        message = f"{error.place}: {gettext(error.message) % error.values}"
        raise Refusal(error.code, message, status=422, details={"place": error.place}) from error


def _fields(facts: BundleFacts, *, folder: Path, name: str, licence: str, source: str) -> dict[str, Any]:
    manifest = facts.manifest
    name = name or manifest.name
    if not _SLUG.fullmatch(name):
        message = _("A bundle's name is 1 to 50 letters, digits, dashes or underscores. Give it one of its own.")
        raise Refusal("bundle_name", message, status=422)
    return {
        "name": name,
        "version": manifest.version or facts.sha256[:12],
        "title_en": manifest.title if manifest.title != manifest.name else name,
        "title_zh_hans": manifest.title_zh or manifest.title,
        "dataset": manifest.dataset,
        "metric": manifest.metric,
        "folder": str(folder),
        "files": dict(facts.files),
        "digest": facts.sha256,
        "counts": _counts(facts),
        "smoke_scopes": list(manifest.smoke_scopes),
        "licence": licence or manifest.licence,
        "source": source or manifest.source,
    }


def _counts(facts: BundleFacts) -> dict[str, Any]:
    return {
        "scopes": facts.scopes,
        "sessions": facts.sessions,
        "turns": facts.turns,
        "questions": facts.questions,
        "answerable": facts.answerable,
        "by_category": dict(facts.by_category),
    }


@transaction.atomic
def _create(fields: Mapping[str, Any], *, origin: str, actor: str, at: datetime) -> Bundle:
    bundle = Bundle.objects.create(**fields, origin=origin)
    after = {"digest": bundle.digest, **bundle.counts}
    append_event(actor=actor, action="bundle.registered", subject=bundle, after=after, at=at)
    return bundle


def _known(fields: Mapping[str, Any], folder: Path) -> Bundle | None:
    """The row of these files under this name, moved to `folder`."""
    bundle = Bundle.objects.filter(name=fields["name"], digest=fields["digest"]).first()
    if bundle is not None and bundle.folder != str(folder):
        bundle.folder = str(folder)
        bundle.save(update_fields=["folder"])
    return bundle
