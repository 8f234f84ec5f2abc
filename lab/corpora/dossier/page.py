"""A long document in the making: sections of sentences, some of them facts to ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from harness.corpora import Evidence, count_tokens
from lab.corpora.wording import capital


def listed(text: str, mark: str = ",") -> list[str]:
    """The parts of a text between marks."""
    return text.split(mark)


class Sentence(NamedTuple):
    """A sentence, or a line of a table; `fact` is its key where a question may need it."""

    text: str
    fact: str = ""


@dataclass
class Section:
    """A heading with its sentences. `fact` is the heading's own key (a date may be asked for)."""

    heading: str
    body: list[Sentence]
    fact: str = ""
    lines: bool = False


class Question(NamedTuple):
    """A question, its accepted answers, and the facts that answer it: one place, or two."""

    text: str
    answers: tuple[str, ...]
    facts: tuple[str, ...]


@dataclass
class Page:
    """A document and the questions about it."""

    title: str
    sections: list[Section] = field(default_factory=list[Section])
    questions: list[Question] = field(default_factory=list[Question])


class Wording:
    """Draws wordings; those kept for the test split are the last of each list.

    Args:
        chance: where all choices come from.
        held_out: whether the kept ones may be drawn too.
    """

    def __init__(self, chance: Random, held_out: bool) -> None:
        self.chance, self._held_out = chance, held_out

    def draw(self, forms: Sequence[str], **values: object) -> str:
        """One of the forms, filled in, with a capital."""
        allowed = forms if self._held_out or len(forms) == 1 else forms[:-1]
        return capital(self.chance.choice(allowed).format(**values))


def pad(page: Page, tokens: int, sentence: Callable[[], str], chance: Random) -> None:
    """Put small talk between the facts until the document has so many tokens."""
    rooms = [section for section in page.sections if not section.lines]
    used = sum(
        count_tokens(sentence.text) for section in page.sections for sentence in section.body
    )
    while used < tokens:
        text = sentence()
        used += count_tokens(text)
        body = chance.choice(rooms).body
        body.insert(chance.randint(0, len(body)), Sentence(text))


def render(page: Page, doc: str, chance: Random) -> tuple[str, dict[str, Evidence]]:
    """The text of a document, and where each fact stands in it."""
    text, evidence = f"# {page.title}\n", dict[str, Evidence]()
    for section in page.sections:
        text += "\n"
        pieces = [("", Sentence(f"## {section.heading}", section.fact))]
        for position, sentence in enumerate(section.body):
            joint = "\n"
            if not section.lines:
                joint = "\n\n" if position == 0 or chance.random() < 0.2 else " "
            pieces.append((joint, sentence))
        for joint, sentence in pieces:
            start = len(text) + len(joint)
            if sentence.fact:
                end = start + len(sentence.text)
                evidence[sentence.fact] = Evidence(doc=doc, start=start, end=end)
            text += joint + sentence.text
        text += "\n"
    return text, evidence
