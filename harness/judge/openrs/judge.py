"""The judge: verifiable rubrics, and where these decide nothing, adaptive ones in both orders."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from harness.core import Usage, render
from harness.judge.asking import ask, object_of, text_field
from harness.judge.openrs.aggregate import KINDS, Kind, aggregate, decide
from harness.judge.openrs.verifiable import verify
from harness.judge.types import OPPOSITE, Evidence, Preference, Question, Verdict
from harness.models import Model, Sampling
from harness.sandbox import Sandbox

# Rubrics of a comparison.
FEWEST, MOST = 5, 15
TRIES = 5
LONGEST_RUBRICS = 2000
_SIGN: dict[str, int] = {"first": 1, "second": -1, "equal": 0}


class OpenRSJudge:
    """Compares answers by rubrics that are made from their differences.

    Args:
        model: judges, and writes the checks of constraints.
        sandbox: runs these; None leaves constraints to the rubrics.
        meta: principles by which rubrics are made; None for ours (`prompts/openrs_meta.md.j2`).
        margin: m of :func:`harness.judge.openrs.aggregate.decide`.
        fewest: rubrics at least; small models make few.
    """

    def __init__(
        self,
        model: Model,
        sandbox: Sandbox | None = None,
        *,
        meta: str | None = None,
        margin: float = 0.0,
        fewest: int = FEWEST,
        seed: int = 0,
    ) -> None:
        self.name = f"openrs:{model.spec}"
        self._model, self._sandbox, self._margin = model, sandbox, margin
        self._meta = render("openrs_meta") if meta is None else meta
        self._fewest, self._seed = fewest, seed

    async def compare(self, question: Question, a: str, b: str) -> Verdict:
        """See :meth:`harness.judge.types.Judge.compare`.

        No model compares the answers where a verifiable rubric tells them apart.
        """
        verified = await verify(question, a, b, self._model, self._sandbox)
        if verified.preference != "tie":
            return Verdict(
                preference=verified.preference, votes=0, by="verifier", usage=verified.usage,
                evidence=verified.evidence,
            )  # fmt: skip
        intent = await self._ask(
            "openrs_intent", {"task": question.prompt}, {"intent": text_field()}
        )
        usage = verified.usage + intent.usage
        if intent.reply is None:
            return Verdict(invalid=intent.fault, votes=2, lost=2, usage=usage)
        aim = intent.reply["intent"]
        forward, backward = await asyncio.gather(
            self._one_order(question, aim, a, b), self._one_order(question, aim, b, a)
        )
        usage += forward[2] + backward[2]
        lost = sum(order[0] is None for order in (forward, backward))
        if forward[0] is None or backward[0] is None:
            fault = str(forward[1] or backward[1])
            return Verdict(invalid=fault, votes=2, lost=lost, usage=usage)
        forth, back = (aggregate([row[:2] for row in order]) for order in (forward[0], backward[0]))
        preference = decide(forth, back, self._margin)
        sides: list[Preference] = [decide(score, -score, self._margin) for score in (forth, back)]
        seen = [_evidence(*row) for row in forward[0]]
        seen += [_evidence(kind, -score, text) for kind, score, text in backward[0]]
        return Verdict(
            preference=preference,
            agreement=sides[0] == OPPOSITE[sides[1]],
            votes=2,
            evidence=(*verified.evidence, *seen),
            usage=usage,
        )

    async def _one_order(
        self, question: Question, intent: str, first: str, second: str
    ) -> tuple[list[tuple[Kind, int, str]] | None, str, Usage]:
        """(kind, signed score, criterion) of the rubrics of one order; why not; what it used."""
        texts = {"task": question.prompt, "intent": intent, "first": first, "second": second}
        rubric = object_of(kind={"enum": list(KINDS)}, criterion=text_field())
        fields = {
            "rubrics": {
                "type": "array", "items": rubric, "minItems": self._fewest, "maxItems": MOST
            }
        }  # fmt: skip
        listed = await self._ask(
            "openrs_rubrics", texts, fields, meta=self._meta, fewest=self._fewest, most=MOST,
            given=question.rubric,
        )  # fmt: skip
        if listed.reply is None:
            return None, listed.fault, listed.usage
        rubrics = listed.reply["rubrics"]
        names = [f"rubric_{number}" for number in range(1, len(rubrics) + 1)]
        rubric_lines = "\n".join(
            f"{name} ({row['kind']}): {row['criterion']}"
            for name, row in zip(names, rubrics, strict=True)
        )
        score = object_of(
            evidence=text_field(160),
            better={"enum": list(_SIGN)},
            strength={"type": "integer", "minimum": 0, "maximum": 2},
        )
        scored = await self._ask(
            "openrs_score",
            {**texts, "rubrics": rubric_lines},
            dict.fromkeys(names, score),
            names=names,
        )
        usage = listed.usage + scored.usage
        if scored.reply is None:
            return None, scored.fault, usage
        rows: list[tuple[Kind, int, str]] = []
        for name, row in zip(names, rubrics, strict=True):
            mark = scored.reply[name]
            if (mark["better"] == "equal") != (mark["strength"] == 0):
                return None, f"{name}: {json.dumps(mark)} contradicts itself", usage
            rows.append((row["kind"], _SIGN[mark["better"]] * mark["strength"], row["criterion"]))
        return rows, "", usage

    async def _ask(
        self, template: str, texts: dict[str, str], fields: dict[str, Any], **variables: Any
    ) -> Any:
        sampling = Sampling(temperature=0.0, seed=self._seed, max_tokens=LONGEST_RUBRICS)
        return await ask(
            self._model, template, texts, fields, sampling=sampling, tries=TRIES, **variables
        )


def _evidence(kind: Kind, score: int, criterion: str) -> Evidence:
    side: Preference = "A" if score > 0 else "B" if score < 0 else "tie"
    return Evidence(criterion=f"{kind}: {criterion}", decision=side, source="rubric")
