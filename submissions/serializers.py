"""Bodies of the REST API about participants. What is written here is checked by `submissions.materials`."""

from typing import Any, NoReturn

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from submissions.materials import MAX_CONCURRENCY, NAMES, Materials
from submissions.models import Cycle, Division, Prize, Track, Version


class Choice(serializers.ChoiceField):
    """One of a few words; an error lists them."""

    default_error_messages = {"invalid_choice": _("“{input}” is not one of: {choices}.")}

    def fail(self, key: str, **values: Any) -> NoReturn:
        super().fail(key, choices=", ".join(str(choice) for choice in self.choices), **values)


class TrackAnswer(serializers.Serializer):
    code = serializers.ChoiceField(choices=Track.choices)
    name = serializers.CharField()


class PrizeAnswer(serializers.ModelSerializer):
    class Meta:
        model = Prize
        fields = ["kind", "winners_per_track", "amount_cny"]


class CycleAnswer(serializers.ModelSerializer):
    name = serializers.CharField(read_only=True)
    prizes = PrizeAnswer(many=True, read_only=True)

    class Meta:
        model = Cycle
        fields = [
            "number",
            "slug",
            "name",
            "state",
            "opens_at",
            "materials_close_at",
            "evaluation_closes_at",
            "board_on",
            "board_date_kind",
            "tracks",
            "contact_email",
            "challenge_repository",
            "smoke_interval_minutes",
            "smoke_limit",
            "full_limit",
            "full_gap_days",
            "prizes",
        ]


class AccessRequestBody(serializers.Serializer):
    """What a team declares. With a Leaderboard Key in the header the version is for that key and its team."""

    cycle = serializers.SlugField(
        required=False, help_text="slug of an open cycle; the one that closes first if absent"
    )
    contact_name = serializers.CharField(max_length=120)
    contact_email = serializers.EmailField(max_length=254)
    team = serializers.CharField(max_length=200, required=False, allow_blank=True)
    system = serializers.CharField(max_length=120)
    version = serializers.CharField(max_length=120)
    division = Choice(choices=Division.choices)
    tracks = serializers.ListField(child=Choice(choices=Track.choices), max_length=len(Track.choices))
    add_url = serializers.CharField(max_length=2048)
    search_url = serializers.CharField(max_length=2048)
    health_url = serializers.CharField(max_length=2048, required=False, allow_blank=True)
    add_status_url = serializers.CharField(max_length=2048, required=False, allow_blank=True)
    auth_scheme = Choice(choices=Version.AuthScheme.choices)
    memory_system_key = serializers.CharField(
        max_length=512, required=False, allow_blank=True, write_only=True, trim_whitespace=False
    )
    allow_plain_http = serializers.BooleanField(required=False)
    add_concurrency = serializers.IntegerField(required=False, min_value=1, max_value=MAX_CONCURRENCY)
    search_concurrency = serializers.IntegerField(required=False, min_value=1, max_value=MAX_CONCURRENCY)
    call_timeout_s = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=1800)
    largest_body_mib = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=1024)
    rate_limit = serializers.CharField(max_length=200, required=False, allow_blank=True)
    method_description = serializers.CharField(max_length=20_000)
    public_description = serializers.CharField(max_length=4_000)
    run_notes = serializers.CharField(max_length=20_000)
    repository = serializers.URLField(max_length=200, required=False, allow_blank=True)
    commit = serializers.CharField(max_length=80, required=False, allow_blank=True)
    original_authors = serializers.CharField(max_length=4_000, required=False, allow_blank=True)
    technical_report = serializers.URLField(max_length=200, required=False, allow_blank=True)
    method_changes = serializers.CharField(max_length=20_000, required=False, allow_blank=True)
    models_used = serializers.CharField(max_length=4_000, required=False, allow_blank=True)
    stays_reachable = serializers.BooleanField()

    def materials(self) -> Materials:
        """The declared fields of a valid body."""
        data: dict[str, Any] = {name: self.validated_data[name] for name in NAMES if name in self.validated_data}
        data["tracks"] = tuple(dict.fromkeys(data["tracks"]))
        return Materials(**data)


class MemorySystemKeyBody(serializers.Serializer):
    memory_system_key = serializers.CharField(max_length=512, write_only=True, trim_whitespace=False)


class MemorySystemKeyAnswer(serializers.Serializer):
    configured = serializers.BooleanField()
    fingerprint = serializers.CharField(help_text="the first 8 hex digits of the key's SHA-256; empty without a key")
    set_at = serializers.DateTimeField(allow_null=True)


class VersionAnswer(serializers.Serializer):
    id = serializers.UUIDField()
    system = serializers.CharField()
    version = serializers.CharField()
    division = serializers.ChoiceField(choices=Division.choices)
    state = serializers.ChoiceField(choices=Version.State.choices)
    state_reason = serializers.CharField()
    tracks = serializers.ListField(child=serializers.ChoiceField(choices=Track.choices))
    add_url = serializers.CharField()
    search_url = serializers.CharField()
    health_url = serializers.CharField()
    add_status_url = serializers.CharField()
    auth_scheme = serializers.ChoiceField(choices=Version.AuthScheme.choices)
    add_concurrency = serializers.IntegerField()
    search_concurrency = serializers.IntegerField()
    endpoint_changed_at = serializers.DateTimeField()
    memory_system_key = MemorySystemKeyAnswer()


class AccessRequestAnswer(serializers.Serializer):
    id = serializers.UUIDField()
    state = serializers.CharField()
    cycle = serializers.SlugField()
    note_to_team = serializers.CharField()
    submitted_at = serializers.DateTimeField(allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    key_waits = serializers.BooleanField(help_text="whether a Leaderboard Key can be claimed now")
    version = VersionAnswer()


class AccessRequestMade(AccessRequestAnswer):
    receipt = serializers.CharField(help_text="shown once; opens the status page and claims the key")
    status_url = serializers.URLField()


class KeyAnswer(serializers.Serializer):
    public_id = serializers.CharField()
    team = serializers.CharField()
    cycle = serializers.SlugField()
    scopes = serializers.ListField(child=serializers.CharField())
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class NewKeyAnswer(serializers.Serializer):
    key = serializers.CharField(help_text="the whole Leaderboard Key, shown this once")
