"""Does any request to a Checker give anything of a recorded answer away? And what does it cost?

    python -m benchmarks.check.leaks --shared ../shared

A run that was stopped goes on behind its last answer; `--sets NAME ...` counts some sets first,
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
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple, cast

from benchmarks.reports import option, read_options
from harness.core import write_atomic
from harness.rag.check.blind import BlindRequest, Vault, blinded, windows
from harness.rag.check.claims import extract
from harness.rag.check.types import Claim
from harness.rag.retrieve import Document
from harness.train.verifier.features import rows_of

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
                " ".join(one["sentence"] for one in row["summary_sentences"]), "", (row["article"],)
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
            Answer(str(said), row["query"], (*row["positive"], *row["positive_wrong"]))
            for row in rows_of(folder / "rgb_counterfactual.jsonl")
            for said in (row["answer"], row["fakeanswer"])
        ],
        "tatqa": list(_tatqa(rows_of(folder / "tatqa.jsonl"))),
        "hotpotqa_agent": list(_hotpot(rows_of(folder / "hotpotqa_agent.jsonl"))),
    }


def _tatqa(rows: list[dict[str, Any]]) -> Iterator[Answer]:
    for row in rows:
        table = "\n".join(" | ".join(line) for line in row["table"]["table"])
        documents = (table, *(one["text"] for one in row["paragraphs"]))
        for one in row["questions"]:
            given = one["answer"]
            parts = cast(list[Any], given if isinstance(given, list) else [given])
            said = f"{', '.join(map(str, parts))} {one.get('scale', '')}".strip()
            yield Answer(said, one["question"], documents)


def _hotpot(rows: list[dict[str, Any]]) -> Iterator[Answer]:
    for row in rows:
        documents = tuple(f"{one['title']}. {one['text']}" for one in row["paragraphs"])
        for reply in row["_recorded"].values():
            said = str(reply.get("prediction") or "").strip()
            if said:
                yield Answer(said, row["question"], documents)


def hostile(claims: list[Claim]) -> list[Claim]:
    """The claims with questions that give them away."""
    return [
        one.model_copy(
            update={
                "question": HOSTILE[at % len(HOSTILE)].format(
                    value=one.value, sentence=one.sentence
                )
            }
        )
        for at, one in enumerate(claims)
    ]


def plainly_in(question: str, claim: Claim) -> bool:
    """Whether the digits or the words of a value stand in a question: a search of its own.

    For claims of a value; the value of a claim about a sentence is the whole sentence, whose
    wording the other detector looks for.
    """
    digits = re.sub(r"\D", "", claim.value)
    if len(digits) > 1 and claim.type != "entity":
        runs = [re.sub(r"\D", "", one) for one in re.findall(r"\d[\d.,]*", question)]
        if digits in runs:
            return True
    wanted = claim.value.lower().strip(" .,;:!?")
    if len(wanted) < 3:
        return False
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", question.lower()) is not None


def checked(one: Answer, claims: list[Claim]) -> dict[str, int]:
    """Requests, leaks and calls for one answer."""
    found = blinded(claims, one.text)
    texts = [Document(f"d{at}", text) for at, text in enumerate(one.documents)]
    views = windows(texts) or [()]
    vault = Vault()
    vault.seal(one.text, [group.values for group in found.groups])
    leaks = 0
    for at, group in enumerate(found.groups):
        for passages in views:
            sent = BlindRequest(group.questions, passages).messages()
            leaks += len(vault.leaks(sent, passages, at))
        claimed = [claim for claim in group.claims if claim.type in VALUES]
        leaks += sum(plainly_in(asked, claim) for asked in group.questions for claim in claimed)
    return {
        "leaks": leaks,
        "requests": len(found.groups) * len(views),
        "questions": sum(len(group.questions) for group in found.groups),
        "unaskable": len(found.unaskable),
        "calls": 1 + len(found.groups) * len(views),
    }


def rows_for(one: Answer) -> dict[str, dict[str, int]]:
    """Counts for one answer, with the rules' questions and with hostile ones."""
    claims = extract(one.text, one.asked)
    return {"rules": checked(one, claims), "hostile": checked(one, hostile(claims))}


def measured(given: list[Answer]) -> dict[str, Any]:
    """One set, with the rules' questions and with hostile ones."""
    return summed([rows_for(one) for one in given])


def summed(found: list[dict[str, dict[str, int]]]) -> dict[str, Any]:
    """Sums over answers, and the calls that one takes."""
    result: dict[str, Any] = {"answers": len(found)}
    for name in ("rules", "hostile"):
        rows = [one[name] for one in found]
        asking = [row["calls"] for row in rows if row["questions"]]
        result[name] = {
            key: sum(row[key] for row in rows)
            for key in ("leaks", "requests", "questions", "unaskable")
        } | {
            "calls_median": median(asking) if asking else None,
            "calls_mean": round(mean(asking), 2) if asking else None,
        }
    return result


def kept_rows(part: Path) -> dict[str, list[dict[str, dict[str, int]]]]:
    """What a run that was stopped has counted; its unfinished last line is left out."""
    found: dict[str, list[dict[str, dict[str, int]]]] = {}
    if part.is_file():
        *lines, rest = part.read_text(encoding="utf-8").split("\n")
        if rest:
            part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for line in lines:
            name, rows = json.loads(line)
            found.setdefault(name, []).append(rows)
    return found


def main() -> None:
    """Measure every set and write the result."""
    given = read_options(
        __doc__,
        shared=Path("../shared"),
        limit=option(type=int, help="answers of each set"),
        sets=option(nargs="*", help="count these only, and write no result yet"),
        counted=option(action="store_true", help="write what is counted so far"),
        out=Path("evals/results/check_leaks.json"),
    )
    part = given.out.with_suffix(".part.jsonl")
    known = kept_rows(part)
    sets: dict[str, Any] = {}
    for name, found in answers(given.shared / "data" / "dev").items():
        if given.sets and name not in given.sets:
            continue
        rows = known.get(name, [])[: given.limit]
        with part.open("a", encoding="utf-8") as kept:
            for one in [] if given.counted else found[len(rows) : given.limit]:
                rows.append(rows_for(one))
                kept.write(json.dumps([name, rows[-1]]) + "\n")
        sets[name] = {"recorded": len(found), **summed(rows)}
        print(name, json.dumps(sets[name]), flush=True)
    if given.sets:
        return
    ways = [one[way] for one in sets.values() for way in ("rules", "hostile")]
    whole = {
        "command": "python -m benchmarks.check.leaks --shared ../shared"
        + (f" --limit {given.limit}" if given.limit else ""),
        "recorded": sum(one["recorded"] for one in sets.values()),
        "answers": sum(one["answers"] for one in sets.values()),
        "questions": sum(one["questions"] for one in ways),
        "leaks": sum(one["leaks"] for one in ways),
        "sets": sets,
    }
    write_atomic(given.out, json.dumps(whole, indent=1) + "\n")
    if not given.counted:
        part.unlink()


if __name__ == "__main__":
    main()
