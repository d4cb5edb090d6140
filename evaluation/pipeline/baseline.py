"""What a run rests on and what is frozen of it: limits, who answers, who scores, and the code that decides a score."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from benchmarks.judging.call import prompt_hashes as judge_prompts
from benchmarks.judging.registry import JUDGES
from evaluation.pipeline.answering.chat import ChatAnswerer
from evaluation.pipeline.answering.chat import prompt_hashes as answer_prompts
from evaluation.pipeline.answering.counting import counter_facts, counter_for
from evaluation.pipeline.answering.offline import OfflineAnswerer

__all__ = [
    "MAX_TOKENS",
    "MAX_TOKENS_LONG",
    "RULES_ID",
    "SEED",
    "TOKEN_BUDGET",
    "TOP_K",
    "answer_baseline",
    "arms_code_hash",
    "canonical_digest",
    "changed_code_files",
    "code_files",
    "contract_code_hash",
    "judge_baseline",
    "pipeline_code_hash",
]

TOP_K: Final = 100
SEED: Final = 7
MAX_TOKENS: Final = 256
MAX_TOKENS_LONG: Final = 2048
TOKEN_BUDGET: Final = 8000
RULES_ID: Final = "rules"
PROJECT: Final = Path(__file__).resolve().parent.parent.parent

# What decides a score: from the dataset's bytes over the requests and the reading of responses to the aggregation.
_CODE = (
    "contract",
    "benchmarks/datasets",
    "benchmarks/scoring",
    "benchmarks/judging",
    "benchmarks/selectors.py",
    "evaluation/pipeline",
    "evaluation/aggregation.py",
    "evaluation/analysing.py",
    "evaluation/backends.py",
    "evaluation/budgetcurve.py",
    "evaluation/door.py",
    "evaluation/evidence/reading.py",
    "evaluation/evidence/sealing.py",
    "evaluation/evidence/segments.py",
    "evaluation/itemledger.py",
    "evaluation/ledger.py",
    "evaluation/preparing.py",
    "evaluation/rows.py",
    "evaluation/slices.py",
    "evaluation/suites.py",
)
_NOT_CODE = ("contract/reference/", "contract/faulty/")
_ARMS_CODE = ("contract/reference/index.py", "contract/reference/tokens.py", "evaluation/arms/running.py")
_CODE_SUFFIXES = {".py", ".txt"}


def canonical_digest(value: Any) -> str:
    """SHA-256, in hexadecimal, of `value` as JSON with sorted keys and no spaces."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def pipeline_code_hash() -> str:
    """SHA-256 over the names and bytes of the files that decide a score; read once, like the modules themselves."""
    return _digest_of(_code_hashes())


def changed_code_files() -> list[str]:
    """Names of those files that are other ones on disk now than when this process read them."""
    then, now = _code_hashes(), _hashes(code_files())
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def arms_code_hash() -> str:
    """The same with what decides the score of a reference arm besides: its search and how it is run."""
    return _hash_files((*code_files(), *(PROJECT / name for name in _ARMS_CODE)))


def contract_code_hash() -> str:
    """The same over the files of the wire contract alone."""
    return _hash_files(path for path in code_files() if path.relative_to(PROJECT).parts[0] == "contract")


def code_files() -> Iterator[Path]:
    """Yield the files that decide a score."""
    for place in _CODE:
        path = PROJECT / place
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in found:
            relative = file.relative_to(PROJECT).as_posix()
            if file.is_file() and file.suffix in _CODE_SUFFIXES and not relative.startswith(_NOT_CODE):
                yield file


def answer_baseline(*, base_url: str, model: str, tokenizer: str = "") -> dict[str, Any]:
    """Who answers: the chat model at `base_url`, or the offline backend where that is empty.

    `tokenizer` is the path of the model's tokenizer.json. Raises CounterMissing.
    """
    online = bool(base_url)
    return {
        "backend": "openai" if online else "offline",
        "id": ChatAnswerer.id if online else OfflineAnswerer.id,
        "model": model if online else OfflineAnswerer.id,
        "base_url_host": urlsplit(base_url).hostname or "",
        "prompts": dict(answer_prompts()) if online else {},
        "temperature": 0,
        "seed": SEED,
        "max_tokens": MAX_TOKENS,
        "max_tokens_long": MAX_TOKENS_LONG,
        "token_budget": TOKEN_BUDGET,
        "counter": dict(counter_facts(counter_for(tokenizer if online else ""))),
    }


def judge_baseline(*, base_url: str, model: str, metrics: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Who scores: the chat model at `base_url`, or the bundles' own metrics where that is empty.

    `metrics` says by what each bundle is scored; `judges` names those of them that ask the model.
    """
    online = bool(base_url)
    return {
        "backend": "openai" if online else "rules",
        "judges": {bundle: name for bundle, name in (metrics or {}).items() if online and name in JUDGES},
        "model": model if online else RULES_ID,
        "base_url_host": urlsplit(base_url).hostname or "",
        "prompts": dict(judge_prompts()) if online else {},
        "temperature": 0,
        "seed": SEED,
        "max_tokens": MAX_TOKENS_LONG,
    }


@cache
def _code_hashes() -> Mapping[str, str]:
    return _hashes(code_files())


def _hash_files(paths: Iterable[Path]) -> str:
    return _digest_of(_hashes(paths))


def _hashes(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each file, by its name in the project."""
    return {path.relative_to(PROJECT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def _digest_of(hashes: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name, content in hashes.items():
        digest.update(f"{name} {content}\n".encode())
    return digest.hexdigest()
