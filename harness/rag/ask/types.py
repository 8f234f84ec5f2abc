"""Values of `ask`: what was read, what was answered, and where it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from harness.core import Printed, Usage, Value, mapping
from harness.models import Sampling
from harness.rag.retrieve import Arm, Heading, Page, ParseOptions, Time, headings_at, place_of
from harness.rag.tools.context import BUDGET, ContextArm

Method = Literal["model", "extract", "none"]
"""A model wrote the answer, sentences were taken as they stand, or there is none."""


class Citation(Value):
    """A numbered stretch of a document: `text == document.text[start:end]`.

    Attributes:
        number: as it stands in the answer, from 1.
        doc: id of the document.
        source: its path or URL.
        uri: a link that opens it, at its page or second; "" where nothing lies there.
        page: on which it begins, as people count; of a passage that a model cites, on which the
            sentence begins that says what the answer says.
        pages: that begin within it.
        time: second of a recording at which it begins, found as the page is.
        times: when its characters were spoken, in a recording.
        start: first character of the parsed text.
        end: character behind the last.
        text: verbatim.
        headings: titles above it, the highest first; the columns of a table are the last.
        sections: the headings above it and within it.
        before: what stands before it, a few hundred characters at most.
        after: what stands behind it.
        post_hoc: found by the words of the answer, because the model cited nothing.
    """

    number: int
    doc: str
    source: str
    uri: str = ""
    page: int | None = None
    pages: tuple[Page, ...] = ()
    time: float | None = None
    times: tuple[Time, ...] = ()
    start: int
    end: int
    text: str
    headings: tuple[str, ...] = ()
    sections: tuple[Heading, ...] = ()
    before: str = ""
    after: str = ""
    post_hoc: bool = False

    def above(self, offset: int) -> list[Heading]:
        """The headings above a place in the text, the highest first."""
        return headings_at(self.sections, self.start + offset)

    def page_at(self, offset: int) -> int | None:
        """Number of the page of a place in the text."""
        return max(
            (page.number for page in self.pages if page.start <= self.start + offset),
            default=self.page,
        )

    @property
    def where(self) -> str:
        """For people: `report.pdf, p. 3 [120:340]`; characters of the parsed text."""
        position = place_of(self.page, self.time)
        return f"{self.source or self.doc}{position} [{self.start}:{self.end}]"


class Answer(Printed, Value):
    """Output of `harness ask --json`.

    Attributes:
        question: as asked.
        answer: with citations as [1], [2], ...; None where there is none.
        answered: whether the passages answer it, as far as the method can tell.
        method: who answered.
        model: its spec, "" where none was asked.
        simulated: whether the model was.
        citations: those of the answer, in the order of their numbers.
        passages: all that was read, under the same numbers, in the order in which a model reads
            them.
        context: stage that chose the passages.
        arm: how they were searched; "" where nothing was.
        budget: most tokens of the passages.
        tokens: of the passages, in `tokenizer`.
        tokenizer: which.
        usage: of the model call.
        seconds: `passages`, `answer` and `total`.
        warnings: what a reader must know.
        verdict: of a checker on what a model answered; quotes and refusals have none.
        error: why no model answered, where one was asked for.
        nearest: sentences that come closest to the question, where a model cites no passage.
    """

    question: str
    answer: str | None = None
    answered: bool = False
    method: Method = "none"
    model: str = ""
    simulated: bool = False
    citations: tuple[Citation, ...] = ()
    passages: tuple[Citation, ...] = ()
    context: ContextArm
    arm: str
    budget: int
    tokens: int
    tokenizer: str
    usage: Usage = Usage()
    seconds: dict[str, float] = {}
    warnings: tuple[str, ...] = ()
    verdict: JsonValue = None
    error: str = ""
    nearest: tuple[Citation, ...] = ()

    def _facts(self) -> dict[str, str]:
        verdict = mapping(self.verdict)
        sources = {f"[{source.number}]": source.where for source in self.citations}
        lines = {
            "question": self.question,
            "answer": self.answer or self.error or "the passages do not answer it",
            "checked": f"{verdict['verdict']}: {verdict['reason']}" if verdict else "",
            "model": f"{self.model}{' (simulated)' * self.simulated}",
            "warnings": "; ".join(self.warnings),
        }
        return {name: text for name, text in lines.items() if text} | sources


Checker = Callable[[str, str, Sequence[Citation]], JsonValue]
"""(question, answer, passages) -> a verdict in JSON; called where there is an answer."""


class AskSettings(Value):
    """Everything `harness ask` takes, with the command line's defaults.

    Attributes:
        question: not empty.
        paths: files and folders to read; or
        index: folder of an index.
        context: `retrieve`, `compress`, `both`, or `truncate` (head and tail of everything).
        budget: most tokens of the passages.
        arm: of the search; default: words and meaning together over an index and over a few
            files, words alone over many files.
        extract: answer with the best sentences, without a model.
        model: spec; default the embedded one, and where that was not pulled, `extract`.
        reading: how files are read.
        sampling: of the model call.
    """

    question: str
    paths: tuple[Path, ...] = ()
    index: Path | None = None
    context: ContextArm = "retrieve"
    budget: int = BUDGET
    arm: Arm | None = None
    extract: bool = False
    model: str | None = None
    base_url: str | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_calls: int | None = None
    reading: ParseOptions = ParseOptions()
    sampling: Sampling = Sampling(temperature=0.0, max_tokens=256)
