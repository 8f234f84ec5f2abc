"""The encoder in numpy makes the vectors that sentence-transformers makes."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from harness.rag.retrieve import bundled_model
from harness.rag.retrieve.minilm import load_minilm, read_safetensors

TEXTS = [
    "When was the seal of pump P-101 replaced?",
    "",
    "a",
    "Größe, naïve café, 東京タワー, emoji 🙂 and 4.25 %",
    "One long text about pumps, valves and seals. " * 60,
]


def test_vectors_equal_those_of_sentence_transformers() -> None:
    module: Any = import_module("sentence_transformers")
    reference = module.SentenceTransformer(str(bundled_model())).encode(
        TEXTS, normalize_embeddings=True, show_progress_bar=False
    )
    ours = load_minilm(bundled_model()).encode(TEXTS)
    assert ours.dtype == np.float32
    assert np.abs(ours - reference).max() < 1e-5
    assert ours[0] @ ours[4] < 0.9


def test_a_query_imports_no_framework() -> None:
    program = (
        "import sys\nfrom harness.rag.retrieve import open_encoder\n"
        "row = open_encoder('local').encode_queries(['Who signed it?'])\n"
        "assert row.shape == (1, 384)\n"
        "print([name for name in ('torch', 'transformers', 'sentence_transformers')\n"
        "       if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_tensors_are_read_by_the_published_layout(tmp_path: Path) -> None:
    save: Any = import_module("safetensors.numpy").save_file
    numbers = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.ones(4, dtype=np.float32)}
    save({**numbers, "ids": np.arange(3)}, tmp_path / "x.safetensors")
    read = read_safetensors(tmp_path / "x.safetensors")
    assert sorted(read) == ["a", "b"]
    for name, values in numbers.items():
        assert np.array_equal(read[name], values)
