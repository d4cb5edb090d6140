from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SubmissionsConfig(AppConfig):
    name = "submissions"
    verbose_name = _("participants")

    def ready(self) -> None:
        from submissions.endpoints import guard_policy
        from submissions.keyring import key_ring

        key_ring()  # a malformed ring stops the start, not the first call that needs a secret
        guard_policy()
