"""The call store: cache, kill -9, recordings and replay."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.models import (
    CallStore,
    Message,
    Reply,
    Sampling,
    export_calls,
    open_model,
    open_recording,
    pack,
)
from harness.models.commits import Committer
from tests.models.http_server import completion, serve

CHILD = """
import asyncio, sys
from pathlib import Path
from harness.models import CallStore, open_model

async def main(url, path):
    model = open_model("vllm/m", base_url=url, calls=CallStore(Path(path)), concurrency=4)
    asks = [model.complete([{"role": "user", "content": f"q{n}"}]) for n in range(40)]
    await asyncio.gather(*asks)

asyncio.run(main(*sys.argv[1:]))
"""


FULL_DISK = """
import asyncio, os, resource, sys
from pathlib import Path
from harness.core import BadInput
from harness.models import CallStore, open_model

async def one(model, number):
    noise = os.urandom(2000).hex()
    try:
        reply = await model.complete([{"role": "user", "content": f"{number} {noise}?"}])
        print(reply.call_id)
    except BadInput as error:
        print(error, file=sys.stderr)

async def main(path):
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    model = open_model("simulated/lookup", calls=CallStore(Path(path)), concurrency=8)
    await asyncio.gather(*(one(model, number) for number in range(60)))

asyncio.run(main(sys.argv[1]))
"""


def ask(spec: str, text: str, url: str | None = None, calls: CallStore | None = None) -> Reply:
    """One call."""

    async def run() -> Reply:
        model = open_model(spec, base_url=url, calls=calls, sampling=Sampling(temperature=0.0))
        messages: list[Message] = [{"role": "user", "content": text}]
        try:
            return await model.complete(messages)
        finally:
            await model.aclose()

    return asyncio.run(run())


@pytest.mark.parametrize("after_calls", [1, 9, 23])
def test_after_a_kill_only_calls_in_flight_are_sent_again(
    tmp_path: Path, after_calls: int, repository: Path
) -> None:
    path = tmp_path / "calls.sqlite"
    with serve(lambda _: completion(), delay_s=0.05) as server:
        command = [sys.executable, "-c", CHILD, server.url, str(path)]
        child = subprocess.Popen(command, cwd=repository)
        deadline = time.monotonic() + 30
        while len(server.bodies) < after_calls and time.monotonic() < deadline:
            time.sleep(0.005)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        with CallStore(path) as calls:
            lost = {call.call_id for call in calls.in_flight()}
            stored = {call.body["messages"][0]["content"] for call in calls.answered()}
        before = len(server.bodies)
        assert 1 <= len(lost) <= 4
        assert before - 4 <= len(stored) <= before
        subprocess.run(command, cwd=repository, check=True, timeout=60)
    again = {body["messages"][0]["content"] for body in server.bodies[before:]}
    assert not again & stored
    assert len(again | stored) == 40
    with CallStore(path) as calls:
        assert {call.call_id for call in calls.in_flight() if call.repeated} == lost
        assert calls.usage().calls == 40


def test_usage_is_kept_by_role_and_cached_answers_cost_nothing(tmp_path: Path) -> None:
    async def run(url: str, calls: CallStore) -> Reply:
        for role in ("agent", "analyst"):
            model = open_model("vllm/m", base_url=url, calls=calls, role=role)
            await model.complete([{"role": "user", "content": role}])
            await model.aclose()
        again = open_model("vllm/m", base_url=url, calls=calls)
        reply = await again.complete([{"role": "user", "content": "agent"}])
        await again.aclose()
        return reply

    store = CallStore(tmp_path / "calls.sqlite")
    with serve(lambda _: completion("x", 10, 2)) as server, store as calls:
        reply = asyncio.run(run(server.url, calls))
        usage = calls.usage_by_role()
    assert reply.cached
    assert reply.usage.prompt_tokens == 10
    assert {role: (used.calls, used.tokens) for role, used in usage.items()} == {
        "agent": (1, 12),
        "analyst": (1, 12),
    }


def test_cancelled_jobs_leave_the_thread_alive() -> None:
    committer = Committer(sqlite3.connect(":memory:", check_same_thread=False), "memory")
    waiting: queue.SimpleQueue[Future[None] | None] = queue.SimpleQueue()

    def cancel() -> None:
        while (future := waiting.get()) is not None:
            future.cancel()

    canceller = threading.Thread(target=cancel)
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    canceller.start()
    try:
        ends = time.monotonic() + 0.5
        while time.monotonic() < ends:
            waiting.put(committer.submit(lambda _: None))
    finally:
        sys.setswitchinterval(switching)
        waiting.put(None)
        canceller.join()
    assert committer.submit(lambda _: 7).result(10) == 7
    committer.close()


@pytest.mark.parametrize("name", ["calls.sqlite", "calls.jsonl", "calls.jsonl.zst"])
def test_a_recording_replays_without_the_server(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    store = CallStore(tmp_path / "calls.sqlite")
    with serve(lambda body: completion(body["messages"][0]["content"].upper())) as server, store:
        for text in ("one", "two"):
            ask("vllm/m", text, server.url, store)
        if name != "calls.sqlite":
            assert export_calls(store, path) == 2
    reply = ask(f"replay/{path}", "two")
    assert (reply.text, reply.cached, reply.usage.cost_usd) == ("TWO", True, 0.0)
    with pytest.raises(BadInput) as missed:
        ask(f"replay/{path}", "twenty")
    said = str(missed.value)
    assert "not in the recording" in said
    assert "messages[0]" in said
    assert "twenty" in said


def test_an_export_is_the_same_bytes_and_survives_the_round_trip(tmp_path: Path) -> None:
    with serve(lambda _: completion()) as server, CallStore() as calls:
        for text in ("b", "a", "c"):
            ask("vllm/m", text, server.url, calls)
        export_calls(calls, tmp_path / "one.jsonl")
    with CallStore(tmp_path / "again.sqlite") as again:
        for _ in range(2):
            again.put(open_recording(tmp_path / "one.jsonl"))
        assert export_calls(again, tmp_path / "two.jsonl") == 3
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_a_changed_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with serve(lambda _: completion()) as server, CallStore() as calls:
        ask("vllm/m", "hello", server.url, calls)
        export_calls(calls, path)
    row = json.loads(path.read_text())
    row["body"]["temperature"] = 0.9
    path.write_text("\n" + json.dumps(row) + "\n")
    with pytest.raises(BadInput, match=r"calls\.jsonl:2: .*changed"):
        open_recording(path)
    path.write_text('{"call_id": 1}\n')
    with pytest.raises(BadInput, match=r"calls\.jsonl:1: expected a recorded call"):
        open_model(f"replay/{path}")


def test_a_file_that_is_no_store_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    path.write_bytes(b"this is not a database, but long enough to look like one" * 20)
    with pytest.raises(BadInput, match="cannot use the call store"):
        CallStore(path)


def test_a_store_with_a_damaged_name_is_bad_input(tmp_path: Path) -> None:
    """SQLite quotes the name, which Python cannot read, in its message."""
    path = tmp_path / "calls.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE x (y)")
    content = path.read_bytes()
    damaged = content.replace(b"tablexx", b"table\xf9x").replace(
        b"CREATE TABLE x", b"CREATE TABLE +"
    )
    assert len(damaged) == len(content) and damaged != content
    path.write_bytes(damaged)
    with pytest.raises(BadInput, match="cannot use the call store"):
        CallStore(path)


def test_a_recorded_request_without_a_model_is_looked_up(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    with serve(lambda _: completion()) as server, CallStore(path) as calls:
        ask("vllm/m", "hello", server.url, calls)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE calls SET request = ?", (pack({"messages": []}),))
    with pytest.raises(BadInput, match="not in the recording"):
        ask(f"replay/{path}", "twenty")


def test_on_a_full_disk_what_was_returned_is_stored(tmp_path: Path, repository: Path) -> None:
    path = tmp_path / "calls.sqlite"
    command = [sys.executable, "-c", FULL_DISK, str(path)]
    done = subprocess.run(
        command, cwd=repository, check=False, capture_output=True, text=True, timeout=60
    )
    returned = set(done.stdout.split())
    assert done.returncode == 0, done.stderr
    assert "check that" in done.stderr
    assert 5 <= len(returned) < 60
    with CallStore(path) as calls:
        assert returned <= {call.call_id for call in calls.answered()}
