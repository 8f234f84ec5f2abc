"""Questions on one fact, for models that are too small to search, read and ask at once.

A program chooses the answer and the sentence that says it; the model only words the question, and
sees nothing but that sentence and the document's title. So a task rests on one sentence: it is
easier than those of `search`. A small model, as proposer and as checker, often misses what a
sentence says of the answer, so that rules come before the check.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from pydantic import JsonValue

from harness.core import BadInput, render
from harness.corpora import Evidence, Source
from harness.synth.asking import say
from harness.synth.documents import PASSAGE
from harness.synth.proposers.longdoc import LongDocProposer
from harness.synth.types import Materials, Proposal

ONE_CALL: dict[str, JsonValue] = {
    "agent": "graph:answer", "sampling": {"temperature": 0.0, "max_tokens": 32, "stop": ["\n"]},
}  # fmt: skip
"""The suite of questions that bring their passage."""
WORDS = 6
"""Least words of a question."""
_QUESTION = re.compile(r"(?:Question: *)?([A-Z][^?\n]*\?)")
# Lines may be broken within a sentence; an empty line ends it.
_SENTENCE = re.compile(r"(?:(?!\n\s*\n)[^.!?]|[.!?](?!\s))+[.!?]?")
_ENDS = (".", "!", "?")
_WORD = re.compile(r"[a-z][\w'-]{3,}")
_NAME = re.compile(r"\b[A-Z][\w-]{2,}")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_ASKS = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b")
_BEGINS = re.compile(r"\b(?:since|start|begin|began|begun|first|join|become|became)")
# "Our colleague" is the document's subject; a question on "the colleague of …" is on another.
_POINTS = re.compile(r"\b(?:this|these|our) (\w+)")


def stems(text: str) -> frozenset[str]:
    """The first four letters of words that have as many or more: `carry` and `carries` meet."""
    return frozenset(word[:4] for word in _WORD.findall(text.lower()))


def names(text: str) -> frozenset[str]:
    """Words with a capital."""
    return frozenset(_NAME.findall(text))


_ASKING = stems(
    "what which where when whom whose many much year name does that with from were have this they "
    "start join"
)


class FactProposer:
    """Plug-in of the kind `fact`: the agent answers from what all documents give it.

    In one call: a model of this size does not get through the turns of a search. Without a model
    (`none`) the question is the sentence up to the answer; two sentences stand before it.
    """

    width = 64
    validators: tuple[str, ...] = ("spoken", "grounded", "evidence")
    band = "one_minus"
    suite: dict[str, JsonValue] = {**LongDocProposer.suite, "tools": ["context:retrieve:800"]}
    calls: tuple[int, int, int] = (1, 2, 900)

    def __init__(self, materials: Materials) -> None:
        library = materials.library
        self._materials = materials
        self._asks_no_model = materials.proposer.spec == "none"
        self._texts = {
            source.id: _SENTENCE.findall(source.text) for source in library.sources.values()
        }
        self._said = {
            answer: sentence
            for answer in library.drawn_answers(materials.seed)
            if (sentence := self._sentence(answer, library.sources[library.answers[answer][0]]))
        }
        if not self._said:
            raise BadInput("no sentence of the documents says by itself what a name belongs to")
        if self._asks_no_model:
            self.validators, self.calls, self.suite = (), (0, 0, 0), ONE_CALL
            self.most = len(self._said)

    def _sentence(self, answer: str, source: Source) -> str:
        """The sentence that holds an answer first.

        "" if it is long, if nothing says what it is on, or if that is the answer. Without a model
        the sentence stands before the question, so that a number that occurs once needs no name.
        """
        pattern = whole(answer)
        holding = [text for text in self._texts[source.id] if pattern.search(text)]
        sentence = " ".join("".join(holding[:1]).split())
        on, answer_names = names(source.title), names(answer)
        clear = not on & answer_names if on else names(sentence[1:]) - answer_names
        if self._asks_no_model and not answer_names and sentence.endswith(_ENDS):
            clear = clear or len(holding) == len(self._materials.library.answers[answer]) == 1
        return sentence if clear and len(sentence) <= PASSAGE else ""

    async def propose(self, number: int, accepted: Sequence[Proposal]) -> Proposal:
        """One reply; the first question in it counts."""
        materials, library = self._materials, self._materials.library
        # Without a model every number stands for another proposal: all of them, each once.
        used_answers = {proposal.answers[0] for proposal in accepted if not self._asks_no_model}
        answers = [answer for answer in self._said if answer not in used_answers] or [*self._said]
        answer = answers[number % len(answers)]
        source = library.sources[library.answers[answer][0]]
        if self._asks_no_model:
            return self._unfinished(number, answer, source)
        reply = await say(
            materials.proposer,
            render("synth_fact", title=source.title, sentence=self._said[answer], answer=answer),
            seed=materials.seed + number,
            temperature=0.7,
            tokens=80,
        )
        question = next(iter(_QUESTION.findall(reply)), "")
        return Proposal(
            id=f"fact-{number:05d}",
            question=question,
            answers=(answer,),
            check="search",
            passages=(around(source, answer),),
            origin=(source.id,),
            reply=reply,
            meta={"metric": "em"},
            fault=self.fault(question, answer, source),
        )

    def _unfinished(self, number: int, answer: str, source: Source) -> Proposal:
        sentence = self._said[answer]
        start = whole(answer).split(sentence)[0].strip()
        rows = [
            row
            for row in (" ".join(part.split()) for part in self._texts[source.id])
            if row == sentence or row.endswith(_ENDS)  # no title
        ]
        first = max(0, rows.index(sentence) - 1)
        text = " ".join(rows[first : first + 2])  # small models copy from examples that are longer
        alike = "two sentences begin alike" if text.count(start) > 1 else ""
        return Proposal(
            id=f"fact-{number:05d}", answers=(answer,), check="em",
            question=f"Text: {text}\nQuestion: How does this go on: {start} ...?\nAnswer:",
            passages=(around(source, answer),), origin=(source.id,),
            fault=alike if len(start.split()) >= 3 else "fewer than three words come before it",
        )  # fmt: skip

    @cached_property
    def _sentences(self) -> list[tuple[str, str, frozenset[str]]]:
        return [
            (source.id, text, stems(f"{source.title} {text}"))
            for source in self._materials.library.sources.values()
            for text in self._texts[source.id]
        ]

    def fault(self, question: str, answer: str, source: Source) -> str:
        """State the objection of the rules to a question; "" if there is none."""
        lowered, sentence = question.lower(), self._said[answer]
        if len(question.split()) < WORDS:
            return f"there is no question of {WORDS} words or more"
        if len(_ASKS.findall(lowered)) > 1:
            return "it asks for two things"
        if "year" in lowered.rstrip("?").split() and not _YEAR.fullmatch(answer):
            return "it asks for a year, and the answer is none"
        if f"since {answer}" in sentence and not _BEGINS.search(lowered):
            return "it asks for any year since the answer"
        words, pattern = stems(question) - _ASKING, whole(answer)
        saying = {
            (id_ == source.id, bool(pattern.search(text)))
            for id_, text, held in self._sentences
            if words <= held
        }
        if (True, True) not in saying:
            return "the answer's sentence and title do not hold all of its words"
        if not all(holds for _, holds in saying):
            return "another sentence says as much of it"
        return self._misnamed(question, answer, source)

    def _misnamed(self, question: str, answer: str, source: Source) -> str:
        question_names, title = names(question[1:]), names(source.title)
        kind, *answer_words = answer.removeprefix("The ").split()
        if question_names & names(answer) or stems(question) & stems(" ".join(answer_words)):
            return "the question holds a part of the answer"
        if not question_names or not question_names <= title | names(self._said[answer]):
            return "it names nothing, or what its sentence does not name"
        subject = "|".join(_POINTS.findall(source.text.lower()))
        if subject and re.search(rf"\b(?:{subject})\b", question.lower()):
            return "it takes for another what the document calls its subject"
        title_names = frozenset(name for name in title if name.lower() in question.lower())
        mention = whole(source.title.lower())
        for rival_source in (
            row for row in self._materials.library.sources.values() if row != source
        ):
            if title_names and title_names < title and title_names <= names(rival_source.title):
                return "what the question names has a namesake"
            rival = rival_source.title != answer and rival_source.title.startswith(f"{kind} ")
            if title and rival and mention.search(rival_source.text.lower()):
                return f"another {kind} speaks of {source.title}"
        return ""


def whole(answer: str) -> re.Pattern[str]:
    """Match an answer that stands by itself: 45 is not in 1945, in £45, 10:45 or No. 45."""
    before = r"(?<![\w£$€¥:/#-])(?<!\d[.,])(?<!No\. )"
    return re.compile(rf"{before}{re.escape(answer)}(?![.,:/-]?\d|[\w%])")


def around(source: Source, answer: str) -> Evidence:
    """The passage that holds an answer first, from line to line where lines are short enough."""
    position = next(whole(answer).finditer(source.text)).start()
    start, end = max(0, position - PASSAGE // 2), min(len(source.text), position + PASSAGE // 2)
    start = source.text.find("\n", start, position) + 1 or start
    end = max(source.text.rfind("\n", position + len(answer), end), 0) or end
    return Evidence(doc=source.id, start=start, end=end)
