"""A training: what goes in, the weights, and how they do on held-out groups."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from harness.core import BadInput, Value, digest_file, read_json, write_atomic
from harness.rag.compress import LexicalCritic
from harness.rag.compress.critics.fused import FUSION
from harness.rag.compress.critics.token import WEIGHTS as SHIPPED
from harness.rag.compress.critics.token import TokenCritic
from harness.rag.retrieve import EncoderKind, bundled_model, open_encoder
from lab.training.compressor.evaluation import Measured, held_questions, measure
from lab.training.compressor.examples import FILES, read_examples
from lab.training.compressor.fusion import joined


class TrainOptions(Value):
    """Options of a run; the same options and data on one machine give the same weights.

    On a GPU they are the same but for rounding.

    Attributes:
        data: folder with the training files.
        out: folder for report and weights.
        encoder: folder of a BERT encoder to begin with; default: the bundled all-MiniLM-L6-v2.
        windows: to train on; the run ends with the first batch that reaches it.
        batch_tokens: of an update, padding included.
        rate: learning rate of the encoder behind the warm-up; constant, since the moving average
            of the weights is what is used.
        head_rate: the same for the heads.
        warm_up: updates.
        averaging: factor of the moving average.
        frozen: lowest layers of the encoder that are not trained, and the embeddings with them.
        seed: of windows, their order and the masking.
        fused_with: kind of the encoder that the fusion is fitted with.
        threads: of the CPU. More than one pays on idle cores only.
        device: where the encoder runs; `auto` is a GPU if PyTorch has one.
    """

    data: Path
    out: Path
    encoder: Path | None = None
    windows: int = 40_000
    batch_tokens: int = 1600
    rate: float = 1e-4
    head_rate: float = 1e-3
    warm_up: int = 60
    averaging: float = 0.99
    frozen: int = 3
    seed: int = 7
    fused_with: EncoderKind = "encoder"
    threads: int = 1
    device: Literal["auto", "cpu", "cuda"] = "auto"


REPORT, WEIGHTS = "report.json", "weights"


class Manifest(Value):
    """The ingredients of weights.

    Attributes:
        options: all but the folders, `fused_with`, `threads` and `device`.
        data: file -> SHA-256.
        encoder: SHA-256 of the weights that training begins with.
        examples: source -> questions, the held-out ones not counted.
        windows: that are trained on.
    """

    options: dict[str, Any]
    data: dict[str, str]
    encoder: str
    examples: dict[str, int]
    windows: int


class Report(Value):
    """The result of a training.

    Attributes:
        manifest: of the run.
        weights: SHA-256 and bytes of `critic.onnx`.
        critic: the trained critic on held-out groups.
        lexical: BM25 on the same.
    """

    manifest: Manifest
    weights: dict[str, str | int]
    critic: Measured
    lexical: Measured


def train(options: TrainOptions, tell: Callable[[str], None] = print) -> Report:
    """Train, export to 8-bit ONNX, measure on held-out groups; writes all of it to `options.out`.

    Args:
        options: of the run.
        tell: takes a line of progress.

    Raises:
        BadInput: if data are missing or malformed, or `out` holds weights already.
    """
    from lab.training.compressor.loop import fit
    from lab.training.compressor.network import export_onnx

    manifest, folder = manifest_of(options), options.out / WEIGHTS
    if folder.exists():
        raise BadInput(f"{str(options.out)!r} holds a training already: choose another --out")
    export_onnx(fit(options, tell), folder / "critic.onnx")
    shutil.copyfile(_encoder(options) / "tokenizer.json", folder / "tokenizer.json")
    critic, examples = TokenCritic(folder), read_examples(options.data)
    questions = held_questions(examples, options.seed)
    tell(f"measuring on {len(questions)} held-out questions")
    report = Report(
        manifest=manifest,
        weights={
            "sha256": digest_file(folder / "critic.onnx"),
            "bytes": (folder / "critic.onnx").stat().st_size,
        },
        critic=measure(critic, questions),
        lexical=measure(LexicalCritic(), questions),
    )
    write_atomic(folder / REPORT, report.model_dump_json(indent=1) + "\n")
    tell("fitting the fusion on held-out groups")
    shipped = read_json(SHIPPED / FUSION)
    facts = joined(shipped, critic, open_encoder(options.fused_with), examples)
    write_atomic(folder / FUSION, json.dumps(facts, indent=1) + "\n")
    return report


def manifest_of(options: TrainOptions) -> Manifest:
    """The manifest of a run with these options.

    Raises:
        BadInput: if a training file is missing or malformed.
    """
    examples = read_examples(options.data)
    sources = Counter(e.passage.source for e in examples if not e.passage.held_out)
    apart = {"data", "out", "encoder", "fused_with", "threads", "device"}
    return Manifest(
        options=options.model_dump(mode="json", exclude=apart),
        data={name: digest_file(options.data / name) for name in FILES},
        encoder=digest_file(_encoder(options) / "model.safetensors"),
        examples=dict(sorted(sources.items())),
        windows=options.windows,
    )


def _encoder(options: TrainOptions) -> Path:
    return options.encoder or bundled_model()
