"""The weights in the tree are those of their report, small enough, and in use only if they help."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from harness.core import digest_file
from harness.rag.compress import Unit
from harness.rag.compress.critics.features import NAMES, Scores, features
from harness.rag.compress.critics.token import WEIGHTS


def facts(name: str) -> Any:
    return json.loads((WEIGHTS / name).read_text(encoding="utf-8"))


def test_weights_are_those_of_the_report() -> None:
    report = facts("report.json")
    assert report["weights"]["sha256"] == digest_file(WEIGHTS / "critic.onnx")
    assert (WEIGHTS / "critic.onnx").stat().st_size < 25_000_000
    assert {"0.95", "0.98", "0.99"} <= set(report["critic"]["thresholds"])


def test_no_set_of_the_benchmarks_was_trained_on() -> None:
    manifest = facts("report.json")["manifest"]
    assert set(manifest["data"]) == {
        *("nq_oracle.jsonl", "qed.jsonl", "wice_dev.jsonl", "qmsum_val.jsonl"),
    }


def test_the_fusion_reads_the_critic_because_held_out_groups_say_so() -> None:
    fusion = facts("fusion.json")
    joined = fusion["with critic"]
    assert tuple(fusion["features"]) == NAMES
    assert joined["weights"][NAMES.index("critic logit")] > 0.25
    gains = [
        row["fused"] - row["before"]
        for budgets in joined["left_out"].values()
        for row in budgets.values()
    ]
    assert sum(gains) > 0


def test_a_needle_among_thousands_of_like_sentences_is_first() -> None:
    """A fit on some hundred units must not turn against a unit that stands out more."""
    texts = ["Snow lies on the hill.", "The fence is white.", "Smoke drifts up."] * 1500
    texts[1000] = "The display went on showing 7711118188 all night."
    units, place = list[Unit](), 0
    for text in texts:
        units.append(Unit("d", place, place + len(text), text, "sentence"))
        place += len(text) + 1
    cosines = np.full(len(units), 0.05)
    cosines[1000] = 0.6
    vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)
    logits = np.full(len(units), -3.5)
    logits[1000] = -2.5  # of which the critic makes little
    for critic, name in ((None, "without critic"), (logits, "with critic")):
        scores = Scores(critic, np.asarray([1.0, 0.0], np.float32), vectors)
        found = features("What did the display show?", units, scores)
        ranks = np.argsort(-(found @ np.asarray(facts("fusion.json")[name]["weights"])))
        assert ranks[0] == 1000, name
