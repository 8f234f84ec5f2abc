"""What a Checker may be given: the type has no place for anything else.

A :class:`BlindRequest` is made of questions and documents; a response, a claim or a claimed value
cannot be passed to :func:`ask_blind`, and what it renders is asserted again on the wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core import render
from harness.models import Message, Model, Reply, Sampling
from harness.rag.check.blind.formats import answers_format
from harness.rag.check.blind.vault import Vault
from harness.rag.retrieve import Document

WINDOW = 24_000
"""Characters of documents in one request, about 6,000 tokens."""


@dataclass(frozen=True)
class BlindRequest:
    """One request to a Checker.

    Attributes:
        questions: neutral questions, as :func:`harness.rag.check.blind.neutral.blinded` gives them.
        passages: texts of documents, verbatim.
    """

    questions: tuple[str, ...]
    passages: tuple[str, ...]

    def messages(self) -> list[Message]:
        """The chat messages, from the two fields alone."""
        prompt = render("march_check", passages=self.passages, questions=self.questions)
        return [{"role": "user", "content": prompt}]


async def ask_blind(
    model: Model, request: BlindRequest, vault: Vault, number: int, sampling: Sampling
) -> Reply:
    """Ask a Checker; the messages that leave are asserted to hold nothing of the response.

    `number` is the request's position among those that the vault was sealed for.

    Raises:
        Leaked: if they do; nothing was sent then.
    """
    messages = request.messages()
    vault.assert_blind(messages, request.passages, number)
    form = answers_format(model, len(request.questions))
    return await model.complete(messages, sampling=sampling, response_format=form)


def windows(documents: Sequence[Document], size: int = WINDOW) -> list[tuple[str, ...]]:
    """Passages of all documents, packed into windows; a long document is cut between lines."""
    packed: list[tuple[str, ...]] = []
    current: list[str] = []
    for part in (part for one in documents for part in _parts(one.text, size)):
        if current and sum(map(len, current)) + len(part) > size:
            packed.append(tuple(current))
            current = []
        current.append(part)
    return [*packed, tuple(current)] if current else packed


def _parts(text: str, size: int) -> list[str]:
    parts: list[str] = []
    while len(text) > size:
        cut = max(text.rfind(mark, size // 2, size) for mark in ("\n\n", "\n", ". ", " "))
        cut = cut + 1 if cut > 0 else size
        parts.append(text[:cut])
        text = text[cut:]
    return [part for part in [*parts, text] if part.strip()]
