"""Direct judging: one call a vote, by criteria; two answers in both orders."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from harness.core import Usage
from harness.judge.asking import ask, text_field
from harness.judge.types import OPPOSITE, Evidence, Preference, Question, Verdict
from harness.models import Model, Sampling

_TURNED: dict[str, str] = {**OPPOSITE}
_SEEN: dict[str, Preference] = {"first": "A", "second": "B", "equal": "tie"}
# Of several votes; a single one has temperature 0.
VOTE_TEMPERATURE = 0.7


class DirectJudge:
    """A model that is asked for its verdict at once.

    Args:
        model: judges.
        votes: replies for each verdict (of a comparison, for each order).
        seed: of the first vote.
    """

    def __init__(self, model: Model, *, votes: int = 1, seed: int = 0) -> None:
        self.name = f"direct:{model.spec}"
        self._model, self._votes, self._seed = model, votes, seed

    async def rate(self, question: Question, answer: str) -> Verdict:
        """The share of criteria that an answer meets, the mean over valid votes.

        The verdict is invalid where half of the votes or more are.
        """
        criteria = question.criteria
        names = [f"criterion_{number}" for number in range(1, len(criteria) + 1)]
        fields = {name: {"enum": ["yes", "no"]} for name in names}
        texts = {"answer": answer}
        replies, cast = await self._vote("judge_rate", question, texts, fields)
        if not replies:
            return cast
        met = [sum(reply[name] == "yes" for reply in replies) for name in names]
        evidence = tuple(
            Evidence(
                criterion=criterion,
                observation=replies[0]["reason"],
                decision="met" if 2 * count > len(replies) else "unmet",
            )
            for criterion, count in zip(criteria, met, strict=True)
        )
        score = sum(met) / (len(replies) * len(names))
        return cast.model_copy(update={"score": score, "invalid": "", "evidence": evidence})

    async def compare(self, question: Question, a: str, b: str) -> Verdict:
        """See :meth:`harness.judge.types.Judge.compare`."""
        orders = await asyncio.gather(
            self.one_order(question, a, b), self.one_order(question, b, a)
        )
        return both_orders(*orders)

    async def one_order(self, question: Question, first: str, second: str) -> Verdict:
        """The preference in one order; A is the answer that is shown first.

        What most of the valid votes say; where two lead, a tie.
        """
        texts = {"first": first, "second": second}
        fields = {"better": {"enum": list(_SEEN)}}
        replies, cast = await self._vote("judge_compare", question, texts, fields)
        if not replies:
            return cast
        counts: Counter[Preference] = Counter(_SEEN[reply["better"]] for reply in replies)
        most = max(counts.values())
        leaders: list[Preference] = [
            preference for preference, count in counts.items() if count == most
        ]
        preference: Preference = leaders[0] if len(leaders) == 1 else "tie"
        reason = replies[0]["reason"]
        seen = Evidence(criterion="better", observation=reason, decision=preference)
        update = {"preference": preference, "invalid": "", "evidence": (seen,)}
        return cast.model_copy(update=update)

    async def _vote(
        self, template: str, question: Question, texts: dict[str, str], fields: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], Verdict]:
        """The valid replies, none if half or fewer are valid; and the account of the votes."""
        temperature = 0.0 if self._votes == 1 else VOTE_TEMPERATURE
        texts = {"task": question.prompt, **texts}
        if question.reference:
            texts["reference"] = question.reference
        votes = await asyncio.gather(
            *(
                ask(
                    self._model,
                    template,
                    texts,
                    {"reason": text_field(), **fields},
                    # Further tries of a vote (asking.TRIES) have seeds that no other vote has.
                    sampling=Sampling(temperature=temperature, seed=self._seed + 1000 * vote),
                    criteria=list(question.criteria),
                )
                for vote in range(self._votes)
            )
        )
        replies = [vote.reply for vote in votes if vote.reply is not None]
        account = Verdict(
            invalid=next((vote.fault for vote in votes if vote.fault), "no vote"),
            votes=self._votes,
            lost=self._votes - len(replies),
            usage=sum((vote.usage for vote in votes), Usage()),
        )
        return replies if 2 * len(replies) > self._votes else [], account


def both_orders(forward: Verdict, backward: Verdict) -> Verdict:
    """One verdict of two, the second of which saw the answers swapped.

    Each order is a vote of +1 or -1, a tie is 0; the sign of the sum decides (as JudgeBench's
    protocol does). One invalid order makes the verdict invalid: half of it would carry the bias of
    a position. Swapping the answers gives the opposite preference, always.
    """
    usage, votes = forward.usage + backward.usage, forward.votes + backward.votes
    lost = forward.lost + backward.lost
    if forward.preference is None or backward.preference is None:
        fault = forward.invalid or backward.invalid or "no preference"
        return Verdict(invalid=fault, votes=votes, lost=lost, usage=usage)
    turned = OPPOSITE[backward.preference]
    sides: list[Preference] = [side for side in (forward.preference, turned) if side != "tie"]
    swapped = tuple(
        seen.model_copy(update={"decision": _TURNED.get(seen.decision, seen.decision)})
        for seen in backward.evidence
    )
    return Verdict(
        preference=sides[0] if len(set(sides)) == 1 else "tie",
        agreement=forward.preference == turned,
        by="emergency" if "emergency" in (forward.by, backward.by) else "model",
        votes=votes,
        lost=lost,
        evidence=forward.evidence + swapped,
        usage=usage,
    )
