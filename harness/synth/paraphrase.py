"""Generated questions in other words, kept only where the answer stays the same.

A program's questions are all built alike. A model rewords them; before a task is accepted, numbers,
names and quoted words must all be there and no new number, and the checker must say, asked in both
orders, that the two wordings ask for the same. Whatever cannot be judged is not accepted. Kinds on
documents are checked after that as all their proposals are, by answering the new wording from the
evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue

from harness.core import render
from harness.synth.asking import say, vote
from harness.synth.types import Check, Materials, Proposal, Proposer, Unjudged

_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_QUOTED = re.compile(r"'([^'\n]+)'")
_NAME = re.compile(r"(?<=[^.?!:;]\s)[A-Z][\w-]*")
"""A word with a capital that does not begin a sentence."""


class Paraphrased:
    """Rewords what another proposer writes; implements :class:`harness.synth.types.Proposer`."""

    def __init__(self, proposer: Proposer, materials: Materials) -> None:
        self._proposer, self._materials = proposer, materials
        self.width, self.band, self.suite = proposer.width, proposer.band, proposer.suite
        self.validators: tuple[str, ...] = ("same", *proposer.validators)
        proposing, checking, tokens = proposer.calls
        self.calls = proposing + 1, checking + 2 * materials.votes, max(tokens, 300)

    async def propose(self, number: int, accepted: Sequence[Proposal]) -> Proposal:
        """The proposal of the other one in new words; `meta.plain` is its own wording."""
        proposal = await self._proposer.propose(number, accepted)
        if proposal.fault:
            return proposal
        prompt = render("synth_paraphrase", question=proposal.question, keep=protected(proposal))
        reply = await say(
            self._materials.proposer, prompt,
            seed=self._materials.seed + number, temperature=0.7, tokens=400,
        )  # fmt: skip
        meta: dict[str, JsonValue] = {**proposal.meta, "plain": proposal.question}
        return proposal.model_copy(update={"question": " ".join(reply.split()), "meta": meta})


class SameTask(Check):
    """Rejects a paraphrase that does not ask for the same; what was not reworded passes."""

    async def fault(self, proposal: Proposal, peers: Sequence[Proposal]) -> str:
        """See :class:`harness.synth.types.Validator`."""
        plain = proposal.meta.get("plain")
        if not isinstance(plain, str):
            return ""
        lost = [
            text
            for text in protected(proposal)
            if not re.search(rf"(?<!\w){re.escape(text)}(?!\w)", proposal.question, re.IGNORECASE)
        ]
        added = {*_NUMBER.findall(proposal.question)} - {*_NUMBER.findall(plain)}
        if lost or added:
            return f"the paraphrase lost {lost} and added {sorted(added)}"
        for first, second in ((plain, proposal.question), (proposal.question, plain)):
            prompt = render("synth_same", first=first, second=second)
            same = await vote(
                self._materials.checker, prompt,
                votes=self._materials.votes, seed=self._materials.seed,
            )  # fmt: skip
            if same is None:
                raise Unjudged("no vote on a paraphrase could be read")
            if not same:
                return f"the paraphrase asks for something else than {plain!r:.200}"
        return ""


def protected(proposal: Proposal) -> list[str]:
    """List what a paraphrase must keep: numbers, quoted words, names, and `meta.names`."""
    text = str(proposal.meta.get("plain", proposal.question))
    names = proposal.meta.get("names")
    texts = [*_QUOTED.findall(text), *_NUMBER.findall(text), *_NAME.findall(text)]
    return [*dict.fromkeys([*(map(str, names) if isinstance(names, list) else []), *texts])]
