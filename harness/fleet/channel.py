"""Requests in both directions over one connection between a driver and a worker.

A frame is four bytes of length (big-endian) and a msgpack array `[kind, number, name, value]`.
When the connection ends, whatever the reason, everything that waits on it fails with :class:`Gone`
and what it had asked for is cancelled.
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
from itertools import count
from typing import Any

import ormsgpack

from harness.core import BadInput, LimitReached, Refused, Unreachable

Handler = Callable[[Any], Awaitable[Any]]
Methods = Mapping[str, Handler]

_ASK, _ANSWER, _FAIL, _CANCEL, _TELL = range(5)
_LENGTH = struct.Struct(">I")
MOST_BYTES = 1 << 30
"""Of one frame; more is a fault, or somebody else's protocol."""
_ERRORS = {kind.__name__: kind for kind in (BadInput, LimitReached, Refused, Unreachable)}
_JSON = b"\xc1"
"""Begins no msgpack value. What msgpack does not take (lone surrogates, long integers) is JSON."""
UNREAD_MS = 60_000
"""Another machine is given up after so long without a sign of life, or with nothing read."""
_KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
"""A silent machine is asked for a sign of life after 15 s, and then every 5 s."""


class Gone(ConnectionError):
    """The other side is not there any more."""


class RemoteFault(RuntimeError):
    """A fault on the other side that no user can act on; the message is its traceback."""


class Channel:
    """One end of a connection; made in a running event loop.

    Args:
        reader: of the connection.
        writer: of the connection.
        methods: what the other side may ask for or tell; may be changed later.

    Attributes:
        closed: done when the connection has ended.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        methods: Methods | None = None,
    ) -> None:
        self.methods: Methods = methods or {}
        self._reader, self._writer = reader, writer
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._working: dict[int, asyncio.Task[None]] = {}
        self._notices: set[asyncio.Future[Any]] = set()
        _notice_loss(writer.get_extra_info("socket"))
        self.closed = asyncio.create_task(self._receive())

    async def ask(self, name: str, value: Any = None) -> Any:
        """Ask the other side; it stops working on its answer when this is cancelled.

        Raises:
            HarnessError: as raised there.
            RemoteFault: for any other error there.
            Gone: if the connection ends before the answer.
        """
        try:
            await self._writer.drain()
        except OSError as error:
            raise Gone("the connection has ended") from error
        if self.closed.done():
            raise Gone("the connection has ended")
        number, answer = next(self._numbers), asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._send(_ASK, number, name, value)
        try:
            return await answer
        except asyncio.CancelledError:
            self._send(_CANCEL, number, "", None)
            raise
        finally:
            del self._waiting[number]

    def tell(self, name: str, value: Any = None) -> None:
        """Say something that needs no answer; lost if the connection has ended."""
        self._send(_TELL, 0, name, value)

    def close(self) -> None:
        """End the connection once everything said so far has left."""
        self._writer.close()

    async def _receive(self) -> None:
        """Take frames until the connection ends, or the other side speaks another protocol."""
        try:
            while True:
                (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
                if length > MOST_BYTES:
                    raise ValueError(f"a frame of {length} bytes")
                frame = await self._reader.readexactly(length)
                is_json = frame[:1] == _JSON
                self._take(*(json.loads(frame[1:]) if is_json else ormsgpack.unpackb(frame)))
        except (EOFError, LookupError, OSError, RecursionError, TypeError, ValueError):
            pass
        finally:
            self._writer.close()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(Gone("the connection ended before the answer"))
            for work in self._working.values():
                work.cancel()

    def _take(self, kind: int, number: int, name: str, value: Any) -> None:
        if kind == _ASK:
            work = asyncio.create_task(self._work(number, name, value))
            self._working[number] = work
            work.add_done_callback(lambda _: self._working.pop(number, None))
        elif kind == _TELL:
            notice = asyncio.ensure_future(self.methods[name](value))
            self._notices.add(notice)
            notice.add_done_callback(self._notices.discard)
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
        except Exception as error:  # noqa: BLE001  # the one who asks gets it, whatever it is
            kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _ERRORS]
            text = str(error) if kinds else "".join(traceback.format_exception(error))
            self._send(_FAIL, number, kinds[0] if kinds else "", text)
        else:
            self._send(_ANSWER, number, "", answer)

    def _send(self, *frame: Any) -> None:
        if self._writer.is_closing():
            return
        try:
            packed = ormsgpack.packb(frame)
        except TypeError:
            packed = _JSON + json.dumps(frame).encode()
        self._writer.write(_LENGTH.pack(len(packed)) + packed)


def _notice_loss(connection: socket.socket | None) -> None:
    """Let the kernel end a connection whose other machine lost its power or its network.

    Nothing says so otherwise: the driver only waits while an attempt is made elsewhere.
    """
    if connection is None:  # uvloop's answer for one that has ended
        return
    unread_ms = 0 if _on_this_machine(connection) else UNREAD_MS
    with suppress(OSError):  # it has ended
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in {**_KEEPALIVE, "TCP_USER_TIMEOUT": unread_ms}.items():
        if (option := getattr(socket, name, None)) is not None:  # not every system has all
            with suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, option, value)


def _on_this_machine(connection: socket.socket) -> bool:
    """Return True if the other end is a process of this machine: that may be stopped, and go on."""
    try:
        return ip_address(connection.getpeername()[0]).is_loopback
    except OSError:  # it has gone
        return True
