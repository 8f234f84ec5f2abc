"""What a training run depends on."""

from __future__ import annotations

from pathlib import Path

from harness.core import Value


class TrainOptions(Value):
    """Options of a run; the same options and data on one machine give the same weights.

    Attributes:
        data: folder with the training files.
        out: folder for checkpoint, manifest, report and weights.
        encoder: folder of a BERT encoder to begin with; default: the bundled all-MiniLM-L6-v2.
        steps: updates; windows are steps x batch.
        batch: windows of an update.
        rate: highest learning rate; it rises for a twentieth of the steps and falls to zero.
        head_rate: the same for the two heads, which start at random.
        frozen: lowest layers of the encoder that are not trained.
        seed: of windows and heads.
        threads: of the CPU.
        save_s: seconds between checkpoints.
    """

    data: Path
    out: Path
    encoder: Path | None = None
    steps: int = 2000
    batch: int = 16
    rate: float = 6e-5
    head_rate: float = 1e-3
    frozen: int = 3
    seed: int = 41
    threads: int = 1
    save_s: float = 240.0
