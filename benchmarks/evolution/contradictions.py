"""Contradictions among recorded lessons: precision and recall on labelled pairs, and agreement.

    python -m benchmarks.evolution.contradictions PATCHES.jsonl [--out FILE]

PATCHES is a file of recorded analyst records (`spreadsheet_skill_patches`);
labels/contradictions.json holds 320 pairs of its lessons, labelled twice (ids and labels only): is
there a case in which both apply and cannot both be followed, or both be true? Pairs are of lessons
of different runs of one half of the trajectories: alike in words, of the same interface, random,
and pairs that a reader of all lessons of the half held to be contradictions or nearly so.

Both labels are one annotator's, a language model, at two times and in two orders; their agreement
says how steady it is, not that others would agree. The tuning half was labelled before the code was
written. The other half was labelled after the code was frozen, which then had precision 6 of 8 and
recall 6 of 43 there; it was looked at since, so that its figures flatter us, too. What is a matter
was cut until the conflicts of the recorded runs were conflicts, which cost a third of the recall. A
pair of these sets is a contradiction far more often than a pair of lessons at random.

An evolution runs what lessons claim of code before it compares them, which settles contradictions,
too ("settled by running"); the words then judge pairs whose lessons both stand ("ours, both
stand"). Neither is given where there is no sandbox.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, Result, benchmark, option, read_jsonl
from harness.evolve import read_recorded, to_patch
from harness.evolve.merge.claims import check
from harness.evolve.merge.contradictions import Side, disagreement, sides
from harness.evolve.merge.lessons import Lesson, of_edit
from harness.sandbox import Limits, select
from harness.sandbox import Result as RunResult
from harness.stats import wilson

LABELS = Path(__file__).parent / "labels" / "contradictions.json"
Labels = Mapping[str, Sequence[int]]


def read(path: Path, run: str) -> dict[str, str]:
    """Text of every lesson of a run by its id: task and number, as the merge sees them."""
    tasks = {
        row["_task_id"]: (row["_task_id"], "") for row in read_jsonl(path) if row["_run"] == run
    }
    texts: dict[str, str] = {}
    for record in read_recorded(path, tasks).records:
        lessons = [lesson for edit in to_patch(record, 1).edits for lesson in of_edit(edit)]
        for number, lesson in enumerate(lessons, start=1):
            texts[f"{record.trajectory_id}#{number}"] = lesson.text
    return texts


def half(pair: str) -> str:
    """The half of a pair, by its first trajectory; both of its lessons are of one half."""
    name = pair.partition("#")[0]
    return ("tune", "test")[int(hashlib.sha256(f"half|{name}".encode()).hexdigest(), 16) % 2]


def kappa(labels: Labels) -> float:
    """Cohen's kappa of both labels."""
    rows = list(labels.values())
    agreed = sum(first == second for first, second in rows) / len(rows)
    shares = [sum(row[which] for row in rows) / len(rows) for which in (0, 1)]
    chance = shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1])
    return (agreed - chance) / (1 - chance)


def refuted(texts: Mapping[str, str]) -> frozenset[str] | None:
    """The lessons that running refutes; None where there is no sandbox."""

    def execute(
        command: Sequence[str], *, workdir: Path, files: Mapping[str, bytes] | None = None
    ) -> RunResult:
        return select().exec(command, workdir=workdir, files=files, limits=Limits(wall_s=60))

    names = sorted(texts)
    checked = check([Lesson(title="", text=texts[name]) for name in names], execute)
    return None if checked.note else frozenset(names[number] for number in checked.refuted())


def row(labels: Labels, flags: Callable[[str], bool]) -> dict[str, Any]:
    """Precision and recall with 95 % intervals, by the first label."""
    positive = {pair for pair, marks in labels.items() if marks[0]}
    flagged = {pair for pair in labels if flags(pair)}
    hits = len(positive & flagged)

    def share(of: int) -> dict[str, Any]:
        return {"of": of, "share": hits / of if of else None, "ci95": wilson(hits, of)}

    return {"hits": hits, "precision": share(len(flagged)), "recall": share(len(positive))}


@benchmark("patches", out=option(type=Path))
def main(arguments: Options) -> Result:
    stored = json.loads(LABELS.read_text())
    texts = read(arguments.patches, stored["run"])

    def ours(pair: str) -> bool:
        first, second = pair.split()
        return disagreement(sides(texts[first]), sides(texts[second])) != ""

    def clauses_alone(pair: str) -> bool:
        """The clause behind "always" or "never", and nothing else: the state of before."""

        def clauses(lesson: str) -> frozenset[Side]:
            return frozenset(side for side in sides(texts[lesson]) if side.share)

        first, second = pair.split()
        return disagreement(clauses(first), clauses(second)) != ""

    labelled = {name for pair in stored["labels"] for name in pair.split()}
    false = refuted({name: texts[name] for name in labelled})
    result: dict[str, Any] = {"pairs": len(stored["labels"])}
    for name in ("tune", "test"):
        labels = {pair: marks for pair, marks in stored["labels"].items() if half(pair) == name}
        result[name] = {
            "pairs": len(labels),
            "kappa": kappa(labels),
            "ours": row(labels, ours),
            "clauses alone": row(labels, clauses_alone),
        }
        if false is not None:
            standing = {
                pair: marks for pair, marks in labels.items() if false.isdisjoint(pair.split())
            }
            positive = [pair for pair, marks in labels.items() if marks[0]]
            result[name] |= {
                "settled by running": len(set(positive) - set(standing)),
                "ours, both stand": row(standing, ours),
            }
    return result
