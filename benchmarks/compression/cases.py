"""Questions over documents with gold units: XQuAD, COVID-QA and QMSum as the critics see them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.reports import read_jsonl
from harness.rag.compress import Query, Unit
from harness.rag.retrieve import sentence_spans
from harness.train.compressor.evaluation import in_turn

DISTRACTORS = 4


@dataclass(frozen=True)
class Case:
    """One question.

    Attributes:
        id: of the question.
        cluster: its document; questions of one are not independent.
        query: what is asked.
        units: of the document or documents, in order.
        gold: for every answer the places of the units that it touches.
    """

    id: str
    cluster: str
    query: Query
    units: tuple[Unit, ...]
    gold: tuple[frozenset[int], ...]


def xquad(folder: Path, seed: int) -> list[Case]:
    """The gold paragraph among four others of the file, in random order; units are sentences."""
    rng = random.Random(seed)
    rows = read_jsonl(folder / "xquad_en.jsonl")
    paragraphs = sorted({row["context"] for row in rows})
    sentences = {text: _sentences(text, f"p{number}") for number, text in enumerate(paragraphs)}
    cases: list[Case] = []
    for row in rows:
        distractors = rng.sample(
            [text for text in paragraphs if text != row["context"]], DISTRACTORS
        )
        stack = [row["context"], *distractors]
        rng.shuffle(stack)
        before = sum(len(sentences[text]) for text in stack[: stack.index(row["context"])])
        gold = [
            frozenset(before + sentence for sentence in touched(sentences[row["context"]], [span]))
            for span in row["spans"]
        ]
        units = [unit for text in stack for unit in sentences[text]]
        cluster = row["_meta"]["group"]
        cases.append(Case(row["id"], cluster, Query("", row["query"]), tuple(units), tuple(gold)))
    return cases


def covidqa(folder: Path) -> list[Case]:
    """Whole papers; units are sentences."""
    papers = {
        row["id"]: _sentences(row["context"], row["id"])
        for row in read_jsonl(folder / "covidqa_docs.jsonl")
    }
    return [
        Case(row["id"], row["doc"], Query("", row["query"]), tuple(papers[row["doc"]]),
             tuple(touched(papers[row["doc"]], [span]) for span in row["spans"]))
        for row in read_jsonl(folder / "covidqa.jsonl")
    ]  # fmt: skip


def qmsum(folder: Path) -> list[Case]:
    """Whole meetings; units are turns, and every gold turn counts by itself."""
    cases: list[Case] = []
    for row in read_jsonl(folder / "qmsum.jsonl"):
        turns: list[Unit] = []
        place = 0
        for line in row["context"].split("\n"):
            if line.strip():
                turns.append(Unit(row["id"], place, place + len(line), line, "sentence"))
            place += len(line) + 1
        for number, asked_query in enumerate(row["queries"]):
            gold = tuple(frozenset([turn]) for turn in sorted(touched(turns, asked_query["spans"])))
            if gold:
                query = Query("", asked_query["query"])
                cases.append(Case(f"{row['id']}/{number}", row["id"], query, tuple(turns), gold))
    return cases


def readers_of(folder: Path, seed: int) -> dict[str, Callable[[], list[Case]]]:
    """The sets by name, each read when it is called."""
    return {
        "xquad": partial(xquad, folder, seed),
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


def fitting(order: Iterable[int], sizes: Sequence[float], room: float) -> set[int]:
    """Places in their order of preference, each that still fits into the room."""
    chosen: set[int] = set()
    for place in order:
        if sizes[place] <= room:
            chosen.add(place)
            room -= sizes[place]
    return chosen


def touched(units: Sequence[Unit], spans: Iterable[Sequence[int]]) -> frozenset[int]:
    """Places of the units that a span overlaps."""
    gold_turns = [(int(start), int(end)) for start, end in spans]
    return frozenset(
        number
        for number, unit in enumerate(units)
        if any(unit.start < end and start < unit.end for start, end in gold_turns)
    )


def _sentences(text: str, doc: str) -> list[Unit]:
    return [
        Unit(doc, start, end, text[start:end], "sentence")
        for start, end in sentence_spans(text, "en")
    ]
