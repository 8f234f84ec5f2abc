"""Values of the checker: what an answer claims, what the documents say to it, what follows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Protocol

from harness.core import Printed, Value
from harness.rag.retrieve import Document

ClaimType = Literal[
    "number",
    "date",
    "entity",
    "relation",
    "comparison",
    "negation",
    "existence",
    "list",
    "cell",
    "derived",
]
"""What kind of statement a claim is.

`number`, `date` and `entity` claims span the value alone; `cell` a value whose row and column are
named; `derived` a value that is computed (a growth, a share, a total); the others span a sentence.
"""

QUANTITY_TYPES = ("number", "cell", "derived")
VALUE_TYPES = (*QUANTITY_TYPES, "date")
STATEMENT_TYPES = ("relation", "comparison", "negation", "existence", "list")

PolicyName = Literal["zero-tolerance", "error-rate", "severity", "review-on-single"]


class Verdict(StrEnum):
    """Answer of the documents to a claim.

    "Not stated" is no contradiction; a value that the documents do not state but that follows from
    values they do state is `DERIVED`; `INVALID` means that no verdict was reached (no document, an
    unreadable reply) and is neither a pass nor a fault of the answer.
    """

    SUPPORTED = "SUPPORTED"
    CONTRADICTED = "CONTRADICTED"
    NOT_FOUND = "NOT_FOUND"
    DERIVED = "DERIVED"
    INVALID = "INVALID"


BY_SUPPORT = (
    Verdict.SUPPORTED, Verdict.DERIVED, Verdict.CONTRADICTED, Verdict.NOT_FOUND, Verdict.INVALID,
)  # fmt: skip
"""Of several documents or windows, the verdict that comes first here counts."""


FAULTS = (Verdict.CONTRADICTED, Verdict.NOT_FOUND)
"""Documents deny the claim, or say nothing of it."""


class Outcome(StrEnum):
    """Outcome of all verdicts of an answer under a policy."""

    PASS = "PASS"
    FAIL = "FAIL"
    REVIEW = "REVIEW"
    INVALID = "INVALID"


class Claim(Value):
    """One checkable statement of an answer.

    Attributes:
        text: `answer[start:end]`, verbatim.
        type: what kind of statement.
        start: first character in the answer.
        end: character behind the last one.
        sentence: the sentence of the answer that holds it, verbatim.
        asked: what the user asked; "" where it is not known.
        question: what a checker is asked in its place, without the claimed value; "" where it is
            checked without a model.
        value: what the answer claims, as a checker would have to answer (a value, a name, yes).
    """

    text: str
    type: ClaimType
    start: int
    end: int
    sentence: str = ""
    asked: str = ""
    question: str = ""
    value: str = ""


class Evidence(Value):
    """A verbatim part of a document.

    Attributes:
        doc: id of the document.
        start: first character in the document's text.
        end: character behind the last one.
        quote: `document.text[start:end]`.
    """

    doc: str
    start: int
    end: int
    quote: str


class Finding(Value):
    """The verdict on one claim.

    Attributes:
        verdict: what the documents say.
        evidence: what it rests on; empty where nothing was found.
        reason: one sentence for a reader; never empty.
        confidence: 0 to 1, as calibrated as the verifier is.
    """

    verdict: Verdict
    evidence: tuple[Evidence, ...] = ()
    reason: str
    confidence: float


class Checked(Value):
    """A claim with its finding, as `check --json` prints it."""

    text: str
    type: ClaimType
    start: int
    end: int
    verdict: Verdict
    evidence: tuple[Evidence, ...]
    reason: str
    confidence: float
    question: str = ""
    value: str = ""


class Report(Printed, Value):
    """Output of `check --json`.

    Attributes:
        verdict: what the policy decided.
        claims: in the order of the answer.
        coverage: share of the checkable spans of the answer that lie in a claim with a verdict,
            0 to 1; 1 where nothing is checkable.
        policy: which policy decided.
        reason: why, in one sentence.
        verifier: what gave the verdicts.
        warnings: what a reader must know.
        calls: sent to models, by role; `again` those that follow a reply nobody could read.
    """

    verdict: Outcome
    claims: tuple[Checked, ...]
    coverage: float
    policy: PolicyName
    reason: str
    verifier: str
    warnings: tuple[str, ...] = ()
    calls: dict[str, int] = {}

    def _facts(self) -> dict[str, str]:
        claims = {
            f"{number}. {claim.text}": f"{claim.verdict}: {claim.reason}"
            for number, claim in enumerate(self.claims, 1)
        }
        head = {"verdict": f"{self.verdict}: {self.reason}", "checked by": self.verifier}
        head["coverage"] = f"{self.coverage:.0%} of the checkable text"
        return head | claims | ({"warnings": "; ".join(self.warnings)} if self.warnings else {})

    @property
    def faults(self) -> list[Checked]:
        """Claims that are faults, in the order of the answer; of a sentence with a wrong value, the
        value alone."""
        wrong = [claim for claim in self.claims if claim.verdict in FAULTS]
        return [
            claim
            for claim in wrong
            if not any(
                claim.type in STATEMENT_TYPES
                and value_claim.type not in STATEMENT_TYPES
                and claim.start <= value_claim.start < claim.end
                for value_claim in wrong
            )
        ]


class Verifier(Protocol):
    """Gives verdicts on claims from documents."""

    @property
    def name(self) -> str:
        """Name of what gave the verdicts; stands in every report."""
        ...

    def verify(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[Finding]:
        """One finding for every claim, in their order.

        Evidence is verbatim: `document.text[start:end] == quote`. Documents that hold no visible
        character give `INVALID` for every claim. A document more turns a supported claim
        into another only where the sentence names a row of its tables better.
        """
        ...
