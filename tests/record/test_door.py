"""The proxy's door, the record of broken exchanges, budgets and misses; one request at a time."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from base64 import b64decode
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from starlette.responses import StreamingResponse

from harness import models
from harness.cli import cli
from harness.core import BadInput, http
from harness.models import Budget
from harness.record import Recording, find_upstream
from harness.record.cli.record import record
from harness.record.exchanges import FILE, LogWriter, read_log
from tests.record.asking import Open, ask
from tests.record.provider import KEY, Answer, Json, Provider, Said, Seen, provide
from tests.record.speaking import speaking

HELLO: Json = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
STREAM = {**HELLO, "stream": True}
CHAT = "/v1/chat/completions"
said_hello = speaking(lambda _: Said("Hello to you, my friend"))


def saying(message: str) -> Json:
    return {**HELLO, "messages": [{"role": "user", "content": message}]}


def test_other_hosts_origins_and_paths_are_refused(tmp_path: Path) -> None:
    async def work(opened: Open) -> list[int]:
        port = httpx.URL(opened.url).port
        found = [
            await opened.post(CHAT, HELLO, host="evil.example"),
            await opened.post(CHAT, HELLO, origin="https://evil.example"),
            await opened.post(CHAT, HELLO, origin="null"),
            await opened.client.post(f"http://127.0.0.1:{port}{CHAT}", json=HELLO),
            await opened.post(CHAT, HELLO, origin=f"http://127.0.0.1:{port}"),
        ]
        with pytest.raises(httpx.ConnectError):
            await opened.client.post(f"http://127.0.0.2:{port}{CHAT}", json=HELLO)
        return [one.status_code for one in found]

    with provide(said_hello) as provider:
        assert ask(tmp_path / "r", provider.url, work) == [403, 403, 403, 403, 200]
        assert len(provider.seen) == 1


def test_a_web_socket_is_refused_so_that_clients_turn_to_http(tmp_path: Path) -> None:
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-version": "13",
    }

    async def work(opened: Open) -> list[int]:
        asked = await opened.client.get(f"{opened.url}/v1/responses", headers=upgrade)
        return [asked.status_code, (await opened.post(CHAT, HELLO)).status_code]

    with provide(said_hello) as provider:
        assert ask(tmp_path / "r", provider.url, work) == [426, 200]
        assert [seen.path for seen in provider.seen] == [CHAT]


def test_what_cannot_be_sent_on_is_refused_and_what_is_strange_is_sent_on(tmp_path: Path) -> None:
    deep = b'{"messages": ' + b"[" * 600 + b"]" * 600 + b"}"
    strange = [{"role": "user", "content": [5]}, 7]

    async def work(opened: Open) -> list[int]:
        found = [
            await opened.client.get(f"{opened.url}/v1/models%00"),
            await opened.client.post(f"{opened.url}{CHAT}", content=deep),
            await opened.post(CHAT, {**HELLO, "messages": strange, "system": [5]}),
            await opened.post(CHAT, HELLO),
        ]
        assert "cannot be sent" in found[0].json()["error"]["message"]
        assert "nested too deeply" in found[1].json()["error"]["message"]
        return [one.status_code for one in found]

    with provide(said_hello) as provider:
        codes = ask(tmp_path / "r", provider.url, work, budget=Budget(tokens=100_000))
        assert codes == [400, 400, 200, 200]
        assert [seen.body.get("messages") for seen in provider.seen] == [
            strange, HELLO["messages"]
        ]  # fmt: skip


@pytest.mark.parametrize("kind", ["stream", "whole"])
def test_a_long_reply_is_given_up(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MAX_BYTES", 300)

    async def work(opened: Open) -> str:
        return (await opened.post(CHAT, STREAM if kind == "stream" else HELLO)).text

    with provide(speaking(lambda _: Said("Hello to you, my friend " * 40))) as provider:
        assert "more than 0 MiB" in ask(tmp_path / "r", provider.url, work)


@pytest.mark.parametrize("kind", ["stream", "whole"])
def test_a_cut_connection_loses_nothing_and_replays_cut(kind: str, tmp_path: Path) -> None:
    def script(provider: Provider, seen: Seen) -> Answer:
        answer = said_hello(provider, seen)
        answer.cut_after = 3 if kind == "stream" else 40
        return answer

    async def work(opened: Open) -> str:
        if kind == "whole":
            got = await opened.post(CHAT, HELLO)
            return f"{got.status_code} {got.json()['error']['message']}"
        text = ""
        with pytest.raises(httpx.RemoteProtocolError):
            async with opened.client.stream("POST", opened.url + CHAT, json=STREAM) as stream:
                async for piece in stream.aiter_text():
                    text += piece
        return text

    with provide(script) as provider:
        first = ask(tmp_path / "r", provider.url, work)
    assert ("to " in first) if kind == "stream" else ("502 " in first and "40 bytes" in first)
    [kept] = Recording(tmp_path / "r").exchanges
    assert kept.outcome == "cut"
    data = b"".join(kept.data).decode()
    assert data == first if kind == "stream" else len(data) == 40
    assert ask(tmp_path / "r", None, work) == first


def test_a_client_that_leaves_is_recorded_up_to_there(tmp_path: Path) -> None:
    def script(provider: Provider, seen: Seen) -> Answer:
        answer = said_hello(provider, seen)
        answer.delay_s = 0.15
        return answer

    async def work(opened: Open) -> None:
        async with opened.client.stream("POST", opened.url + CHAT, json=STREAM) as stream:
            async for _ in stream.aiter_text():
                break

    with provide(script) as provider:
        ask(tmp_path / "r", provider.url, work)
    [kept] = Recording(tmp_path / "r").exchanges
    assert kept.outcome == "left"
    assert kept.data


def test_an_event_that_nobody_waits_for_is_written(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    sent = [log.add({"event": "session", "session": str(number)}) for number in range(50)]
    cancelled = [future for future in sent if future.cancel()]
    log.close()
    assert cancelled
    assert [event["session"] for event in read_log(tmp_path)] == [str(n) for n in range(50)]


def test_half_a_character_is_passed_on_and_recorded(tmp_path: Path) -> None:
    content = json.dumps(saying("Cut: \ud83d")).encode()

    async def work(opened: Open) -> int:
        sent = {"content-type": "application/json"}
        return (
            await opened.client.post(opened.url + CHAT, content=content, headers=sent)
        ).status_code

    with provide(said_hello) as provider:
        assert ask(tmp_path / "r", provider.url, work) == 200
        assert [seen.body for seen in provider.seen] == [saying("Cut: \ud83d")]
    assert ask(tmp_path / "r", None, work) == 200
    [exchange] = Recording(tmp_path / "r").exchanges
    assert exchange.request.body == saying("Cut: \ufffd")


def test_a_stream_is_known_by_its_type_in_any_case() -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        yield b"data: {}\n\n"
        raise httpx.ReadError("cut")

    async def begin() -> bool:
        response = await models.Answer(
            200, {"content-type": "Text/Event-Stream"}, pieces()
        ).response()
        return isinstance(response, StreamingResponse)

    assert asyncio.run(begin())


def test_what_a_kill_leaves_is_read_and_gone_on_with(tmp_path: Path) -> None:
    async def work(opened: Open) -> None:
        await opened.post(CHAT, HELLO)

    with provide(said_hello) as provider:
        ask(tmp_path / "r", provider.url, work)
        path = tmp_path / "r" / FILE
        torn = path.read_bytes()[:-5]
        path.write_bytes(torn)
        [kept] = Recording(tmp_path / "r").exchanges
        assert (kept.outcome, kept.status) == (None, 200)
        ask(tmp_path / "r", provider.url, work)
        assert [one.outcome for one in Recording(tmp_path / "r").exchanges] == [None, "complete"]
        ask(tmp_path / "r", provider.url, work)
        assert len(provider.seen) == 2, "what was answered whole is not asked again"


def test_an_unreachable_upstream_is_a_502(tmp_path: Path) -> None:
    async def work(opened: Open) -> int:
        return (await opened.post(CHAT, HELLO)).status_code

    assert ask(tmp_path / "r", "http://127.0.0.1:9", work) == 502
    assert Recording(tmp_path / "r").exchanges[0].outcome == "unreachable"


def test_the_same_request_gets_its_recorded_answers_in_order(tmp_path: Path) -> None:
    def script(provider: Provider, seen: Seen) -> Answer:
        if len(provider.seen) == 1:
            return Answer({"error": {"message": "slow down"}}, status=429)
        return speaking(lambda _: Said(f"answer {len(provider.seen)}"))(provider, seen)

    async def work(opened: Open) -> list[str]:
        return [(await opened.post(CHAT, HELLO)).text for _ in range(3)]

    with provide(script) as provider:
        first = ask(tmp_path / "r", provider.url, work)
    assert "slow down" in first[0]
    assert "answer 2" in first[1]
    assert "answer 3" in first[2]
    assert ask(tmp_path / "r", None, work) == first


def test_a_miss_says_which_message_differs(tmp_path: Path) -> None:
    long: list[Json] = [{"role": "user", "content": f"line {at}"} for at in range(4)]

    async def record_it(opened: Open) -> None:
        await opened.post(CHAT, {"model": "m", "messages": long})

    async def miss(opened: Open) -> list[Any]:
        other = [*long[:2], {"role": "user", "content": "line two"}, long[3]]
        found = [
            await opened.post(CHAT, {"model": "m", "messages": other}),
            await opened.post(CHAT, {"model": "m", "messages": long[:3]}),
            await opened.post(CHAT, {"model": "n", "messages": long}),
            await opened.client.get(f"{opened.url}/v1/models"),
        ]
        assert {one.status_code for one in found} == {404}
        assert {one.headers["x-should-retry"] for one in found} == {"false"}
        return [one.json()["error"]["message"] for one in found]

    with provide(said_hello) as provider:
        ask(tmp_path / "r", provider.url, record_it)
    messages = ask(tmp_path / "r", None, miss)
    assert "messages[2]: asked …" in messages[0]
    assert "line two" in messages[0]
    assert "asked 3, recorded 4; the first 3 agree" in messages[1]
    assert "model: asked …'\"n\"'" in messages[2]
    assert "nothing was recorded for GET /v1/models" in messages[3]


def test_budgets_hold_and_their_refusal_is_final(tmp_path: Path) -> None:
    async def work(opened: Open) -> list[int]:
        found = [await opened.post(CHAT, saying(f"number {at}")) for at in range(3)]
        assert "budget of 2 calls" in found[2].json()["error"]["message"]
        assert found[2].headers["x-should-retry"] == "false"
        assert opened.proxy.limit
        return [one.status_code for one in found]

    with provide(said_hello) as provider:
        budget = Budget(calls=2)
        assert ask(tmp_path / "r", provider.url, work, budget=budget) == [200, 200, 429]
        assert len(provider.seen) == 2
    assert budget.spent.tokens == 214


def test_a_token_budget_bounds_each_answer(tmp_path: Path) -> None:
    async def work(opened: Open) -> list[int]:
        small, large = {**HELLO, "max_tokens": 5}, saying("without a bound")
        found = [await opened.post(CHAT, body) for body in (small, large)]
        return [one.status_code for one in found]

    with provide(said_hello) as provider:
        budget = Budget(tokens=3000)
        assert ask(tmp_path / "r", provider.url, work, budget=budget) == [200, 429]
        assert provider.seen[0].body["max_tokens"] == 5


UNBOUNDED: dict[str, bytes] = {
    "n": json.dumps({**HELLO, "n": 50}).encode(),
    "best_of": json.dumps({**HELLO, "best_of": 2}).encode(),
    "tier": json.dumps({**HELLO, "service_tier": "priority"}).encode(),
    "NaN": json.dumps({**HELLO, "metadata": float("nan")}).encode(),
    "levels": b'{"metadata":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "gzip": gzip.compress(json.dumps(HELLO).encode()),
    "list": json.dumps([HELLO]).encode(),
    "doubled n": b'{"n": 50, "n": 1, ' + json.dumps(HELLO).encode()[1:],
    "doubled bound": b'{"max_tokens": 900000000, "max\\u005ftokens": 5, '
    + json.dumps(HELLO).encode()[1:],
    "doubled within": b'{"messages": [{"role": "user", "content": "a", "content": "b"}]}',
    "another case": json.dumps({**HELLO, "N": 50}).encode(),
    "another case of s": json.dumps({**HELLO, "be\u017ft_of": 50}).encode(),
    "bound in another case": json.dumps({**HELLO, "Max_Tokens": 900_000_000}).encode(),
}


@pytest.mark.parametrize("kind", UNBOUNDED)
def test_what_no_budget_can_hold_does_not_reach_the_upstream(kind: str, tmp_path: Path) -> None:
    async def work(opened: Open) -> int:
        url = f"{opened.url}{CHAT}"
        reply = await opened.client.post(url, content=UNBOUNDED[kind])
        return reply.status_code

    with provide(said_hello) as provider:
        assert ask(tmp_path / "r", provider.url, work, budget=Budget(tokens=100_000)) == 400
        assert not provider.seen


def test_a_path_does_not_leave_that_of_the_upstream(tmp_path: Path) -> None:
    async def work(opened: Open) -> list[int]:
        paths = ("/v1/%2e%2e/%2e%2e/x", "/v1/..%2f..%2fx")
        return [(await opened.client.get(opened.url + path)).status_code for path in paths]

    with provide(said_hello) as provider:
        assert ask(tmp_path / "r", provider.url + "/v1", work) == [400, 400]
        assert not provider.seen


def test_secrets_in_what_is_said_reach_no_file(tmp_path: Path) -> None:
    model = speaking(lambda _: Said(f"Your key is {KEY}, and bearer-less {KEY[3:]}"))

    async def work(opened: Open) -> str:
        headers = {"authorization": f"Bearer {KEY}"}
        return (await opened.post(CHAT, saying(f"My key: {KEY}"), **headers)).text

    with provide(model) as provider:
        assert KEY in ask(tmp_path / "r", provider.url, work), "the client gets it all"
        assert KEY in json.dumps(provider.seen[0].body)
    read = json.dumps(Recording(tmp_path / "r").events)
    assert KEY not in read
    assert "[REDACTED]" in read


def test_keys_in_path_query_and_bytes_are_sent_and_never_written(tmp_path: Path) -> None:
    """Also where a key has no form of its own: its parameter's name gives it away."""
    plain = "plain" + "Kestrel-19"
    path = f"/v1/{KEY}/models/{plain}:generate?alt=json&key={plain}&page_token=seven-of-nine"
    contents = {
        "application/octet-stream": b"\xff\xfe audio " + KEY.encode() + b"\x00\x81",
        "text/plain": f"text {KEY} {plain}".encode(),
        "application/gzip": gzip.compress(KEY.encode()),
    }

    async def work(opened: Open) -> list[int]:
        codes: list[int] = []
        for kind, content in contents.items():
            headers = {"content-type": kind}
            if "gzip" in kind:
                headers["content-encoding"] = "gzip"
            got = await opened.client.post(opened.url + path, content=content, headers=headers)
            codes.append(got.status_code)
        return codes

    with provide(lambda _, __: Answer({"ok": True})) as provider:
        assert ask(tmp_path / "r", provider.url, work) == [200, 200, 200]
    assert [seen.path for seen in provider.seen] == [path] * 3, "what was given is sent"
    assert [bytes.fromhex(seen.body["hex"]) for seen in provider.seen] == [*contents.values()]
    exchanges = Recording(tmp_path / "r").exchanges
    for exchange in exchanges:
        body = json.dumps(exchange.request.body).encode()
        packed = exchange.request.body.get("base64", "")
        for text in (exchange.request.path, exchange.request.query, str(body + b64decode(packed))):
            assert KEY not in text
            assert plain not in text
    assert exchanges[0].request.query == "alt=json&key=[REDACTED]&page_token=seven-of-nine"
    assert set(exchanges[2].request.body) == {"sha256"}
    assert ask(tmp_path / "r", None, work) == [200, 200, 200], "a replay finds them again"


def test_an_upstream_is_a_url_or_a_model() -> None:
    found = find_upstream("http://example.test")
    assert found.url("/v1/chat/completions", {}) == "http://example.test/v1/chat/completions"
    assert found.url("/v1/messages", {}) == "http://example.test/v1/messages"
    other = find_upstream("https://example.test/v1beta/openai")
    assert other.url("/v1/models", {}) == "https://example.test/v1beta/openai/models"
    named = find_upstream(None, {"ANTHROPIC_BASE_URL": "https://claude.test"})
    assert named.url("/v1/messages", {}) == "https://claude.test/v1/messages"
    assert named.url("/v1/models", {}) == "https://api.openai.com/v1/models"
    assert named.url("/v1/models", {"anthropic-version": "x"}) == "https://claude.test/v1/models"
    with pytest.raises(BadInput, match="unknown model spec"):
        find_upstream("gpt-5")
    with pytest.raises(BadInput, match=r"expected http\(s\)://HOST"):
        find_upstream("ftp://example.test")


def test_the_command_line(tmp_path: Path) -> None:
    folder, program = tmp_path / "r", "import os; print(os.environ['OPENAI_BASE_URL'][:17])"
    command = [sys.executable, "-c", program]
    done = CliRunner().invoke(record, ["--out", str(folder), "--", *command])
    assert done.exit_code == 0, done.output
    assert "0 requests" in done.stderr
    failing = ["--out", str(folder), "--", sys.executable, "-c", "raise SystemExit(7)"]
    assert CliRunner().invoke(record, failing).exit_code == 7
    nothing = CliRunner().invoke(record, ["--replay", str(tmp_path / "none"), "--", "true"])
    assert isinstance(nothing.exception, BadInput)
    assert "expected a recording" in str(nothing.exception)
    absent = CliRunner().invoke(record, ["--out", str(folder), "--", "no-such-program"])
    assert isinstance(absent.exception, BadInput)
    wrong = CliRunner().invoke(record, ["--out", "x", "--replay", "y", "--", "true"])
    assert wrong.exit_code == 2


@pytest.mark.parametrize("option", ["--model", "--upstream"])
def test_a_model_answers_and_the_folder_is_listed(option: str, tmp_path: Path) -> None:
    program = (
        "import json, os, urllib.request as web\n"
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        f"sent = web.Request(url, {json.dumps(HELLO)!r}.encode())\n"
        "sent.add_header('content-type', 'application/json')\n"
        "web.urlopen(sent).read()\n"
    )
    folder = str(tmp_path / "r")
    words = ["record", "--out", folder, option, "simulated/lookup", "--"]
    done = CliRunner().invoke(cli, [*words, sys.executable, "-c", program])
    assert done.exit_code == 0, done.output
    assert ("--upstream is now --model SPEC" in done.stderr) == (option == "--upstream")
    rows = json.loads(CliRunner().invoke(cli, ["trajectories", "list", folder, "--json"]).stdout)
    assert "simulated" in json.dumps(rows)
    url = find_upstream("openai/m", base_url="http://127.0.0.1:9/v1").openai
    assert url == "http://127.0.0.1:9/v1"
