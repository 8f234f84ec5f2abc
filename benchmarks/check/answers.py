"""Bare answers to questions about financial reports: right ones accepted, wrong ones refused.

    python -m benchmarks.check.answers [--part dev|test|all] [--show N] [--data FILE] \
        --out evals/results/check_answers.json

TAT-QA, answers that are values alone. Each is written as its annotators have it, with their scale
word or percent sign, and checked with its question against table and paragraphs. Answers in
thousands or millions count where the excerpt says so anywhere; the others are counted apart. Wrong
answers: one digit changed, a thousand times as much, and the answer to another question about the
excerpt. Development on sources with sha256 % 10 < 6, figures on the rest; intervals by bootstrap
over sources. Baseline: the digits of the answer stand in the excerpt. FILE: a list of excerpts as
TAT-QA publishes them; `evals/results/check_answers_more.json` is of its gold test part.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from benchmarks.check.table_values import DATA, document_of, in_dev, occurs, other_digit
from benchmarks.reports import Options, Result, benchmark, option, read_jsonl
from harness.rag.check import check
from harness.rag.check.numbers import Quantity, read
from harness.rag.retrieve import Document
from harness.stats import ratio_interval

STATES = {
    "thousand": re.compile(r"thousand|(?<!\d)[,']?000s?\b|\$k\b", re.IGNORECASE),
    "million": re.compile(r"million|\b[$€£]?\s?m(?:n|m)?\b", re.IGNORECASE),
}
"""How an excerpt says that its amounts are thousands or millions."""
LARGER = {"thousand": "million", "million": "billion", "billion": "trillion"}
VERIFIERS = ("rules", "auto")
TUNING = 6
"""Tenths of the sources for tuning: more than of the cells, which have more questions each."""


class Answer(NamedTuple):
    """An answer to a question about a document.

    Attributes:
        document: table and paragraphs.
        question: as it was asked.
        text: the answer.
        kind: "right", "unscaled" (right, in a scale that the excerpt does not state) or how it is
            wrong.
        origin: how the annotators found it ("arithmetic", "span", ...).
    """

    document: Document
    question: str
    text: str
    kind: str
    origin: str


def answers(row: dict[str, Any]) -> Iterator[Answer]:
    """Right and wrong answers about one excerpt."""
    document = document_of(row)
    valued = [
        (question, values)
        for question in row["questions"]
        if (values := _values(question["answer"], question["scale"]))
    ]
    texts = [" and ".join(values) for _, values in valued]
    for index, (question, values) in enumerate(valued):
        draw = random.Random(f"{document.id} {question['uid']}")
        pattern = STATES.get(question["scale"])
        stated = pattern is None or pattern.search(document.text) is not None
        wrong = {
            "digit": other_digit(texts[index], draw),
            "scale": " and ".join(map(_thousandfold, values)),
            "other": draw.choice([*sorted({*texts} - {texts[index]}), ""]),
        }
        kinds = {"right" if stated else "unscaled": texts[index], **wrong}
        for kind, answer in kinds.items():
            if answer and (kind not in wrong or answer != texts[index]):
                origin = question["answer_type"]
                yield Answer(document, question["question"], answer, kind, origin)


def _values(answer: Any, scale: str) -> list[str]:
    """The values of an answer with their scale; empty where it is more than values."""
    parts = cast("list[Any]", answer) if isinstance(answer, list) else [answer]
    written: list[str] = []
    for part in parts:
        text = str(part).strip()
        numbers = [value for value in read(text) if isinstance(value, Quantity)]
        length = sum(number.end - number.start for number in numbers)
        if len(numbers) != 1 or length < len(text.strip("(). ")):
            return []
        has_unit = numbers[0].unit == "%" or numbers[0].scale > 1
        word = {"": "", "percent": "%"}.get(scale, f" {scale}")
        written.append(text if has_unit else text + word)
    return written


def _thousandfold(value: str) -> str:
    """Return the number with a larger scale word; "" where a percentage or a measure has none."""
    last = value.rsplit(" ", 1)[-1]
    if "%" in value or (last.isalpha() and last not in LARGER):
        return ""
    bare = re.sub(r" (?:thousand|million|billion)$", "", value)
    return f"{bare} {LARGER.get(last, 'thousand')}"


def accepted(answer: Answer, verifier: str) -> bool:
    """Return True if the checker passes the answer."""
    report = check(answer.text, answer.document, question=answer.question, verifier=verifier)
    return report.verdict == "PASS"


@benchmark(
    part=option(choices=("dev", "test", "all"), default="test"),
    show=option(type=int, default=0, help="print this many errors"),
    data=option(type=Path, default=DATA, help="excerpts in one list"),
    out=option(type=Path),
)
def main(options: Options) -> Result:
    """Print errors of the development part, and write shares."""
    rows = [
        row
        for row in (
            read_jsonl(DATA) if options.data == DATA else json.loads(options.data.read_text())
        )
        if options.part == "all" or in_dev(row["table"]["uid"], TUNING) == (options.part == "dev")
    ]
    flags: dict[str, dict[str, dict[str, list[bool]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    errors: list[str] = []
    for answer in (answer for row in rows for answer in answers(row)):
        right = answer.kind in ("right", "unscaled")
        names = [answer.kind, *([f"right {answer.origin}"] if answer.kind == "right" else [])]
        names += [] if right else ["wrong"]
        verdicts = {name: accepted(answer, name) for name in VERIFIERS}
        for name in names:
            for verifier, verdict in {
                **verdicts,
                "digits occur": occurs(answer.document, answer.text),
            }.items():
                flags[name][verifier][answer.document.id].append(verdict)
        if verdicts["rules"] != right:
            errors.append(f"{answer.kind} {answer.origin}: {answer.question} | {answer.text}")
    print("".join(f"{error}\n" for error in errors[: options.show]), end="")
    figures: dict[str, dict[str, Any]] = {}
    for kind, by_verifier in flags.items():
        figures[kind] = {}
        for verifier, groups in by_verifier.items():
            pairs = [(sum(group), len(group)) for group in groups.values()]
            good, count = (sum(numbers) for numbers in zip(*pairs, strict=True))
            low, high = ratio_interval(pairs) or (0.0, 1.0)
            figures[kind]["answers"] = count
            figures[kind][verifier] = {
                "accepted": round(good / count, 4),
                "ci95": [round(low, 4), round(high, 4)],
            }
    data = "" if options.data == DATA else f" --data {options.data.name}"
    out = f" --out evals/results/{options.out.name}" if options.out else ""
    command = f"python -m benchmarks.check.answers{data}{out}"
    head = {"command": command, "part": options.part, "sources": len(rows)}
    return {**head, "kinds": figures}
