"""What the API takes and gives: requests that start a run, and the shape of the answers."""

from typing import Any

from rest_framework import serializers

from evaluation.admission import LABEL_LENGTH
from evaluation.models import Job, Receipt
from evaluation.payloads import receipt_payload
from submissions.models import Track
from submissions.serializers import Choice


class SmokeTestRequest(serializers.Serializer):
    """Starts a smoke test; concurrency is what the version declared unless said otherwise."""

    version = serializers.UUIDField(help_text="id of a version that is bound to the key")
    track = Choice(choices=Track.choices)
    run_label = serializers.CharField(max_length=LABEL_LENGTH, help_text="each label can be used once")
    add_concurrency = serializers.IntegerField(min_value=1, required=False)
    search_concurrency = serializers.IntegerField(min_value=1, required=False)


class EvalJobRequest(SmokeTestRequest):
    """Starts a full evaluation."""

    checklist = serializers.DictField(
        child=serializers.BooleanField(),
        help_text="true for each of: smoke_passed, api_contract, run_notes, disclosure, integrity; "
        "for open-source methods also declared_models",
    )


class AllowanceAnswer(serializers.Serializer):
    track = serializers.CharField()
    mode = serializers.CharField()
    allowed = serializers.BooleanField()
    left = serializers.IntegerField()
    limit = serializers.IntegerField()
    next_at = serializers.DateTimeField(allow_null=True)
    refusal_code = serializers.CharField(allow_blank=True)
    message = serializers.CharField()


class QuotasAnswer(serializers.Serializer):
    cycle = serializers.CharField()
    quotas = AllowanceAnswer(many=True)


class JobVersionAnswer(serializers.Serializer):
    id = serializers.UUIDField()
    system = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]


class ReleaseAnswer(serializers.Serializer):
    name = serializers.CharField()
    digest = serializers.CharField()


class StageAnswer(serializers.Serializer):
    stage = serializers.ChoiceField(choices=Job.Stage.choices)
    state = serializers.CharField(help_text="waiting, running, done, stopped or skipped")
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    retries = serializers.IntegerField()
    rate = serializers.FloatField(allow_null=True, help_text="units a second")
    eta_s = serializers.FloatField(allow_null=True)


class ThrottleChangeAnswer(serializers.Serializer):
    at = serializers.DateTimeField()
    lanes = serializers.IntegerField(help_text="calls that went out at once from then on")
    cause = serializers.CharField(
        help_text="busy (HTTP 429), well, failing (another status that is tried again) or silent (no whole answer); "
        "the last two keep the number from growing"
    )


class ThrottleAnswer(serializers.Serializer):
    stage = serializers.ChoiceField(choices=Job.Stage.choices)
    cap = serializers.IntegerField(help_text="the declared concurrency")
    lanes = serializers.IntegerField(help_text="calls that go out at once now")
    changes = ThrottleChangeAnswer(many=True)


class ProgressAnswer(serializers.Serializer):
    stage = serializers.ChoiceField(choices=Job.Stage.choices)
    queue_position = serializers.IntegerField(allow_null=True)
    heartbeat_at = serializers.DateTimeField(allow_null=True)
    is_stalled = serializers.BooleanField()
    retries = serializers.IntegerField()
    stages = StageAnswer(many=True)
    throttle = ThrottleAnswer(many=True, help_text="stages whose concurrency followed the server, oldest change first")


class FailureAnswer(serializers.Serializer):
    code = serializers.CharField()
    title = serializers.CharField()
    expected = serializers.CharField()
    got = serializers.CharField()
    advice = serializers.CharField()
    http_status = serializers.IntegerField(allow_null=True)
    kind = serializers.CharField()
    request_id = serializers.CharField(help_text="of an Add; empty for a Search, which has none")
    user_id = serializers.CharField()
    question = serializers.CharField(help_text="of a Search: the question's number on the page of the run's questions")
    where = serializers.CharField(help_text="the place in the answer, such as data[3].id")
    sent = serializers.CharField(help_text="how the platform proved itself, where it was refused; never the key")
    blame = serializers.ChoiceField(choices=Job.Blame.choices)


class CheckAnswer(serializers.Serializer):
    name = serializers.CharField()
    title = serializers.CharField()
    passed = serializers.BooleanField()
    observed = serializers.CharField()
    expected = serializers.CharField()


class ReviewAnswer(serializers.Serializer):
    state = serializers.CharField()
    note = serializers.CharField()
    decided_at = serializers.DateTimeField(allow_null=True)
    checks = CheckAnswer(many=True)


class JobAnswer(serializers.Serializer):
    id = serializers.UUIDField()
    mode = serializers.ChoiceField(choices=Job.Mode.choices)
    track = serializers.ChoiceField(choices=Track.choices)
    cycle = serializers.CharField()
    version = JobVersionAnswer()
    release = ReleaseAnswer()
    run_label = serializers.CharField()
    add_concurrency = serializers.IntegerField()
    search_concurrency = serializers.IntegerField()
    top_k = serializers.IntegerField()
    state = serializers.ChoiceField(choices=Job.State.choices)
    cancel_requested = serializers.BooleanField()
    slot = serializers.CharField(help_text="spent, refunded or none")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    progress = ProgressAnswer()
    failure = FailureAnswer(allow_null=True)
    review = ReviewAnswer(allow_null=True)


class PartAnswer(serializers.Serializer):
    code = serializers.CharField()
    title = serializers.CharField()
    score = serializers.FloatField(allow_null=True, help_text="0 to 1")
    n = serializers.IntegerField()


class ResultAnswer(serializers.Serializer):
    overall = serializers.FloatField(help_text="0 to 1")
    n = serializers.IntegerField()
    coverage = serializers.FloatField()
    answerable = PartAnswer(allow_null=True)
    categories = PartAnswer(many=True)
    capabilities = PartAnswer(many=True)
    datasets = PartAnswer(many=True)
    items = serializers.DictField(child=serializers.IntegerField())
    efficiency = serializers.DictField(child=serializers.FloatField())
    recall = serializers.JSONField(help_text="Gold-evidence recall by depth: rule, n, at")
    attribution = serializers.JSONField(help_text="Wrong answers by cause, and by category and cause")
    budget_curve = serializers.JSONField(help_text="Score by number of memories on a sample; missing says why not")
    digest = serializers.CharField()


class ReceiptAnswer(serializers.Serializer):
    id = serializers.IntegerField()
    kind = serializers.CharField()
    request_id = serializers.CharField()
    attempt = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField()
    latency_ms = serializers.FloatField()
    http_status = serializers.IntegerField(allow_null=True)
    bytes_sent = serializers.IntegerField()
    bytes_received = serializers.IntegerField()
    verdict = serializers.CharField()
    reason_code = serializers.CharField()
    got = serializers.CharField()
    flags = serializers.ListField(child=serializers.CharField())

    def to_representation(self, instance: Receipt) -> dict[str, Any]:
        """The same payload as everywhere."""
        return receipt_payload(instance)
