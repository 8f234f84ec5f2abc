"""Our merge of the recorded patches beside the recorded official merge: text against text.

    python -m benchmarks.evolution.merge_report RUNS TASKS-PATCHES.jsonl MERGES.jsonl [--out FILE]

RUNS are the recorded trajectories, PATCHES their recorded analyst records, MERGES the recorded
official merges with the skills they led to. Coverage: a lesson that several annotated patches
support (labels/grouping.json, distinct tasks by the first annotator) is covered if a rule of the
skill is at least as similar to one of its wordings as the distance of the grouping demands. The
official merge saw every task, ours the runs at hand: nothing here says which skill helps more.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.evolution.grouping import LABELS, read
from benchmarks.reports import Options, Result, benchmark, option, read_jsonl
from harness.evolve import EvolveOptions, evolve
from harness.evolve.merge.contradictions import contradictions
from harness.evolve.merge.lessons import Lesson, split
from harness.evolve.merge.similarity import measure
from harness.skills import count_tokens

HIGH_SUPPORT = 3


def rules_of(text: str) -> list[str]:
    """Title and text of every rule of a SKILL.md."""
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    return [f"{title}. {words}" for title, words, _, _ in split(body)]


def supported(labels: dict[str, list[int]]) -> list[list[str]]:
    """Ids of the lessons of every group that at least three tasks support."""
    groups: dict[int, list[str]] = defaultdict(list)
    for key, (first, *_) in labels.items():
        groups[first].append(key)
    tasks = {key: key.split("/")[1].split("#")[0] for key in labels}
    return [g for g in groups.values() if len({tasks[key] for key in g}) >= HIGH_SUPPORT]


def covered(lessons: list[list[str]], texts: dict[str, str], rules: list[str]) -> int:
    """Number of lesson groups that a rule says."""
    by = measure("lexical")
    keys = [key for group in lessons for key in group]
    similar = by.similarities([*(texts[key] for key in keys), *rules])[: len(keys), len(keys) :]
    near = dict(zip(keys, similar.max(axis=1) >= 1 - by.distance, strict=True))
    return sum(any(near[key] for key in group) for group in lessons)


def facts(
    text: str, files: set[str], gold_lessons: list[list[str]], texts: dict[str, str]
) -> dict[str, Any]:
    """One column of the table."""
    rules = rules_of(text)
    lessons = [Lesson(title="", text=rule, sources=(str(n),)) for n, rule in enumerate(rules)]
    links = set(re.findall(r"\]\((references/[^)]+|scripts/[^)]+)\)", text))
    return {
        "high-support lessons covered": (
            f"{covered(gold_lessons, texts, rules)} of {len(gold_lessons)}"
        ),
        "lines": text.count("\n"),
        "tokens": count_tokens(text),
        "rules": len(rules),
        "contradictions": len(contradictions(lessons)),
        "dangling references": len(links - files),
    }


@benchmark("runs", "patches", "merges", out=option(type=Path))
def main(arguments: Options) -> Result:
    labels: dict[str, list[int]] = json.loads(LABELS.read_text())["labels"]
    lessons, texts = supported(labels), read(arguments.patches, sorted(labels))
    columns: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        options = EvolveOptions(
            out=Path(folder) / "out", create="spreadsheets", trajectories=arguments.runs,
            patches=arguments.patches,
        )  # fmt: skip
        result = asyncio.run(evolve(options))
        skill = Path(result.skill)
        files = {path.relative_to(skill).as_posix() for path in skill.rglob("*") if path.is_file()}
        columns["ours"] = facts((skill / "SKILL.md").read_text(), files, lessons, texts)
        more = "\n".join(path.read_text() for path in skill.rglob("*.md"))
        columns["ours with references"] = facts(more, files, lessons, texts)
    for row in read_jsonl(arguments.merges):
        if row["kind"] == "skill":
            name = "/".join(Path(row["path"]).parts[-3:-1])
            columns[name] = facts(row["text"], set(), lessons, texts)
    return columns
