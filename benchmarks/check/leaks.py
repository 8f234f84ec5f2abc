"""Does any request to a Checker give anything of a recorded answer away? And what does it cost?

    python -m benchmarks.check.leaks --shared ../shared

A run that was stopped resumes after its last answer; `--sets NAME ...` counts some sets first,
and `--counted` writes what has been counted: `answers` of those `recorded`.

Every recorded answer of nine sets (systems' summaries, biographies, chat replies, agents' answers,
gold answers of tables) is taken apart by rule, asked about blindly, and the requests are rendered
as they would be sent: twice, with the rules' questions and with hostile ones (a Proposer that puts
the value, a quote of the answer or a yes into each). A leak is what either detector finds: the one
that guards the wall, or a plain search for the digits and words of the claimed values that shares
no code with it. Calls: one of the Proposer, and one for each request and window, k = 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple, cast

from benchmarks.check.labelled import rows_of
from benchmarks.reports import Journal, Options, benchmark, option, report
from harness.rag.check.blind import BlindRequest, Vault, blinded, windows
from harness.rag.check.claims import extract
from harness.rag.check.types import Claim
from harness.rag.retrieve import Document

HOSTILE = (
    "Is it true that the answer is {value}?",
    "{sentence} Is that what the documents state?",
    "Which value, {value} or another, do the documents state?",
    "{sentence}",
)


VALUES = ("number", "date", "entity", "cell", "derived")


class Answer(NamedTuple):
    """A recorded answer, what it answers and what it rests on."""

    text: str
    asked: str
    documents: tuple[str, ...]


def answers(folder: Path) -> dict[str, list[Answer]]:
    """The recorded answers of every set."""
    return {
        "faithbench": [
            Answer(row["summary"], "", (row["source"],))
            for row in rows_of(folder / "faithbench.jsonl")
        ],
        "summedits": [
            Answer(row["summary"], "", (row["doc"],)) for row in rows_of(folder / "summedits.jsonl")
        ],
        "qags": [
            Answer(
                " ".join(sentence["sentence"] for sentence in row["summary_sentences"]),
                "",
                (row["article"],),
            )
            for row in rows_of(folder / "qags.jsonl")
        ],
        "factscore_human": [
            Answer(row["output"], row["input"], ())
            for row in rows_of(folder / "factscore_human.jsonl")
        ],
        "refchecker_claims": [
            Answer(row["response"], "", ()) for row in rows_of(folder / "refchecker_claims.jsonl")
        ],
        "halueval_general": [
            Answer(row["chatgpt_response"], row["user_query"], ())
            for row in rows_of(folder / "halueval_general.jsonl")
        ],
        "rgb_counterfactual": [
            Answer(str(answer), row["query"], (*row["positive"], *row["positive_wrong"]))
            for row in rows_of(folder / "rgb_counterfactual.jsonl")
            for answer in (row["answer"], row["fakeanswer"])
        ],
        "tatqa": list(of_tatqa(rows_of(folder / "tatqa.jsonl"))),
        "hotpotqa_agent": list(of_hotpot(rows_of(folder / "hotpotqa_agent.jsonl"))),
    }


def of_tatqa(rows: list[dict[str, Any]]) -> Iterator[Answer]:
    for row in rows:
        table = "\n".join(" | ".join(line) for line in row["table"]["table"])
        documents = (table, *(paragraph["text"] for paragraph in row["paragraphs"]))
        for question in row["questions"]:
            gold = question["answer"]
            parts = cast(list[Any], gold if isinstance(gold, list) else [gold])
            text = f"{', '.join(map(str, parts))} {question.get('scale', '')}".strip()
            yield Answer(text, question["question"], documents)


def of_hotpot(rows: list[dict[str, Any]]) -> Iterator[Answer]:
    for row in rows:
        documents = tuple(
            f"{paragraph['title']}. {paragraph['text']}" for paragraph in row["paragraphs"]
        )
        for reply in row["_recorded"].values():
            prediction = str(reply.get("prediction") or "").strip()
            if prediction:
                yield Answer(prediction, row["question"], documents)


def hostile(claims: list[Claim]) -> list[Claim]:
    """The claims with questions that give them away."""
    return [
        claim.model_copy(
            update={
                "question": HOSTILE[number % len(HOSTILE)].format(
                    value=claim.value, sentence=claim.sentence
                )
            }
        )
        for number, claim in enumerate(claims)
    ]


def plainly_in(question: str, claim: Claim) -> bool:
    """Search a question for the digits or the words of a value, without the code under test.

    For claims of a value; the value of a claim about a sentence is the whole sentence, whose
    wording the other detector looks for.
    """
    digits = re.sub(r"\D", "", claim.value)
    if len(digits) > 1 and claim.type != "entity":
        runs = [re.sub(r"\D", "", run) for run in re.findall(r"\d[\d.,]*", question)]
        if digits in runs:
            return True
    value = claim.value.lower().strip(" .,;:!?")
    if len(value) < 3:
        return False
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", question.lower()) is not None


def checked(answer: Answer, claims: list[Claim]) -> dict[str, int]:
    """Requests, leaks and calls for one answer."""
    blind = blinded(claims, answer.text)
    texts = [Document(f"d{number}", text) for number, text in enumerate(answer.documents)]
    views = windows(texts) or [()]
    vault = Vault()
    vault.seal(answer.text, [group.values for group in blind.groups])
    leaks = 0
    for number, group in enumerate(blind.groups):
        for passages in views:
            sent = BlindRequest(group.questions, passages).messages()
            leaks += len(vault.leaks(sent, passages, number))
        claimed = [claim for claim in group.claims if claim.type in VALUES]
        leaks += sum(
            plainly_in(question, claim) for question in group.questions for claim in claimed
        )
    return {
        "leaks": leaks,
        "requests": len(blind.groups) * len(views),
        "questions": sum(len(group.questions) for group in blind.groups),
        "unaskable": len(blind.unaskable),
        "calls": 1 + len(blind.groups) * len(views),
    }


def rows_for(answer: Answer) -> dict[str, dict[str, int]]:
    """Counts for one answer, with the rules' questions and with hostile ones."""
    claims = extract(answer.text, answer.asked)
    return {"rules": checked(answer, claims), "hostile": checked(answer, hostile(claims))}


def measured(sample: list[Answer]) -> dict[str, Any]:
    """One set, with the rules' questions and with hostile ones."""
    return summed([rows_for(answer) for answer in sample])


def summed(counts: list[dict[str, dict[str, int]]]) -> dict[str, Any]:
    """Sums over answers, and the calls that one takes."""
    result: dict[str, Any] = {"answers": len(counts)}
    for name in ("rules", "hostile"):
        rows = [count[name] for count in counts]
        asking = [row["calls"] for row in rows if row["questions"]]
        result[name] = {
            key: sum(row[key] for row in rows)
            for key in ("leaks", "requests", "questions", "unaskable")
        } | {
            "calls_median": median(asking) if asking else None,
            "calls_mean": round(mean(asking), 2) if asking else None,
        }
    return result


@benchmark(
    shared=Path("../shared"),
    limit=option(type=int, help="answers of each set"),
    sets=option(nargs="*", help="count these only, and write no result yet"),
    counted=option(action="store_true", help="write what is counted so far"),
    out=Path("evals/results/check_leaks.json"),
)
def main(options: Options) -> None:
    """Measure every set and write the result."""
    part = options.out.with_suffix(".part.jsonl")
    journal = Journal(part)
    sets: dict[str, Any] = {}
    for name, sample in answers(options.shared / "data" / "dev").items():
        if options.sets and name not in options.sets:
            continue
        keys = [f"{name}/{number}" for number in range(len(sample))][: options.limit]
        if options.counted:
            keys = [key for key in keys if key in journal.rows]
        rows = [
            journal.result(key, partial(rows_for, answer))
            for key, answer in zip(keys, sample, strict=False)
        ]
        sets[name] = {"recorded": len(sample), **summed(rows)}
        print(name, json.dumps(sets[name]), flush=True)
    if options.sets:
        return
    ways = [figures[way] for figures in sets.values() for way in ("rules", "hostile")]
    total = {
        "command": "python -m benchmarks.check.leaks --shared ../shared"
        + (f" --limit {options.limit}" if options.limit else ""),
        "recorded": sum(figures["recorded"] for figures in sets.values()),
        "answers": sum(figures["answers"] for figures in sets.values()),
        "questions": sum(figures["questions"] for figures in ways),
        "leaks": sum(figures["leaks"] for figures in ways),
        "sets": sets,
    }
    report(total, options.out)
    if not options.counted:
        part.unlink()
