"""Multi-hop sets: HotpotQA, 2WikiMultihopQA, MuSiQue, Bamboogle, FRAMES, StrategyQA."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import digest
from harness.corpora.loaders.rows import Documents, Row, joined, read_each, rows_of
from harness.corpora.reading import Evidence, Reading


def hotpotqa(path: Path) -> Iterator[Reading]:
    """HotpotQA (Yang et al. 2018): the published JSON, its columns form, or recorded agent runs.

    A supporting fact that names a sentence that does not exist (some published ones do) is left
    out and counted in `meta["missing_support"]`. Records without paragraphs are bare questions.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), lambda row: [_hotpot(row, "hotpotqa")], "HotpotQA")


def twowiki(path: Path) -> Iterator[Reading]:
    """2WikiMultihopQA (Ho et al. 2020): as HotpotQA, with evidence triples in `meta`.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), lambda row: [_hotpot(row, "twowiki")], "2WikiMultihopQA")


def musique(path: Path) -> Iterator[Reading]:
    """MuSiQue-Answerable (Trivedi et al. 2022); records that cannot be answered are passed over.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _musique, "MuSiQue")


def bamboogle(path: Path) -> Iterator[Reading]:
    """Bamboogle (Press et al. 2023): two-hop questions without documents.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _bamboogle, "Bamboogle")


def frames(path: Path) -> Iterator[Reading]:
    """FRAMES (Krishna et al. 2024): questions over several Wikipedia pages, which it only links.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _frames, "FRAMES")


def strategyqa(path: Path) -> Iterator[Reading]:
    """StrategyQA (Geva et al. 2021): yes or no; facts and decomposition stand in `meta`.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _strategyqa, "StrategyQA")


def _hotpot(row: Row, kind: str) -> Reading:
    documents, spans = Documents(), dict[str, list[tuple[int, int]]]()
    if "paragraphs" in row:  # recorded agent runs: paragraphs as one text
        for paragraph in row["paragraphs"]:
            documents.add(paragraph["title"], paragraph["text"])
    else:
        for title, sentences in _contexts(row.get("context", [])):
            text, places = joined(sentences)
            spans[documents.add(title, text)] = places
    evidence: dict[Evidence, None] = {}
    facts = _facts(row["supporting_facts"])
    found = [_place(documents, spans, *fact) for fact in facts]
    evidence.update(dict.fromkeys(one for one in found if one is not None))
    meta: dict[str, Any] = {"closed": True, "stratum": row["type"], "type": row["type"]}
    meta |= {key: row[key] for key in ("level", "evidences") if key in row}
    meta |= {"missing_support": found.count(None)} if None in found and documents.sources else {}
    return Reading(
        id=f"{kind}-{row.get('_id') or row['id']}",
        family="search",
        question=row["question"],
        answers=(str(row["answer"]),),
        metric="em",
        sources=documents.sources,
        evidence=tuple(evidence),
        meta=meta,
    )


def _contexts(context: Any) -> list[tuple[str, list[str]]]:
    if isinstance(context, dict):
        return list(zip(context["title"], context["sentences"], strict=True))  # pyright: ignore[reportUnknownArgumentType]  # parsed JSON
    return [(title, sentences) for title, sentences in context]


def _facts(facts: Any) -> list[tuple[str, int]]:
    if isinstance(facts, dict):
        return list(zip(facts["title"], facts["sent_id"], strict=True))  # pyright: ignore[reportUnknownArgumentType]  # parsed JSON
    return [(title, int(number)) for title, number in facts]


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


def _musique(row: Row) -> list[Reading]:
    if not row.get("answerable", True):
        return []
    documents = Documents()
    names = [documents.add(one["title"], one["paragraph_text"]) for one in row["paragraphs"]]
    steps = row.get("question_decomposition", [])
    order = [step["paragraph_support_idx"] for step in steps]
    by_index = {one["idx"]: name for one, name in zip(row["paragraphs"], names, strict=True)}
    gold = [by_index[index] for index in order if index is not None]
    flagged = zip(row["paragraphs"], names, strict=True)
    gold += [name for one, name in flagged if one["is_supporting"] and name not in gold]
    hops = str(row["id"]).split("__")[0]
    reading = Reading(
        id=f"musique-{row['id']}",
        family="search",
        question=row["question"],
        answers=(row["answer"], *row.get("answer_aliases", [])),
        metric="em",
        sources=documents.sources,
        evidence=tuple(map(documents.whole, dict.fromkeys(gold))),
        meta={
            "stratum": hops,
            "decomposition": [[step["question"], step["answer"]] for step in steps],
        },
    )
    return [reading]


def _bare(kind: str, name: str, question: str, answer: str, **meta: Any) -> Reading:
    return Reading(
        id=f"{kind}-{name}",
        family="search",
        question=question,
        answers=(answer,),
        metric="em",
        meta={"stratum": kind, **meta},
    )


def _bamboogle(row: Row) -> list[Reading]:
    question = row["Question"]
    return [_bare("bamboogle", digest(question)[:12], question, row["Answer"])]


def _frames(row: Row) -> list[Reading]:
    question = row.get("question") or row["Prompt"]
    answer = row.get("answer") or row["Answer"]
    links = {"links": row["wiki_links"]} if row.get("wiki_links") else {}
    return [_bare("frames", digest(question)[:12], question, answer, **links)]


def _strategyqa(row: Row) -> list[Reading]:
    answer = {True: "yes", False: "no"}[row["answer"]]
    meta = {key: row[key] for key in ("facts", "decomposition") if key in row}
    found = _bare("strategyqa", row["qid"], row["question"], answer, **meta)
    return [found.model_copy(update={"metric": "boolean"})]
