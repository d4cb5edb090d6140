"""A bundle is a folder of dataset files, with a manifest `bundle.json` or without one."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from benchmarks.datasets.kind import DatasetKind
from benchmarks.datasets.model import DatasetError, Scope
from benchmarks.datasets.reading import Record, file_sha256, read_json
from benchmarks.datasets.registry import DATASETS
from benchmarks.scoring.registry import METRICS
from contract.words import gettext_noop

__all__ = ["MANIFEST", "BundleFacts", "BundleManifest", "inspect_bundle", "load_bundle", "read_manifest"]

MANIFEST: Final = "bundle.json"
_REQUIRED: Final = frozenset({"name", "title", "dataset", "licence", "source", "version"})
_OPTIONAL: Final = frozenset({"title_zh", "metric", "file", "files", "sha256", "smoke_scopes"})
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class BundleManifest:
    """What a bundle says of itself; `sha256` maps file names to hex digests where the manifest gives them."""

    name: str
    title: str
    title_zh: str
    dataset: str
    metric: str
    files: tuple[str, ...]
    licence: str
    source: str
    version: str
    sha256: Mapping[str, str]
    smoke_scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BundleFacts:
    """What was found in a bundle: hex SHA-256 of each file and of the whole, and counts of what the files hold."""

    manifest: BundleManifest
    files: Mapping[str, str]
    sha256: str
    scopes: int
    sessions: int
    turns: int
    questions: int
    answerable: int
    by_category: Mapping[str, int] = field(default_factory=dict)


def inspect_bundle(folder: Path, dataset: str | None = None) -> BundleFacts:
    """Read a bundle to its end and return its facts.

    `dataset` is needed for a folder without a manifest, and must agree with the manifest of one that has it. Raises
    DatasetError for a broken manifest, a hash that differs, an id used twice, or anything off in the files.
    """
    manifest = read_manifest(folder, dataset)
    hashes = {name: file_sha256(folder / name) for name in manifest.files}
    _check_hashes(manifest, hashes)
    counts: Counter[str] = Counter()
    categories: Counter[str] = Counter()
    keys: set[str] = set()
    for scope in _scopes(folder, manifest):
        keys.add(scope.key)
        counts.update(_counts(scope))
        categories.update(question.category for question in scope.questions)
    _check_smoke(manifest, keys)
    return BundleFacts(
        manifest=manifest,
        files=hashes,
        sha256=_digest(hashes),
        scopes=counts["scopes"],
        sessions=counts["sessions"],
        turns=counts["turns"],
        questions=counts["questions"],
        answerable=counts["answerable"],
        by_category=dict(sorted(categories.items())),
    )


def load_bundle(folder: Path, dataset: str | None = None, *, smoke: bool = False) -> Iterator[Scope]:
    """Yield the scopes of a bundle, file by file; with `smoke` only those that the manifest names for smoke tests.

    A bundle that names none gives its first scope to a smoke test. Raises DatasetError as `inspect_bundle` does,
    except that hashes aren't computed.
    """
    manifest = read_manifest(folder, dataset)
    chosen = manifest.smoke_scopes if smoke else ()
    for scope in _scopes(folder, manifest):
        if not chosen or scope.key in chosen:
            yield scope
            if smoke and not chosen:
                return


def read_manifest(folder: Path, dataset: str | None = None) -> BundleManifest:
    """Return the manifest of a bundle, or one made from the folder's files where it has none."""
    if not folder.is_dir():
        raise DatasetError(
            "bundle_no_folder", file=folder.name, message=gettext_noop("expected a folder with dataset files here")
        )
    path = folder / MANIFEST
    if not path.exists():
        return _bare_manifest(folder, dataset)
    record = Record(read_json(path), file=MANIFEST, record="")
    _check_fields(record)
    manifest = _manifest(record)
    if dataset is not None and dataset != manifest.dataset:
        record.fail(
            "bundle_dataset", "dataset",
            gettext_noop('expected "%(expected)s", got "%(got)s"'), expected=dataset, got=manifest.dataset,
        )  # fmt: skip
    for name in manifest.files:
        if not (folder / name).is_file():
            record.fail("bundle_file", "files", gettext_noop('the file "%(got)s" is not in the folder'), got=name)
    return manifest


def _bare_manifest(folder: Path, dataset: str | None) -> BundleManifest:
    kind = DATASETS.get(dataset or "")
    if kind is None:
        raise DatasetError(
            "bundle_no_manifest", file=MANIFEST,
            message=gettext_noop("the folder has no manifest, so name its dataset, one of: %(expected)s"),
            expected=", ".join(DATASETS),
        )  # fmt: skip
    files = _find_files(folder, kind)
    if not files:
        raise DatasetError(
            "bundle_empty", file=folder.name,
            message=gettext_noop("the folder has no file that looks like %(expected)s"),
            expected=", ".join(kind.patterns),
        )  # fmt: skip
    name = folder.resolve().name
    return BundleManifest(
        name=name, title=name, title_zh="", dataset=kind.id, metric=kind.metric, files=files, licence="",
        source="", version="", sha256={}, smoke_scopes=(),
    )  # fmt: skip


def _find_files(folder: Path, kind: DatasetKind) -> tuple[str, ...]:
    found = {path for pattern in kind.patterns for path in folder.glob(pattern) if path.is_file()}
    return tuple(sorted(path.relative_to(folder).as_posix() for path in found))


def _is_inside(name: str) -> bool:
    """Whether `name` is a relative path in its plain form, which can't leave the folder."""
    return all(part not in {"", ".", ".."} for part in name.split("/"))


def _check_fields(record: Record) -> None:
    unknown = sorted(set(record.fields) - _REQUIRED - _OPTIONAL)
    if unknown:
        record.fail("bundle_field_unknown", unknown[0], gettext_noop("a manifest has no such field"))
    if ("file" in record.fields) == ("files" in record.fields):
        record.fail("bundle_file", "files", gettext_noop('expected either "file" or "files", got both or neither'))


def _manifest(record: Record) -> BundleManifest:
    texts = {name: record.text(name) for name in sorted(_REQUIRED)}
    if _NAME.fullmatch(texts["name"]) is None:
        record.fail("bundle_name", "name", gettext_noop("expected up to 64 of a-z, 0-9, dot, dash and underscore"))
    kind = _kind(record, texts["dataset"])
    files = _files(record)
    return BundleManifest(
        **texts,
        title_zh=record.optional_text("title_zh"),
        metric=_metric(record, kind),
        files=files,
        sha256=_hashes(record, files),
        smoke_scopes=_names(record, "smoke_scopes") if "smoke_scopes" in record.fields else (),
    )


def _kind(record: Record, dataset: str) -> DatasetKind:
    if dataset not in DATASETS:
        record.fail(
            "bundle_dataset", "dataset",
            gettext_noop('expected one of %(expected)s, got "%(got)s"'), expected=", ".join(DATASETS), got=dataset,
        )  # fmt: skip
    return DATASETS[dataset]


def _metric(record: Record, kind: DatasetKind) -> str:
    metric = record.optional_text("metric") or kind.metric
    if metric not in METRICS:
        record.fail(
            "bundle_metric", "metric",
            gettext_noop('expected one of %(expected)s, got "%(got)s"'), expected=", ".join(METRICS), got=metric,
        )  # fmt: skip
    return metric


def _files(record: Record) -> tuple[str, ...]:
    files = _names(record, "files") if "files" in record.fields else (record.text("file"),)
    for name in files:
        if name == MANIFEST or "\\" in name or "\0" in name or not _is_inside(name):
            record.fail(
                "bundle_file", "files", gettext_noop('expected the name of a file in the folder, got "%(got)s"'),
                got=name[:60],
            )  # fmt: skip
    if not files or len(set(files)) < len(files):
        record.fail("bundle_file", "files", gettext_noop("expected at least one file, and each one once"))
    return files


def _names(record: Record, name: str) -> tuple[str, ...]:
    values: list[Any] = record.items(name)
    for value in values:
        if not isinstance(value, str):
            record.fail_type("string", value, name)
    return tuple(values)


def _hashes(record: Record, files: tuple[str, ...]) -> dict[str, str]:
    value = record.fields.get("sha256")
    if value is None:
        return {}
    hashes = {files[0]: value} if isinstance(value, str) and len(files) == 1 else record.child("sha256").fields
    for name, digest in hashes.items():
        if name not in files or not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
            record.fail(
                "bundle_sha256", f"sha256.{name}",
                gettext_noop("expected 64 hex digits in lower case for a file that the manifest names"),
            )  # fmt: skip
    return dict(hashes)


def _check_hashes(manifest: BundleManifest, hashes: Mapping[str, str]) -> None:
    for name, expected in manifest.sha256.items():
        if hashes[name] != expected:
            raise DatasetError(
                "bundle_sha256", file=name,
                message=gettext_noop("expected SHA-256 %(expected)s, got %(got)s"), expected=expected,
                got=hashes[name],
            )  # fmt: skip


def _check_smoke(manifest: BundleManifest, keys: set[str]) -> None:
    for key in manifest.smoke_scopes:
        if key not in keys:
            raise DatasetError(
                "bundle_smoke_scope", file=MANIFEST, field="smoke_scopes",
                message=gettext_noop('the files hold no scope "%(got)s"'), got=key,
            )  # fmt: skip


def _scopes(folder: Path, manifest: BundleManifest) -> Iterator[Scope]:
    return DATASETS[manifest.dataset].load(folder, manifest.files)


def _counts(scope: Scope) -> dict[str, int]:
    return {
        "scopes": 1,
        "sessions": len(scope.sessions),
        "turns": sum(len(session.turns) for session in scope.sessions),
        "questions": len(scope.questions),
        "answerable": sum(question.answerable for question in scope.questions),
    }


def _digest(hashes: Mapping[str, str]) -> str:
    """Return one SHA-256 over names and hashes, so that a renamed or changed file changes it."""
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))
    return sha256(lines.encode()).hexdigest()
