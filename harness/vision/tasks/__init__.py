"""The vqa family: questions about images, which lie in the work folder beside nothing else.

| metric | of | pass | value |
|---|---|---|---|
| `anls` | DocVQA, InfographicVQA | ANLS of at least 0.5 | ANLS |
| `relaxed` | ChartQA | number within 5 %, else equal | 1 or 0 |
| `consensus` | TextVQA | VQA accuracy of at least 0.5 | VQA accuracy |
| `mathvista` | MathVista | equal in the script's normal form | 1 or 0 |
| `tabmwp` | TabMWP | equal in the script's normal form | 1 or 0 |
| `choice` | ScienceQA | the right letter | 1 or 0 |
| `fields` | SROIE | every field exact | share of exact fields |
| `printed` | folio | text as printed, number equal | 1 or 0 |
| `em` | own sets | normalised answer is an accepted one | 1 or 0 |
"""

from __future__ import annotations

from pathlib import Path

from harness.core import Score, Task
from harness.sandbox import Sandbox
from harness.tasks.answers import accepted_answers
from harness.tasks.inputs import copy_inputs
from harness.tasks.judged import choices_of
from harness.vision.tasks.anls import anls
from harness.vision.tasks.consensus import consensus
from harness.vision.tasks.fields import matching_fields, read_fields
from harness.vision.tasks.intervals import format_reward, global_reward, local_reward, read_spans
from harness.vision.tasks.judging import JUDGES, judge, metric_of
from harness.vision.tasks.mathvista import mathvista_form
from harness.vision.tasks.printed import printed_match
from harness.vision.tasks.relaxed import relaxed_match
from harness.vision.tasks.tabmwp import tabmwp_form, tabmwp_prediction

__all__ = [
    "FORMS",
    "JUDGES",
    "VqaFamily",
    "anls",
    "consensus",
    "format_reward",
    "global_reward",
    "judge",
    "local_reward",
    "matching_fields",
    "mathvista_form",
    "metric_of",
    "printed_match",
    "read_fields",
    "read_spans",
    "relaxed_match",
    "tabmwp_form",
    "tabmwp_prediction",
]

FORMS = {
    "anls": "Reply with the answer alone, in the words of the image where they stand there.",
    "relaxed": "Reply with the number or the name alone, without a unit.",
    "consensus": "Reply with the answer alone, in as few words as possible.",
    "mathvista": "Reply with the letter of the right choice, or with the number alone.",
    "tabmwp": "Reply with the letter of the right choice, or with the number alone.",
    "choice": "Reply with the letter of the right choice alone.",
    "em": "Reply with the answer alone, as short as it can be.",
    "printed": "Reply with the answer alone, as it is printed where it stands in the image.",
    "fields": "Reply with one JSON object that has these fields and nothing else.",
}
"""Metric -> what an agent is told about the form of its answer."""


class VqaFamily:
    """Judges the final answer by the task's metric."""

    name = "vqa"

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        """Take the sandbox, as every family does; no code of a suite runs here."""

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """See :meth:`harness.tasks.types.Family.prepare`."""
        metric = metric_of(task)
        accepted_answers(task)  # before a model call is paid for
        copy_inputs(task, base, workdir)
        choices = [f"{letter}. {text}" for letter, text in choices_of(task).items()]
        unit = task.meta.get("unit")
        names = ", ".join(task.files)
        parts = [
            task.prompt,
            *choices,
            *([f"Unit: {unit}"] if unit else []),
            *([f"Files: {names}"] if names else []),
        ]
        return "\n".join(parts) + f"\n\n{FORMS[metric]}"

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Judge the final answer; `detail` names the metric and its figures."""
        return judge(task, answer)
