"""Requests both ways over one connection, and what happens when it ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core import BadInput, LimitReached, Unreachable, loops
from harness.fleet.channel import Channel, Gone, Methods, RemoteFault


@asynccontextmanager
async def connected(left: Methods, right: Methods) -> AsyncGenerator[tuple[Channel, Channel]]:
    """Two ends of a TCP connection."""
    end: asyncio.Future[Channel] = asyncio.get_running_loop().create_future()

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        end.set_result(Channel(reader, writer, right))

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    near = Channel(*await asyncio.open_connection("127.0.0.1", port), left)
    far = await end
    try:
        yield near, far
    finally:
        for channel in (near, far):
            channel.close()
            await channel.closed
        server.close()


def serve_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    Channel(reader, writer)


async def echo(value: Any) -> Any:
    return value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None)) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=25)
@given(JSON)
def test_every_json_value_arrives_as_it_was(value: Any) -> None:
    async def main() -> tuple[Any, Any]:
        async with connected({"echo": echo}, {"echo": echo}) as (one, other):
            return await asyncio.gather(one.ask("echo", value), other.ask("echo", value))

    assert list(asyncio.run(main())) == [value, value]


def test_lone_surrogates_and_long_integers_arrive() -> None:
    async def main() -> Any:
        async with connected({}, {"echo": echo}) as (one, _):
            return await one.ask("echo", ["\ud83d", 2**200])

    assert asyncio.run(main()) == ["\ud83d", 2**200]


def test_answers_come_as_they_are_ready() -> None:
    async def wait(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async def main() -> list[float]:
        ready = list[float]()
        async with connected({}, {"wait": wait}) as (one, _):

            async def ask(seconds: float) -> None:
                ready.append(await one.ask("wait", seconds))

            await asyncio.gather(*(ask(seconds) for seconds in (0.2, 0.0, 0.1)))
        return ready

    assert asyncio.run(main()) == [0.0, 0.1, 0.2]


def test_errors_keep_their_kind() -> None:
    kinds = {"bad": BadInput, "limit": LimitReached, "far": Unreachable, "bug": KeyError}

    async def fail(name: str) -> None:
        raise kinds[name](f"said {name}")

    async def main() -> None:
        async with connected({}, {"fail": fail}) as (one, _):
            for name, kind in list(kinds.items())[:3]:
                with pytest.raises(kind, match=f"said {name}"):
                    await one.ask("fail", name)
            with pytest.raises(RemoteFault, match=r"(?s)Traceback.*said bug"):
                await one.ask("fail", "bug")
            with pytest.raises(RemoteFault, match="no_such"):
                await one.ask("no_such")

    asyncio.run(main())


def test_who_is_cancelled_is_not_worked_for_any_more() -> None:
    async def main() -> bool:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def long(_: Any) -> None:
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()

        async with connected({}, {"long": long}) as (one, _):
            asked = asyncio.create_task(one.ask("long"))
            await begun.wait()
            asked.cancel()
            async with asyncio.timeout(5):
                await ended.wait()
            return asked.done()

    assert asyncio.run(main())


def test_when_one_end_goes_the_other_waits_no_longer() -> None:
    async def main() -> None:
        stopped = asyncio.Event()

        async def never(_: Any) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                stopped.set()

        async with connected({}, {"never": never}) as (one, other):
            asked = asyncio.create_task(one.ask("never"))
            await asyncio.sleep(0.05)
            other.close()
            with pytest.raises(Gone):
                await asked
            with pytest.raises(Gone):
                await one.ask("never")
            async with asyncio.timeout(5):
                await stopped.wait()

    asyncio.run(main())


def not_here(_: socket.socket) -> bool:
    """As if the other end were on another machine."""
    return False


@pytest.mark.parametrize("run", [asyncio.run, loops.run])
@pytest.mark.parametrize("here", [True, False])
def test_a_machine_that_falls_silent_is_noticed(
    run: Callable[[Any], Any], here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of this machine that is stopped may go on: its reading has no limit."""
    if not here:
        monkeypatch.setattr("harness.fleet.channel._on_this_machine", not_here)

    async def main() -> dict[str, int]:
        server = await asyncio.start_server(serve_nothing, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        channel = Channel(reader, writer)
        connection = writer.get_extra_info("socket")
        found = {
            name: connection.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
            for name in wanted
        }
        found["SO_KEEPALIVE"] = connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        channel.close()
        await channel.closed
        server.close()
        return found

    seconds = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
    seconds["TCP_USER_TIMEOUT"] = 0 if here else 60_000
    wanted = {name: value for name, value in seconds.items() if hasattr(socket, name)}
    assert run(main()) == {**wanted, "SO_KEEPALIVE": 1}


@pytest.mark.parametrize("run", [asyncio.run, loops.run])
def test_a_connection_that_ended_before_it_was_a_channel_is_gone(run: Callable[[Any], Any]) -> None:
    async def main() -> None:
        server = await asyncio.start_server(serve_nothing, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.transport.abort()
        await asyncio.sleep(0.05)
        channel = Channel(reader, writer)
        async with asyncio.timeout(5):
            with pytest.raises(Gone):
                await channel.ask("never")
        server.close()

    run(main())


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x01\x07", b"\xff" * 8, b"\0\0\0\x02\x91\x01",
        b"\0\x01\0\0\xc1" + b"[" * 0xFFFF,
    ],
)  # fmt: skip
def test_another_protocol_is_hung_up_on(data: bytes) -> None:
    async def main() -> bytes:
        server = await asyncio.start_server(serve_nothing, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", server.sockets[0].getsockname()[1]
        )
        writer.write(data)
        async with asyncio.timeout(5):
            try:
                rest = await reader.read()
            except ConnectionResetError:
                rest = b""
        writer.close()
        server.close()
        return rest

    assert asyncio.run(main()) == b""
