"""The reviewer opens any question of a run, quickly however many there are."""

import asyncio
import time
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import Permission, User
from django.core.files import File
from django.test import Client
from django.utils import timezone

from benchmarks.datasets.model import Question
from contract.memories import Memory
from evaluation.evidence.sealing import evidence_storage
from evaluation.evidence.segments import Header, QuestionLine, link, write_segment
from evaluation.models import Answer, Event, Item, Job, Judgement, Receipt, Release, Retrieval, Scope, Segment
from evaluation.pipeline.answering.chat import ChatAnswerer
from evaluation.questionpage import open_question
from tests.evaluation import builders
from tests.evaluation.builders import Entrant

AT = timezone.now()


def memories_of(number: int) -> tuple[Memory, ...]:
    return tuple(
        Memory(f"m{number}-{rank}", f"Fact {rank} of {number}: <b>pears</b>", 1 / (rank + 1)) for rank in range(3)
    )


def fill(job: Job, questions: int, folder: Path) -> list[Item]:
    """A sealed run of one scope with so many questions, its rows made in bulk."""
    scope = Scope.objects.create(
        job=job, ordinal=0, bundle="talks", key="talk-0", user_id="u", state="done", events=questions
    )
    items = Item.objects.bulk_create(
        [
            Item(
                job=job,
                scope=scope,
                ordinal=number,
                question_key=f"talks/q{number}",
                category="4",
                capability="A",
                state="scored",
                score=0.5,
            )
            for number in range(questions)
        ],
        batch_size=2000,
    )
    texts = [msgspec.json.encode(memories_of(number)) for number in range(questions)]
    digests = [sha256(text).hexdigest() for text in texts]
    _rows(job, scope, items, digests)
    lines = (
        QuestionLine(number, f"talks/q{number}", 0, question(number), digests[number], msgspec.Raw(texts[number]))
        for number in range(questions)
    )
    with (folder / "segment").open("w+b") as file:
        facts = write_segment(file, Header(job.pk.hex, 0, "talks", "talk-0", "u"), lines)
        file.seek(0)
        name = evidence_storage().save(f"{job.pk.hex}/000000.jsonl.zst", File(file))
    Segment.objects.create(
        job=job,
        scope=scope,
        number=1,
        file=name,
        size=facts.size,
        sha256=facts.sha256,
        questions=questions,
        index=facts.index,
        digest=link("", number=1, scope=0, size=facts.size, file_sha256=facts.sha256),
        created_at=AT,
    )
    return items


def question(number: int) -> Question:
    return Question(f"q{number}", f"How many pears had {number}?", None, f"{number} pears", "4", "A", ("D1:1",))


def _rows(job: Job, scope: Scope, items: list[Item], digests: list[str]) -> None:
    events = Event.objects.bulk_create(
        [
            Event(scope=scope, ordinal=item.ordinal, kind="search", body_sha256="0" * 64, first_started_at=AT)
            for item in items
        ],
        batch_size=2000,
    )
    call = {"kind": "search", "attempt": 1, "started_at": AT, "ended_at": AT, "latency_ms": 5.0, "verdict": "ok"}
    Receipt.objects.bulk_create(
        [Receipt(job=job, event=event, **call, http_status=200, bytes_sent=1, bytes_received=9) for event in events],
        batch_size=2000,
    )
    Retrieval.objects.bulk_create(
        [
            Retrieval(item=item, count=3, characters=60, latency_ms=5.0, memories=b"", sha256=digest)
            for item, digest in zip(items, digests, strict=True)
        ],
        batch_size=2000,
    )
    Answer.objects.bulk_create(
        [
            Answer(
                item=item, text="some pears", model="m", prompt_sha256="", latency_ms=1, memories_used=2, memories_cut=1
            )
            for item in items
        ],
        batch_size=2000,
    )
    Judgement.objects.bulk_create(
        [Judgement(item=item, metric="words.f1.v1", score=0.5) for item in items], batch_size=2000
    )


@pytest.fixture
def reviewer(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("ada", password="x"))
    return client


@pytest.fixture
def job(entrant: Entrant) -> Job:
    return builders.start(entrant)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_page_shows_all_there_is_of_a_question(reviewer: Client, job: Job, tmp_path: Path, language: str) -> None:
    items = fill(job, 120, tmp_path)
    text = reviewer.get(f"/{language}/admin/evaluation/job/{job.pk}/questions/{items[70].pk}/").content.decode()

    for shown in ("How many pears had 70?", "70 pears", "m70-2", "some pears", "words.f1.v1", "D1:1"):
        assert shown in text
    assert "Fact 1 of 70: &lt;b&gt;pears&lt;/b&gt;" in text
    assert "Fact 1 of 71" not in text
    if language == "en":
        assert "the hash of these memories is the one that was kept" in text
    assert f"/questions/{items[69].pk}/" in text
    assert f"/questions/{items[71].pk}/" in text


def test_questions_are_listed_and_found(reviewer: Client, job: Job, tmp_path: Path) -> None:
    items = fill(job, 120, tmp_path)
    base = f"/en/admin/evaluation/job/{job.pk}"
    assert f"{base}/questions/" in reviewer.get(f"{base}/change/").content.decode()
    first = reviewer.get(f"{base}/questions/")
    assert len(first.context["items"]) == 50
    second = reviewer.get(f"{base}/questions/?after={first.context['next']}")
    assert [item.pk for item in second.context["items"]] == [item.pk for item in items[50:100]]
    assert reviewer.get(f"{base}/questions/?state=unscored&after=x").context["items"] == []
    (found,) = reviewer.get(f"{base}/questions/?q=q117").context["items"]
    assert found.pk == items[117].pk


def test_who_may_not_view_runs_reads_no_question(job: Job, tmp_path: Path) -> None:
    item = fill(job, 2, tmp_path)[0]
    user = User.objects.create_user("bo", password="x", is_staff=True)
    client = Client()
    client.force_login(user)
    addresses = [
        f"/en/admin/evaluation/job/{job.pk}/questions/",
        f"/en/admin/evaluation/job/{job.pk}/questions/{item.pk}/",
    ]
    assert [client.get(address).status_code for address in addresses] == [403, 403]
    user.user_permissions.add(Permission.objects.get(codename="view_job"))
    assert [client.get(address).status_code for address in addresses] == [200, 200]


def test_a_question_of_another_run_is_not_found(reviewer: Client, job: Job, tmp_path: Path) -> None:
    item = fill(job, 2, tmp_path)[0]
    other = builders.start(builders.make_entrant(name="Other"))
    assert reviewer.get(f"/en/admin/evaluation/job/{other.pk}/questions/{item.pk}/").status_code == 404


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("purge", "removed when its time was over"),
        ("delete", "Restore it from the backup"),
        ("tear", "can&#x27;t be read"),
    ],
)
def test_missing_evidence_is_said_and_the_rest_still_shows(
    reviewer: Client, job: Job, tmp_path: Path, change: str, says: str
) -> None:
    item = fill(job, 3, tmp_path)[1]
    segment = Segment.objects.get()
    if change == "purge":
        Segment.objects.update(purged_at=AT)
    elif change == "delete":
        evidence_storage().delete(segment.file)
    else:
        path = Path(evidence_storage().path(segment.file))
        path.write_bytes(b"\0" * path.stat().st_size)
    text = reviewer.get(f"/en/admin/evaluation/job/{job.pk}/questions/{item.pk}/").content.decode()
    assert says in text
    assert "some pears" in text


class _Model:
    """Keeps the prompt that it is asked with."""

    sha256 = ""

    async def complete(self, messages: Any, **_: Any) -> Any:
        import json

        from benchmarks.judging.chat import ChatReply

        prompt = [{"role": message.role, "content": message.content} for message in messages]
        self.sha256 = sha256(json.dumps(prompt, ensure_ascii=False).encode()).hexdigest()
        return ChatReply('{"answer": "some pears"}', "m", 1, 1, 1.0, self.sha256)


def test_the_prompt_is_built_again_and_its_hash_compared(
    reviewer: Client, job: Job, release: Release, tmp_path: Path
) -> None:
    item = fill(job, 3, tmp_path)[1]
    release.baseline["answer"] |= {"backend": "openai", "token_budget": 8000}
    release.save()
    answerer = ChatAnswerer(_Model(), bytes(job.id_key), token_budget=8000)
    sent = asyncio.run(answerer.answer(question(1), memories_of(1)))
    Answer.objects.filter(item=item).update(prompt_sha256=sent.prompt_sha256, memories_used=sent.memories_used)

    address = f"/en/admin/evaluation/job/{job.pk}/questions/{item.pk}/"
    text = reviewer.get(address).content.decode()
    assert "built again, byte for byte what was sent" in text
    assert "BEGIN DATA" in text
    Answer.objects.filter(item=item).update(prompt_sha256="0" * 64)
    assert "NOT what was sent" in reviewer.get(address).content.decode()


def test_memories_that_are_not_those_that_were_kept_are_named(reviewer: Client, job: Job, tmp_path: Path) -> None:
    item = fill(job, 3, tmp_path)[1]
    Retrieval.objects.filter(item=item).update(sha256="0" * 64)
    text = reviewer.get(f"/en/admin/evaluation/job/{job.pk}/questions/{item.pk}/").content.decode()
    assert "is NOT the one that was kept" in text


@pytest.mark.timeout(600)  # makes 300,000 rows first
def test_a_question_opens_as_quickly_among_50000_as_among_500(reviewer: Client, job: Job, tmp_path: Path) -> None:
    small = fill(job, 500, tmp_path)
    large_job = builders.start(builders.make_entrant(name="Other"))
    large = fill(large_job, 50_000, tmp_path)

    def milliseconds(run: Job, items: list[Item]) -> float:
        times = []
        for step in range(20):
            item = items[(step * 7919) % len(items)]
            began = time.perf_counter()
            response = reviewer.get(f"/en/admin/evaluation/job/{run.pk}/questions/{item.pk}/")
            times.append((time.perf_counter() - began) * 1000)
            assert response.status_code == 200
        return median(times)

    milliseconds(job, small)  # warms templates and connections
    at_500, at_50000 = milliseconds(job, small), milliseconds(large_job, large)
    print(f"median of 20: {at_500:.1f} ms at 500 questions, {at_50000:.1f} ms at 50,000")
    assert at_50000 <= 5 * at_500
    assert open_question(large_job, large[49_999].pk).evidence.is_intact
