"""Speed of the token critic against the bare encoder on the same back end, in one run.

    python -m benchmarks.compression.speed --rounds 5

Tokens of the document a second of CPU time (so that other work on the machine counts little), the
two in turn, medians over rounds. The critic pays for the question in every window, for the unit
that two windows share, and for its heads; the bare encoder reads the same tokens in windows of the
same length and pays for nothing else. Both on ONNX Runtime, weights stored in 8 bits, as shipped.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.models.gpu_encode import random_sentences
from benchmarks.reports import in_turn, option, read_options, report
from harness.rag.compress import Query, Unit
from harness.rag.compress.critics.token import BATCH, TOKENS, WEIGHTS, TokenCritic
from harness.rag.retrieve import bundled_model

QUERY = Query("", "When was the copper engine of the bridge replaced?")


def document(tokens: int) -> list[Unit]:
    """Sentences of 8 to 30 words, each word one token, about `tokens` together."""
    units: list[Unit] = []
    place = used = 0
    stream = random_sentences()
    while used < tokens:
        text = next(stream)
        units.append(Unit("d", place, place + len(text), text, "sentence"))
        place, used = place + len(text) + 1, used + len(text.split()) + 1
    return units


class Bare(nn.Module):
    """An encoder and nothing else, with plain arguments.

    Args:
        encoder: a BERT encoder.
    """

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """States of the last layer, shape (batch, tokens, width)."""
        return self.encoder(input_ids=input_ids, attention_mask=attention_mask)[0]


def bare_encoder(folder: Path) -> Callable[[int], None]:
    """Reads that many tokens with the encoder alone, on ONNX Runtime, weights stored in 8 bits."""
    from harness.train.compressor.network import in_8_bits

    transformers: Any = import_module("transformers")
    runtime: Any = import_module("onnxruntime")
    encoder = transformers.AutoModel.from_pretrained(str(bundled_model()), add_pooling_layer=False)
    ids = torch.ones((2, 8), dtype=torch.long)
    onnx: Any = torch.onnx
    onnx.export(
        Bare(encoder).eval(), (ids, ids), str(folder / "full.onnx"), opset_version=17, dynamo=False,
        input_names=["input_ids", "attention_mask"], output_names=["states"],
        dynamic_axes={
            name: {0: "b", 1: "t"} for name in ("input_ids", "attention_mask", "states")
        },
    )  # fmt: skip
    in_8_bits(folder / "full.onnx", folder / "bare.onnx")
    options = runtime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    session = runtime.InferenceSession(str(folder / "bare.onnx"), options)
    window = np.random.default_rng(3).integers(2000, 20000, (BATCH, TOKENS))

    def read(tokens: int) -> None:
        for _ in range(max(1, round(tokens / window.size))):
            session.run(None, {"input_ids": window, "attention_mask": np.ones_like(window)})

    return read


def main() -> None:
    """Measure, print and write the report."""
    options = read_options(
        __doc__,
        tokens=7_168,
        rounds=5,
        weights=option(type=Path, default=WEIGHTS),
        out=Path("evals/results/compression_speed.json"),
    )
    critic, units = TokenCritic(options.weights), document(options.tokens)
    with tempfile.TemporaryDirectory() as folder:
        read = bare_encoder(Path(folder))
        arms: dict[str, Callable[[], object]] = {
            "token critic": lambda: critic.score(QUERY, units),
            "bare encoder": lambda: read(options.tokens),
        }
        seconds = in_turn(arms, options.rounds)
    medians = {
        name: round(options.tokens / statistics.median(times)) for name, times in seconds.items()
    }
    result = {
        "tokens a CPU second": medians,
        "ratio": round(medians["token critic"] / medians["bare encoder"], 3),
        "window": TOKENS,
        "batch": BATCH,
    }
    report(result, options.out)


if __name__ == "__main__":
    main()
