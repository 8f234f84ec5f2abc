"""Requests in both directions over one connection between a driver and a worker.

A frame is four bytes of length (big-endian) and a msgpack array `[kind, number, name, value]`.
Frames of one turn of the event loop leave in one write. When the connection ends, whatever the
reason, everything that waits on it fails with :class:`Gone` and what it had asked for is cancelled.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, cast

import ormsgpack

from harness.core import BadInput, LimitReached, Refused, Unreachable

Handler = Callable[[Any], Awaitable[Any]]
Methods = Mapping[str, Handler]

_ASK, _ANSWER, _FAIL, _CANCEL, _TELL = range(5)
_LENGTH = struct.Struct(">I")
MOST_BYTES = 1 << 30
"""Of one frame; more is a fault, or somebody else's protocol."""
IDLE_S, PROBE_S, PROBES = 15, 5, 3
"""A silent machine is asked for a sign of life after 15 s, and then every 5 s."""
UNREAD_S = 60
"""Another machine is given up after so long without a sign of life, or with nothing read."""
_ERRORS = {kind.__name__: kind for kind in (BadInput, LimitReached, Refused, Unreachable)}


_JSON = b"\xc1"
"""Begins no msgpack value. What msgpack does not take (lone surrogates, long integers) is JSON."""


class Gone(ConnectionError):
    """The other side is not there any more."""


class RemoteFault(RuntimeError):
    """A fault on the other side that no user can act on; the message is its traceback."""


class Channel(asyncio.Protocol):
    """One end of a connection.

    Args:
        methods: what the other side may ask for or tell; may be changed later.

    Attributes:
        closed: done when the connection has ended.
    """

    def __init__(self, methods: Methods | None = None) -> None:
        self.methods: Methods = methods or {}
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._received, self._out = bytearray(), list[bytes]()
        self._numbers = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._working: dict[int, asyncio.Task[None]] = {}
        self._notices: set[asyncio.Future[Any]] = set()
        self._writable = asyncio.Event()
        self._writable.set()

    async def ask(self, name: str, value: Any = None) -> Any:
        """What the other side answers; it stops working on it when this is cancelled.

        Raises:
            HarnessError: as raised there.
            RemoteFault: for any other error there.
            Gone: if the connection ends before the answer.
        """
        await self._writable.wait()
        if self.closed.done():
            raise Gone("the connection has ended")
        self._numbers += 1
        number, answer = self._numbers, asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._send(_ASK, number, name, value)
        try:
            return await answer
        except asyncio.CancelledError:
            self._send(_CANCEL, number, "", None)
            raise
        finally:
            self._waiting.pop(number, None)

    def tell(self, name: str, value: Any = None) -> None:
        """Say something that needs no answer; lost if the connection has ended."""
        self._send(_TELL, 0, name, value)

    def close(self) -> None:
        """End the connection once everything said so far has left."""
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        self._transport = cast("asyncio.Transport", transport)
        _notice_loss(transport.get_extra_info("socket"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(Gone("the connection ended before the answer"))
        for work in self._working.values():
            work.cancel()
        self._writable.set()
        if not self.closed.done():
            self.closed.set_result(None)

    def pause_writing(self) -> None:
        """Called by asyncio when the other side reads too slowly."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Called by asyncio."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        self._received += data
        start = 0
        try:
            while len(self._received) - start >= _LENGTH.size:
                length = int(_LENGTH.unpack_from(self._received, start)[0])
                if length > MOST_BYTES:
                    raise ValueError(f"a frame of {length} bytes")
                end = start + _LENGTH.size + length
                if len(self._received) < end:
                    break
                frame = bytes(self._received[start + _LENGTH.size : end])
                is_json = frame[:1] == _JSON
                self._take(*(json.loads(frame[1:]) if is_json else ormsgpack.unpackb(frame)))
                start = end
        except (ValueError, TypeError):  # not our protocol
            if self._transport is not None:
                self._transport.abort()
        del self._received[:start]

    def _take(self, kind: int, number: int, name: str, value: Any) -> None:
        if kind == _ASK:
            work = asyncio.get_running_loop().create_task(self._work(number, name, value))
            self._working[number] = work
            work.add_done_callback(lambda _: self._working.pop(number, None))
        elif kind == _TELL:
            work = asyncio.ensure_future(self.methods[name](value))
            self._notices.add(work)
            work.add_done_callback(self._notices.discard)
        elif kind == _CANCEL:
            if number in self._working:
                self._working[number].cancel()
        elif (answer := self._waiting.get(number)) is not None and not answer.done():
            if kind == _ANSWER:
                answer.set_result(value)
            else:
                answer.set_exception(_ERRORS.get(name, RemoteFault)(value))

    async def _work(self, number: int, name: str, value: Any) -> None:
        try:
            answer = await self.methods[name](value)
        except Exception as error:  # noqa: BLE001  # the one who asked gets it, whatever it is
            kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _ERRORS]
            text = str(error) if kinds else "".join(traceback.format_exception(error))
            self._send(_FAIL, number, kinds[0] if kinds else "", text)
        else:
            self._send(_ANSWER, number, "", answer)

    def _send(self, *frame: Any) -> None:
        if self.closed.done():
            return
        if not self._out:
            asyncio.get_running_loop().call_soon(self._flush)
        try:
            packed = ormsgpack.packb(frame)
        except TypeError:
            packed = _JSON + json.dumps(frame).encode()
        self._out.append(_LENGTH.pack(len(packed)))
        self._out.append(packed)

    def _flush(self) -> None:
        out, self._out = self._out, []
        if out and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(out))


def _notice_loss(connection: socket.socket | None) -> None:
    """Let the kernel end a connection whose other machine lost its power or its network.

    Nothing says so otherwise: the driver only waits while an attempt is made elsewhere.
    """
    if connection is None:
        return
    options = (
        (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
        (socket.IPPROTO_TCP, "TCP_KEEPIDLE", IDLE_S),
        (socket.IPPROTO_TCP, "TCP_KEEPINTVL", PROBE_S),
        (socket.IPPROTO_TCP, "TCP_KEEPCNT", PROBES),
        (
            socket.IPPROTO_TCP,
            "TCP_USER_TIMEOUT",
            0 if _on_this_machine(connection) else 1000 * UNREAD_S,
        ),
    )
    for level, name, value in options:
        if (option := getattr(socket, name, None)) is not None:  # not every system has all
            with suppress(OSError):
                connection.setsockopt(level, option, value)


def _on_this_machine(connection: socket.socket) -> bool:
    """Whether the other end is a process of this machine: that may be stopped, and go on."""
    try:
        return ip_address(connection.getpeername()[0]).is_loopback
    except (OSError, IndexError, ValueError):
        return True
