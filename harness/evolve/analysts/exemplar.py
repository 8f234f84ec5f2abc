"""The analyst without a model: worked examples and answer-format rules, counted from the runs.

This is few-shot prompting in the form of a skill, and nothing more is claimed for it: it finds no
causes. It is for models that cannot write a patch, and a baseline for those that can. A run may
pass with more in its answer than it was shown; such an answer is no example. Expected answers may
stand in for those that the runs gave (:func:`with_answers`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from statistics import median

from harness.agents import EXAMPLES_SECTION, worked_example
from harness.core import Edit, Patch, Trajectory
from harness.evolve.merge.similarity import tfidf_similarities
from harness.evolve.merge.wording import stem
from harness.trajectories import content_text

FORMAT_SECTION = "## Answer format"
MAX_ANSWER_WORDS = 12
# Words that an answer may hold although the task does not.
_FREE_WORDS = (
    "a an the and or but of in on at to for from with by as is are was were be it its this that"
    " there yes no not none true false unknown answer"
)
_FREE = frozenset(_FREE_WORDS.split())
_KINDS = {"9": "digit", "A": "capital letter", "a": "small letter"}
# A rule must hold for this share of passing answers and be broken by that share of failing.
FOLLOWED, BROKEN = 0.8, 0.3
# Entry of the change log of a patch whose examples are not the runs' own.
EXPECTED = "worked examples and answer format, from expected answers"
LABELS = 12
"""Up to so many different answers, each given twice or more on average, are labels of classes: one
example of each is shown, even if fewer were asked for."""
FORMS = 5
"""As many different answers, their numbers left out, are forms (`9 GBP`, `9 USD`): as `LABELS`."""
LONG = 1.5
"""Examples are at most so many times as long as the median task."""


def exemplar_patch(
    trajectories: Sequence[Trajectory], examples: int = 3, formal: bool = True
) -> Patch:
    """Answer-format rules and worked examples as one patch; no edits if no run passed.

    Args:
        trajectories: the runs.
        examples: at most, where there are no labels or forms.
        formal: whether checks may object to the form of an answer; else it has no rule.
    """
    edits = answer_format(trajectories) if formal else []
    edits += worked_examples(trajectories, examples)
    passed = [run for run in trajectories if run.outcome == "pass"]
    unsupported = sum(bool(unsupported_words(run)) for run in passed)
    left_out = f"; no example is made of {unsupported} passing answers that hold words which their"
    left_out = f"{left_out} runs were not shown" if unsupported else ""
    if not edits:
        reason = "no run passed" if not passed else f"{len(passed)} runs passed{left_out}"
        return Patch(reasoning=f"{reason}: there is nothing to take an example from")
    return Patch(
        reasoning="worked examples from passing runs, and format rules that passing answers "
        f"follow and failing answers break{left_out}",
        edits=tuple(edits),
        changelog_entries=("few-shot examples and answer format",),
    )


def with_answers(runs: Iterable[Trajectory], answers: Mapping[str, str]) -> list[Trajectory]:
    """The runs as if they had given these answers (task id -> answer), and passed."""
    taught: list[Trajectory] = []
    for run in runs:
        if answer := answers.get(run.task_id):
            metadata = {**run.harness, "answer": answer, "outcome": "pass", "expected": True}
            extra = {**(run.extra or {}), "harness": metadata}
            taught.append(run.model_copy(update={"extra": extra}))
    return taught


def answer_format(trajectories: Sequence[Trajectory]) -> list[Edit]:
    """Rules on the shape of the final answer that tell passing from failing runs."""
    answered = [(run, run.answer.strip()) for run in trajectories]
    passing = [(run, text) for run, text in answered if text and run.outcome == "pass"]
    failing = [(run, text) for run, text in answered if text and run.outcome == "fail"]
    edits: list[Edit] = []
    for rule, follows in _format_rules([text for _, text in passing]):
        good = [run for run, text in passing if follows(text)]
        bad = [run for run, text in failing if not follows(text)]
        if len(good) >= FOLLOWED * len(passing) and bad and len(bad) >= BROKEN * len(failing):
            edits.append(_edit(FORMAT_SECTION, f"- {rule}", [*good, *bad]))
    return edits


def _format_rules(answers: Sequence[str]) -> list[tuple[str, Callable[[str], bool]]]:
    """Candidate rules for passing answers: (text, whether an answer follows it)."""
    if not answers:
        return []
    lengths = sorted(len(answer.split()) for answer in answers)
    limit = lengths[min(len(lengths) - 1, int(0.9 * len(lengths)))]
    words = "1 word" if limit == 1 else f"{limit} words"
    rules: list[tuple[str, Callable[[str], bool]]] = [
        (
            f"Answer with the bare answer, at most {words}: no full sentence, no explanation.",
            lambda answer: len(answer.split()) <= limit,
        ),
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
        *_shape_rules(answers),
    ]
    return rules if limit <= MAX_ANSWER_WORDS else rules[1:]


def _shape_rules(answers: Sequence[str]) -> list[tuple[str, Callable[[str], bool]]]:
    """The form of codes, dates, amounts and the like, where most answers share one: `28-NOV-26`."""
    for exact in (True, False):
        common, count = Counter(_shape(answer, exact) for answer in answers).most_common(1)[0]
        one_line = "\n" not in common
        marked = one_line and re.search(r"[^\w\s]", common) and re.search("[9A]", common)
        if not marked or count < FOLLOWED * len(answers):
            continue
        parts: list[str] = []
        for character, group in groupby(common):
            length, kind = len(list(group)), _KINDS.get(character)
            many = f"{length} {kind}{'s'[: length > 1]}" if exact else f"{kind}s"
            literal = "a space" if character == " " else f"'{character * length}'"
            parts.append(many if kind else literal)
        like = [answer for answer in answers if _shape(answer, exact) == common]
        varied = max(like, key=lambda answer: (len(set(answer)), answer))
        rule = f"Write the answer in exactly this form: {', '.join(parts)}. For example: {varied}"
        return [(rule, lambda answer, of=(exact, common): _shape(answer, of[0]) == of[1])]
    return []


def _shape(answer: str, exact: bool) -> str:
    """Its characters by kind; runs of a kind count as one of it where lengths differ."""
    kinds = "".join(
        "9" if c.isdigit() else "A" if c.isupper() else "a" if c.islower() else c for c in answer
    )
    return kinds if exact else re.sub(r"([9Aa])\1+", r"\1", kinds)


def worked_examples(trajectories: Sequence[Trajectory], count: int) -> list[Edit]:
    """Passing runs as examples: one a task, shortest and cleanest first, unlike one another.

    After the first, each time the one least like those chosen is taken, of those that are not much
    longer than the median: unlike in the words of the task and in the characters of the answer, of
    which a small model copies whatever all examples share. What no example shows, it does not
    write: each label, or each form, of which there are few has an example.
    """

    def cost(run: Trajectory) -> tuple[int, int, str]:
        size = len(run.prompt) + len(run.answer)
        return len(run.steps), size, run.trajectory_id

    best: dict[str, Trajectory] = {}
    for run in sorted(trajectories, key=cost):
        complete = run.prompt.strip() and run.answer.strip()
        if run.outcome == "pass" and complete and not unsupported_words(run):
            best.setdefault(run.task_id, run)
    candidates = list(best.values())
    forms = {
        run.task_id: re.sub(r"\d(?:[\d.,]*\d)?", "9", run.answer.strip()) for run in candidates
    }
    for kinds, most in (
        ({run.answer.strip() for run in candidates}, LABELS),
        ({*forms.values()}, FORMS),
    ):
        if count and len(kinds) <= min(most, len(candidates) / 2):
            count = max(count, len(kinds))
    if len(candidates) <= count or count < 1:
        return [example_edit(run) for run in candidates[: max(0, count)]]
    longest = LONG * median(len(run.prompt) for run in candidates)
    short = [run for run in candidates if len(run.prompt) <= longest]
    pool = short if len(short) >= count else candidates
    similarity = tfidf_similarities([run.prompt for run in pool])
    selected = [0]

    def likeness(i: int) -> float:
        return max(
            similarity[i, j]
            + SequenceMatcher(None, pool[i].answer, pool[j].answer).ratio()
            + (forms[pool[i].task_id] == forms[pool[j].task_id])
            for j in selected
        )

    while len(selected) < min(count, len(pool)):
        unchosen = [i for i in range(len(pool)) if i not in selected]
        selected.append(min(unchosen, key=lambda i: (round(likeness(i), 9), i)))
    return [example_edit(pool[i]) for i in selected]


def unsupported_words(trajectory: Trajectory) -> list[str]:
    """Words that an answer adds to what the run was shown, in the task or by a tool.

    Numbers may be computed, what a picture shows cannot be looked up, and an expected answer (see
    :func:`with_answers`) is right whatever it adds: none of them counts. An answer
    of which no word was shown comes from elsewhere altogether, as that of a question without a
    text does, and nothing is said of it.
    """
    if trajectory.harness.get("expected"):
        return []
    texts = [trajectory.prompt]
    for step in trajectory.steps:
        texts += [content_text(step.message)] if step.source == "user" else []
        results = step.observation.results if step.observation is not None else ()
        texts += [content_text(result.content or "") for result in results]
    text = "\n".join(texts)
    if re.search(r"^\[image: ", text, re.MULTILINE):
        return []
    stems = {stem(word) for word in _words(text)}
    words = [word for word in _words(trajectory.answer) if word not in _FREE]
    missing = [word for word in words if stem(word) not in stems]
    return missing if len(missing) < len(words) else []


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.casefold())


def example_edit(trajectory: Trajectory) -> Edit:
    """One worked example: the task and the answer that passed."""
    prompt = " ".join(trajectory.prompt.split())
    answer = " ".join(trajectory.answer.split())
    return _edit(EXAMPLES_SECTION, worked_example(prompt, answer), [trajectory])


def _edit(section: str, content: str, trajectories: Sequence[Trajectory]) -> Edit:
    return Edit(
        file="SKILL.md",
        op="add_section",
        target_section=section,
        content=content,
        sources=tuple(sorted({run.trajectory_id for run in trajectories})),
        support=len({run.task_id for run in trajectories}),
    )
