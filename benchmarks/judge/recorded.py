"""Accuracy of recorded judges on labelled pairs, and agreement of their two orders. No calls.

    python -m benchmarks.judge.recorded ../shared/data/dev

JudgeBench: o1-mini or Claude 3 Haiku; LLMBar: GPT-4 with a chain of thought; PandaLM: GPT-3.5, in
one order only. Both orders are combined as our judges combine theirs (`both_orders`): an order that
cannot be read makes the comparison invalid, orders that disagree are a tie, which counts half.
Beside them stand the trivial judges: the longer answer, and a coin (50 %).
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.reports import option, read_options, report
from harness.core import read_rows
from harness.judge import Verdict, both_orders
from harness.judge.types import Preference
from harness.stats import mean_interval

DECISIONS: dict[str | None, Preference] = {"A>B": "A", "B>A": "B", "A=B": "tie"}


class Comparison(NamedTuple):
    """A labelled pair with a recorded judge's verdict."""

    judge: str
    label: Preference
    verdict: Verdict
    longer: Preference


def order(preference: Preference | None) -> Verdict:
    """A verdict in one order."""
    return Verdict(preference=preference) if preference else Verdict(invalid="not recorded")


def longer(a: str, b: str) -> Preference:
    """Prefer the answer with more characters."""
    return "tie" if len(a) == len(b) else "A" if len(a) > len(b) else "B"


def judgebench(folder: Path) -> Iterator[Comparison]:
    """The second recorded judgement saw the answers swapped; A is what stood first there, too."""
    for _, row in read_rows(folder / "judgebench.jsonl"):
        first, second = row["_recorded_judgments"]
        orders = (order(DECISIONS.get(row["decision"])) for row in (first, second))
        verdict = both_orders(*orders)
        lengths = longer(row["response_A"], row["response_B"])
        yield Comparison(first["judge_model"], DECISIONS[row["label"]], verdict, lengths)


def llmbar(folder: Path) -> Iterator[Comparison]:
    """`winner` is already in terms of the unswapped outputs."""
    names: dict[str, Preference] = {"1": "A", "2": "B"}
    turned: dict[str, Preference] = {"1": "B", "2": "A"}
    for _, row in read_rows(folder / "llmbar.jsonl"):
        lengths = longer(row["output_1"], row["output_2"])
        for recorded in row["_recorded_gpt4_cot"]:
            forward = order(names.get(str(recorded["swap = False"]["winner"])))
            backward = order(turned.get(str(recorded["swap = True"]["winner"])))
            verdict = both_orders(forward, backward)
            label = names[str(row["label"])]
            yield Comparison(f"gpt-4 cot, {row['subset']}", label, verdict, lengths)


def pandalm(folder: Path) -> Iterator[Comparison]:
    """Labels are the majority of three annotators; pairs without one, and ties, are left out."""
    names: dict[str, Preference] = {"1": "A", "2": "B", "Tie": "tie", "0": "tie"}
    for _, row in read_rows(folder / "pandalm.jsonl"):
        votes = [row[f"annotator{number}"] for number in (1, 2, 3)]
        winner = max(votes, key=votes.count)
        recorded = row.get("_recorded_gpt-3.5-turbo")
        if votes.count(winner) < 2 or winner not in (1, 2) or not recorded:
            continue
        verdict = order(names.get(str(recorded["gpt_result"])))
        lengths = longer(row["response1"], row["response2"])
        yield Comparison("gpt-3.5-turbo, one order", names[str(winner)], verdict, lengths)


def points(preferences: list[tuple[Preference | None, Preference]]) -> dict[str, Any]:
    """Accuracy over valid verdicts, a tie counting half, with a bootstrap interval."""
    values = [
        0.5 if preference == "tie" else float(preference == label)
        for preference, label in preferences
        if preference is not None
    ]
    low, high = mean_interval(values)
    mean = statistics.fmean(values) if values else None
    return {"accuracy": mean, "ci95": [low, high], "n": len(values)}


def measure(rows: list[Comparison]) -> dict[str, Any]:
    """Accuracy, agreement of orders and invalid verdicts of one judge, beside the longer answer."""
    agreements = [row.verdict.agreement for row in rows if row.verdict.agreement is not None]
    return {
        "judge": points([(row.verdict.preference, row.label) for row in rows]),
        "longer answer": points([(row.longer, row.label) for row in rows]),
        "orders agree": statistics.fmean(agreements) if agreements else None,
        "invalid": sum(bool(row.verdict.invalid) for row in rows),
        "pairs": len(rows),
    }


def main() -> None:
    """Print the figures of every set and judge as JSON."""
    options = read_options(__doc__, "folder", out=option(type=Path))
    result: dict[str, Any] = {}
    for name, read in (("judgebench", judgebench), ("llmbar", llmbar), ("pandalm", pandalm)):
        groups: dict[str, list[Comparison]] = defaultdict(list)
        for row in read(options.folder):
            groups[row.judge].append(row)
        result[name] = {judge: measure(rows) for judge, rows in sorted(groups.items())}
    report(result, options.out)


if __name__ == "__main__":
    main()
