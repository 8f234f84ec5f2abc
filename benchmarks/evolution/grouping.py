"""Grouping of recorded lessons against two annotators: B-cubed F1 (Bagga and Baldwin 1998).

    python -m benchmarks.evolution.grouping PATCHES.jsonl [--out FILE]

PATCHES is a file of recorded analyst records (`spreadsheet_skill_patches`); labels/grouping.json
holds the groups that two annotators gave 252 lessons of 84 of its patches, independently and
without sight of the code (ids and group numbers only). Distances of every method are chosen on one
half of the patches, by the mean over both annotators, and F1 is reported on the other half and on
all. The annotators are language models; their agreement bounds what a figure here can mean.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.reports import Options, Result, benchmark, option, read_jsonl
from harness.evolve.merge import similarity
from harness.evolve.merge.similarity import Measure, measure, similar_groups

LABELS = Path(__file__).parent / "labels" / "grouping.json"
Groups = Mapping[str, int]


def b_cubed(groups: Groups, gold: Groups, ids: Sequence[str]) -> float:
    """F1 of B-cubed precision and recall over `ids`."""
    precision = recall = 0.0
    for lesson in ids:
        mine = {candidate for candidate in ids if groups[candidate] == groups[lesson]}
        true = {candidate for candidate in ids if gold[candidate] == gold[lesson]}
        shared = len(mine & true)
        precision += shared / len(mine)
        recall += shared / len(true)
    precision, recall = precision / len(ids), recall / len(ids)
    return 2 * precision * recall / (precision + recall)


def read(path: Path, ids: Sequence[str]) -> dict[str, str]:
    """The text of every labelled lesson, as the merge sees it: title, lesson and scope."""
    texts: dict[str, str] = {}
    for row in read_jsonl(path):
        for number, item in enumerate(row.get("memory_items") or (), start=1):
            key = f"{row['_run']}/{row['_task_id']}#{number}"
            parts = (f"{item.get('title')}.", item.get("lesson"), item.get("generalization"))
            texts[key] = " ".join(str(part or "") for part in parts)
    return {key: texts[key] for key in ids}


class EncoderOnly(Measure):
    """The baseline: sentence embeddings and nothing else."""

    def similarities(
        self, texts: Sequence[str], quotes: Sequence[str] = ()
    ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        return similarity.encoded(texts)


@benchmark("patches", out=option(type=Path))
def main(arguments: Options) -> Result:
    labels: dict[str, list[int]] = json.loads(LABELS.read_text())["labels"]
    ids = sorted(labels)
    golds = [{key: labels[key][which] for key in ids} for which in (0, 1)]
    halves: tuple[list[str], list[str]] = [], []
    for key in ids:  # by the patch, so that no patch lies in both halves
        digest = hashlib.sha256(f"half|{key.split('#')[0]}".encode()).hexdigest()
        halves[int(digest, 16) % 2].append(key)
    tune, test = halves
    texts_by_key = read(arguments.patches, ids)
    texts = [texts_by_key[key] for key in ids]

    def score(groups: list[list[int]], part: Sequence[str]) -> float:
        group_of = {ids[i]: number for number, group in enumerate(groups) for i in group}
        return sum(b_cubed(group_of, gold, part) for gold in golds) / len(golds)

    def tuned(make: Callable[[float], list[list[int]]]) -> dict[str, float]:
        distances = [round(0.2 + 0.03 * step, 2) for step in range(22)]
        best = max(distances, key=lambda distance: score(make(distance), tune))
        return {"distance": best, **row_of(make(best))}

    def row_of(groups: list[list[int]]) -> dict[str, float]:
        return {
            "groups": len(groups), "tune": score(groups, tune), "test": score(groups, test),
            "all": score(groups, ids),
        }  # fmt: skip

    only = EncoderOnly(name="encoder", hybrid=True, distance=0.5)
    return {
        "lessons": len(ids),
        "agreement": {
            name: b_cubed(golds[0], golds[1], part)
            for name, part in (("tune", tune), ("test", test), ("all", ids))
        },
        "methods": {
            "each for itself": row_of([[i] for i in range(len(ids))]),
            "ours, lexical": row_of(similar_groups(texts, measure("lexical"))),
            "ours, hybrid": row_of(similar_groups(texts, measure("hybrid"))),
            "encoder alone, tuned": tuned(
                lambda d: similar_groups(texts, only.model_copy(update={"distance": d}))
            ),
        },
    }
