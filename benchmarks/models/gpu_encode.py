"""Sentences a second of all-MiniLM-L6-v2, and of the token critic, on a GPU and on the processor.

    python -m benchmarks.models.gpu_encode --model MODEL --out gpu_encode.json

The same seeded sentences of 8 to 30 words everywhere, through sentence-transformers: `encode` is
all of it, with the tokenizer, which runs on the processor; `forward` is the model alone over
batches that lie on the device. Rates are medians over rounds; tokens count [CLS] and [SEP] and no
padding. `cosine` is that of an arm's vectors with those of the processor in 32 bits.

The critic is its network with random heads over windows of 224 tokens of random words; `shipped` is
the one of the package on ONNX Runtime, weights in 8 bits, if it is installed. Without a GPU the
processor alone is measured, and the exit status is 2; it is 1 where a cosine or a difference of
logits is out of bounds.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.reports import option, read_options, report
from harness.train.compressor.network import new_critic

WORDS = [
    *("river", "stone", "market", "paper", "signal", "garden"),
    *("window", "copper", "letter", "morning", "engine", "bridge"),
]
BATCHES = {"cpu": (32, 128), "cuda": (32, 256, 1024)}
ASKED, SENTENCES, TOKENS = 12, 10, 224  # of a critic's window: question, sentences, all
LEAST_COSINE = {"fp32": 0.9999, "fp16": 0.999}
LOGITS_APART = 0.01  # between GPU and processor at 32 bits


def random_sentences() -> Iterator[str]:
    """Sentences of 8 to 30 words without end, the same every time."""
    rng = random.Random(5)
    while True:
        yield " ".join(rng.choices(WORDS, k=rng.randint(8, 30))) + "."


def texts(count: int) -> list[str]:
    """The first sentences."""
    return [*islice(random_sentences(), count)]


def seconds(arm: Callable[[], object], rounds: int, least: float = 0.2) -> float:
    """Median time of a call, the first of which does not count; short calls are repeated."""
    times: list[float] = []
    for number in range(rounds + 1):
        calls, started = 0, _now()
        while calls == 0 or _now() - started < least:
            arm()
            calls += 1
        if number:
            times.append((_now() - started) / calls)
    return statistics.median(times)


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def embeddings(folder: Path, devices: list[str], count: int, rounds: int) -> list[dict[str, Any]]:
    """Rows of the sentence encoder."""
    opener: Any = import_module("sentence_transformers").SentenceTransformer
    sentences = texts(count)
    rows: list[dict[str, Any]] = []
    truth: Any = None
    for device in devices:
        for kind in ("fp32",) if device == "cpu" else ("fp32", "fp16"):
            model: Any = opener(str(folder), device=device).float()
            model = model.half() if kind == "fp16" else model
            vectors = np.asarray(model.encode(sentences, batch_size=128), dtype=np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            truth = vectors if truth is None else truth
            cosine = (vectors * truth).sum(1)
            facts = {"device": device, "kind": kind, "cosine_min": round(float(cosine.min()), 6)}
            facts["cosine_mean"] = round(float(cosine.mean()), 6)
            rows += [
                {**facts, "batch": batch, **_rates(model, sentences, batch, rounds)}
                for batch in BATCHES[device]
            ]
    return rows


def _rates(model: Any, sentences: list[str], batch: int, rounds: int) -> dict[str, Any]:
    ordered = sorted(sentences, key=len)  # as `encode` does, so that padding is little
    fed: list[dict[str, Any]] = []
    tokens = 0
    for start in range(0, len(ordered), batch):
        batch_tokens = model.tokenize(ordered[start : start + batch])
        tokens += int(batch_tokens["attention_mask"].sum())
        fed.append(
            {k: v.to(model.device) if hasattr(v, "to") else v for k, v in batch_tokens.items()}
        )

    def forward() -> None:
        with torch.inference_mode():
            for features in fed:
                model(dict(features))

    whole_s = seconds(lambda: model.encode(sentences, batch_size=batch), rounds)
    forward_s = seconds(forward, rounds)
    return {
        "encode_sentences_per_s": round(len(sentences) / whole_s),
        "encode_tokens_per_s": round(tokens / whole_s),
        "forward_sentences_per_s": round(len(sentences) / forward_s),
        "forward_tokens_per_s": round(tokens / forward_s),
    }


def windows(batch: int) -> tuple[Any, Any, Any, Any]:
    """Inputs of the critic: `batch` windows of SENTENCES sentences of one length."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(2000, 20000, (batch, TOKENS), generator=generator)
    member = torch.zeros((batch, SENTENCES, TOKENS))
    for number, part in enumerate(torch.arange(ASKED + 2, TOKENS - 1).chunk(SENTENCES)):
        member[:, number, part] = 1
    return ids, torch.ones_like(ids), torch.ones((batch, ASKED)), member


def critics(folder: Path, devices: list[str], rounds: int) -> list[dict[str, Any]]:
    """Rows of the token critic's network, and of the shipped one."""
    rows: list[dict[str, Any]] = []
    torch.manual_seed(4)  # pyright: ignore[reportUnknownMemberType]
    critic: Any = new_critic(folder).float().eval()
    with torch.inference_mode():
        truth = critic(*windows(16))[1]
    for device in devices:
        critic.to(device)
        for kind in ("fp32",) if device == "cpu" else ("fp32", "fp16"):
            for batch in (16,) if device == "cpu" else (16, 256):
                moved = [part.to(device) for part in windows(batch)]

                def forward(
                    moved: list[Any] = moved, kind: str = kind, device: str = device
                ) -> Any:
                    half = torch.autocast(device, torch.float16, enabled=kind == "fp16")
                    with torch.inference_mode(), half:
                        return critic(*moved)[1]

                same = batch == len(truth)
                apart = float((forward().float().cpu() - truth).abs().max()) if same else None
                rate = batch * TOKENS / seconds(forward, rounds)
                rows.append({
                    "critic": "torch", "device": device, "kind": kind, "batch": batch,
                    "tokens_per_s": round(rate), "logits_apart": apart,
                })  # fmt: skip
    weights = Path("harness/rag/compress/weights/critic.onnx")
    if find_spec("onnxruntime") is not None and weights.is_file():
        runtime: Any = import_module("onnxruntime")
        settings = runtime.SessionOptions()
        settings.add_session_config_entry("session.disable_quant_qdq", "1")
        session = runtime.InferenceSession(str(weights), settings, ["CPUExecutionProvider"])
        names = ("input_ids", "attention_mask", "query", "member")
        fed = {name: part.numpy() for name, part in zip(names, windows(16), strict=True)}
        rate = 16 * TOKENS / seconds(lambda: session.run(None, fed), rounds)
        rows.append({
            "critic": "shipped", "device": "cpu", "kind": "int8 weights", "batch": 16,
            "tokens_per_s": round(rate), "logits_apart": None,
        })  # fmt: skip
    return rows


def main() -> None:
    """Measure, write the report, print two tables."""
    options = read_options(
        __doc__, model=Path, sentences=4096, rounds=3, threads=os.cpu_count() or 1,
        out=option(type=Path),
    )  # fmt: skip
    torch.set_num_threads(options.threads)
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    card = torch.cuda.get_device_name() if len(devices) > 1 else None
    encoded = embeddings(options.model, devices, options.sentences, options.rounds)
    scored = critics(options.model, devices, options.rounds)
    result = {"gpu": card, "threads": options.threads, "sentences": options.sentences}
    report({**result, "encoder": encoded, "critic": scored}, options.out)
    print(f"{'encoder':<12}{'batch':>6}{'encode/s':>10}{'tokens/s':>12}{'forward/s':>11}"
          f"{'tokens/s':>12}{'cosine min':>12}{'mean':>10}")  # fmt: skip
    for row in encoded:
        print(
            f"{row['device'] + ' ' + row['kind']:<12}{row['batch']:>6}"
            f"{row['encode_sentences_per_s']:>10,}{row['encode_tokens_per_s']:>12,}"
            f"{row['forward_sentences_per_s']:>11,}{row['forward_tokens_per_s']:>12,}"
            f"{row['cosine_min']:>12.6f}{row['cosine_mean']:>10.6f}"
        )
    print(f"{'critic':<28}{'batch':>6}{'tokens/s':>12}{'logits apart':>14}")
    for row in scored:
        label = f"{row['critic']} {row['device']} {row['kind']}"
        apart = "" if row["logits_apart"] is None else f"{row['logits_apart']:.5f}"
        print(f"{label:<28}{row['batch']:>6}{row['tokens_per_s']:>12,}{apart:>14}")
    near = all(row["cosine_min"] >= LEAST_COSINE[row["kind"]] for row in encoded)
    near &= all(
        row["logits_apart"] <= LOGITS_APART
        for row in scored if row["kind"] == "fp32" and row["logits_apart"] is not None
    )  # fmt: skip
    sys.exit(1 if not near else 2 if card is None else 0)


if __name__ == "__main__":
    main()
