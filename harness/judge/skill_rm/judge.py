"""The judge that runs `graphs/reward_skill.py`, and the rule that reads its records out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.core import Usage, assets
from harness.judge.asking import Asked, ask
from harness.judge.direct import DirectJudge, both_orders
from harness.judge.skill_rm.bank import Bank, Sample
from harness.judge.types import Evidence, Preference, Question, Setting, Verdict
from harness.models import Model, Sampling
from harness.sandbox import Sandbox

Source = Literal["verifier", "reference", "rubric", "model"]
# Whose records decide first.
ORDER: tuple[Source, ...] = ("verifier", "reference", "rubric", "model")
STEPS, RESOURCES, RUNS = 6, 5, 3
LONGEST_STEP = 1200


@dataclass
class SkillContext:
    """Everything that the graph works with and that is not state.

    Attributes:
        model: judges.
        bank: resources, and the sample.
        sandbox: runs code; None leaves out what needs it.
        question: for a judge that is asked directly at the end.
        seed: of sampling.
        usage: of all calls, summed up as they come.
    """

    model: Model
    bank: Bank
    sandbox: Sandbox | None
    question: Question
    seed: int = 0
    usage: Usage = field(default_factory=Usage)

    async def ask(self, template: str, fields: dict[str, Any], **variables: Any) -> Asked:
        """Ask with the sample's texts at hand."""
        sample = self.bank.sample
        names = ("answer",) if len(sample.answers) == 1 else ("first", "second")
        texts = {"task": sample.task, **dict(zip(names, sample.answers, strict=True))}
        texts |= variables.pop("more", {})
        sampling = Sampling(temperature=0.0, seed=self.seed, max_tokens=LONGEST_STEP)
        result = await ask(self.model, template, texts, fields, sampling=sampling, **variables)
        self.usage += result.usage
        return result


class SkillJudge:
    """Judges by executing the reward-evaluation skill.

    Args:
        model: judges.
        sandbox: runs verifiers and Python; None leaves both out.
        setting: whether references and rubrics of the sample are mounted as its resources.
        seed: of sampling.
    """

    def __init__(
        self,
        model: Model,
        sandbox: Sandbox | None = None,
        *,
        setting: Setting = "operational",
        seed: int = 0,
    ) -> None:
        self.name = f"skill:{model.spec}"
        self._model, self._sandbox, self._seed = model, sandbox, seed
        self._setting: Setting = setting

    async def rate(self, question: Question, answer: str) -> Verdict:
        """The share of records that are met (Skill-RM, pointwise: satisfied / total)."""
        return await self._run(question, (answer,))

    async def compare(self, question: Question, a: str, b: str) -> Verdict:
        """See :meth:`harness.judge.types.Judge.compare`."""
        return both_orders(
            *await asyncio.gather(self.one_order(question, a, b), self.one_order(question, b, a))
        )

    async def one_order(self, question: Question, first: str, second: str) -> Verdict:
        """The preference in one order; A is the answer that is shown first."""
        return await self._run(question, (first, second))

    async def _run(self, question: Question, answers: tuple[str, ...]) -> Verdict:
        sample = Sample(question.prompt, answers, question.reference, question.rubric)
        context = SkillContext(
            self._model, Bank(sample, self._setting), self._sandbox,
            question if self._setting == "operational" else Question(prompt=question.prompt),
            self._seed,
        )  # fmt: skip
        graph = assets.load_graph("reward_skill")
        state: dict[str, Any] = await graph.ainvoke({}, context=context)
        verdict = Verdict.model_validate(state["verdict"])
        return verdict.model_copy(update={"usage": context.usage})


async def emergency(context: SkillContext) -> Verdict:
    """A direct verdict where the records came to none; it says so."""
    judge = DirectJudge(context.model, seed=context.seed)
    answers = context.bank.sample.answers
    if len(answers) == 1:
        verdict = await judge.rate(context.question, answers[0])
    else:
        verdict = await judge.one_order(context.question, answers[0], answers[1])
    context.usage += verdict.usage
    return verdict.model_copy(update={"by": "emergency"})


def read_out(records: Sequence[Evidence], answers: int) -> Verdict | None:
    """The verdict of records, by rule; None without a record.

    Of one answer, the share of records that are met. Of two, the highest source in :data:`ORDER`
    whose records favour a side decides; where none does, the answers are equal.
    """
    if answers == 1:
        decided = [row.decision for row in records if row.decision in ("met", "unmet")]
        if not decided:
            return None
        share = decided.count("met") / len(decided)
        return Verdict(score=share, evidence=tuple(records))
    sides = [row for row in records if row.decision in ("A", "B", "tie")]
    if not sides:
        return None
    preference: Preference = "tie"
    for source in ORDER:
        decisions = [row.decision for row in sides if row.source == source]
        balance = decisions.count("A") - decisions.count("B")
        if balance:
            preference = "A" if balance > 0 else "B"
            break
    return Verdict(preference=preference, evidence=tuple(records))


def records_of(rows: Sequence[dict[str, Any]], answers: int, hard: bool) -> list[Evidence]:
    """Turn a verifier's rows, one for each answer, into records: of two the difference."""
    if len(rows) != answers or not all({"criterion", "met"} <= row.keys() for row in rows):
        return []
    source: Source = "verifier" if hard else "rubric"
    met = [bool(row["met"]) for row in rows]
    seen = "; ".join(str(row.get("observation", "")) for row in rows)
    criterion = str(rows[0]["criterion"])
    if answers == 1:
        decision: Any = "met" if met[0] else "unmet"
    else:
        decision = "tie" if met[0] == met[1] else "A" if met[0] else "B"
    return [Evidence(criterion=criterion, observation=seen, decision=decision, source=source)]
