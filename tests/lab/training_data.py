"""A tiny encoder and tiny training files, written by us, for the tests of training."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.rag.retrieve import bundled_model

TOWNS = (
    "Arbor", "Belmar", "Corvin", "Delton", "Esker", "Farrow", "Gilden", "Harrow", "Ivery", "Jasper",
    "Kelso", "Lorne", "Marlow", "Norden", "Orford", "Pelham", "Quorn", "Rowan", "Selby", "Tarland",
)  # fmt: skip


def tiny_encoder(folder: Path) -> Path:
    """A BERT of two narrow layers with random weights and the real vocabulary."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    torch.manual_seed(1)
    config = transformers.BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=256,
    )  # fmt: skip
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(str(folder))
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        if (bundled_model() / name).exists():
            shutil.copyfile(bundled_model() / name, folder / name)
    return folder


def tiny_data(folder: Path, towns: Sequence[str] = TOWNS) -> Path:
    """The four training files, a row for each town, some of them held out."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = [(town, 1820 + 7 * number, 12 + number) for number, town in enumerate(towns)]
    _write(folder / "nq_oracle.jsonl", (_question(*fact, "founded") for fact in facts))
    _write(folder / "qed.jsonl", (_question(*fact, "mill") for fact in facts))
    _write(folder / "wice_dev.jsonl", (_claim(*fact) for fact in facts))
    _write(folder / "qmsum_val.jsonl", (_meeting(*fact) for fact in facts))
    return folder


def _question(town: str, year: int, mills: int, asked: str) -> dict[str, Any]:
    sentences = [
        f"{town} was founded in {year} by weavers. ",
        f"The river at {town} drives {mills} mills. ",
        f"Every spring {town} holds a fair on the old square.",
    ]
    starts = [0, len(sentences[0]), len(sentences[0]) + len(sentences[1])]
    text, at = "".join(sentences), 0 if asked == "founded" else 1
    answer = str(year) if asked == "founded" else f"{mills} mills"
    query = f"when was {town} founded" if asked == "founded" else f"how many mills has {town}"
    row = {
        "query": query, "title": town, "context": text, "answers": [answer],
        "spans": [[text.index(answer), text.index(answer) + len(answer)]],
    }  # fmt: skip
    if asked == "mill":
        row |= {"sentence_starts": starts, "spans": [[starts[at], starts[at + 1]]]}
    return row


def _claim(town: str, year: int, mills: int) -> dict[str, Any]:
    evidence = [f"Line {number} of the page of {town} says little." for number in range(24)]
    evidence[9] = f"In {year} a bridge over the river was opened in {town}."
    return {
        "claim": f"{town} has had a bridge since {year}.", "evidence": evidence,
        "supporting_sentences": [[9]], "meta": {"claim_title": town},
    }  # fmt: skip


def _meeting(town: str, year: int, mills: int) -> dict[str, Any]:
    turns = [f"Chair: Point {number} on the list of {town} is open." for number in range(22)]
    turns[5:7] = [f"Clerk: The mill fee in {town} rises.", f"Chair: By {mills} crowns, then."]
    text = "\n".join(turns)
    start = text.index("Clerk:")
    span = [start, start + len("\n".join(turns[5:7]))]
    query = {"query": f"What was said about the mill fee in {town}?", "answer": "", "spans": [span]}
    return {"id": f"meeting-{town}", "context": text, "queries": [query]}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
