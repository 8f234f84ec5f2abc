"""Real documents in one text of about 128 K tokens, with questions and the sentences that answer.

Passages of Natural Questions under their titles, web pages of WiCE (claims in place of questions),
QED and HotpotQA together, and papers of COVID-QA. Documents are halved by digest (of HotpotQA, that
of the question): on half `A` the scores of the pre-filter and their weights were chosen, half `B`
and COVID-QA show it. Word vectors were adopted with a view of both.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compression.cases import covidqa
from benchmarks.reports import read_jsonl
from harness.rag.compress import Unit, open_tokenizer
from harness.rag.compress.pool import Pool
from harness.train.compressor.examples import read_examples

LENGTH = 128 * 1024
TOLERANCE = 3_000


@dataclass(frozen=True)
class Asked:
    """A question, and the places of the units that answer it."""

    query: str
    gold: tuple[int, ...]


@dataclass
class Stack:
    """Units of many documents as one text; documents are paragraphs of it."""

    name: str
    pool: Pool
    asked: list[Asked]


@dataclass
class _Paper:
    title: str
    sentences: tuple[str, ...]
    asked: list[tuple[str, frozenset[int]]]
    key: str = ""

    def in_half(self, half: str) -> bool:
        key = self.key or " ".join(self.sentences)
        digest = hashlib.sha256(f"pf{key}".encode()).hexdigest()
        return int(digest[:8], 16) % 2 == "AB".index(half)


def stacks(shared: Path, half: str = "B") -> list[Stack]:
    """The stacks of one half, COVID-QA (whole) with the second.

    Args:
        shared: folder of the data.
        half: `A` or `B`.
    """
    examples = {source: _examples(shared, source) for source in ("nq_oracle", "wice_dev", "qed")}
    papers = [
        _stacked("NQ", examples["nq_oracle"], half),
        _stacked("WiCE", examples["wice_dev"], half),
        _stacked("QED, HotpotQA", [*examples["qed"], *_hotpot(shared)], half),
    ]
    if half == "B":
        covid: dict[str, _Paper] = {}
        for case in covidqa(shared / "data/compression/dev"):
            sentences = tuple(unit.text for unit in case.units)
            paper = covid.setdefault(case.cluster, _Paper("", sentences, []))
            paper.asked.append((case.query.query, frozenset[int]().union(*case.gold)))
        papers.append(_stacked("COVID-QA", list(covid.values()), None))
    return papers


def _stacked(name: str, papers: Iterable[_Paper], half: str | None) -> Stack:
    chosen = [candidate for candidate in papers if half is None or candidate.in_half(half)]
    if half is not None:
        random.Random(5).shuffle(chosen)
    pool, queries, counts = Pool(), list[Asked](), open_tokenizer("minilm").counts
    place = used = 0
    for paper in chosen:
        tokens = counts(paper.sentences)
        if used + sum(tokens) > LENGTH + TOLERANCE:
            continue
        first = len(pool.units)
        for text, count in zip(paper.sentences, tokens, strict=True):
            end = place + len(text)
            pool.units.append(Unit("stack", place, end, text, "sentence", paper.title))
            pool.tokens.append(count)
            pool.before.append(used)
            pool.joined.append(len(pool.units) > first + 1)
            place, used = end + 1, used + count
        place += 1
        queries += [
            Asked(q, tuple(first + unit for unit in sorted(gold))) for q, gold in paper.asked
        ]
    pool.ends["stack"] = (0, used)
    return Stack(name, pool, queries)


def _examples(shared: Path, source: str) -> list[_Paper]:
    folder = shared / "data/compression/train"
    titles = {
        row["query"].casefold(): str(row["title"]) for row in read_jsonl(folder / "nq_oracle.jsonl")
    }
    papers: dict[tuple[str, ...], _Paper] = {}
    for example in read_examples(folder):
        passage = example.passage
        if passage.source == source:
            title = titles.get(passage.group, "") if source == "nq_oracle" else ""
            paper = papers.setdefault(passage.sentences, _Paper(title, passage.sentences, []))
            paper.asked.append((example.query, example.gold))
    return list(papers.values())


def _hotpot(shared: Path) -> list[_Paper]:
    papers: dict[tuple[str, ...], _Paper] = {}
    for row in read_jsonl(shared / "data/dev/hotpotqa_distractor.jsonl"):
        facts = {(str(title), int(sentence)) for title, sentence in row["supporting_facts"]}
        for title, lines in row["context"]:
            places = [number for number, line in enumerate(lines) if line.strip()]
            sentences = tuple(str(lines[number]).strip() for number in places)
            gold = frozenset(n for n, sentence in enumerate(places) if (title, sentence) in facts)
            paper = papers.setdefault(
                sentences, _Paper(str(title), sentences, [], str(row["question"]))
            )
            paper.asked += [(str(row["question"]), gold)] if gold else []
    return list(papers.values())
