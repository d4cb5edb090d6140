"""The pipeline's Door over the contract's client."""

from contract.answers import AddOutcome, SearchOutcome
from contract.client import Client, Target
from contract.messages import Track
from contract.receipts import Receipt
from evaluation.pipeline.plan import PlannedAdd, PlannedSearch

__all__ = ["ClientDoor"]


class ClientDoor:
    """One participant's Add and Search, with Add-status where it has one. Belongs to one event loop."""

    def __init__(self, client: Client, *, track: Track, add: Target, search: Target, status: Target | None) -> None:
        self._client = client
        self._track = track
        self._add = add
        self._search = search
        self._status = status

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
