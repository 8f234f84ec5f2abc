"""Hostile model servers: a real socket, the real client, and what is paid, stored and shown."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import zstandard

from harness.core import BadInput, LimitReached, Unreachable
from harness.core.rundir import RunReader
from harness.evals import records
from harness.models import (
    Budget,
    CallStore,
    LimitedModel,
    Reply,
    SampleLimitReached,
    SampleLimits,
    Sampling,
    open_model,
    transport,
)
from harness.rag.retrieve import open_encoder, open_reranker
from tests.attacks.running import KEY, suite_of
from tests.models.http_server import Answer, completion, error, serve, serve_raw
from tests.typed import typed

BUDGET = 2_000


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key to steal, and quick retries."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(transport, "BASE_S", 0.01)


def ask(url: str, text: str = "hi", **options: Any) -> Reply:
    """One call of a client of its own."""
    limits: SampleLimits | None = options.pop("limits", None)
    options.setdefault("sampling", Sampling(max_tokens=8, timeout_s=30))

    async def run() -> Reply:
        model = open_model("openai/m", base_url=url, **options)
        try:
            asked = model if limits is None else LimitedModel(model, limits)
            return await asked.complete([{"role": "user", "content": text}])
        finally:
            await model.aclose()

    return asyncio.run(run())


def test_redirect() -> None:
    """The server redirects requests to another host, which collects prompts and keys."""
    with serve(lambda _: completion("mine")) as thief:
        place = thief.url.replace("127.0.0.1", "localhost") + "/chat/completions"
        for status in (301, 302, 303, 307, 308):
            with (
                serve(lambda _, status=status: (status, {"Location": place}, b"")) as server,
                pytest.raises(Unreachable, match="redirects to 'http://localhost"),
            ):
                ask(server.url)
    assert thief.headers == []


@pytest.mark.parametrize("status", [302, 307, 308])
def test_embeddings_redirect(status: int) -> None:
    """The endpoint of embeddings redirects documents to another host, or floods us."""
    with serve(lambda _: completion("mine")) as thief:
        place = thief.url.replace("127.0.0.1", "localhost") + "/embeddings"
        with (
            serve(lambda _: (status, {"Location": place}, b"")) as server,
            pytest.raises(Unreachable, match="does not answer"),
        ):
            open_encoder("openai/m", base_url=server.url).encode(["a secret document"])
    assert thief.bodies == []
    with (
        serve(lambda _: (200, {}, b" " * 40_000_000 + b"{}")) as server,
        pytest.raises(Unreachable, match="more than 32 MiB"),
    ):
        open_encoder("openai/m", base_url=server.url).encode(["a"])


CLIENTS: dict[str, Callable[[str], object]] = {
    "model": ask,
    "encoder": lambda url: open_encoder("openai/m", base_url=url).encode(["a"]),
    "reranker": lambda url: open_reranker(f"{url}/rerank#m").score("a", ["b"]),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("packing", ["gzip", "gzip, gzip", "zstd"])
def test_bomb(packing: str, client: str) -> None:
    """A reply of some kilobytes unpacks to 200 MB, packed once, twice, or by what was not asked."""
    packer = (
        zstandard.ZstdCompressor().compressobj()
        if packing == "zstd"
        else zlib.compressobj(wbits=31)
    )
    content = b"".join(packer.compress(b" " * 1_000_000) for _ in range(200)) + packer.flush()
    if packing == "gzip, gzip":
        content = gzip.compress(content)
    with serve(lambda _: (200, {"Content-Encoding": packing}, content)) as server:
        tracemalloc.start()
        try:
            with pytest.raises(Unreachable, match=r"more than 32 MiB|'gzip, gzip'|'zstd'"):
                CLIENTS[client](server.url)
            assert tracemalloc.get_traced_memory()[1] < 150_000_000
        finally:
            tracemalloc.stop()
    assert server.headers[0]["accept-encoding"] == "gzip, deflate, identity"
    assert len(server.bodies) == 1, "what would be too large again is not asked for again"


def test_endless_error() -> None:
    """An error's text goes on without end, at full speed."""

    async def write(_: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            await writer.drain()

    with serve_raw(write) as url, pytest.raises(Unreachable, match="more than"):
        ask(url)


def test_drip() -> None:
    """A reply that is whole drips on without end, byte by byte, to hold an attempt for ever."""

    async def write(_: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1\r\n \r\n")
            await writer.drain()
            await asyncio.sleep(0.02)

    with serve_raw(write) as url:
        with pytest.raises(SampleLimitReached, match=r"0\.3 seconds"):
            ask(url, limits=SampleLimits(seconds=0.3))
        with pytest.raises(SampleLimitReached, match=r"0\.3 seconds of work"):
            ask(url, limits=SampleLimits(working=0.3))


HEADS = {
    "a header of 1 MB": b"X-Long: " + b"x" * 1_000_000 + b"\r\nContent-Length: 2\r\n\r\n{}",
    "100,000 headers": b"".join(b"X-%d: 1\r\n" % n for n in range(100_000)) + b"\r\n",
    "a length below zero": b"Content-Length: -5\r\n\r\n{}",
    "a length of 4,000 digits": b"Content-Length: " + b"9" * 4000 + b"\r\n\r\n{}",
    "two lengths": b"Content-Length: 2\r\nContent-Length: 99\r\n\r\n{}",
    "a chunk of exabytes": b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{",
    "a length and chunks": b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("kind", HEADS)
def test_head(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The head of a reply lies: lengths below zero, huge or doubled, headers without end."""
    monkeypatch.setattr(transport, "ATTEMPTS", 1)

    async def write(_: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\n" + HEADS[kind])
        await writer.drain()
        return False

    with serve_raw(write) as url, pytest.raises(Unreachable):
        ask(url, sampling=Sampling(timeout_s=2, max_tokens=8))


LIES: dict[str, Any] = {
    "below zero": -5_000_000,
    "text": "7",
    "fraction": 0.5,
    "huge fraction": 1e308,
    "true": True,
    "null": None,
    "list": [1],
    "400 digits": 10**400,
    "zero": 0,
}


@pytest.mark.parametrize("kind", LIES)
def test_usage(kind: str, tmp_path: Path) -> None:
    """A reply says that it used -5,000,000 tokens, none, true or 10^400, to refund the budget."""

    def answer(_: dict[str, Any]) -> Answer:
        status, headers, content = completion()
        body = {**json.loads(content), "usage": dict.fromkeys(("prompt_tokens",), LIES[kind])}
        body["usage"] |= {"completion_tokens": LIES[kind], "total_tokens": LIES[kind]}
        return status, headers, json.dumps(body).encode()

    budget = Budget(tokens=BUDGET)
    with serve(answer) as server, CallStore(tmp_path / "calls.sqlite") as calls:
        with pytest.raises(LimitReached):
            for number in range(BUDGET):
                ask(server.url, str(number), budget=budget, calls=calls)
                assert budget.spent.tokens > 0
        # As a run that is resumed counts it.
        assert calls.spend().tokens == budget.spent.tokens <= BUDGET
        assert calls.usage().tokens == 0


@pytest.mark.parametrize(
    "asked", ["99999999", "9" * 5000 + "h", "Wed, 21 Oct 2099 07:28:00 GMT", "1e308"]
)
def test_retry_after(asked: str) -> None:
    """A refusal asks the client to come back in three years, or in 2099."""
    with serve(lambda _: error(429, **{"Retry-After": asked})) as server:
        began = time.monotonic()
        with pytest.raises(Unreachable, match="429"):
            ask(server.url)
    assert time.monotonic() - began < 20
    assert len(server.bodies) == 1 or asked == "1e308"


def test_retry_date() -> None:
    """A refusal names a date that no calendar has, below zero, or in the past."""
    dates = ["Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "-5", "Mon, 01 Jan 0001 00:00:00 GMT"]
    answers = [*(error(429, **{"Retry-After": date}) for date in dates), completion("in the end")]
    with serve(lambda _: answers.pop(0)) as server:
        assert ask(server.url).text == "in the end"


BODIES: dict[str, bytes] = {
    "half a character, encoded": completion("HERE")[2].replace(b"HERE", b"\xed\xa0\xbd"),
    "half a character, in UTF-16": completion("\ud83d")[2].decode().encode("utf-16"),
    "a number of 5,000 digits": completion()[2].replace(b'd": 0', b'd": ' + b"9" * 5000),
    "thoughts that are no text": completion("x", reasoning={"a": [1]})[2],
    "thoughts that are a list": completion("x", reasoning_content=[1])[2],
}  # fmt: skip


@pytest.mark.parametrize("kind", BODIES)
def test_body(kind: str, tmp_path: Path) -> None:
    """A reply in JSON has half a character, 5,000 digits or thoughts of a wrong type in it."""
    broken: Answer = (200, {}, BODIES[kind])
    answers = [broken] * transport.ATTEMPTS
    store = CallStore(tmp_path / "calls.sqlite")
    with serve(lambda _: answers.pop(0)) as server, store as calls:
        with pytest.raises(Unreachable, match="expected a chat completion"):
            ask(server.url, calls=calls)
        # What cannot be read is not stored as the answer for ever.
        answers += [broken, completion("sound")]
        assert ask(server.url, calls=calls).text == "sound"


ARGUMENTS = {
    "half a character": '{"path": "\\ud83d", "x": "\\udc00"}',
    "NUL": '{"path": "a\\u0000b"}',
    "5,000 digits": '{"path": ' + "9" * 5000 + "}",
    "nested": '{"path": ' + "[" * 100_000 + "}",
    "twice one key": '{"path": "SKILL.md", "path": "../../etc/passwd"}',
}
"""Of the tool `read_skill_file`."""


@pytest.mark.parametrize("protocol", ["native", "text"])
def test_tool_arguments(protocol: str, tmp_path: Path) -> None:
    """Tool calls have half characters, NUL, 5,000 digits or 100,000 brackets as arguments."""
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: skill\ndescription: d\n---\nRead.\n")
    (skill / "more.md").write_text("more")

    def answer(body: dict[str, Any]) -> Answer:
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        kind = next(message["content"] for message in body["messages"] if message["role"] == "user")
        if turn:
            end = "done\u0000\u001b]0;x\u0007" + (
                "ACTION: TASK_COMPLETE" if protocol == "text" else ""
            )
            return completion(end)
        raw = ARGUMENTS[kind]
        if protocol == "text":
            return completion(
                'Thought: x\nAction: {"name": "read_skill_file", "arguments": ' + raw + "}"
            )
        function = {"name": "read_skill_file", "arguments": raw}
        call = {"id": "c", "type": "function", "function": function}
        return completion("", tool_calls=[call])

    rows = [{"id": kind, "prompt": kind, "answer": "done"} for kind in ARGUMENTS]
    head = {"protocol": protocol, "tools": ["read_skill_file"], "agent": "graph:react"}
    suite = suite_of(tmp_path / "suite", rows, **head)
    with serve(answer) as server:
        done = typed(
            "eval", suite, "--skill", skill, "--out", tmp_path / "run", "--sandbox", "none",
            "--model", "openai/m", "--base-url", server.url, "--junit", tmp_path / "j.xml",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    reasons = {
        item.id: item.reason for item in records(tmp_path / "run") if item.outcome == "invalid"
    }
    assert reasons == {}
    assert len([*RunReader(tmp_path / "run").trajectories()]) == len(ARGUMENTS)
    assert ElementTree.parse(tmp_path / "j.xml").getroot().tag == "testsuites"
    for target in ("atif", "openai", "sharegpt", "inspect"):
        out = tmp_path / target
        done = typed("trajectories", "export", tmp_path / "run", "--format", target, "--out", out)
        assert done.returncode == 0, done.stderr[-500:]
    done = typed("view", tmp_path / "run", "--html", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr[-500:]
    assert "\0" not in (tmp_path / "page.html").read_text("utf-8")


def test_many_tool_calls(tmp_path: Path) -> None:
    """One reply asks for 400 tool calls, each slow, to outlast the time limit of the attempt."""
    call = {"type": "function", "function": {"name": "python", "arguments": "{}"}}
    calls = [{**call, "id": f"c{n}"} for n in range(400)]
    calls = [
        {**c, "function": {"name": "bash", "arguments": '{"command": "sleep 0.5"}'}} for c in calls
    ]
    rows = [{"id": "t", "prompt": "p", "answer": "1"}]
    suite = suite_of(
        tmp_path / "suite", rows, protocol="native", tools=["bash"], agent="graph:react"
    )
    with serve(lambda _: completion("", tool_calls=calls)) as server:
        began = time.monotonic()
        typed(
            "eval", suite, "--out", tmp_path / "run", "--sandbox", "none", "--time-limit", "2",
            "--model", "openai/m", "--base-url", server.url,
        )  # fmt: skip
    assert time.monotonic() - began < 60
    (item,) = records(tmp_path / "run")
    assert item.outcome == "invalid" and "2 seconds" in item.reason


def test_key_in_error() -> None:
    """An error repeats the key of the request, so that it is shown and stored."""
    with (
        serve(lambda _: error(400, f"you sent {KEY}")) as server,
        pytest.raises(BadInput) as caught,
    ):
        ask(server.url)
    assert KEY not in str(caught.value)
