"""Counters behind `submissions.throttle`; addresses and names are kept only as digests."""

from django.db import models


class ThrottleCounter(models.Model):
    limit = models.CharField(max_length=32)
    subject = models.CharField(max_length=64)
    window = models.BigIntegerField()
    count = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["limit", "subject", "window"], name="throttle_one_counter_for_each_window")
        ]

    def __str__(self) -> str:
        return f"{self.limit} {self.window}: {self.count}"
