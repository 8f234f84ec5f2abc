"""Questions over documents with the places of their answers: XQuAD, COVID-QA and QMSum."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.reports import read_jsonl
from harness.corpora import Evidence
from harness.rag.compress import Query, Span, Unit
from harness.rag.retrieve import Document, sentence_spans
from lab.training.questions import in_turn

DISTRACTORS = 4


@dataclass(frozen=True)
class Case:
    """One question.

    Attributes:
        id: of the question.
        cluster: its document; questions of one are not independent.
        query: what is asked.
        documents: what is compressed.
        units: of the documents, in order, for baselines that are not of the compressor.
        answers: each of them answers, but for a meeting, whose gold turns count one by one.
    """

    id: str
    cluster: str
    query: Query
    documents: tuple[Document, ...]
    units: tuple[Unit, ...]
    answers: tuple[Evidence, ...]

    @property
    def gold(self) -> tuple[frozenset[int], ...]:
        """For every answer the places of the units that it touches."""
        return tuple(
            frozenset(
                index
                for index, unit in enumerate(self.units)
                if answer.overlaps(Evidence(doc=unit.doc, start=unit.start, end=unit.end))
            )
            for answer in self.answers
        )


def xquad(folder: Path, seed: int, *, files: bool = False) -> list[Case]:
    """The gold paragraph among four others of the file, in random order; units are sentences.

    Args:
        folder: of the set.
        seed: of the other paragraphs and the order.
        files: every paragraph is a document of its own; else they are one.
    """
    rng = random.Random(seed)
    rows = read_jsonl(folder / "xquad_en.jsonl")
    paragraphs = sorted({row["context"] for row in rows})
    cases: list[Case] = []
    for row in rows:
        distractors = rng.sample(
            [text for text in paragraphs if text != row["context"]], DISTRACTORS
        )
        stack = [row["context"], *distractors]
        rng.shuffle(stack)
        gold = stack.index(row["context"])
        before = 0 if files else sum(len(text) + 2 for text in stack[:gold])
        texts = stack if files else ["\n\n".join(stack)]
        documents = [Document(f"paragraph-{n}", text) for n, text in enumerate(texts, start=1)]
        doc = documents[gold if files else 0].id
        answers = [_evidence(doc, (start + before, end + before)) for start, end in row["spans"]]
        cases.append(_case(row["id"], row["_meta"]["group"], row["query"], documents, answers))
    return cases


def covidqa(folder: Path) -> list[Case]:
    """Whole papers; units are sentences."""
    papers = {
        row["id"]: Document(row["id"], row["context"])
        for row in read_jsonl(folder / "covidqa_docs.jsonl")
    }
    units = {name: _sentences(paper) for name, paper in papers.items()}
    return [
        Case(row["id"], row["doc"], Query("", row["query"]), (papers[row["doc"]],),
             units[row["doc"]], tuple(_evidence(row["doc"], span) for span in row["spans"]))
        for row in read_jsonl(folder / "covidqa.jsonl")
    ]  # fmt: skip


def qmsum(folder: Path) -> list[Case]:
    """Whole meetings; units are turns, and every gold turn counts by itself."""
    cases: list[Case] = []
    for row in read_jsonl(folder / "qmsum.jsonl"):
        document = Document(row["id"], row["context"])
        turns: list[Unit] = []
        offset = 0
        for line in row["context"].split("\n"):
            if line.strip():
                turns.append(Unit(row["id"], offset, offset + len(line), line, "sentence"))
            offset += len(line) + 1
        for number, asked_query in enumerate(row["queries"]):
            spans = [_evidence(row["id"], span) for span in asked_query["spans"]]
            gold = [_evidence(row["id"], (turn.start, turn.end)) for turn in turns]
            gold = [turn for turn in gold if any(turn.overlaps(span) for span in spans)]
            if gold:
                query = Query("", asked_query["query"])
                id_ = f"{row['id']}/{number}"
                cases.append(Case(id_, row["id"], query, (document,), tuple(turns), tuple(gold)))
    return cases


def readers_of(folder: Path, seed: int) -> dict[str, Callable[[], list[Case]]]:
    """The sets by name, each read when it is called."""
    return {
        "xquad": partial(xquad, folder, seed),
        "xquad_files": partial(xquad, folder, seed, files=True),
        "covidqa": partial(covidqa, folder),
        "qmsum": partial(qmsum, folder),
    }


def sample(cases: Sequence[Case], size: int, seed: int) -> list[Case]:
    """At most `size` cases, drawn in turn from every cluster."""
    rng = random.Random(seed)
    clusters: dict[str, list[Case]] = {}
    for case in cases:
        clusters.setdefault(case.cluster, []).append(case)
    for members in clusters.values():
        rng.shuffle(members)
    return in_turn(clusters, rng)[:size]


def fitting(order: Iterable[int], sizes: Sequence[float], room: float) -> list[int]:
    """Places in their order of preference, each that still fits into the room."""
    selected: list[int] = []
    for index in order:
        if sizes[index] <= room:
            selected.append(index)
            room -= sizes[index]
    return selected


def covered(evidence: Evidence, spans: Iterable[Span | Unit], text: str) -> bool:
    """Return True if spans hold all of a piece of evidence; blanks between them count as held.

    Args:
        evidence: a part of a document.
        spans: what was kept, of any document.
        text: of the document.
    """
    start = evidence.start
    for begin, stop in sorted((span.start, span.end) for span in spans if span.doc == evidence.doc):
        if begin <= start < stop:
            start = stop
            while start < evidence.end and text[start].isspace():
                start += 1
    return start >= evidence.end


def _case(
    id_: str, cluster: str, query: str, documents: Sequence[Document], answers: Sequence[Evidence]
) -> Case:
    units = tuple(unit for document in documents for unit in _sentences(document))
    return Case(id_, cluster, Query("", query), tuple(documents), units, tuple(answers))


def _evidence(doc: str, span: Sequence[int]) -> Evidence:
    return Evidence(doc=doc, start=int(span[0]), end=int(span[1]))


def _sentences(document: Document) -> tuple[Unit, ...]:
    return tuple(
        Unit(document.id, start, end, document.text[start:end], "sentence")
        for start, end in sentence_spans(document.text, "en")
    )
