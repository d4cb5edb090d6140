"""Faults on the wire: bytes that are late, wrong, too many or missing."""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct
import zlib
from asyncio import StreamWriter
from functools import lru_cache

from contract.faulty.faults import Fault, Write, number, whole
from contract.faulty.visits import JSON_TYPE, serialise
from contract.words import gettext_noop

__all__ = ["BREAKS"]

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
PROCESSING = b"HTTP/1.1 102 Processing\r\n\r\n"
PLANTED = b'{"data":[{"id":"planted","content":"planted for the next question"}]}'
BOMB_MIB = 200


def _split(response: bytes) -> tuple[bytes, bytes]:
    head, _, body = response.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", body


def _says(data: bytes) -> Write:
    async def write(response: bytes, writer: StreamWriter, argument: str) -> None:
        writer.write(data)

    return write


def _endless(head: bytes, piece: bytes, pause: float = 0.0) -> Write:
    async def write(response: bytes, writer: StreamWriter, argument: str) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(float(argument or pause))

    return write


async def _close(response: bytes, writer: StreamWriter, argument: str) -> None:
    writer.close()


async def _reset(response: bytes, writer: StreamWriter, argument: str) -> None:
    _have_closing_reset(writer)
    writer.transport.abort()


async def _reset_in_body(response: bytes, writer: StreamWriter, argument: str) -> None:
    head, body = _split(response)
    writer.write(head + body[: len(body) // 2])
    await writer.drain()
    await asyncio.sleep(0.1)  # a reset discards what the peer has not read yet
    await _reset(response, writer, argument)


def _have_closing_reset(writer: StreamWriter) -> None:
    """Make the close of a connection a RST: to linger for no time at all. Source: socket(7), SO_LINGER."""
    connection = writer.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def _wait_for_ever(response: bytes, writer: StreamWriter, argument: str) -> None:
    await asyncio.Event().wait()


async def _late(response: bytes, writer: StreamWriter, argument: str) -> None:
    await asyncio.sleep(float(argument))
    writer.write(response)


async def _late_body(response: bytes, writer: StreamWriter, argument: str) -> None:
    head, body = _split(response)
    writer.write(head)
    await writer.drain()
    await asyncio.sleep(float(argument))
    writer.write(body)


async def _drip(response: bytes, writer: StreamWriter, argument: str) -> None:
    for at in range(len(response)):
        writer.write(response[at : at + 1])
        await writer.drain()
        await asyncio.sleep(float(argument))


async def _short_body(response: bytes, writer: StreamWriter, argument: str) -> None:
    writer.write(serialise(200, b'{"da', JSON_TYPE, length=100))
    await writer.drain()
    writer.close()


async def _cut_chunks(response: bytes, writer: StreamWriter, argument: str) -> None:
    _, body = _split(response)
    writer.write(CHUNKED + f"{len(body):x}\r\n".encode() + body + b"\r\n")
    await writer.drain()
    writer.close()


async def _length_too_small(response: bytes, writer: StreamWriter, argument: str) -> None:
    _, body = _split(response)
    writer.write(serialise(200, body, JSON_TYPE, length=max(1, len(body) // 2)))


async def _length_twice(response: bytes, writer: StreamWriter, argument: str) -> None:
    head, body = _split(response)
    writer.write(head[:-2] + f"Content-Length: {len(body) + 1}\r\n\r\n".encode() + body + b" ")


async def _length_and_chunks(response: bytes, writer: StreamWriter, argument: str) -> None:
    head, body = _split(response)
    chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    writer.write(head[:-2] + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)


async def _many_headers(response: bytes, writer: StreamWriter, argument: str) -> None:
    head, body = _split(response)
    writer.write(head[:-2] + b"".join(b"X-Field-%d: a\r\n" % n for n in range(int(argument))) + b"\r\n" + body)


async def _two_answers(response: bytes, writer: StreamWriter, argument: str) -> None:
    writer.write(response + serialise(200, PLANTED, JSON_TYPE))


async def _hints_first(response: bytes, writer: StreamWriter, argument: str) -> None:
    writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </>; rel=preload\r\n\r\n" + response)


async def _gzip(response: bytes, writer: StreamWriter, argument: str) -> None:
    writer.write(serialise(200, gzip.compress(_split(response)[1]), JSON_TYPE, ("Content-Encoding", "gzip")))


async def _gzip_bomb(response: bytes, writer: StreamWriter, argument: str) -> None:
    writer.write(serialise(200, _bomb(), JSON_TYPE, ("Content-Encoding", "gzip")))


@lru_cache(maxsize=1)
def _bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)  # 31: with gzip's header
    zeros = b"\0" * (1 << 20)
    return b"".join(packer.compress(zeros) for _ in range(BOMB_MIB)) + packer.flush()


BREAKS = (
    Fault(
        name="reset_before_response",
        sentence=gettext_noop("Resets the connection (RST) instead of answering."),
        write=_reset,
    ),
    Fault(
        name="reset_in_body",
        sentence=gettext_noop("Resets the connection (RST) in the middle of the body."),
        write=_reset_in_body,
    ),
    Fault(
        name="closed_before_response",
        sentence=gettext_noop("Closes the connection without a word."),
        write=_close,
    ),
    Fault(
        name="short_body",
        sentence=gettext_noop("Announces 100 bytes, sends 4 and closes the connection."),
        write=_short_body,
    ),
    Fault(
        name="chunks_cut_short",
        sentence=gettext_noop("Sends a chunked body without its last chunk and closes the connection."),
        write=_cut_chunks,
    ),
    Fault(name="no_response", sentence=gettext_noop("Takes the request and never answers."), write=_wait_for_ever),
    Fault(
        name="delay",
        sentence=gettext_noop("Answers correctly, but so many seconds late."),
        takes="SECONDS",
        argument="2",
        check=number,
        write=_late,
    ),
    Fault(
        name="delay_body",
        sentence=gettext_noop("Sends the headers at once and the body so many seconds later."),
        takes="SECONDS",
        argument="2",
        check=number,
        write=_late_body,
    ),
    Fault(
        name="drip",
        sentence=gettext_noop("Sends the right answer byte by byte, with so many seconds in between."),
        takes="SECONDS",
        argument="0.05",
        check=number,
        write=_drip,
    ),
    Fault(
        name="slow_body",
        sentence=gettext_noop("Sends one byte of body every 50 ms, without an end."),
        takes="SECONDS",
        argument="0.05",
        check=number,
        write=_endless(CHUNKED, b"1\r\n \r\n"),
    ),
    Fault(
        name="infinite_chunked",
        sentence=gettext_noop("Sends a chunked body without an end."),
        write=_endless(CHUNKED, b"10000\r\n" + b" " * 65_536 + b"\r\n"),
    ),
    Fault(
        name="tiny_chunks",
        sentence=gettext_noop("Sends a body in chunks of one byte, without an end."),
        write=_endless(CHUNKED, b"1\r\n \r\n" * 10_000),
    ),
    Fault(
        name="endless_1xx",
        sentence=gettext_noop("Sends 102 Processing without an end, and never an answer."),
        write=_endless(b"", PROCESSING * 50, 0.01),
    ),
    Fault(
        name="endless_header",
        sentence=gettext_noop("Sends header fields without an end."),
        write=_endless(b"HTTP/1.1 200 OK\r\n", b"X-Field: " + b"a" * 4000 + b"\r\n"),
    ),
    Fault(
        name="many_headers",
        sentence=gettext_noop("Answers correctly, with so many more header fields."),
        takes="COUNT",
        argument="5000",
        check=whole,
        write=_many_headers,
    ),
    Fault(
        name="huge_body",
        sentence=gettext_noop("Announces a body of 64 MiB."),
        write=_says(serialise(200, b"{", JSON_TYPE, length=64 * 1024 * 1024)),
    ),
    Fault(
        name="garbage_status_line",
        sentence=gettext_noop("Sends bytes that are not HTTP."),
        write=_says(b"\x16\x03\x01garbage\r\n\r\n"),
    ),
    Fault(
        name="bad_chunk",
        sentence=gettext_noop("Sends a chunk whose size is no number."),
        write=_says(CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n"),
    ),
    Fault(
        name="length_too_small",
        sentence=gettext_noop("Announces half of the body's length."),
        write=_length_too_small,
    ),
    Fault(
        name="two_lengths",
        sentence=gettext_noop("Sends two Content-Length fields that differ."),
        write=_length_twice,
    ),
    Fault(
        name="length_and_chunks",
        sentence=gettext_noop("Sends Content-Length and Transfer-Encoding together; readers take the chunks."),
        write=_length_and_chunks,
    ),
    Fault(
        name="unexpected_101",
        sentence=gettext_noop("Switches protocols without being asked."),
        write=_says(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw"),
    ),
    Fault(
        name="early_hints",
        sentence=gettext_noop("Sends 103 Early Hints before the right answer, which is allowed."),
        write=_hints_first,
    ),
    Fault(
        name="extra_pipelined_response",
        sentence=gettext_noop("Writes a second response behind the right one, for the next call to read."),
        write=_two_answers,
    ),
    Fault(name="gzip", sentence=gettext_noop("Compresses the body although nobody asked for it."), write=_gzip),
    Fault(
        name="gzip_bomb",
        sentence=gettext_noop("Sends 200 kB that unpack to 200 MiB."),
        prepare=_bomb,
        write=_gzip_bomb,
    ),
)
