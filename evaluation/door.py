"""A job's way to its participant: the approved endpoints and the secret, behind the network guard."""

from django.views.decorators.debug import sensitive_variables

from contract.answers import AddOutcome, SearchOutcome
from contract.auth import AuthScheme
from contract.client import Client, Target
from contract.messages import Track
from contract.receipts import Receipt
from evaluation.faults import PlatformFault
from evaluation.models import Job
from evaluation.pipeline.plan import PlannedAdd, PlannedSearch
from submissions.endpoints import guard_policy
from submissions.keyring import key_ring
from submissions.models import MemorySystemKey, Version
from submissions.vault import SecretUnavailable, unseal

__all__ = ["ParticipantDoor"]


class ParticipantDoor:
    """The pipeline's Door over the contract's client; belongs to one event loop.

    Only the ciphertext is held: the secret is opened for each call and forgotten behind it. Raises PlatformFault when
    it can't be opened at all.
    """

    def __init__(self, job: Job) -> None:
        version = job.version
        self._track: Track = job.track  # type: ignore[assignment]  # diagnostics has no participant
        self._client = Client(guard_policy())
        self._credential = _Credential(version) if version.auth_scheme != Version.AuthScheme.NONE else None
        self._add = self._target(version, version.add_url)
        self._search = self._target(version, version.search_url)
        self._status = self._target(version, version.add_status_url) if version.add_status_url else None

    async def add(self, event: PlannedAdd, *, attempt: int, task_id: str) -> tuple[AddOutcome, Receipt]:
        if task_id and self._status:
            return await self._client.add_status(
                self._status, task_id, event.request, track=self._track, attempt=attempt
            )
        return await self._client.add(
            self._add,
            event.body,
            event.request,
            track=self._track,
            add_status_bound=self._status is not None,
            attempt=attempt,
        )

    async def search(self, event: PlannedSearch, *, attempt: int) -> tuple[SearchOutcome, Receipt]:
        return await self._client.search(self._search, event.body, event.request, track=self._track, attempt=attempt)

    def _target(self, version: Version, url: str) -> Target:
        return Target(url, AuthScheme(version.auth_scheme), self._credential)


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
