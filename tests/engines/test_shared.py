"""The engine as a process: shared by commands, started again after a kill, gone when unused."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from harness.core import BadInput
from harness.engines import is_pulled, location, pull
from harness.engines.embedded import LocalModel, launch_settings, server, shared
from harness.engines.embedded.process import speed_file
from harness.models import Refused, open_model

NAME = "smollm2-135m"
CODER = "qwen2.5-coder-0.5b"
ASK = """
import asyncio, sys
from harness.engines.embedded import LocalModel
model = LocalModel(sys.argv[1])
body = {"model": sys.argv[1], "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3}
asyncio.run(model.answer(body))
print(model.engine.running.pid)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, with the weights in it, so that no other test's engine is met."""
    weights = pull(NAME)
    folder = tmp_path / "cache" / "models"
    folder.mkdir(parents=True)
    (folder / weights.name).symlink_to(weights)
    monkeypatch.setenv("HARNESS_CACHE", str(folder.parent))
    monkeypatch.setenv("HARNESS_ENGINE_IDLE_S", "1")
    monkeypatch.setenv("HARNESS_ENGINE_CONTEXT", "1024")
    return folder.parent


def _ask(model: LocalModel, number: int, tokens: int) -> Any:
    messages = [{"role": "user", "content": f"Tell a story about {number} boats."}]
    return model.answer({"model": NAME, "messages": messages, "max_tokens": tokens})


def _wait(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_a_killed_engine_is_replaced_and_no_request_is_lost() -> None:
    model = LocalModel(NAME)

    async def work() -> tuple[list[Any], int]:
        await _ask(model, 0, 1)
        first = model.engine.running
        assert first is not None
        requests = [asyncio.create_task(_ask(model, number, 100)) for number in range(6)]
        await asyncio.sleep(0.3)
        assert not any(request.done() for request in requests)
        os.kill(first.pid, signal.SIGKILL)
        return await asyncio.gather(*requests), first.pid

    replies, killed = asyncio.run(work())
    assert all(reply["usage"]["completion_tokens"] > 0 for reply in replies)
    second = model.engine.running
    assert second is not None
    assert second.pid != killed


def test_commands_share_one_engine_that_ends_after_the_last() -> None:
    command = [sys.executable, "-c", ASK, NAME]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    pids = {int(process.communicate(timeout=120)[0]) for process in both}
    assert [process.returncode for process in both] == [0, 0]
    [pid] = pids
    assert _wait(lambda: not _alive(pid))
    assert LocalModel(NAME).engine.running is None


def test_an_engine_in_use_outlives_its_idle_time_and_an_unused_one_ends() -> None:
    asker = "import sys, time; exec(sys.argv[2]); sys.stdout.flush(); time.sleep(4)"
    command = [sys.executable, "-c", asker, NAME, ASK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        time.sleep(2.5)  # more than the idle time, and the command still holds it
        assert _alive(pid)
    assert _wait(lambda: not _alive(pid))


def test_an_engine_that_always_dies_is_reported_with_its_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = LocalModel(NAME)
    start = model.engine.start

    def doomed(lost: Any = None) -> Any:
        address = start(lost)
        os.kill(address.pid, signal.SIGKILL)
        return address

    monkeypatch.setattr(model.engine, "start", doomed)
    with pytest.raises(Refused, match=r"ended 3 times before it had answered.*\.log"):
        asyncio.run(_ask(model, 0, 5))


def test_a_file_of_ones_own_is_a_model() -> None:
    path = location(NAME).rename(location(NAME).with_name("mine.gguf"))
    reply = asyncio.run(open_model(f"local/{path}").complete([{"role": "user", "content": "Hi"}]))
    assert reply.text
    assert reply.model == str(path)


def test_weights_that_do_not_load_are_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(1000))
    model = LocalModel(str(path))
    with pytest.raises(BadInput, match=r"broken\.gguf' does not load: .*; see"):
        model.engine.start()


def test_without_the_wheel_other_endpoints_still_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MODULE", "no_such_library")
    with pytest.raises(BadInput, match=r"where there is no wheel of xllamacpp for this platform"):
        LocalModel(NAME)
    assert open_model("openai/m", base_url="http://127.0.0.1:9/v1").spec == "openai/m"


def test_another_users_cache_cannot_be_read_by_others(cache: Path) -> None:
    model = LocalModel(NAME)
    model.engine.start()
    assert (cache / "engines").stat().st_mode & 0o077 == 0
    assert model.engine.files.address.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["0", "-1", "four", "1.5"])
def test_settings_must_be_numbers(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HARNESS_ENGINE_SLOTS", text)
    with pytest.raises(BadInput, match=f"HARNESS_ENGINE_SLOTS: .* got '{text}'"):
        launch_settings()


def test_an_engine_makes_embeddings() -> None:
    url, key = server(f"{NAME}#mean", "embedding")
    client = openai.OpenAI(base_url=url, api_key=key)
    texts = ["The cat sat on the mat.", "A cat was sitting on a mat.", "Taxes fell in 1997."]
    rows = client.embeddings.create(model="m", input=texts, encoding_format="float").data
    first, second, third = (np.asarray(row.embedding) for row in rows)
    assert len(first) == 576
    assert first @ second > first @ third
    again = client.embeddings.create(model="m", input=texts[:1], encoding_format="float").data
    assert again[0].embedding == pytest.approx(rows[0].embedding, abs=1e-3)


def test_no_speed_is_noted_beside_a_file_of_the_users(cache: Path, tmp_path: Path) -> None:
    ours = cache.resolve() / "models" / "m.gguf"
    assert speed_file(ours) == ours.with_name("m.speed.json")
    assert speed_file(tmp_path.resolve() / "m.gguf") is None


def test_unknown_pooling_is_named() -> None:
    with pytest.raises(BadInput, match="expected #mean, #last or #cls"):
        server(f"{NAME}#max", "embedding")


@pytest.mark.skipif(not is_pulled(CODER), reason=f"{CODER} was not pulled")
@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "f"}}])
def test_a_required_call_is_a_call(monkeypatch: pytest.MonkeyPatch, choice: Any) -> None:
    """With a model whose own calls llama.cpp does not recognise."""
    monkeypatch.delenv("HARNESS_CACHE")
    days = {"type": "integer", "minimum": 1, "maximum": 9}
    parameters = {"type": "object", "properties": {"days": days}, "required": ["days"]}
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    body = {
        "model": CODER,
        "messages": [{"role": "user", "content": "Say hello in three words."}],
        "tools": tools,
        "tool_choice": choice,
        "max_tokens": 60,
    }
    completion: Any = asyncio.run(LocalModel(CODER).answer(body))
    [choice_made] = completion["choices"]
    [call] = choice_made["message"]["tool_calls"]
    assert choice_made["finish_reason"] == "tool_calls"
    assert call["function"]["name"] == "f"
    assert json.loads(call["function"]["arguments"])["days"] in range(1, 10)


def _adapter(path: Path, value: float) -> str:
    """A LoRA adapter of rank 1 for the values of the first layer of SmolLM2-135M, as GGUF."""

    def text(words: str) -> bytes:
        return struct.pack("<Q", len(words)) + words.encode()

    pairs = {"general.architecture": "llama", "general.type": "adapter", "adapter.type": "lora"}
    fields = [text(key) + struct.pack("<I", 8) + text(word) for key, word in pairs.items()]
    fields.append(text("adapter.lora.alpha") + struct.pack("<If", 6, 1.0))
    sides = {"lora_a": (576, 1), "lora_b": (1, 192)}
    infos, data = list[bytes](), b""
    for side, shape in sides.items():
        infos.append(
            text(f"blk.0.attn_v.weight.{side}") + struct.pack("<IQQIQ", 2, *shape, 0, len(data))
        )
        data += struct.pack(f"<{math.prod(shape)}f", *[value] * math.prod(shape))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(fields)) + b"".join(fields + infos)
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return f"{NAME}+{path}"


def test_an_adapter_changes_what_the_model_says(tmp_path: Path) -> None:
    def answer(name: str) -> str:
        messages = [{"role": "user", "content": "Tell a story about boats."}]
        body: dict[str, Any] = {"model": name, "messages": messages, "max_tokens": 12}
        reply: Any = asyncio.run(LocalModel(name).answer(body))
        return reply["choices"][0]["message"]["content"]

    plain = answer(NAME)
    assert answer(_adapter(tmp_path / "nothing.gguf", 0.0)) == plain
    assert answer(_adapter(tmp_path / "much.gguf", 0.5)) != plain


def test_an_adapter_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "a.gguf"
    with pytest.raises(BadInput, match=r"cannot read '.*a\.gguf'"):
        LocalModel(f"{NAME}+{missing}")
    missing.write_text("no adapter")
    with pytest.raises(BadInput, match="expected a GGUF file"):
        LocalModel(f"{NAME}+{missing}")
    both = tmp_path / "b+c.gguf"
    both.write_bytes(b"GGUF")
    assert LocalModel(str(both)).engine.files  # the plus of a file's name is no adapter
