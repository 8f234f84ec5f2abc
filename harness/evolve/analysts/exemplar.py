"""The analyst without a model: worked examples and answer-format rules, counted from the runs.

This is few-shot prompting in the form of a skill, and nothing more is claimed for it: it finds no
causes. It is for models that cannot write a patch, and a baseline for those that can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from statistics import median

from harness.core import Edit, Patch, Trajectory
from harness.evolve.evidence import final_answer, outcome, task_id, task_prompt
from harness.evolve.merge.similarity import tfidf_similarities

FORMAT_SECTION, EXAMPLES_SECTION = "## Answer format", "## Worked examples"
MAX_ANSWER_WORDS = 12
FOLLOWED, BROKEN = 0.8, 0.3
"""A rule must hold for this share of passing answers and be broken by that share of failing."""


def exemplar_patch(trajectories: Sequence[Trajectory], examples: int = 3) -> Patch:
    """Answer-format rules and worked examples as one patch; no edits if no run passed."""
    edits = [*answer_format(trajectories), *worked_examples(trajectories, examples)]
    if not edits:
        return Patch(reasoning="no run passed: there is nothing to take an example from")
    return Patch(
        reasoning="worked examples from passing runs, and format rules that passing answers "
        "follow and failing answers break",
        edits=tuple(edits),
        changelog_entries=("few-shot examples and answer format",),
    )


def answer_format(trajectories: Sequence[Trajectory]) -> list[Edit]:
    """Rules on the shape of the final answer that tell passing from failing runs."""
    passing = [t for t in trajectories if outcome(t) == "pass" and final_answer(t).strip()]
    failing = [t for t in trajectories if outcome(t) == "fail" and final_answer(t).strip()]
    if not passing:
        return []
    found: list[Edit] = []
    for text, follows in _format_rules([final_answer(one).strip() for one in passing]):
        good = [one for one in passing if follows(final_answer(one).strip())]
        bad = [one for one in failing if not follows(final_answer(one).strip())]
        if len(good) >= FOLLOWED * len(passing) and bad and len(bad) >= BROKEN * len(failing):
            found.append(_edit(FORMAT_SECTION, f"- {text}", [*good, *bad]))
    return found


def _format_rules(answers: Sequence[str]) -> list[tuple[str, Callable[[str], bool]]]:
    """Candidate rules: (text, whether an answer follows it)."""
    lengths = sorted(len(answer.split()) for answer in answers)
    limit = lengths[min(len(lengths) - 1, int(0.9 * len(lengths)))]
    rules: list[tuple[str, Callable[[str], bool]]] = [
        ("Write the answer on one line.", lambda answer: "\n" not in answer),
        ("Do not end the answer with a full stop.", lambda answer: not answer.endswith(".")),
        (
            "Begin with the answer itself: no phrase such as 'The answer is' before it.",
            lambda answer: (
                not re.match(r"(?i)(?:the |final )?answer\b|based on|according to", answer)
            ),
        ),
        (
            "Answer with a number alone.",
            lambda answer: re.fullmatch(r"[-+]?[\d.,]+\s*%?", answer) is not None,
        ),
    ]
    if limit <= MAX_ANSWER_WORDS:
        words = "1 word" if limit == 1 else f"{limit} words"
        text = f"Answer with the bare answer, at most {words}: no full sentence, no explanation."
        rules.insert(0, (text, lambda answer: len(answer.split()) <= limit))
    return rules


def worked_examples(trajectories: Sequence[Trajectory], count: int) -> list[Edit]:
    """Passing runs as examples: one a task, shortest and cleanest first, unlike one another."""
    chosen = _diverse(_cleanest(trajectories), count)
    return [example_edit(one) for one in chosen]


def example_edit(trajectory: Trajectory) -> Edit:
    """One worked example: the task and the answer that passed."""
    prompt = " ".join(task_prompt(trajectory).split())
    answer = " ".join(final_answer(trajectory).split())
    return _edit(EXAMPLES_SECTION, f"Task: {prompt}\nAnswer: {answer}", [trajectory])


def _cleanest(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """The best passing run of every task: fewest steps, then least text; the best tasks first."""

    def cost(one: Trajectory) -> tuple[int, int, str]:
        size = len(task_prompt(one)) + len(final_answer(one))
        return len(one.steps), size, one.trajectory_id

    best: dict[str, Trajectory] = {}
    for one in sorted(trajectories, key=cost):
        if outcome(one) == "pass" and task_prompt(one).strip() and final_answer(one).strip():
            best.setdefault(task_id(one), one)
    return list(best.values())


def _diverse(candidates: Sequence[Trajectory], count: int) -> list[Trajectory]:
    """The first, then each time the one least like those chosen, among the shorter half."""
    if len(candidates) <= count or count < 1:
        return list(candidates)[: max(0, count)]
    sizes = [len(task_prompt(one)) for one in candidates]
    pool = [i for i, size in enumerate(sizes) if size <= median(sizes)]
    if len(pool) < count:
        pool = list(range(len(candidates)))
    similarity = tfidf_similarities([task_prompt(candidates[i]) for i in pool])
    chosen = [0]
    while len(chosen) < min(count, len(pool)):
        rest = [i for i in range(len(pool)) if i not in chosen]
        chosen.append(min(rest, key=lambda i: (round(max(similarity[i, chosen]), 9), i)))
    return [candidates[pool[i]] for i in chosen]


def _edit(section: str, content: str, trajectories: Sequence[Trajectory]) -> Edit:
    return Edit(
        file="SKILL.md",
        op="add_section",
        target_section=section,
        content=content,
        sources=tuple(sorted({one.trajectory_id for one in trajectories})),
        support=len({task_id(one) for one in trajectories}),
    )
