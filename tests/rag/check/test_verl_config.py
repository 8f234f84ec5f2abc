"""The configuration for verl: what was checked is what lies there, and it runs ours."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.core import BadInput, assets, digest_file
from harness.rag.check.rollouts import write_parquet, write_prompts

CONFIG = assets.root() / "evals" / "paper" / "verl" / "march.yaml"
RESULT = assets.root() / "evals" / "results" / "verl_config.json"
DOCUMENTS = ["In 2023 the plant made 4,120 cars."]


def test_the_configuration_is_the_one_that_was_checked() -> None:
    found = json.loads(RESULT.read_text("utf-8"))
    assert found["config"] == digest_file(CONFIG), "run benchmarks.check.verl_config again"
    assert found["unknown"] == [] and found["keys"] > 40


def test_the_reward_function_that_it_names() -> None:
    chosen = yaml.safe_load(CONFIG.read_text("utf-8"))["reward"]["custom_reward_function"]
    function = getattr(import_module(chosen["path"].removeprefix("pkg://")), chosen["name"])
    info: dict[str, Any] = {"documents": DOCUMENTS, "num_turns": None, "rollout_reward_scores": {}}
    given: dict[str, Any] = {"data_source": "harness_check", "ground_truth": "", "extra_info": info}
    right = function(solution_str="It made 4,120 cars.", **given, **chosen["reward_kwargs"])
    wrong = function(solution_str="It made 9,999 cars.", **given, **chosen["reward_kwargs"])
    assert (right, wrong) == (0.0, -1.0)


def row(role: str, prompt: str, documents: list[str]) -> dict[str, Any]:
    info: dict[str, Any] = {"index": 0, "split": "train", "answer": "a", "role": role, "sample": 0}
    info |= {"reward": "ztr", "verdict": "PASS", "trainable": True, "question": "q"}
    return {
        "data_source": "harness_check", "prompt": [{"role": "user", "content": prompt}],
        "ability": "fact_check", "responses": ["r"], "rewards": [0.0],
        "reward_model": {"style": "rule", "ground_truth": ""},
        "extra_info": {**info, "documents": documents},
    }  # fmt: skip


def test_prompts_to_train_on_are_the_solvers(tmp_path: Path) -> None:
    rollouts, out = tmp_path / "rollouts.parquet", tmp_path / "train.parquet"
    solver = row("solver", "p1", DOCUMENTS)
    write_parquet([solver, solver, row("checker", "p2", []), row("solver", "p3", [])], rollouts)
    assert write_prompts(rollouts, out) == 1
    written: Any = import_module("pyarrow.parquet").read_table(out).to_pylist()
    assert written[0]["extra_info"]["documents"] == DOCUMENTS
    write_parquet([row("checker", "p2", [])], rollouts)
    with pytest.raises(BadInput, match="no row of a Solver"):
        write_prompts(rollouts, out)
    rollouts.write_bytes(b"no parquet")
    with pytest.raises(BadInput, match="rollouts of a check"):
        write_prompts(rollouts, out)
