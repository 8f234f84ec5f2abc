"""What a training run depends on."""

from __future__ import annotations

from pathlib import Path

from harness.core import Value
from harness.rag.retrieve.encoder import EncoderKind


class TrainOptions(Value):
    """Options of a run; the same options and data on one machine give the same weights.

    Attributes:
        data: folder with the training files.
        out: folder for checkpoint, manifest, report and weights.
        encoder: folder of a BERT encoder to begin with; default: the bundled all-MiniLM-L6-v2.
        windows: to train on; the run ends with the first batch that reaches it.
        batch_tokens: of an update, padding included.
        rate: learning rate of the encoder behind the warm-up; constant, since the moving average
            of the weights is what is used, at any checkpoint.
        head_rate: the same for the heads.
        warm_up: updates.
        averaging: factor of the moving average.
        frozen: lowest layers of the encoder that are not trained, and the embeddings with them.
        seed: of windows, their order and the masking.
        fused_with: kind of the encoder that the fusion is fitted with.
        threads: of the CPU. More than one pays on idle cores only.
        save_s: seconds between checkpoints.
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
    save_s: float = 120.0
