"""Letters: every event in both languages, sent once, tried again, and without secrets."""

import smtplib
from datetime import timedelta

import pytest
from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.utils import timezone

from submissions.models import Division, OutboxMail, Track
from submissions.outbox import EVENTS, PAUSES, queue_mail, render_letter, requeue_mail, send_waiting
from tests.builders import key_nobody_has, make_request

AT = timezone.now()
CONTEXT = {
    "team": "Team <Ü>",
    "system": "Mem & Co",
    "version": "1.0",
    "cycle": "Cycle 9",
    "track": Track.TEXTUAL.label,
    "division": Division.COMMERCIAL.label,
    "mode": "full",
    "run_label": "run-7",
    "succeeded": True,
    "makes_key": True,
    "is_request": True,
    "note": "First line\nsecond line",
    "reason": "Because <b>so</b>",
    "page_path": "/leaderboard/entry/1/",
    "public_id": "AAAAAAAA",
    "old_public_id": "BBBBBBBB",
    "old_ends_at": AT,
}


class FailingBackend(BaseEmailBackend):
    def send_messages(self, messages):
        raise smtplib.SMTPServerDisconnected("password hunter2 in the text")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("event", EVENTS)
def test_every_letter_is_whole_in_both_languages(event, language):
    letter = render_letter(event=event, language=language, context=CONTEXT)
    assert letter.subject
    assert "\n" not in letter.subject
    assert "&amp;" not in letter.subject + letter.text
    assert "<b>" not in letter.html
    assert "{{" not in letter.text + letter.html
    assert f"/{language}/" in letter.text
    assert f'lang="{language}"' in letter.html
    if "system" in EVENTS[event]:
        assert "Mem & Co" in letter.text
        assert "Mem &amp; Co" in letter.html


@pytest.mark.parametrize(
    ("event", "name"),
    [("smoke_finished", "succeeded"), ("full_finished", "succeeded"), ("request_approved", "makes_key")],
)
def test_yes_and_no_read_differently(event, name):
    yes = render_letter(event=event, language="en", context={**CONTEXT, name: True})
    no = render_letter(event=event, language="en", context={**CONTEXT, name: False})
    assert yes.text != no.text


def test_a_letter_with_a_hole_or_without_a_template_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="run_label"):
        render_letter(
            event="smoke_finished", language="en", context={k: v for k, v in CONTEXT.items() if k != "run_label"}
        )
    with pytest.raises(ValueError, match="no letter"):
        render_letter(event="nonsense", language="en", context=CONTEXT)


def test_no_letter_carries_a_key():
    with pytest.raises(ValueError, match="Leaderboard Key"):
        render_letter(event="request_changes", language="en", context={**CONTEXT, "note": key_nobody_has()})


def test_a_line_break_in_a_name_cannot_forge_a_header():
    letter = render_letter(event="request_received", language="en", context={**CONTEXT, "system": "x\r\nBcc: a@b.c"})
    assert letter.subject == "Request received: x Bcc: a@b.c 1.0"


@pytest.mark.django_db
class TestSending:
    def letter(self) -> OutboxMail:
        return queue_mail(event="request_received", to="a@example.com", language="zh-hans", context=CONTEXT, at=AT)

    def test_it_leaves_once_with_text_and_html(self):
        letter = self.letter()
        assert send_waiting(AT) == 1
        assert send_waiting(AT + timedelta(days=1)) == 0
        (sent,) = mail.outbox
        assert (sent.to, sent.subject, sent.body) == (["a@example.com"], letter.subject, letter.text)
        assert sent.alternatives[0].content == letter.html
        assert sent.extra_headers["Content-Language"] == "zh-hans"
        letter.refresh_from_db()
        assert (letter.state, letter.sent_at, letter.attempts) == ("sent", AT, 1)

    def test_without_an_address_there_is_no_letter(self):
        assert queue_mail(event="request_received", to="", language="en", context=CONTEXT, at=AT) is None
        assert not OutboxMail.objects.exists()

    def test_what_is_not_due_waits(self):
        self.letter()
        assert send_waiting(AT - timedelta(seconds=1)) == 0

    def test_a_failing_server_is_tried_again_with_growing_pauses_until_the_letter_fails(self, settings):
        settings.EMAIL_BACKEND = f"{__name__}.FailingBackend"
        letter, at, waits = self.letter(), AT, []
        while letter.state == "waiting":
            assert send_waiting(at) == 0
            letter.refresh_from_db()
            waits.append(letter.next_attempt_at - at)
            at = letter.next_attempt_at
        assert waits == [*PAUSES, timedelta(0)]
        assert letter.state == "failed"
        assert letter.last_error == "SMTPServerDisconnected"
        settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
        assert send_waiting(at + timedelta(days=9)) == 0
        requeue_mail(mail=letter, actor="organizer:olga", at=at)
        assert send_waiting(at) == 1

    def test_one_bad_letter_does_not_hold_up_the_next(self):
        bad, good = self.letter(), self.letter()
        OutboxMail.objects.filter(pk=bad.pk).update(subject="two\nlines")
        assert send_waiting(AT) == 1
        bad.refresh_from_db()
        good.refresh_from_db()
        assert (bad.state, bad.last_error, good.state) == ("waiting", "BadHeaderError", "sent")

    def test_a_letter_that_another_sender_has_taken_is_left_alone(self):
        letter = self.letter()
        OutboxMail.objects.filter(pk=letter.pk).update(attempts=1, next_attempt_at=AT + timedelta(minutes=5))
        assert send_waiting(AT) == 0
        assert send_waiting(AT + timedelta(minutes=5)) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_organizers_hear_of_a_request_in_their_language(settings, language):
    settings.AML_ORGANIZER_EMAILS = ["a@example.org", "b@example.org"]
    settings.AML_ORGANIZER_LANGUAGE = language
    make_request(as_draft=True)
    assert not OutboxMail.objects.exists()
    access_request = make_request(system="Mnemo")
    letters = OutboxMail.objects.filter(event="organizer_work")
    assert sorted(letters.values_list("to", "language")) == [("a@example.org", language), ("b@example.org", language)]
    for letter in letters:
        assert "Mnemo" in letter.subject
        assert f"/{language}/admin/" in letter.text
        assert access_request.contact_email not in letter.text


def test_the_other_letter_to_organizers_names_the_run():
    letter = render_letter(event="organizer_work", language="en", context={**CONTEXT, "is_request": False})
    assert letter.subject == "To review: result of Mem & Co 1.0"
    assert "run-7" in letter.text
