"""Updates a second of the token critic's training on the processor and on a GPU, and their losses.

    python -m benchmarks.train.critic_steps --encoder MODEL --out critic_steps.json

`harness.train.compressor.loop.fit` itself, on made-up texts in the form of its four files, from the
same seed on both devices: with batches of 1,600 tokens, as it ships, and with 16 times as many. A
rate leaves the first ten updates out. The losses after the last update, means of up to 50 updates,
may differ by a hundredth of themselves: rounding, which every update carries on. Without a GPU the
processor alone is measured, and the exit status is 2.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import torch

from benchmarks.reports import option, read_options, report
from harness.train.compressor.loop import REPORT_EVERY, fit
from harness.train.compressor.session import TrainOptions
from tests.train.training_data import TOWNS, tiny_data

Device = Literal["cpu", "cuda"]
BATCH_TOKENS = (1_600, 25_600)
TOLERANCE = 0.01


class Enough(Exception):
    """Ends a training."""


def run(device: Device, tokens: int, options: Any, data: Path, out: Path) -> dict[str, Any]:
    """Updates a second and the loss of one training, which ends after the steps or the seconds."""
    marks: list[tuple[int, float, float]] = []
    started = time.perf_counter()

    def tell(line: str) -> None:
        steps, loss = re.findall(r"(\d+) updates, loss ([\d.]+)", line)[0]
        now = time.perf_counter()
        marks.append((int(steps), float(loss), now))
        if int(steps) >= options.steps or now - started > options.seconds:
            raise Enough

    settings = TrainOptions(
        data=data, out=out, encoder=options.encoder, windows=10**9, batch_tokens=tokens,
        threads=options.threads, device=device, save_s=1e9,
    )  # fmt: skip
    with suppress(Enough):
        fit(settings, tell)
    (first, _, early), (last, loss, late) = marks[0], marks[-1]
    rate = round((last - first) / (late - early), 2) if last > first else None
    return {
        "device": device, "batch_tokens": tokens, "updates": last, "updates_per_s": rate,
        "loss": loss, "losses": {steps: value for steps, value, _ in marks},
    }  # fmt: skip


def main() -> None:
    """Train on both, write the report, print a table."""
    options = read_options(
        __doc__,
        encoder=option(type=Path, help="folder of a BERT; default: the packaged all-MiniLM-L6-v2"),
        steps=100,
        seconds=40.0,
        towns=400,
        threads=os.cpu_count() or 1,
        out=option(type=Path),
    )
    devices: list[Device] = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    towns = [
        f"{TOWNS[n % 20]}{'abcdefghijklmnopqrstuvwxyz'[n // 20]}" for n in range(options.towns)
    ]
    with tempfile.TemporaryDirectory() as name:
        data = tiny_data(Path(name) / "data", towns)
        rows = [
            run(device, tokens, options, data, Path(name) / f"{device}-{tokens}")
            for tokens in BATCH_TOKENS
            for device in devices
        ]
    agree: dict[int, float] = {}
    for tokens in BATCH_TOKENS:
        losses: list[dict[int, float]] = [
            row["losses"] for row in rows if row["batch_tokens"] == tokens
        ]
        step = min(max(own) for own in losses)
        values = [own[step] for own in losses]
        agree[tokens] = round((max(values) - min(values)) / max(values), 5)
    card = torch.cuda.get_device_name() if len(devices) > 1 else None
    settings = {"gpu": card, "threads": options.threads, "report_every": REPORT_EVERY}
    report({**settings, "rows": rows, "loss_difference": agree}, options.out)
    print(f"{'':<6}{'tokens a batch':>15}{'updates':>9}{'a second':>10}{'loss':>9}")
    for row in rows:
        head = f"{row['device']:<6}{row['batch_tokens']:>15,}{row['updates']:>9}"
        print(f"{head}{row['updates_per_s'] or 0:>10.2f}{row['loss']:>9.4f}")
    print(f"losses differ by, as a share: {agree}")
    sys.exit(2 if card is None else int(max(agree.values()) > TOLERANCE))


if __name__ == "__main__":
    main()
