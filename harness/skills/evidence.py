"""Evidence for and against the rules of an evolved skill, as `rules.json` has it.

An evolution leaves the file beside its analyst records; a rule is found again by the text of its
edit. It is read leniently, as the records are: a file of an older evolution has less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from harness.core import BadInput, Value, first_fault, read_json

RULES = "rules.json"


class Objection(Value):
    """Evidence against a rule: a run, or a lesson that says the opposite.

    Attributes:
        kind: `lesson` of an analyst, or `run` that shows what the rule blames and passed (or what
            it praises and failed).
        text: the lesson, or the passage of the run.
        trajectory_id: of the run.
        step: of the passage, None where the run as such is meant.
        merged: whether the lesson is one of those that the rule was made from.
        outcome: of the run: `pass` or `fail`.
    """

    kind: Literal["lesson", "run"]
    text: str
    trajectory_id: str
    step: int | None = None
    merged: bool = False
    outcome: str = ""

    def __str__(self) -> str:
        if self.kind == "run":
            step = "" if self.step is None else f" step {self.step}"
            ended = {"pass": "passed", "fail": "failed"}.get(self.outcome, "ended")
            return f'run {self.trajectory_id}, which {ended},{step} shows it: "{self.text}"'
        origin = "merged into this rule" if self.merged else "another rule or none"
        return f'lesson of {self.trajectory_id} ({origin}): "{self.text}"'


class Contrast(Value):
    """Frequency of a rule's evidence in failed and in passed runs.

    Attributes:
        signs: what was looked up, numbers as `#`.
        standing: what follows from it, in a word or two; "" where nothing was tested.
        failed: failed tasks that show a sign, of `of_failed`.
        passed: passed tasks that show a sign, of `of_passed`.
    """

    signs: tuple[str, ...] = ()
    standing: str = ""
    failed: int = 0
    of_failed: int = 0
    passed: int = 0
    of_passed: int = 0

    def __str__(self) -> str:
        standing = f" ({self.standing})" if self.standing else ""
        return (
            f"in {self.failed} of {self.of_failed} failed and {self.passed} of {self.of_passed} "
            f"passed tasks{standing}: {', '.join(repr(sign) for sign in self.signs[:3])}"
        )


class Trial(Value):
    """A program that checked a claim of the rule.

    Attributes:
        claim: what was checked.
        verdict: `holds`, `refuted`, or why it could not be run.
        program: what was run.
        output: what it printed.
    """

    claim: str
    verdict: str
    program: str = ""
    output: str = ""


class RuleEvidence(Value):
    """Evidence for one rule.

    Attributes:
        content: of its edit.
        wordings: trajectory id -> its lessons that the rule was made from, in the analyst's words.
        quotes: trajectory id -> what these lessons quote; none where only the record does.
        against: runs and lessons that speak against it.
        contrast: how often its signs stand in failed and passed runs; None where none is known.
        claims: the programs that checked it.
    """

    content: str
    wordings: Mapping[str, tuple[str, ...]] = {}
    quotes: Mapping[str, tuple[str, ...]] = {}
    against: tuple[Objection, ...] = ()
    contrast: Contrast | None = None
    claims: tuple[Trial, ...] = ()


def read_rules(path: Path) -> tuple[RuleEvidence, ...]:
    """The rules of a file that an evolution left; () if there is none.

    Raises:
        BadInput: if the file is of another shape.
    """
    if not path.is_file():
        return ()
    try:
        return TypeAdapter(tuple[RuleEvidence, ...]).validate_python(read_json(path))
    except ValidationError as error:
        reason = first_fault(error)
        raise BadInput(f"{str(path)!r}: expected what rules rest on: {reason}") from error


def of_content(rules: Iterable[RuleEvidence], content: str) -> RuleEvidence:
    """Return the evidence for the rule with that text; empty where nothing was written down."""
    matches = (rule for rule in rules if rule.content == content)
    return next(matches, RuleEvidence(content=content))
