"""The real vLLM, served by `harness models serve` (an optional job: `make vllm`).

HARNESS_VLLM_PYTHON names an interpreter with vLLM, gguf and accelerate; the CPU build is enough.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest

from harness.core import BadInput, cache_root
from harness.engines import pull
from harness.engines.vllm import (
    Launch,
    check_arguments,
    command_line,
    read_figures,
    shipped_profiles,
)
from harness.rag.retrieve import open_encoder, open_reranker

PYTHON = os.environ.get("HARNESS_VLLM_PYTHON", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="HARNESS_VLLM_PYTHON is not set: no vLLM to test"),
]
NAME = "small"
PLAIN = ("--enforce-eager", "--dtype", "float32")
"""Without compiling, and in numbers that every CPU computes with."""
HARNESS = [sys.executable, "-c", "from harness.cli import main; main()"]
CONVERT = Path(__file__).parents[2] / "benchmarks" / "serving" / "weights.py"
SKILL = "Answer in one short sentence. " + " ".join(
    f"Rule {number}: state the unit of every quantity and where it was found."
    for number in range(40)
)
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "read_cell",
        "description": "Read a cell of the workbook.",
        "parameters": {
            "type": "object",
            "properties": {"cell": {"type": "string", "pattern": "^[A-C][1-9]$"}},
            "required": ["cell"],
        },
    },
}


@pytest.fixture(scope="module")
def folder() -> str:
    """SmolLM2 in the form that vLLM reads, in the cache folder."""
    out = cache_root() / "models" / "smollm2-135m-hf"
    weights = str(pull("smollm2-135m"))
    subprocess.run([PYTHON, str(CONVERT), weights, str(out)], check=True, timeout=600)
    return str(out)


class Running:
    """A `harness models serve` under way."""

    def __init__(self, process: subprocess.Popen[str], url: str, errors: Path) -> None:
        self.process, self.url, self.errors = process, url, errors
        self.client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)


@contextmanager
def served(folder: str, tmp: Path, *options: str) -> Generator[Running]:
    """Serve the small model on a free port."""
    command = [*HARNESS, "models", "serve", folder, "--name", NAME, "--port", "0"]
    errors = tmp / "said.txt"
    with (
        errors.open("w") as said,
        subprocess.Popen(
            [*command, "--logs", str(tmp), *options, "--", *PLAIN],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env={"VLLM_CPU_KVCACHE_SPACE": "1", **os.environ},
        ) as process,
    ):
        assert process.stdout is not None
        found = re.search(r"serves (\S+)", process.stdout.readline())
        assert found, errors.read_text("utf-8")
        running = Running(process, found[1], errors)
        try:
            yield running
        finally:
            running.client.close()
            process.terminate()
            process.wait(120)


@pytest.fixture(scope="module")
def server(folder: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """One server for the tests that do not stop it."""
    with served(folder, tmp_path_factory.mktemp("served"), "--drain", "120") as running:
        yield running


def chat(running: Running, text: str, **parameters: Any) -> Any:
    """One greedy answer under the skill."""
    create: Any = running.client.chat.completions.create
    return create(
        messages=[{"role": "system", "content": SKILL}, {"role": "user", "content": text}],
        temperature=0,
        **{"model": NAME, "max_tokens": 24, **parameters},
    )


def test_vllm_takes_the_arguments_of_every_profile() -> None:
    commands = [
        command_line(
            Launch(model="org/model", profile=profile, python=PYTHON, tensor_parallel=2), 8000
        )
        for profile in shipped_profiles().values()
    ]
    assert check_arguments(*commands)
    with pytest.raises(BadInput, match=r"vLLM does not take these arguments: .*best"):
        check_arguments([*commands[0], "--tool-call-parser", "best"])


def test_it_answers_and_says_what_came_from_the_cache(server: Running) -> None:
    before = read_figures(server.url)
    assert "Paris" in chat(server, "What is the capital of France?").choices[0].message.content
    usage = chat(server, "What is the capital of Italy?").usage
    assert usage.prompt_tokens_details.cached_tokens > 0.8 * usage.prompt_tokens
    since = read_figures(server.url) - before
    assert since.hit_rate is not None and since.hit_rate > 0.4


def test_a_stream_arrives_piece_by_piece(server: Running) -> None:
    pieces = [
        chunk.choices[0].delta.content or "" for chunk in chat(server, "Count to ten.", stream=True)
    ]
    assert len([piece for piece in pieces if piece]) > 3


def test_a_tool_is_called_with_arguments_of_its_schema(server: Running) -> None:
    answer = chat(server, "Read cell B2.", tools=[TOOL], tool_choice="required", max_tokens=64)
    (call,) = answer.choices[0].message.tool_calls
    assert call.function.name == "read_cell"
    assert re.fullmatch("[A-C][1-9]", json.loads(call.function.arguments)["cell"])


def test_output_follows_a_schema(server: Running) -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"enum": ["supported", "contradicted"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}}
    text = chat(server, "Water is wet.", response_format=form).choices[0].message.content
    assert json.loads(text)["verdict"] in ("supported", "contradicted")


def test_the_harness_evaluates_with_it(server: Running) -> None:
    from harness.models import open_model

    async def ask() -> Any:
        model = open_model(f"vllm/{NAME}", base_url=server.url)
        reply = await model.complete([{"role": "user", "content": "What is 2 + 2?"}])
        await model.aclose()
        return reply

    reply = asyncio.run(ask())
    assert reply.usage.prompt_tokens > 0 and reply.text


def adapter(base: str, folder: Path, scale: float) -> None:
    """A LoRA adapter of rank 4 with random weights; one of scale 0 changes nothing."""
    save: Any = import_module("safetensors.numpy").save_file
    config = json.loads((Path(base) / "config.json").read_text("utf-8"))
    hidden, rank, drawn = config["hidden_size"], 4, np.random.default_rng(0)
    heads = {"q_proj": config["num_attention_heads"], "v_proj": config["num_key_value_heads"]}
    weights: dict[str, Any] = {}
    for layer in range(config["num_hidden_layers"]):
        for name, count in heads.items():
            out = count * hidden // config["num_attention_heads"]
            key = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            down, up = drawn.normal(size=(rank, hidden)), drawn.normal(size=(out, rank))
            weights[f"{key}.lora_A.weight"] = np.float32(down / hidden**0.5)
            weights[f"{key}.lora_B.weight"] = np.float32(scale * up)
    folder.mkdir()
    save(weights, folder / "adapter_model.safetensors")
    about = {
        "peft_type": "LORA", "r": rank, "lora_alpha": rank, "target_modules": [*heads],
        "bias": "none", "task_type": "CAUSAL_LM", "base_model_name_or_path": NAME,
    }  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(about))


def test_adapters_answer_under_their_names(folder: str, tmp_path: Path) -> None:
    adapter(folder, tmp_path / "same", 0.0)
    adapter(folder, tmp_path / "other", 1.0)
    options = [f"--lora={name}={tmp_path / name}" for name in ("same", "other")]
    with served(folder, tmp_path, *options) as running:
        said = {
            name: chat(running, "What is the capital of France?", model=name)
            for name in (NAME, "same", "other")
        }
    texts = {name: answer.choices[0].message.content for name, answer in said.items()}
    assert texts["same"] == texts[NAME]
    assert texts["other"] != texts[NAME]


def test_three_processes_share_the_weights(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model has nine heads: two cannot share them."""
    last = max(0, (os.cpu_count() or 1) - 1)
    monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", f"0|{min(1, last)}|{min(2, last)}")
    with served(folder, tmp_path, "--tensor-parallel", "3") as running:
        answer = chat(running, "What is the capital of France?")
    assert answer.choices[0].message.content


def test_it_embeds_and_reranks(folder: str, tmp_path: Path) -> None:
    texts = ["Seals wear out.", "The bank raised its interest rate.", "Orbits decay."]
    with served(folder, tmp_path, "--profile", "embedding") as running:
        encoder = open_encoder(f"vllm/{NAME}", running.url)
        rows = encoder.encode(texts)
        scores = open_reranker(f"{running.url}/rerank#{NAME}").score(texts[1], texts)
    assert rows.shape == (3, 576)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)
    assert max(range(3), key=scores.__getitem__) == 1
    assert np.allclose(scores, rows @ rows[1], atol=0.02), "the cosine of the same vectors"


def test_an_engine_that_is_killed_comes_back(server: Running) -> None:
    listing = subprocess.run(
        ["ps", "-eww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(maxsplit=2) for line in listing.stdout.splitlines()]
    port = server.url.rpartition(":")[2].removesuffix("/v1")
    leader = next(pid for pid, _, args in rows if f"--port {port}" in args and "-m vllm" in args)
    engine = next(pid for pid, parent, args in rows if parent == leader and "Engine" in args)
    os.kill(int(engine), signal.SIGKILL)
    # It takes vLLM a moment to see that its engine is gone.
    _wait(lambda: "starting it again (1 of 3)" in server.errors.read_text(), 60)
    _wait(lambda: _well(server.url), 240)
    assert chat(server, "Hello").choices[0].message.content


def test_at_last_requests_under_way_are_answered_before_it_ends(server: Running) -> None:
    texts: list[str] = []

    def ask() -> None:
        stream = chat(
            server,
            "Tell a story.",
            stream=True,
            max_tokens=200,
            extra_body={"min_tokens": 200},
        )
        for chunk in stream:
            texts.append(chunk.choices[0].delta.content or "")
            begun.set()

    begun = threading.Event()
    slow = threading.Thread(target=ask)
    slow.start()
    assert begun.wait(60)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(150) == 0
    slow.join(30)
    assert len(texts) > 150, "the stream went on to its end"
    assert "draining 1 requests under way; the prefix cache held" in server.errors.read_text()


def _well(url: str) -> bool:
    try:
        return httpx.get(f"{url.removesuffix('/v1')}/health", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def _wait(there: Callable[[], bool], limit_s: float) -> None:
    ends = time.monotonic() + limit_s
    while not there():
        assert time.monotonic() < ends, f"not within {limit_s} s"
        time.sleep(0.5)
