"""The embedded engine through gateway, call store and records beside llama.cpp alone.

    python -m benchmarks.serving.embedded --model qwen2.5-coder-0.5b

Both arms run the same build of llama.cpp with the same settings, in turn: `alone` calls it in this
process, as `llama-bench` does; `ours` is `open_model("local/...")` with a call store on disk, which
asks the shared engine. `prompt`: prompts of some 700 tokens, one token back. `generation`: short
prompts, up to 64 tokens back. No prompt begins like another, so that neither arm has a prefix in
its cache. Figures are tokens a second, medians of the rounds, and the ratio alone / ours in every
round (1.05: ours takes 5 % longer). `prefix` is another question: how many of a skill's tokens come
from the cache when one skill stands before many tasks.

With `--openvino` a third arm runs the same file and prompts in OpenVINO (extra `openvino`), where
requests at once are one batch.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib import import_module
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.reports import Options, add_run, benchmark, option
from harness.engines import KNOWN, pull
from harness.engines.embedded import launch_settings
from harness.engines.embedded.process import serve
from harness.engines.embedded.shared import QUIET
from harness.models import CallStore, Sampling, open_model

RESULT = "evals/results/embedded_engine.json"
NUMBERS = count(1)
SKILL = "\n".join(
    f"{number}. When a column is named 'amount {number}', round its values to two places and keep "
    "the sign of what was booked."
    for number in range(1, 21)
)


def prompts(kind: str, requests: int) -> list[str]:
    """Prompts that no request had before, and that differ from the first word on."""
    lines = [f"def f{row}(x): return {row} * x + {row * row}" for row in range(40)]
    code = "\n".join(lines) if kind == "prompt" else "def f(x): return x"
    return [
        f"{next(NUMBERS)} is the number of this code:\n{code}\nExplain it." for _ in range(requests)
    ]


def alone(server: Any, texts: list[str], tokens: int, at_once: int) -> tuple[float, int, int]:
    """Seconds, prompt tokens and answer tokens of requests to llama.cpp in this process."""

    def ask(text: str) -> dict[str, int]:
        body = {"messages": [{"role": "user", "content": text}], "max_tokens": tokens}
        return server.handle_chat_completions(body | {"temperature": 0})["usage"]

    begun = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        usage = list(pool.map(ask, texts))
    seconds = time.perf_counter() - begun
    totals = [sum(row[name] for row in usage) for name in ("prompt_tokens", "completion_tokens")]
    return seconds, totals[0], totals[1]


async def ours(
    spec: str, store: Path, texts: list[str], tokens: int, at_once: int
) -> tuple[float, int, int]:
    """Send the same requests through the gateway."""
    sampling = Sampling(temperature=0, max_tokens=tokens, timeout_s=3600)
    with CallStore(store) as calls:
        model = open_model(spec, calls=calls, sampling=sampling, concurrency=at_once)
        begun = time.perf_counter()
        requests = [model.complete([{"role": "user", "content": text}]) for text in texts]
        replies = await asyncio.gather(*requests)
        seconds = time.perf_counter() - begun
        await model.aclose()
    usage = [reply.usage for reply in replies]
    return (
        seconds,
        sum(row.prompt_tokens for row in usage),
        sum(row.completion_tokens for row in usage),
    )


def openvino(path: Path) -> Callable[[list[str], int, int], tuple[float, int, int]]:
    """Measure :func:`alone` by OpenVINO."""
    genai: Any = import_module("openvino_genai")
    pipeline = genai.LLMPipeline(str(path), "CPU")

    def ask(texts: list[str], tokens: int, at_once: int) -> tuple[float, int, int]:
        settings = genai.GenerationConfig(max_new_tokens=tokens, do_sample=False)
        settings.apply_chat_template = True
        begun = time.perf_counter()
        batches = [texts[first : first + at_once] for first in range(0, len(texts), at_once)]
        counts = [pipeline.generate(batch, settings).perf_metrics for batch in batches]
        seconds = time.perf_counter() - begun
        prompt_tokens = sum(count.get_num_input_tokens() for count in counts)
        return seconds, prompt_tokens, sum(count.get_num_generated_tokens() for count in counts)

    return ask


async def prefix(spec: str, tasks: int) -> dict[str, Any]:
    """The share of a skill's tokens that come from the cache, over tasks that all begin with it."""
    model = open_model(
        spec, sampling=Sampling(temperature=0, max_tokens=1, timeout_s=3600), concurrency=4
    )

    async def usage(system: str, number: int) -> Any:
        question = f"Round {number}.{number}49 to two places."
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        return (await model.complete(messages)).usage

    skill_tokens = (await usage(SKILL, 1)).prompt_tokens - (await usage("", 1)).prompt_tokens
    rows = await asyncio.gather(*(usage(SKILL, number) for number in range(2, tasks + 2)))
    await model.aclose()
    from_cache = sum(min(row.cached_tokens, skill_tokens) for row in rows)
    return {
        "skill_tokens": skill_tokens,
        "tasks": tasks,
        "share_from_cache": round(from_cache / (skill_tokens * tasks), 4),
    }


@benchmark(
    model="qwen2.5-coder-0.5b",
    rounds=5,
    requests=8,
    tasks=200,
    at_once=option(type=int, nargs="*", default=[1, 4, 8]),
    out=Path(RESULT),
    openvino=False,
    kinds=["prompt", "generation"],
)
def main(options: Options) -> None:
    """Measure one model."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    launch, spec = launch_settings(), f"local/{options.model}"
    server = serve(path := pull(options.model), launch, "benchmark")
    rival = openvino(path) if options.openvino else None
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "calls.sqlite"
        asyncio.run(ours(spec, store, ["Hi"], 1, 1))  # loads
        alone(server, ["Hi"], 1, 1)
        for kind in options.kinds:
            tokens = 1 if kind == "prompt" else 64
            for at_once in options.at_once:
                arms = ["alone", "ours", *(["openvino"] if rival else [])]
                speeds: dict[str, list[float]] = {arm: [] for arm in arms}
                for _ in range(options.rounds):
                    arms.reverse()
                    for arm in arms:
                        texts = prompts(kind, max(options.requests, at_once))
                        if arm == "alone":
                            seconds, prompt, answer = alone(server, texts, tokens, at_once)
                        elif arm == "openvino" and rival:
                            seconds, prompt, answer = rival(texts, tokens, at_once)
                        else:
                            request = ours(spec, store, texts, tokens, at_once)
                            seconds, prompt, answer = asyncio.run(request)
                        speeds[arm].append((prompt if kind == "prompt" else answer) / seconds)
                ratios = [a / b for a, b in zip(speeds["alone"], speeds["ours"], strict=True)]
                row = {
                    "kind": kind,
                    "at_once": at_once,
                    **{
                        f"{arm}_tokens_per_s": round(median(values), 1)
                        for arm, values in speeds.items()
                    },
                    "ratio": round(median(ratios), 3),
                    "ratios": [round(ratio, 3) for ratio in ratios],
                }
                print(row, flush=True)
                rows.append(row)
    run = {
        "model": options.model,
        "sha256": KNOWN[options.model].sha256,
        "launch": asdict(launch),
        "speed": rows,
        "prefix": asyncio.run(prefix(spec, options.tasks)),
    }
    add_run(run, options.out, "model", command="python -m benchmarks.serving.embedded")
