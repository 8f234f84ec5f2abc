"""Each attempt at a task has a seed of its own, whoever's client asks the model."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from harness.api import EvalSettings, run_evaluation
from tests.models.http_server import completion, serve

CURL = (
    "cmd:sh -c 'curl -sf $OPENAI_BASE_URL/chat/completions "
    '-H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" '
    '-d "{\\"model\\": \\"m\\", \\"messages\\": [{\\"role\\": \\"user\\", \\"content\\": '
    '\\"hello\\"}]}" > /dev/null || exit 7; echo 4\''
)


@pytest.mark.parametrize("agent", [None, CURL])
def test_the_seeds_of_epochs_reach_the_model(agent: str | None, tmp_path: Path) -> None:
    rows = [{"id": f"t{n}", "prompt": f"task {n}", "answer": "4"} for n in range(2)]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serve(lambda _body: completion("4")) as served:
        settings = EvalSettings(
            suite=str(tmp_path / "s.jsonl"), out=tmp_path / "run", sandbox="none", agent=agent,
            models=("openai/scripted",), base_url=served.url, epochs=3, seed=7,
        )  # fmt: skip
        report = run_evaluation(settings)[0]
        seeds = Counter(body["seed"] for body in served.bodies)
    assert (report.items, report.passed) == (6, 6)
    # With one seed for all tasks, an engine would draw alike for all of them.
    assert len(seeds) == 6
    assert set(seeds.values()) == {1}
