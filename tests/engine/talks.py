"""A small suite in LoCoMo's format, of any size; knows nothing of the portal."""

import json
from pathlib import Path
from typing import Any

NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"]
PETS = ["cat", "dog", "parrot", "rabbit", "tortoise", "horse"]
WORDS = ["amber", "birch", "cobalt", "dune", "ember", "fjord", "garnet", "hazel", "indigo", "juniper", "kelp", "lotus"]


def conversation(number: int, *, sessions: int = 3, questions: int = 10) -> dict[str, Any]:
    """One conversation in which one speaker names pets, and questions about the names."""
    first, second = NAMES[number % 8], NAMES[(number + 3) % 8]
    facts = [(PETS[n % 6], f"{WORDS[n % 12]}{number}{n}".capitalize()) for n in range(questions)]
    talk: dict[str, Any] = {"speaker_a": first, "speaker_b": second}
    for session in range(1, sessions + 1):
        talk[f"session_{session}_date_time"] = f"1:56 pm on {session} May, 2023"
        talk[f"session_{session}"] = [
            {
                "speaker": first if turn % 2 == 0 else second,
                "dia_id": f"D{session}:{turn + 1}",
                "text": f"My {pet} number {n} from the town of {name} is called {name}.",
            }
            for turn, (n, (pet, name)) in enumerate((n, f) for n, f in enumerate(facts) if n % sessions == session - 1)
        ]
    qa = [
        {"question": f"What is the {pet} number {n} called?", "answer": name, "evidence": [], "category": 4}
        for n, (pet, name) in enumerate(facts)
    ]
    return {"sample_id": f"talk-{number}", "conversation": talk, "qa": qa}


def write_bundle(
    folder: Path, *, scopes: int = 3, sessions: int = 3, questions: int = 10, smoke_scopes: int = 1
) -> Path:
    """Write a bundle of such conversations into `folder`; a smoke test takes the first `smoke_scopes` of them."""
    folder.mkdir(parents=True, exist_ok=True)
    talks = [conversation(n, sessions=sessions, questions=questions) for n in range(scopes)]
    (folder / "talks.json").write_text(json.dumps(talks))
    manifest = {
        "name": f"talks-{scopes}-{sessions}-{questions}",
        "version": "1",
        "title": "Talks",
        "title_zh": "谈话",
        "dataset": "locomo",
        "metric": "words.f1.v1",
        "files": ["talks.json"],
        "licence": "CC0-1.0",
        "source": "the tests",
        "smoke_scopes": [f"talk-{n}" for n in range(smoke_scopes)],
    }
    (folder / "bundle.json").write_text(json.dumps(manifest))
    return folder
