"""Questions over many documents, few of which matter (RULER, section 3: QA).

The public benchmark takes SQuAD (qa_1, one document answers) and HotpotQA (qa_2, two do); ours
takes invented institutes, so that nothing is downloaded and no model knows the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from random import Random

from harness.corpora import Evidence, Reading, Source, count_each, count_tokens
from lab.corpora.institute import ask_chain, write_shelf
from lab.corpora.ruler.niah import REPLY, UNHINTED
from lab.corpora.ruler.placing import DOCUMENT


def answering(hops: int, length: int, chance: Random, name: str) -> Reading:
    """One sample: as many documents as fit, the gold ones anywhere among them.

    Args:
        hops: 1 (qa_1) or 2 (qa_2).
        length: tokens of document, question and reply together.
        chance: where all choices come from.
        name: id of the sample.
    """
    shelf = write_shelf("test", chance)
    question, answers, facts = next(
        draft for _ in count() if (draft := ask_chain(shelf, chance, hops)) is not None
    )
    spots = [shelf.places[fact] for fact in facts]
    gold = {spot.doc for spot in spots}
    room = length - REPLY - count_tokens(question)
    entities = [entity for entity, _ in facts]
    distractors = _others(shelf.sources, gold, entities, chance)
    gold_sources = [source for source in shelf.sources if source.id in gold]
    room -= sum(count_each([_shown(len(shelf.sources), source) for source in gold_sources]))
    for source in distractors:
        room -= count_tokens(_shown(99_999, source))
        if room < 0:
            break
        gold_sources.append(source)
    chance.shuffle(gold_sources)
    text, begins = "", dict[str, int]()
    for number, source in enumerate(gold_sources, 1):
        text += "\n\n" if text else ""
        passage = _shown(number, source)
        if source.id in gold:
            begins[source.id] = len(text) + len(passage) - len(source.text)
        text += passage
    return Reading(
        id=name,
        family="longdoc",
        question=question,
        answers=answers,
        metric="part",
        sources=(Source(id=DOCUMENT, text=text),),
        evidence=tuple(
            Evidence(
                doc=DOCUMENT, start=begins[span.doc] + span.start, end=begins[span.doc] + span.end
            )
            for span in spots
        ),
        meta={
            "task": f"qa_{hops}",
            "unhinted": UNHINTED,
            "hinted": UNHINTED,
            "documents": len(gold_sources),
        },
    )


def _shown(number: int, source: Source) -> str:
    return f"Document {number}: {source.title}\n{source.text}"


def _others(
    sources: Sequence[Source], gold: set[str], entities: Sequence[str], chance: Random
) -> Iterator[Source]:
    """The rest of the institute, then others; none that says something else of the same things."""
    yield from (source for source in sources if source.id not in gold)
    own_ids = {source.id for source in sources}
    while True:
        for source in write_shelf("test", chance).sources:
            if source.id not in own_ids and not any(name in source.text for name in entities):
                yield source
