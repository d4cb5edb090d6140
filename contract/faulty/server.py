"""The misbehaving server: raw sockets, an honest memory, and the chosen faults around it."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import Awaitable, Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from contract.auth import AuthScheme
from contract.faulty.catalogue import FAULTS, choose_all
from contract.faulty.certificates import server_tls
from contract.faulty.faults import Fault
from contract.faulty.memory import HonestMemory, read_message
from contract.faulty.visits import JSON_TYPE, Answer, Request, Visit, body_of, read_request, serialise
from contract.messages import AddRequest

__all__ = ["FaultyServer"]

MAX_HEAD = 64 * 1024


class FaultyServer:
    """Serves from ``async with`` to its end. `faults` are names as ``NAME[@ENDPOINT][:ARGUMENT]``.

    Port 0 takes a free one; `port` then says which. Without a fault it keeps the contract. Raises `FaultError`, and
    `OSError` when the port is taken.
    """

    def __init__(
        self,
        *faults: str,
        host: str = "127.0.0.1",
        port: int = 0,
        auth: AuthScheme = AuthScheme.NONE,
        key: str = "",
        certificate_host: str = "",
    ) -> None:
        self.faults = choose_all(faults)
        self.host, self.port = host, port
        self.folder = Path(tempfile.mkdtemp(prefix="agentmem-"))
        self.connections = 0
        self._memory = HonestMemory(auth, key)
        self._certificate_host = certificate_host or host
        self._listen = next((fault.listen for fault in self.faults if fault.listen), "")
        self._server: asyncio.Server | None = None
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._state: dict[str, dict[str, int]] = {}
        self._adds: dict[str, AddRequest] = {}

    @property
    def url(self) -> str:
        """The base address, below which /add, /search, /health and /add-status/{task_id} stand."""
        scheme = "https" if self._listen.startswith("tls") else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"

    @property
    def authority(self) -> Path | None:
        """The certificate file to trust, when the server speaks TLS."""
        return self.folder / "authority.pem" if self._listen.startswith("tls") else None

    async def __aenter__(self) -> Self:
        for fault in self.faults:
            if fault.prepare:
                await asyncio.to_thread(fault.prepare)
        if self._listen in ("refuse", "ignore"):
            self._hold_port()
            return self
        tls = server_tls(self._listen, self._certificate_host, self.folder) if self._listen else None
        self._server = await asyncio.start_server(self._serve, self.host, self.port, ssl=tls, limit=MAX_HEAD)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for held in self._sockets:
            held.close()
        self._memory.store.close()
        for file in self.folder.iterdir():
            file.unlink()
        self.folder.rmdir()

    def _hold_port(self) -> None:
        """Bind the port without accepting anything.

        A bound port that nobody listens on refuses. One whose queue of connections is full leaves further attempts
        without an answer. Source: listen(2), tcp(7), of Linux.
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        held = socket.socket(family, socket.SOCK_STREAM)
        self._sockets.append(held)
        held.bind((self.host, self.port))
        self.port = held.getsockname()[1]
        if self._listen == "refuse":
            return
        held.listen(0)
        for _ in range(4):
            filler = socket.socket(family, socket.SOCK_STREAM)
            filler.setblocking(False)
            filler.connect_ex((self.host, self.port))
            self._sockets.append(filler)

    def _background(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            await work

        self._keep(run())

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (request := await read_request(reader, writer)) is not None:
                await self._respond(request, writer)
                if request.headers.get("connection", "").lower() == "close" or writer.is_closing():
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass  # the caller went away, or the server ends
        finally:
            self._tasks.discard(task)
            with suppress(Exception):
                writer.close()

    async def _respond(self, request: Request, writer: asyncio.StreamWriter) -> None:
        visit = Visit(
            request=request,
            authorized=self._memory.knows(request),
            state=self._state,
            background=self._background,
            store=self._memory.store.add,
            adds=self._adds,
        )
        faults = [fault for fault in self.faults if request.endpoint in fault.on]
        answer = await self._answer(visit, faults)
        body = body_of(answer)
        for fault in faults:
            body = fault.change(body) if fault.change else body
        response = serialise(answer.status, body, JSON_TYPE, *answer.headers)
        writing = FAULTS[visit.write] if visit.write else next((fault for fault in faults if fault.write), None)
        if writing is None or writing.write is None:
            writer.write(response)
        else:
            await writing.write(response, writer, writing.argument)
        await writer.drain()

    async def _answer(self, visit: Visit, faults: Iterable[Fault]) -> Answer:
        request = visit.request
        for fault in faults:
            if fault.door and fault.before:
                await fault.before(visit, fault.argument)
        if request.method == "POST" and visit.authorized and request.endpoint in ("add", "search"):
            read = read_message(request)
            if not isinstance(read, Answer):
                visit.sent = visit.message = read
        let_in = visit.authorized or request.endpoint == "health"
        answer = await self._before(visit, faults) if let_in else None
        answer = answer or await self._memory.answer(visit)
        for fault in faults:
            answer = fault.after(visit, answer, fault.argument) if fault.after else answer
        return answer

    async def _before(self, visit: Visit, faults: Iterable[Fault]) -> Answer | None:
        for fault in faults:
            if fault.before and not fault.door and (answer := await fault.before(visit, fault.argument)):
                return answer
        return None
