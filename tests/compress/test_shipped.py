"""The weights in the tree are those of their report, small enough, and in use only if they help."""

from __future__ import annotations

import json
from typing import Any

from harness.compress.critics.features import NAMES
from harness.compress.critics.token import WEIGHTS
from harness.core import digest_file


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
