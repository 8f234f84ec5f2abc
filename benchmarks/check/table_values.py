"""`check` on values: perturbed and paraphrased statements about TAT-QA table cells.

    python -m benchmarks.check.table_values [--part dev|test|all] [--show N] \
        --out evals/results/check_table_values.json

Every statement is made by rule from one cell: a frame, the row's label, a period of the column and
the value in one of several forms. Perturbed: one digit, unit, scale, sign, or the period of
another column. Flagged is what `harness.api.check` does not pass, with its defaults; a flagged
paraphrase is a false alarm. Development on sources with sha256 % 10 < 3, figures on the rest;
intervals by bootstrap over sources. Baseline: the digits of the statement occur in the document.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, Result, benchmark, option, read_jsonl
from harness.api import check
from harness.rag.check.numbers import (
    Cell,
    Period,
    Quantity,
    equal,
    open_sources,
    read,
    words,
)
from harness.rag.retrieve import Document
from harness.stats import ratio_interval

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "dev" / "tatqa.jsonl"
FRAMES = (
    "{row} was {value} in {period}.",
    "In {period}, {row} amounted to {value}.",
    "{row} for {period}: {value}.",
    "{row} stood at {value} in {period}.",
    "The filing puts {row} for {period} at {value}.",
)
KINDS = ("digit", "unit", "scale", "sign", "period")
SCALES = ((10**9, "billion"), (10**6, "million"), (10**3, "thousand"))
LOSS = re.compile(r"loss|decrease|decline|deficit|reduction|drop|outflow", re.IGNORECASE)


@dataclass(frozen=True)
class Statement:
    """A statement made from a cell; `kind` is "paraphrase" or what was perturbed."""

    source: str
    kind: str
    sentence: str
    value: str


def document_of(row: dict[str, Any]) -> Document:
    """Table and paragraphs of a TAT-QA context."""
    table = "\n".join(" | ".join(line) for line in row["table"]["table"])
    text = "\n\n".join([table, *(paragraph["text"] for paragraph in row["paragraphs"])])
    return Document(row["table"]["uid"], text)


def statements(row: dict[str, Any]) -> Iterator[tuple[Document, Statement]]:
    """Paraphrases and perturbations of every usable cell of one TAT-QA context."""
    document = document_of(row)
    cells = [cell for cell in open_sources([document])[0].cells if words(cell.row) and _year(cell)]
    rows: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        rows[cell.section, cell.row].append(cell)
    labels = [label for _, label in rows]
    for (_, label), group in rows.items():
        years = [_year(cell) for cell in group]
        if labels.count(label) > 1 or len(set(years)) < len(years):
            continue
        for cell in group:
            for statement in _of_cell(document.id, cell, group):
                yield document, statement


def _year(cell: Cell) -> str:
    periods = [period for period in read(cell.column) if isinstance(period, Period) and period.year]
    return str(periods[-1].year) if periods else ""


def _of_cell(uid: str, cell: Cell, group: list[Cell]) -> Iterator[Statement]:
    if cell.value.value == 0 or not re.search("[1-9]", cell.plain.text):
        return
    draw = random.Random(f"{uid} {cell.place}")
    label = re.sub(r"\s+", " ", cell.row).strip(" .:")
    for form in draw.sample(range(4), 2):
        yield _statement(uid, "paraphrase", label, _written(cell.value, form), _year(cell), draw)
    for kind in KINDS:
        changed = _perturbed(kind, cell, group, draw)
        if changed is not None:
            yield _statement(uid, kind, label, *changed, draw)


def _statement(
    uid: str, kind: str, label: str, value: str, year: str, draw: random.Random
) -> Statement:
    frame = draw.choice(FRAMES)
    period = draw.choice((year, f"fiscal {year}", f"fiscal year {year}", f"FY{year}"))
    return Statement(uid, kind, frame.format(row=label, value=value, period=period), value)


def _written(value: Quantity, form: int) -> str:
    """The value as a person may write it: 0 own scale, 1 next scale, 2 all digits, 3 words."""
    sign = "-" if value.value < 0 else ""
    amount = abs(value.value)
    if value.unit == "%":
        percent = _decimal(amount, value.step)
        return f"{sign}{percent}" + ("%", " percent", " %", " per cent")[form]
    symbol = {"USD": "$", "EUR": "€", "GBP": "£"}.get(value.unit, "")
    code = f"{value.unit} " if value.unit and not symbol else symbol
    fitting = [bound for bound in SCALES if amount >= bound[0]]
    if not fitting or form == 2 or (form == 0 and value.step <= 1):
        return f"{sign}{code}{_decimal(amount, value.step)}"
    scale, name = fitting[0] if form != 0 else fitting[-1]
    digits = _decimal(amount / scale, max(value.step / scale, Fraction(1, 10**6)))
    negative = "negative " if sign and form == 3 else sign
    return f"{negative}{code}{digits} {name}"


def _decimal(value: Fraction, step: Fraction) -> str:
    decimals = 0
    while step and step * 10**decimals < 1 and decimals < 6:
        decimals += 1
    return f"{float(round(value, decimals)):,.{decimals}f}"


def _perturbed(
    kind: str, cell: Cell, group: list[Cell], draw: random.Random
) -> tuple[str, str] | None:
    value, written = cell.value, _written(cell.value, 0)
    changed = ""
    if kind == "period":
        different = [candidate for candidate in group if not equal(candidate.value, value)]
        return (written, _year(draw.choice(different))) if different else None
    if kind == "digit":
        changed = other_digit(written, draw)
    elif kind == "unit" and value.unit == "%":
        changed = written.replace("%", " kg")
    elif kind == "unit" and "$" in written:
        changed = draw.choice((written.replace("$", "€"), written.replace("$", "") + " %"))
    elif kind == "unit":
        changed = written + " %"
    elif kind == "scale" and value.unit != "%":
        shifted = value.value * draw.choice((Fraction(1, 1000), Fraction(1000)))
        changed = _written(Quantity(shifted, value.step, value.unit), 1)
    elif kind == "sign" and not LOSS.search(cell.row):  # a loss of -5 is written for one of 5, too
        positive = _written(Quantity(-value.value, value.step, value.unit), 0)
        changed = positive if value.value < 0 else f"negative {written}"
    same = not changed or equal(changed, value) or equal(changed, cell.plain)  # as it is printed
    return None if same else (changed, _year(cell))


def other_digit(text: str, draw: random.Random) -> str:
    """One of the first three significant digits becomes another."""
    position = draw.choice([match.start() for match in re.finditer("[0-9]", text)][:3])
    digit = draw.choice([digit for digit in "123456789" if digit != text[position]])
    return text[:position] + digit + text[position + 1 :]


def in_dev(source: str, tenths: int = 3) -> bool:
    """The tuning part: so many tenths of the sources, by their sha256."""
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) % 10 < tenths


def occurs(document: Document, text: str) -> bool:
    """Baseline: the digits of a text stand somewhere in the document."""
    digits = re.findall(r"\d[\d,.]*", text)
    return all(number.rstrip(".,") in document.text for number in digits)


def flagged(document: Document, statement: Statement) -> bool:
    """Return True if `check` does not pass a statement."""
    return check(statement.sentence, document).verdict != "PASS"


def share(groups: Iterable[Sequence[bool]]) -> dict[str, Any]:
    """The share of flags that are set, with its 95 % interval over the groups."""
    pairs = [(sum(group), len(group)) for group in groups]
    hits, count = (sum(numbers) for numbers in zip(*pairs, strict=True))
    low, high = ratio_interval(pairs) or (0.0, 1.0)
    return {"share": round(hits / count, 4), "ci95": [round(low, 4), round(high, 4)]}


@benchmark(
    part=option(choices=("dev", "test", "all"), default="test"),
    show=option(type=int, default=0, help="print this many errors"),
    out=option(type=Path),
)
def main(options: Options) -> Result:
    """Print errors, and write shares."""
    drawn = [
        row
        for row in read_jsonl(DATA)
        if options.part == "all" or in_dev(row["table"]["uid"]) == (options.part == "dev")
    ]
    flags: dict[str, dict[str, dict[str, list[bool]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    errors: list[str] = []
    for document, statement in (pair for row in drawn for pair in statements(row)):
        outcomes = {
            "check": flagged(document, statement),
            "digits occur": not occurs(document, statement.value),
        }
        perturbed = statement.kind != "paraphrase"
        if outcomes["check"] != perturbed:
            errors.append(f"{statement.kind}: {statement.sentence}")
        for kind in (statement.kind, "all perturbed") if perturbed else (statement.kind,):
            for arm, outcome in outcomes.items():
                flags[kind][arm][statement.source].append(outcome)
    print("".join(f"{error}\n" for error in errors[: options.show]), end="")
    kinds = {
        kind: {"statements": sum(map(len, arms["check"].values()))}
        | {arm: share(groups.values()) for arm, groups in arms.items()}
        for kind, arms in flags.items()
    }
    return {"part": options.part, "sources": len(drawn), "kinds": kinds}
