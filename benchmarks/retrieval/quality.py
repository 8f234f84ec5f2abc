"""Lexical, dense and hybrid search on five public sets, through the index as users have it.

    python -m benchmarks.retrieval.quality --shared ../shared

Cranfield: 144 queries of the dev half, nDCG@10; relevance codes run downwards there (1 is a
complete answer, 4 the least), so the gain is 5 - code; the query's own source document (-1) is no
answer and is left out. HotpotQA: 291 distractor questions of the dev half against the whole corpus
of 4,968 paragraphs; recall of the supporting paragraphs. MuSiQue and 2WikiMultihopQA: the
questions of the dev half against all paragraphs that occur in them, each once. XQuAD: the English
questions against the sentences of all paragraphs; what overlaps the answer is gold; `xquad-de` and
so on are the same questions and paragraphs in other languages, from a copy of the XQuAD repository
(`--xquad`); `xquad-de-zh` are German paragraphs and Chinese questions. Nothing was tuned on these
sets: fusion is reciprocal rank with k = 60, and the weighted one takes both arms by halves.
"against hybrid" pairs the weighted fusion, and rerankers of the hybrid hits, with it.
Queries are embedded beforehand, in one batch: times of the arms are those of the search alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compression.memory import remembering
from benchmarks.reports import Options, benchmark, earlier_report, option, read_jsonl, report
from harness.core import cache_root
from harness.corpora import load_readings
from harness.rag.evals.ablation import Case, ablate, index_arms
from harness.rag.evals.metrics import Gold
from harness.rag.retrieve import (
    Document,
    LocalIndex,
    create_index,
    open_encoder,
    sentence_spans,
)

KS = (2, 5, 10)
Vectors = NDArray[np.float32]
SHARED_OPTIONS = {"shared": Path("../shared"), "cache": cache_root() / "benchmarks"}


def cranfield(shared: Path) -> tuple[list[Document], list[Case]]:
    """Abstracts, and queries with graded judgements."""
    rows = read_jsonl(shared / "data/corpora/cranfield_corpus.jsonl")
    documents = [
        Document(row["id"], row["text"], metadata={"title": " ".join(row["title"].split())})
        for row in rows
        if row["text"].strip()
    ]
    cases: list[Case] = []
    for row in read_jsonl(shared / "data/dev/cranfield_queries.jsonl"):
        gold = tuple(
            Gold(doc=doc, relevance=5 - code) for doc, code in row["qrels"] if 1 <= code <= 4
        )
        if gold:
            cases.append(Case(query=row["query"], gold=gold, id=str(row["query_no"])))
    return documents, cases


def hotpotqa(shared: Path) -> tuple[list[Document], list[Case]]:
    """Paragraphs, and questions with their supporting paragraphs."""
    documents: list[Document] = []
    document_ids: dict[tuple[str, str], str] = {}
    for number, row in enumerate(read_jsonl(shared / "data/corpora/hotpotqa_corpus.jsonl")):
        documents.append(Document(f"p{number}", row["text"], metadata={"title": row["title"]}))
        document_ids.setdefault((row["title"], row["text"]), f"p{number}")
    cases: list[Case] = []
    for row in read_jsonl(shared / "data/dev/hotpotqa_agent.jsonl"):
        gold_pairs = [
            (paragraph["title"], paragraph["text"])
            for paragraph in row["paragraphs"]
            if paragraph["is_gold"]
        ]
        gold = tuple(Gold(doc=document_ids[key]) for key in gold_pairs if key in document_ids)
        if gold:
            cases.append(Case(query=row["question"], gold=gold, id=row["id"]))
    return documents, cases


def multihop(name: str, shared: Path) -> tuple[list[Document], list[Case]]:
    """Paragraphs of all questions of a set, each once, and questions with their gold ones."""
    by_text: dict[tuple[str, str], Document] = {}
    cases: list[Case] = []
    for reading in load_readings(name, shared / f"data/dev/{name}.jsonl"):
        ids: dict[str, str] = {}
        for source in reading.sources:
            document = by_text.setdefault(
                (source.title, source.text),
                Document(f"p{len(by_text)}", source.text, metadata={"title": source.title}),
            )
            ids[source.id] = document.id
        gold = tuple(Gold(doc=doc) for doc in dict.fromkeys(ids[e.doc] for e in reading.evidence))
        if gold:
            cases.append(Case(query=reading.question, gold=gold, id=reading.id))
    return list(by_text.values()), cases


def xquad(
    shared: Path, language: str = "en", repository: Path | None = None
) -> tuple[list[Document], list[Case]]:
    """Sentences of all paragraphs, and questions with those that the answer touches."""
    by_start: dict[tuple[str, int], Document] = {}
    cases: list[Case] = []
    rows = read_jsonl(shared / "data/compression/dev/xquad_en.jsonl")
    if repository is not None:
        rows = translated(repository / f"xquad.{language}.json", {row["id"] for row in rows})
    for row in rows:
        text, gold = row["context"], list[Gold]()
        for start, end in sentence_spans(text, language):
            sentence = by_start.setdefault(
                (text, start), Document(f"s{len(by_start)}", text[start:end])
            )
            if any(first < end and start < last for first, last in row["spans"]):
                gold.append(Gold(doc=sentence.id))
        cases.append(Case(query=row["query"], gold=tuple(gold), id=row["id"]))
    return list(by_start.values()), cases


def translated(path: Path, ids: set[str]) -> list[dict[str, Any]]:
    """Those questions of a file in SQuAD's form."""
    return [
        {
            "id": question["id"],
            "query": question["question"],
            "context": paragraph["context"],
            "spans": [
                (answer["answer_start"], answer["answer_start"] + len(answer["text"]))
                for answer in question["answers"]
            ],
        }
        for article in json.loads(path.read_text("utf-8"))["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
        if question["id"] in ids
    ]


def indexed(cache: Path, name: str, documents: Sequence[Document], encoder: str) -> LocalIndex:
    """The index of a corpus, built where it is not there yet; its encoder remembers queries."""
    name = f"{name}-{encoder}"
    index = create_index(cache / f"index-{name}", remembering(open_encoder(encoder), cache / name))
    index.add(documents, lambda finished, total: print(f"{finished}/{total}", end="\r", flush=True))
    return index


READERS: dict[str, Callable[..., tuple[list[Document], list[Case]]]] = {
    "cranfield": cranfield,
    "hotpotqa": hotpotqa,
    "musique": partial(multihop, "musique"),
    "twowiki": partial(multihop, "twowiki"),
    "xquad": xquad,
}


@benchmark(
    **SHARED_OPTIONS,
    xquad=option(type=Path, help="a copy of the XQuAD repository, for xquad-LANGUAGE"),
    encoder="local",
    rerank=option(nargs="*", default=[]),
    sets=list(READERS),
    out=Path("evals/results/retrieval_quality.json"),
)
def main(options: Options) -> None:
    """Measure the sets and write the table."""
    sets = earlier_report(options.out).get("sets", {})
    for name in options.sets:
        name_of_set, *languages = name.split("-")
        read = partial(READERS[name_of_set], options.shared)
        place = [{"language": language, "repository": options.xquad} for language in languages]
        documents, cases = read(**place[0]) if place else read()
        if len(place) > 1:
            asked = {case.id: case.query for case in read(**place[1])[1]}
            cases = [case.model_copy(update={"query": asked[case.id]}) for case in cases]
        index = indexed(options.cache, name, documents, options.encoder)
        # No arm pays for what others need too.
        index.encoder.encode_queries([case.query for case in cases])
        arms = index_arms(index)
        tables = {f"k={k}": ablate(cases, arms, k).model_dump(mode="json") for k in KS}
        sets[f"{name} {options.encoder}"] = {
            "documents": len(documents),
            "queries": len(cases),
            **tables,
            "k=10, against dense": ablate(cases, arms, 10, baseline="dense").model_dump(
                mode="json"
            ),
            "k=10, against hybrid": ablate(
                cases, index_arms(index, options.rerank), 10, baseline="hybrid"
            ).model_dump(mode="json"),
        }
        report({"command": "python -m benchmarks.retrieval.quality", "sets": sets}, options.out)
