"""Sets of questions over passages.

Multi-hop sets (HotpotQA, 2WikiMultihopQA, MuSiQue, Bamboogle, FRAMES, StrategyQA) and sets whose
questions one passage answers (SQuAD, Natural Questions).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from harness.core import digest
from harness.corpora.reading import Documents, Evidence, Reading, joined
from harness.corpora.records import Loader, Row, by_record


def _reading(
    name: str,
    question: str,
    answers: Iterable[str],
    meta: dict[str, Any],
    documents: Documents | None = None,
    evidence: Iterable[Evidence] = (),
) -> Reading:
    """A question over documents, or a bare one, judged by exact match."""
    return Reading(
        id=name,
        family="search",
        question=question,
        answers=tuple(answers),
        metric="em",
        sources=documents.sources if documents else (),
        evidence=tuple(evidence),
        meta=meta,
    )


def hotpot(kind: str, row: Row) -> Iterator[Reading]:
    """HotpotQA (Yang et al. 2018): the published JSON, its columns form, or recorded agent runs.

    A supporting fact that names a sentence that does not exist (some published ones do) is left
    out and counted in `meta["missing_support"]`. Records without paragraphs are bare questions.
    2WikiMultihopQA (Ho et al. 2020) has the same form, with evidence triples in `meta`.
    """
    documents, spans = Documents(), dict[str, list[tuple[int, int]]]()
    if "paragraphs" in row:  # recorded agent runs: paragraphs as one text
        for paragraph in row["paragraphs"]:
            documents.add(paragraph["title"], paragraph["text"])
    else:
        for title, sentences in _pairs(row.get("context", []), "sentences"):
            text, bounds = joined(sentences)
            spans[documents.add(title, text)] = bounds
    supporting = _pairs(row["supporting_facts"], "sent_id")
    locations = [_place(documents, spans, title, int(number)) for title, number in supporting]
    meta: dict[str, Any] = {"closed": True, "stratum": row["type"], "type": row["type"]}
    meta |= {key: row[key] for key in ("level", "evidences") if key in row}
    meta |= (
        {"missing_support": locations.count(None)}
        if None in locations and documents.sources
        else {}
    )
    yield _reading(
        f"{kind}-{row.get('_id') or row['id']}",
        row["question"],
        [str(row["answer"])],
        meta,
        documents,
        dict.fromkeys(location for location in locations if location is not None),
    )


def _pairs(value: Any, column: str) -> list[tuple[str, Any]]:
    """Titles with what belongs to them, from columns or from rows."""
    if isinstance(value, dict):
        return list(zip(value["title"], value[column], strict=True))  # pyright: ignore[reportUnknownArgumentType]  # parsed JSON
    return [(title, item) for title, item in value]


def _place(
    documents: Documents, spans: dict[str, list[tuple[int, int]]], title: str, number: int
) -> Evidence | None:
    name = documents.named(title)
    if name is None:
        return None
    if name not in spans:
        return documents.whole(name)
    if number >= len(spans[name]) or spans[name][number][0] >= spans[name][number][1]:
        return None
    start, end = spans[name][number]
    return Evidence(doc=name, start=start, end=end)


def musique(row: Row) -> Iterator[Reading]:
    """MuSiQue-Answerable (Trivedi et al. 2022); records without an answer are passed over."""
    if not row.get("answerable", True):
        return
    documents, paragraphs = Documents(), row["paragraphs"]
    names = {
        part["idx"]: documents.add(part["title"], part["paragraph_text"]) for part in paragraphs
    }
    steps = row.get("question_decomposition", [])
    order = [step["paragraph_support_idx"] for step in steps]
    gold = [names[index] for index in order if index is not None]
    gold += [names[part["idx"]] for part in paragraphs if part["is_supporting"]]
    yield _reading(
        f"musique-{row['id']}",
        row["question"],
        [row["answer"], *row.get("answer_aliases", [])],
        {
            "stratum": str(row["id"]).split("__")[0],
            "decomposition": [[step["question"], step["answer"]] for step in steps],
        },
        documents,
        map(documents.whole, dict.fromkeys(gold)),
    )


def bamboogle(row: Row) -> Iterator[Reading]:
    """Bamboogle (Press et al. 2023): two-hop questions without documents."""
    question = row["Question"]
    name = f"bamboogle-{digest(question)[:12]}"
    yield _reading(name, question, [row["Answer"]], {"stratum": "bamboogle"})


def frames(row: Row) -> Iterator[Reading]:
    """FRAMES (Krishna et al. 2024): questions over several Wikipedia pages, which it only links."""
    question = row.get("question") or row["Prompt"]
    answer = row.get("answer") or row["Answer"]
    links = {"links": row["wiki_links"]} if row.get("wiki_links") else {}
    yield _reading(
        f"frames-{digest(question)[:12]}", question, [answer], {"stratum": "frames", **links}
    )


def strategyqa(row: Row) -> Iterator[Reading]:
    """StrategyQA (Geva et al. 2021): yes or no; facts and decomposition stand in `meta`."""
    answer = {True: "yes", False: "no"}[row["answer"]]
    meta = {key: row[key] for key in ("facts", "decomposition") if key in row}
    name = f"strategyqa-{row['qid']}"
    reading = _reading(name, row["question"], [answer], {"stratum": "strategyqa", **meta})
    yield reading.model_copy(update={"metric": "boolean"})


def squad(row: Row) -> Iterator[Reading]:
    """SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018), XQuAD; published, or one row a question.

    In the published form all paragraphs of an article are the documents. Questions without an
    answer (2.0) are passed over.
    """
    if "paragraphs" not in row:
        yield from _row_question("squad", row)
        return
    documents = Documents()
    title = row.get("title") or "article"
    names = [documents.add(title, paragraph["context"]) for paragraph in row["paragraphs"]]
    for name, paragraph in zip(names, row["paragraphs"], strict=True):
        for query in paragraph["qas"]:
            answers = [(answer["text"], int(answer["answer_start"])) for answer in query["answers"]]
            yield from _answered("squad", query["id"], query["question"], documents, name, answers)


def natural(row: Row) -> Iterator[Reading]:
    """Natural Questions: NQ-open (no documents), or with passages (`ctxs`, or one `context`)."""
    if "context" in row:
        yield from _row_question("nq", row)
        return
    question, answers = row["question"], row.get("answers") or row["answer"]
    documents, gold = Documents(), list[Evidence]()
    for passage in row.get("ctxs", []):
        name = documents.add(passage.get("title", ""), passage["text"])
        gold += [documents.whole(name)] if passage.get("isgold") else []
    name = f"nq-{row.get('id') or digest(question)[:12]}"
    yield _reading(name, question, answers, {"stratum": "nq"}, documents, gold)


def _row_question(kind: str, row: Row) -> Iterator[Reading]:
    """One row with its one passage; answers as columns, or as texts beside spans."""
    documents = Documents()
    name = documents.add(row.get("title", ""), row["context"])
    answers: Any = row["answers"]
    if isinstance(answers, dict):
        columns: dict[str, list[Any]] = answers  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
        pairs = list(zip(columns["text"], columns["answer_start"], strict=True))
    else:
        spans = row.get("spans") or [(row["context"].find(text), 0) for text in answers]
        # Some sets give more spans than answers, or fewer: every answer keeps a place.
        starts = [int(start) for start, _ in spans] + [int(spans[0][0])] * len(answers)
        pairs = list(zip(answers, starts, strict=False))
    question = row.get("question") or row["query"]
    yield from _answered(kind, row["id"], question, documents, name, pairs)


def _answered(
    kind: str, name: str, question: str, documents: Documents, doc: str,
    answers: list[tuple[str, int]],
) -> Iterator[Reading]:  # fmt: skip
    """A question whose answers stand in one document, at known places."""
    length = documents.whole(doc).end
    spans = {(start, start + len(answer)) for answer, start in answers}
    evidence = [
        Evidence(doc=doc, start=start, end=end)
        for start, end in sorted(spans)
        if 0 <= start < end <= length
    ]
    if answers:
        texts = dict.fromkeys(answer for answer, _ in answers)
        meta = {"stratum": kind}
        yield _reading(f"{kind}-{name}", question, texts, meta, documents, evidence)


SEARCH_LOADERS: dict[str, Loader[Reading]] = {
    "hotpotqa": by_record(partial(hotpot, "hotpotqa"), "HotpotQA"),
    "twowiki": by_record(partial(hotpot, "twowiki"), "2WikiMultihopQA"),
    "musique": by_record(musique, "MuSiQue"),
    "bamboogle": by_record(bamboogle, "Bamboogle"),
    "frames": by_record(frames, "FRAMES"),
    "strategyqa": by_record(strategyqa, "StrategyQA"),
    "nq": by_record(natural, "Natural Questions"),
    "squad": by_record(squad, "SQuAD"),
}
