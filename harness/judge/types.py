"""Questions to a judge, and its verdicts."""

from __future__ import annotations

from typing import Literal, Protocol, Self, runtime_checkable

from pydantic import Field, model_validator

from harness.core import Usage, Value

Preference = Literal["A", "B", "tie"]
# `fair`: a judge sees task and answers; `operational`: reference and checklist of the sample, too.
# The setting `baseline` of Skill-RM is :class:`harness.judge.direct.DirectJudge`.
Setting = Literal["fair", "operational"]
OPPOSITE: dict[Preference, Preference] = {"A": "B", "B": "A", "tie": "tie"}


class Question(Value):
    """Question that the answers are for, and the rubric that they are judged by.

    Attributes:
        prompt: the task as the writer of the answers saw it.
        rubric: criteria, a line each (`- ` before it or not); empty for the judge's own.
        reference: an answer that is known to be right; empty if there is none.
        constraints: instructions whose keeping a program can verify, such as "at most 50 words".
    """

    prompt: str
    rubric: str = ""
    reference: str = ""
    constraints: tuple[str, ...] = ()

    @property
    def criteria(self) -> tuple[str, ...]:
        """The lines of the rubric; without any, the one criterion that every judge has."""
        lines = (line.strip().removeprefix("- ").strip() for line in self.rubric.splitlines())
        return tuple(line for line in lines if line and not line.startswith("#")) or (
            "The answer is correct and does all that the task asks for.",
        )


class Evidence(Value):
    """One observation behind a verdict.

    Attributes:
        criterion: what was looked at.
        observation: what was seen; empty where the judge gives none.
        decision: `met`, `unmet`, or which of two answers is ahead (`A`, `B`, `tie`).
        source: what decided: `verifier`, `reference`, `rubric` or `model`.
    """

    criterion: str
    observation: str = ""
    decision: Literal["met", "unmet", "A", "B", "tie"]
    source: Literal["verifier", "reference", "rubric", "model"] = "model"


class Verdict(Value):
    """Verdict of a judge: a score, a preference, or nothing that counts.

    A judge that was not reached, or whose reply cannot be read, is neither for nor against an
    answer: such a verdict is `invalid`, has no score, and goes into no mean.

    Attributes:
        score: of one answer, in [0, 1].
        preference: between two answers.
        invalid: why there is neither; empty if there is one.
        agreement: whether both orders of the answers led to the same preference; None where they
            were not both asked, as when a program decided.
        votes: replies asked for.
        lost: votes that were invalid.
        by: what decided: `verifier` (no model was asked to compare), `model`, or `emergency` (a
            judge that reached its limits was asked directly).
        evidence: behind the verdict.
        usage: of all calls.
    """

    score: float | None = Field(default=None, ge=0, le=1)
    preference: Preference | None = None
    invalid: str = ""
    agreement: bool | None = None
    votes: int = Field(default=1, ge=0)
    lost: int = Field(default=0, ge=0)
    by: Literal["verifier", "model", "emergency"] = "model"
    evidence: tuple[Evidence, ...] = ()
    usage: Usage = Usage()

    @model_validator(mode="after")
    def _says_exactly_so_much(self) -> Self:
        if (self.score is not None) + (self.preference is not None) + bool(self.invalid) != 1:
            raise ValueError("expected a score, a preference or a reason why there is none")
        return self


class Judge(Protocol):
    """Compares two answers: `DirectJudge`, `OpenRSJudge` and `SkillJudge` do.

    Attributes:
        name: with the model's spec, for reports.
    """

    name: str

    async def compare(self, question: Question, a: str, b: str) -> Verdict:
        """Choose the better answer, having looked at both orders.

        Raises:
            LimitReached: if the budget cannot hold the next call. All else that goes wrong is an
                invalid verdict.
        """
        ...


@runtime_checkable
class Rater(Protocol):
    """Rates single answers: `DirectJudge` and `SkillJudge` do."""

    async def rate(self, question: Question, answer: str) -> Verdict:
        """Score an answer; see :class:`Verdict`."""
        ...
