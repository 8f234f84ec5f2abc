"""FAISS on a GPU beside FAISS on the processor: build, queries a second, recall; and plain torch.

    python -m benchmarks.retrieval.gpu --gpu-site SITE/gpu --cpu-site SITE/cpu --out gpu.json

Needs NumPy, PyTorch and both builds of FAISS, each in a folder of its own, since both are the
module `faiss`; nothing of `harness` and no data. Every arm is a process: `faiss-cpu` with all
cores, `faiss-gpu`, and `torch`, exact search as a matrix product and `topk`. Without a GPU the
arm `faiss-gpu` fails, the rest is measured and the exit status is 1.

Vectors are synthetic: a row is one of `size / 250` random unit centres plus Gaussian noise that is
0.9 long and falls off as 1/sqrt(1 + i/16) over the dimensions, scaled to length one; queries are
drawn alike. Absolute recalls are those of this mixture, not of passages (`scale.py` has these).
Queries come from the host and results go back to it. Truth is Flat on the processor. The rate of a
batch size is the median over rounds of at least a quarter second each; builds are repeated too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]
Search = Callable[[Vectors], Rows]
SEED, K, WIDTH, NOISE = 43, 10, 384, 2.0
BATCHES = (1, 16, 256, 2048)
LEAST_S = 0.25  # of a round
PER_CELL, PROBED = 64, 16  # training vectors of a cell; one cell in so many is visited
RECIPES = {"Flat": "Flat", "IVF": "IVF{cells},Flat", "IVF-SQ8": "IVF{cells},SQ8"}
ARMS = ("faiss-cpu", "faiss-gpu", "torch")


def mixture(size: int, centres: Vectors, seed: int) -> Vectors:
    """`size` unit vectors around the centres, shape (size, WIDTH)."""
    rng = np.random.default_rng(seed)
    scale = (1 / np.sqrt(1 + np.arange(WIDTH) / 16)).astype(np.float32)
    scale *= NOISE / np.linalg.norm(scale)
    out = np.empty((size, WIDTH), dtype=np.float32)
    for start in range(0, size, 50_000):
        count = min(50_000, size - start)
        rows = rng.standard_normal((count, WIDTH), dtype=np.float32) * scale
        rows += centres[rng.integers(0, len(centres), count)]
        out[start : start + count] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return out


def unit_normal(size: int, seed: int) -> Vectors:
    """Random directions, shape (size, WIDTH)."""
    rows = np.random.default_rng(seed).standard_normal((size, WIDTH), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Arm:
    """Measures what one process can search with, and prints a JSON line for each index.

    Args:
        name: of :data:`ARMS`.
        folder: with `vectors.npy`, `queries.npy` and, but for `faiss-cpu`, `truth.npy`.
        rounds: of each measurement.
        deadline: `time.monotonic` after which nothing is repeated.
    """

    def __init__(self, name: str, folder: Path, rounds: int, deadline: float) -> None:
        self.name, self.folder, self.rounds, self.deadline = name, folder, rounds, deadline
        self.vectors: Vectors = np.load(folder / "vectors.npy")
        self.queries: Vectors = np.load(folder / "queries.npy")

    def measure(self, index: str, build: Callable[[], Search], **facts: Any) -> None:
        """Build, search and compare with the truth."""
        build_s: list[float] = []
        search: Search | None = None
        while search is None or (len(build_s) < self.rounds and time.monotonic() < self.deadline):
            search = None  # the memory of the one before is free
            started = time.perf_counter()
            search = build()
            build_s.append(time.perf_counter() - started)
        rows = search(self.queries)  # the first search warms up
        truth = self.folder / "truth.npy"
        if self.name == "faiss-cpu" and index == "Flat":
            np.save(truth, rows)
        hits = zip(rows.tolist(), np.load(truth).tolist(), strict=True)
        recall = statistics.fmean(len({*ours} & {*exact}) / K for ours, exact in hits)
        row = {"arm": self.name, "index": index, **facts, "builds": len(build_s)}
        row |= {"build_s": round(statistics.median(build_s), 3), "recall_at_10": round(recall, 4)}
        row["queries_per_s"] = {batch: self._rate(search, batch) for batch in BATCHES}
        print(json.dumps(row), flush=True)

    def _rate(self, search: Search, batch: int) -> float:
        rates: list[float] = []
        place = 0
        while not rates or (len(rates) < self.rounds and time.monotonic() < self.deadline):
            sent, started = 0, time.perf_counter()
            while time.perf_counter() - started < LEAST_S:
                part = self.queries[place : place + batch]
                search(part)
                sent, place = sent + len(part), (place + batch) % len(self.queries)
            rates.append(sent / (time.perf_counter() - started))
        return round(statistics.median(rates), 1)

    def run_faiss(self) -> None:
        """Flat and inverted lists of this build of FAISS."""
        faiss: Any = import_module("faiss")
        on_gpu = self.name == "faiss-gpu"
        if on_gpu and not faiss.get_num_gpus():
            raise SystemExit("faiss-gpu sees no GPU")
        resources = faiss.StandardGpuResources() if on_gpu else None
        cells = max(1, min(int(4 * len(self.vectors) ** 0.5), len(self.vectors) // 39))
        visited = max(1, cells // PROBED)
        sample = np.linspace(0, len(self.vectors) - 1, min(len(self.vectors), PER_CELL * cells))
        training = self.vectors[sample.astype(np.int64)]

        def build(recipe: str, half: bool) -> Search:
            index = faiss.index_factory(WIDTH, recipe, faiss.METRIC_INNER_PRODUCT)
            if on_gpu:
                options = faiss.GpuClonerOptions()
                options.useFloat16 = half
                index = faiss.index_cpu_to_gpu(resources, 0, index, options)
            if recipe != "Flat":
                index.train(training)
                index.nprobe = visited
            index.add(self.vectors)
            return lambda queries: index.search(queries, K)[1]

        version = faiss.__version__
        for name, recipe in RECIPES.items():
            filled = recipe.format(cells=cells)
            facts = {"recipe": filled, "version": version}
            if recipe != "Flat":
                facts["visited"] = visited
            else:
                facts["threads"] = faiss.omp_get_max_threads()
            self.measure(name, lambda filled=filled: build(filled, half=False), **facts)
            if on_gpu and recipe == "Flat":
                self.measure("Flat fp16", lambda: build("Flat", half=True), **facts)

    def run_torch(self) -> None:
        """Exact search by a matrix product; at 32 bits without TF32."""
        torch: Any = import_module("torch")
        device = "cuda" if torch.cuda.is_available() else "cpu"
        card = torch.cuda.get_device_name() if device == "cuda" else "cpu"
        for name, kind in (("fp32", torch.float32), ("fp16", torch.float16)):

            def build(kind: Any = kind) -> Search:
                table = torch.from_numpy(self.vectors).to(device, kind)
                if device == "cuda":
                    torch.cuda.synchronize()

                def search(queries: Vectors) -> Rows:
                    found: list[Any] = []
                    for start in range(0, len(queries), 256):
                        part = torch.from_numpy(queries[start : start + 256]).to(device, kind)
                        found.append((part @ table.T).topk(K, dim=1).indices)
                    return torch.cat(found).cpu().numpy()

                return search

            self.measure(f"brute force {name}", build, version=torch.__version__, device=card)


def run_arm(name: str, options: argparse.Namespace, folder: Path) -> tuple[list[Any], str]:
    """Its rows and the end of what it message if it failed."""
    site = {"faiss-cpu": options.cpu_site, "faiss-gpu": options.gpu_site}.get(name)
    paths = [str(site)] if site else []
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    command = [sys.executable, __file__, "--arm", name, "--folder", str(folder)]
    command += ["--rounds", str(options.rounds), "--seconds", str(options.seconds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        process = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False,
            timeout=3 * options.seconds,
        )  # fmt: skip
        message, lines = process.stderr[-1500:] if process.returncode else "", process.stdout
    except subprocess.TimeoutExpired as error:
        message, lines = "took too long", (error.stdout or b"").decode()
    return [json.loads(line) for line in lines.splitlines() if line.startswith("{")], message


def main() -> None:
    """Make the vectors, run the arms, write the report and a table."""
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60, help="of an arm, then no repeats")
    parser.add_argument("--gpu-site", type=Path)
    parser.add_argument("--cpu-site", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--arm", choices=ARMS, help="of the script's own processes")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.arm:
        deadline = time.monotonic() + options.seconds
        arm = Arm(options.arm, options.folder, options.rounds, deadline)
        arm.run_torch() if options.arm == "torch" else arm.run_faiss()
        return
    result: dict[str, Any] = {"vectors": options.size, "dimension": WIDTH, "k": K, "rows": []}
    result |= {"cores": os.cpu_count(), "rounds": options.rounds, "failed": {}}
    with tempfile.TemporaryDirectory() as name:
        folder, centres = Path(name), unit_normal(max(1, options.size // 250), SEED)
        np.save(folder / "vectors.npy", mixture(options.size, centres, SEED + 1))
        np.save(folder / "queries.npy", mixture(max(BATCHES), centres, SEED + 2))
        for arm in ARMS:
            rows, message = run_arm(arm, options, folder)
            result["rows"] += rows
            if message:
                result["failed"][arm] = message
            if options.out:
                options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    heads = "".join(f"{f'{batch} a batch':>14}" for batch in BATCHES)
    print(f"{'':<28}{'build s':>9}{'recall':>8}{heads}   queries a second")
    for row in result["rows"]:
        rates = "".join(f"{rate:>14,.0f}" for rate in row["queries_per_s"].values())
        label = f"{row['arm']} {row['index']}"
        print(f"{label:<28}{row['build_s']:>9.2f}{row['recall_at_10']:>8.4f}{rates}")
    for arm, message in result["failed"].items():
        print(f"{arm} failed: {message}")
    sys.exit(1 if result["failed"] else 0)


if __name__ == "__main__":
    main()
