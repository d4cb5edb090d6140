"""A job's way to its participant: the approved endpoints and the secret, behind the network guard."""

from dataclasses import replace

from django.views.decorators.debug import sensitive_variables

from contract.auth import AuthScheme
from contract.client import Client, Target
from contract.exchange import CallBudget
from evaluation.faults import PlatformFault
from evaluation.models import Job
from evaluation.pipeline.door import ClientDoor
from submissions.endpoints import guard_policy
from submissions.keyring import key_ring
from submissions.models import MemorySystemKey, Version
from submissions.vault import SecretUnavailable, unseal

__all__ = ["ParticipantDoor", "call_budget"]


class ParticipantDoor(ClientDoor):
    """The endpoints of a job's version.

    Only the ciphertext is held: the secret is opened for each call and forgotten behind it. Raises PlatformFault when
    it can't be opened at all.
    """

    def __init__(self, job: Job) -> None:
        version = job.version
        scheme = AuthScheme(version.auth_scheme)
        credential = _Credential(version) if scheme is not AuthScheme.NONE else None
        super().__init__(
            Client(guard_policy(), budget=call_budget(version)),
            track=job.track,  # type: ignore[arg-type]  # diagnostics has no participant
            add=Target(version.add_url, scheme, credential),
            search=Target(version.search_url, scheme, credential),
            status=Target(version.add_status_url, scheme, credential) if version.add_status_url else None,
        )


def call_budget(version: Version) -> CallBudget:
    """The contract's deadlines, or the team's own where it said that a call takes less time than the contract gives."""
    longest = CallBudget()
    if version.call_timeout_s is None:
        return longest
    answer_s = min(float(version.call_timeout_s), longest.headers_s)
    return replace(longest, headers_s=answer_s, total_s=answer_s + longest.total_s - longest.headers_s)


class _Credential:
    """Opens a version's secret without a look-up, so that it can be done in an event loop."""

    def __init__(self, version: Version) -> None:
        stored = MemorySystemKey.objects.filter(version=version).first()
        if stored is None:
            raise PlatformFault("secret_unavailable", "secret_missing")
        self._version = version
        self._ciphertext = stored.ciphertext
        try:
            self()
        except SecretUnavailable as error:
            raise PlatformFault("secret_unavailable", error.code) from error

    @sensitive_variables()
    def __call__(self) -> str:
        return unseal(self._ciphertext, version=self._version, ring=key_ring())
