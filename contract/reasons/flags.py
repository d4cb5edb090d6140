"""Sentences for flags: remarks on an accepted answer, for reviewers, that cost nothing by themselves."""

from __future__ import annotations

from collections.abc import Mapping

from contract.words import gettext_noop

__all__ = ["FLAGS", "flag_text"]

FLAGS: Mapping[str, str] = {
    "duplicate_id": gettext_noop("Two memories of one answer carry the same id."),
    "score_not_descending": gettext_noop("The scores do not fall with the rank."),
    "content_type": gettext_noop("The JSON body came under another media type."),
    "image_header_unreadable": gettext_noop("The size of an image cannot be read from its header."),
    "body_too_slow": gettext_noop("The headers came in time, the body did not."),
}


def flag_text(flag: str) -> str:
    """Return the sentence for `flag`, the flag itself when nobody knows it; never raises."""
    return FLAGS.get(flag, flag)
