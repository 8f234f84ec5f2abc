"""Batches with models: calls an answer costs, order, rows that cannot be checked, rollouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from harness.core import BadInput, LimitReached, Unreachable
from harness.models import Budget, CallStore
from harness.rag.check import Row, export
from harness.rag.check.blind import CheckSettings, calls_of, check_batch_blind
from harness.rag.cli.check import check
from tests.models.http_server import Answer, completion, error, free_port, serve
from tests.rag.check.blind.test_march import NOTES, RESPONSE, honest, is_checker, prompt_of

ASKED = "When was the mill built?"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the openai client wants to see."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def row(number: int, answer: str = RESPONSE, context: str = NOTES.text) -> Row:
    return Row(id=f"r{number}", answer=answer, contexts=(context,), question=ASKED)


# Answers as systems write them: one value, several, names, a comparison, a negation, a list.
ANSWERS = (
    "1912.",
    "The mill at Orrin Bay was built in 1912.",
    "It grinds 40 tonnes a day.",
    RESPONSE,
    "Built in 1912, the mill at Orrin Bay grinds 40 tonnes a day, more than in 1911.",
    "The mill was not built by Mary Hollin, but by Jon Tolvik, Ada Kell and Sam Orrin in 1912.",
    "There are 3 mills. Flour sold rose from 200 in 2018 to 250 in 2019, by 25%.",
)


def test_an_answer_costs_three_calls_at_the_median() -> None:
    rows = [row(at, answer) for at, answer in enumerate(ANSWERS)]
    with serve(honest) as served:
        found = check_batch_blind(rows, ["openai/x"], CheckSettings(base_url=served.url))
    reports = [one.report for one in found]
    calls = calls_of(reports)
    assert calls["median"] <= 3
    assert calls["proposer"] == len(rows)
    assert sum(calls[name] for name in ("proposer", "checker")) == len(served.bodies)
    assert [one.id for one in found] == [one.id for one in rows]
    assert max(sum(one.calls.values()) for one in reports) <= 5


def test_unreadable_replies_are_counted_apart() -> None:
    def lazy(body: dict[str, Any]) -> Answer:
        return honest(body) if is_checker(body) else completion("no pairs today")

    with serve(lazy) as served:
        (found,) = check_batch_blind([row(1)], ["openai/x"], CheckSettings(base_url=served.url))
    assert found.report.calls["again"] == 1
    assert calls_of([found.report])["median"] == len(served.bodies) - 1


def test_votes_ask_as_often() -> None:
    with serve(honest) as served:
        (one,) = check_batch_blind([row(1)], ["openai/x"], CheckSettings(base_url=served.url))
        (three,) = check_batch_blind(
            [row(1)], ["openai/x"], CheckSettings(base_url=served.url, votes=3)
        )
    assert three.report.calls["checker"] == 3 * one.report.calls["checker"]
    assert {rollout.sample for rollout in three.rollouts} == {0, 1, 2}


def test_a_row_that_cannot_be_checked_stops_nothing() -> None:
    def picky(body: dict[str, Any]) -> Answer:
        return error(400, "too long") if "PICKY" in prompt_of(body) else honest(body)

    rows = [row(1, ""), row(2, context=" "), row(3, "It is PICKY: 40 tonnes."), row(4)]
    seen: list[str] = []
    with serve(picky) as served:
        found = check_batch_blind(
            rows,
            ["openai/x"],
            CheckSettings(base_url=served.url),
            on_report=lambda one: seen.append(one.id),
        )
    assert [one.report.verdict for one in found] == ["INVALID"] * 3 + ["FAIL"]
    assert "too long" in found[2].report.reason
    assert sorted(seen) == ["r1", "r2", "r3", "r4"]


def test_limits_and_absent_servers_stop_it() -> None:
    with serve(honest) as served, pytest.raises(LimitReached):
        check_batch_blind(
            [row(1), row(2)],
            ["openai/x"],
            CheckSettings(base_url=served.url, budget=Budget(calls=2)),
        )
    with pytest.raises(Unreachable):
        check_batch_blind(
            [row(1)], ["openai/x"], CheckSettings(base_url=f"http://127.0.0.1:{free_port()}/v1")
        )
    with pytest.raises(BadInput, match="votes"):
        check_batch_blind([row(1)], ["openai/x"], CheckSettings(votes=0))


def test_an_answered_call_is_not_paid_twice(tmp_path: Path) -> None:
    with serve(honest) as served:
        paid: list[dict[str, int]] = []
        for _ in range(2):
            store = CallStore(tmp_path / "calls.sqlite")
            (found,) = check_batch_blind(
                [row(1)], ["openai/x"], CheckSettings(base_url=served.url, calls=store)
            )
            store.close()
            paid.append(found.report.calls)
        assert paid[1] == {}
        assert len(served.bodies) == sum(paid[0].values())


def test_rollouts_in_the_schema_of_verl(tmp_path: Path) -> None:
    with serve(honest) as served:
        (found,) = check_batch_blind(
            [row(1)], ["openai/x"], CheckSettings(base_url=served.url, votes=2)
        )
    out = tmp_path / "deep" / "rollouts.parquet"
    export([found], out, "scaled")
    table = pd.read_parquet(out)
    assert list(table.columns) == [
        "data_source", "prompt", "ability", "responses", "rewards", "reward_model", "extra_info",
    ]  # fmt: skip
    infos: list[dict[str, Any]] = list(table["extra_info"])
    by_role = {one["role"]: index for index, one in enumerate(infos)}
    assert set(by_role) == {"solver", "proposer", "checker"}
    assert [one["index"] for one in infos] == list(range(len(infos)))
    solver, proposer, checker = (
        table.iloc[by_role[one]] for one in ("solver", "proposer", "checker")
    )
    assert solver["responses"][0] == RESPONSE
    assert ASKED in solver["prompt"][0]["content"]
    assert list(infos[by_role["solver"]]["documents"]) == [NOTES.text]
    # cooperative: Solver and every sample of the Checker share the scalar, the Proposer has none
    assert solver["rewards"][0] == checker["rewards"][0] < 0
    assert pd.isna(proposer["rewards"][0])
    assert not infos[by_role["proposer"]]["trainable"]
    # blindness is what is exported, too
    assert RESPONSE not in checker["prompt"][0]["content"]
    assert checker["prompt"][0]["role"] == "user"


def test_the_command(tmp_path: Path) -> None:
    lines = [{"id": "a", "question": ASKED, "answer": RESPONSE, "contexts": [NOTES.text]}]
    path, out = tmp_path / "rows.jsonl", tmp_path / "rollouts.parquet"
    path.write_text("\n".join(json.dumps(one) for one in lines))
    with serve(honest) as served:
        arguments = ["--batch", path, "--model", "openai/x", "--base-url", served.url, "--json"]
        done = CliRunner().invoke(check, [str(one) for one in (*arguments, "--export", out)])
    assert done.exit_code == 5, done.output
    summary = json.loads(done.stdout)
    assert summary["outcomes"]["FAIL"] == 1
    assert summary["calls"]["median"] <= 3
    assert len(pd.read_parquet(out)) == 1 + sum(
        summary["calls"][name] for name in ("proposer", "checker")
    )
    for wrong in (["--export", str(out)], ["--batch", str(path), "--answer", str(path)]):
        assert CliRunner().invoke(check, wrong).exit_code == 2
