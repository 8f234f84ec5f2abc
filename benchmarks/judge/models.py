"""A model as judge of labelled pairs, by each method, on the same pairs. Resumes where it stopped.

    python -m benchmarks.judge.models ../shared/data/dev --set gsm8k --limit 40 --runs judged \\
        --model local/qwen2.5-coder-1.5b --method openrs --setting baseline --setting operational

Pairs are drawn with a fixed seed from those whose texts are short enough for small models. Settings
are those of Skill-RM: `baseline` is direct judging, `fair` shows a method the task and the answers,
`operational` the reference as well, where a set has one. After each method, direct judging is given
as many votes as spend its tokens. Each arm has its accuracy over valid verdicts (a tie counts half)
with a bootstrap interval, the agreement of both orders, invalid verdicts and tokens a pair; and
the paired difference to direct judging, at one vote and at equal tokens.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.reports import Options, add_run, benchmark, option
from harness.core import Unreachable, loops, read_rows, write_atomic
from harness.core.rundir import RunReader
from harness.judge.session import JudgeCommand, Judged, Method, judge_rows
from harness.judge.types import Verdict
from harness.stats import compare_rates, mean_interval

LONGEST = 3000
"""Characters of task and answers together."""
SIDES = {1: "A", 2: "B"}
WRITERS = "6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"
FILES = {
    "llmbar": "llmbar.jsonl", "gsm8k": "gsm8k_test_recorded.jsonl", "pandalm": "pandalm.jsonl",
    "judgebench": "judgebench.jsonl",
}  # fmt: skip
SETTINGS = {
    "direct": ("baseline", "operational"), "openrs": ("fair", "operational"),
    "skill": ("fair", "operational"),
}  # fmt: skip
KEY = "model", "set", "limit", "longest"  # of a result among those of a file
Pairs = list[dict[str, str]]


class Arm(NamedTuple):
    """A method as it judges every pair."""

    method: Method
    setting: str
    votes: int = 1

    @property
    def name(self) -> str:
        """Name of its run and in the result."""
        return f"{self.method}-{self.setting}" + f"-{self.votes}-votes" * (self.votes > 1)


def pairs(folder: Path, name: str, longest: int = LONGEST) -> Pairs:
    """The labelled pairs of a set as rows of `harness judge`."""
    rows: Pairs = []
    for number, (_, row) in enumerate(read_rows(folder / FILES[name])):
        reference = ""
        if name == "llmbar":
            texts = row["input"], row["output_1"], row["output_2"], SIDES[row["label"]]
        elif name == "judgebench":
            texts = row["question"], row["response_A"], row["response_B"], row["label"][0]
        elif name == "gsm8k":
            writers = random.Random(number).sample(WRITERS, len(WRITERS))
            solutions = {row[name]["is_correct"]: row[name]["solution"] for name in writers}
            if len(solutions) < 2:
                continue
            right = "AB"[list(solutions).index(True)]
            texts = row["question"], *solutions.values(), right
            reference = row["ground_truth"].rpartition("A: ")[2].strip()
        else:
            votes = [row[f"annotator{number}"] for number in (1, 2, 3)]
            winner = max(votes, key=votes.count)
            if votes.count(winner) < 2 or winner not in SIDES:
                continue
            prompt = f"{row['instruction']}\n\n{row['input']}".strip()
            texts = prompt, row["response1"], row["response2"], SIDES[winner]
        if sum(map(len, texts)) <= longest:
            fields = dict(zip(("prompt", "a", "b", "label"), texts, strict=True))
            rows.append({"id": f"{name}-{number}", **fields, "reference": reference})
    return rows


def points(verdicts: dict[str, Verdict], rows: Pairs) -> dict[str, float]:
    """Score every valid verdict: 1 where it is the label, 0.5 for a tie."""
    return {
        row["id"]: 0.5 if preference == "tie" else float(preference == row["label"])
        for row in rows
        if row["id"] in verdicts and (preference := verdicts[row["id"]].preference) is not None
    }


def by_program(verdict: Verdict) -> bool:
    """Return True if a program decided: a compared reference, or a verifier of the skill."""
    return verdict.by == "verifier" or any(
        seen.source == "verifier" and seen.decision != "tie" for seen in verdict.evidence
    )


def figures(verdicts: dict[str, Verdict], rows: Pairs) -> dict[str, Any]:
    """Summarise an arm over all of its pairs."""
    values = list(points(verdicts, rows).values())
    agreements = [v.agreement for v in verdicts.values() if v.agreement is not None]
    return {
        "pairs": len(verdicts),
        "accuracy": statistics.fmean(values) if values else None,
        "ci95": mean_interval(values),
        "orders": len(agreements),
        "orders agree": statistics.fmean(agreements) if agreements else None,
        "invalid": len(verdicts) - len(values),
        "emergency": sum(v.by == "emergency" for v in verdicts.values()),
        "decided by a program": sum(map(by_program, verdicts.values())),
        "tokens a pair": statistics.fmean(v.usage.tokens for v in verdicts.values()),
    }


def difference(
    before: dict[str, Verdict], after: dict[str, Verdict], rows: Pairs
) -> dict[str, Any]:
    """The paired difference of two arms; with invalid verdicts as ties, too, and by a program."""

    def compared(pairs: Pairs, share: float | None = None) -> dict[str, Any]:
        ties = {} if share is None else {row["id"]: share for row in pairs}
        rates = compare_rates(ties | points(before, pairs), ties | points(after, pairs))
        return rates.model_dump(mode="json", exclude={"broken", "fixed", "unpaired"})

    verified = [row for row in rows if row["id"] in after and by_program(after[row["id"]])]
    return {
        "valid in both": compared(rows),
        "invalid as ties": compared(rows, 0.5),
        "where a program decided": compared(verified),
    }


def arms(methods: list[Method], settings: list[str], referenced: bool) -> list[Arm]:
    """Direct judging, then every method in each of its settings that was asked for."""
    selected = {Arm("direct", "baseline"): None} | {
        Arm(method, setting): None
        for method in methods
        for setting in SETTINGS[method]
        if setting in settings and (referenced or setting != "operational")
    }
    return list(selected)


def judge(arm: Arm, rows: Pairs, options: argparse.Namespace) -> dict[str, Verdict]:
    """The verdicts of an arm; those that its run holds are not asked for again."""
    size = f"{options.set}-{options.limit}"
    visible = rows if arm.setting == "operational" else [{**row, "reference": ""} for row in rows]
    file = options.runs / f"{size}-{'open' if arm.setting == 'operational' else 'plain'}.jsonl"
    write_atomic(file, "".join(json.dumps(row) + "\n" for row in visible))
    run = options.runs / f"{size}-{arm.name}"
    settings = JudgeCommand(
        rows=file, method=arm.method, models=(options.model,), base_url=options.base_url, out=run,
        resume=(run / "run.json").is_file(), concurrency=options.concurrency, votes=arm.votes,
        setting="fair" if arm.setting == "fair" else "operational", sandbox=options.sandbox,
    )  # fmt: skip
    with suppress(Unreachable):  # no valid verdict: the run has why, for every pair
        loops.run(judge_rows(settings))
    judged = map(Judged.model_validate, RunReader(settings.out).items())
    return {row.id: row.verdict for row in judged if row.verdict is not None}


@benchmark(
    "folder",
    set=option(choices=tuple(FILES), required=True),
    model=str,
    base_url=option(),
    method=option(action="append", choices=tuple(SETTINGS), required=True),
    setting=option(action="append", choices=("baseline", "fair", "operational")),
    votes=option(type=int, help="of direct judging; default: as spend a method's tokens"),
    sandbox="auto",
    limit=40,
    longest=option(type=int, default=LONGEST, help="characters"),
    concurrency=2,
    runs=option(type=Path, required=True, help="folder of the runs"),
    out=Path("evals/results/judge_models.json"),
)
def main(options: Options) -> None:
    """Judge the pairs by every method, and print the figures as JSON."""
    rows = pairs(options.folder, options.set, options.longest)
    random.Random(7).shuffle(rows)
    rows = rows[: options.limit]
    options.runs.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {
        "model": options.model, "set": options.set, "limit": options.limit,
        "longest": options.longest, "arms": {}, "compared": {},
        "longer answer": statistics.fmean(
            (len(row["a"]) > len(row["b"])) == (row["label"] == "A") for row in rows
        ),
    }  # fmt: skip
    verdicts: dict[Arm, dict[str, Verdict]] = {}

    def measure(arm: Arm) -> float:
        verdicts[arm] = judge(arm, rows, options)
        result["arms"][arm.name] = figures(verdicts[arm], rows)
        return result["arms"][arm.name]["tokens a pair"]

    baseline, direct_cost, referenced = Arm("direct", "baseline"), 1.0, bool(rows[0]["reference"])
    for arm in arms(options.method, options.setting or ["fair", "operational"], referenced):
        spent = measure(arm)
        if arm == baseline:
            direct_cost = spent or 1.0
        else:
            equal = baseline._replace(votes=options.votes or max(1, round(spent / direct_cost)))
            measure(equal)
            result["compared"][arm.name] = {
                direct.name: difference(verdicts[direct], verdicts[arm], rows)
                for direct in (baseline, equal)
            }
        add_run(result, options.out, *KEY, command="python -m benchmarks.judge.models")
