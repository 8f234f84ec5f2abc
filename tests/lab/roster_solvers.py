"""A second solver for every kind of the roster corpus, from the input and the prompt alone.

`MISTAKES` are planted in their source: each must cost the task on a hard instance.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import defaultdict
from datetime import datetime
from typing import Any

Files = dict[str, str]
Rows = list[list[Any]]


def read(text: str) -> tuple[list[str], Rows]:
    header, *rows = csv.reader(io.StringIO(text))
    return header, rows


def measures(files: Files, prompt: str) -> Rows:
    header, rows = read(files["table.csv"])
    base, tens, thousands = re.findall(r"spaces: (\w+), (\w+) \(.*\) or (\w+) \(", prompt)[0]
    factors = {"": 1, base: 1, tens: 10, thousands: 1000}
    for row in rows:
        cell = row[2].strip().lower().replace(",", ".")
        if cell == "-":
            row[2] = ""
            continue
        digits = re.match(r"[\d.]+", cell)
        assert digits is not None
        row[2] = float(digits[0]) * factors[cell[digits.end() :].strip()]
    return [[*header[:2], f"{header[2]} {base}"], *rows]


def calendars(files: Files, prompt: str) -> Rows:
    header, rows = read(files["table.csv"])
    office = re.findall(r"in the office (\w+) and", prompt)[0]
    for row in rows:
        text = row[2].strip()
        order = "%m/%d/" if row[1] == office else "%d/%m/"
        layouts = [order + "%Y", order + "%y", "%d.%m.%Y", "%d %b %Y", "%B %d, %Y", "%Y%m%d"]
        for layout in ["%Y-%m-%d", *layouts]:
            try:
                row[2] = f"{datetime.strptime(text, layout):%Y-%m-%d}"
                break
            except ValueError:
                continue
    return [header, *rows]


def phones(files: Files, prompt: str) -> Rows:
    header, rows = read(files["table.csv"])
    prefixes = dict(read(files["prefixes.csv"])[1])
    for row in rows:
        text = row[2].strip().replace("(0)", "")
        number = ("+" if text.startswith("+") else "") + re.sub(r"\D", "", text)
        if len(number.strip("+")) < 6:
            row[2] = "invalid"
            continue
        if number.startswith("00"):
            number = "+" + number[2:]
        if not number.startswith("+"):
            number = "+" + prefixes[row[1]] + re.sub("^0", "", number)
        row[2] = number
    return [header, *rows]


def check_digits(files: Files, prompt: str) -> Rows:
    _, rows = read(files["table.csv"])
    weights = [int(w) for w in re.findall(r"in turn by (\d) and (\d)", prompt)[0]] * 4
    solved: Rows = [["No", "Article", "Code", "Status"]]
    for number, article, code in rows:
        digits = re.sub(r"[^0-9]", "", code)
        total = sum(int(d) * w for d, w in zip(digits[:7], weights, strict=False))
        check = str((10 - total % 10) % 10)
        status = "added" if len(digits) == 7 else "ok" if digits[7] == check else "wrong"
        solved.append([number, article, digits + (check if status == "added" else ""), status])
    return solved


def addresses(files: Files, prompt: str) -> Rows:
    solved: Rows = [["Name", "Flat", "Street", "House", "Postcode", "City"]]
    for name, address in read(files["table.csv"])[1]:
        flat = street = house = code = city = ""
        for part in map(str.strip, address.split(",")):
            words = part.split()
            numeric = next(n for n, word in enumerate(words) if word[0].isdigit())
            number = words.pop(numeric)
            if words[0] == "Flat":
                flat = number
            elif len(number) == 5:
                code, city = number, " ".join(words)
            else:
                house, street = number, " ".join(words)
        solved.append([name, flat, street, house, code, city])
    return solved


def mojibake(files: Files, prompt: str) -> Rows:
    header, rows = read(files["table.csv"])

    def repaired(text: str) -> str:
        try:
            better = text.encode("latin-1").decode("utf-8")
        except UnicodeError:
            return text
        return text if better == text else repaired(better)

    return [header, *([repaired(cell).replace("&amp;", "&") for cell in row] for row in rows)]


def people(files: Files, prompt: str) -> Rows:
    header, rows = read(files["table.csv"])
    merged: dict[tuple[Any, ...], list[Any]] = {}
    for name, born, visits in rows:
        last, comma, first = name.partition(",")
        text = f"{first} {last}" if comma else name
        text = "".join(c for c in unicodedata.normalize("NFD", text) if c.isalpha() or c == " ")
        words = tuple(word for word in text.lower().split() if len(word) > 1)
        row = merged.setdefault((words, born), [name, born, 0])
        row[2] += int(visits)
    return [header, *merged.values()]


def wrapped(files: Files, prompt: str) -> Rows:
    header, rows = read(files["table.csv"])
    solved: Rows = []
    for ticket, customer, note, minutes in rows:
        if ticket:
            solved.append([ticket, customer, note, int(minutes or 0)])
            continue
        above = solved[-1]
        hyphen = above[2].endswith("-")
        above[2] = above[2][:-1] + note if hyphen else f"{above[2]} {note}"
        above[3] += int(minutes or 0)
    return [header, *solved]


def pages(files: Files, prompt: str) -> Rows:
    header, rows = read(files["table.csv"])
    solved: Rows = [["Section", *header]]
    section = ""
    for row in rows:
        if all(row) and row != header:
            solved.append([section, *row])
        elif row[0] and not any(row[1:]) and not re.fullmatch(r"Page \d+ of \d+", row[0]):
            section = row[0].replace("(continued)", "").strip()
    return solved


def missing(files: Files, prompt: str) -> Rows:
    header, rows = read(files["table.csv"])
    marks = {"", *re.findall(r"'([^']+)'", prompt)}
    kept: Rows = []
    hours_of: dict[str, list[float]] = defaultdict(list)
    for name, department, hours in rows:
        lacks = [cell.strip().lower() in marks for cell in (department, hours)]
        if all(lacks):
            continue
        group = "unknown" if lacks[0] else department
        if not lacks[1]:
            hours_of[group].append(float(hours))
        kept.append([name, group, None if lacks[1] else hours])
    for row in kept:
        if row[2] is None:
            row[2] = round(sum(hours_of[row[1]]) / len(hours_of[row[1]]), 2)
    return [header, *kept]


def unpivot(files: Files, prompt: str) -> Rows:
    header, rows = read(files["table.csv"])
    columns = re.findall(r"with the columns (.*?):", prompt)[0].replace(" and ", ", ").split(", ")
    solved: Rows = []
    for product, *cells in rows:
        months: dict[str, dict[str, str]] = {}
        for title, cell in zip(header[1:], cells, strict=True):
            if title != "Total":
                month, kind = re.sub(" (sold|returned)$", "", title), title.split()[-1].capitalize()
                months.setdefault(month, {})[kind if len(columns) > 3 else columns[2]] = cell
        for title, counts in months.items():
            month = title
            if "YYYY-MM" in prompt:
                month = f"{datetime.strptime(title, '%b %Y'):%Y-%m}"
            if any(counts.values()):
                solved.append([product, month, *(counts[kind] or 0 for kind in columns[2:])])
    return [columns, *solved]


def categories(files: Files, prompt: str) -> Rows:
    header, rows = read(files["table.csv"])
    rules = read(files["rules.csv"])[1]
    for row in rows:
        words = row[1].lower().split()
        for word, category in rules:
            stem = word.rstrip("*")
            if any(w == stem or (word != stem and w.startswith(stem)) for w in words):
                row.append(category)
                break
        else:
            row.append("Other")
    return [[*header, "Category"], *rows]


SOLVERS = (
    measures, people, check_digits, calendars, wrapped, unpivot, phones, pages, addresses, missing,
    categories, mojibake,
)  # fmt: skip
MISTAKES: dict[str, list[tuple[str, str]]] = {
    "measures": [
        ('.replace(",", ".")', '.replace(",", "")'),
        ("thousands: 1000", "thousands: 100"),
        ('f"{header[2]} {base}"', "header[2]"),
    ],
    "people": [
        ("if len(word) > 1", "if word"),
        ("(words, born)", "words"),
        ('f"{first} {last}" if comma else name', "name"),
    ],
    "check_digits": [
        ("% 10) % 10", "% 10)"),
        (" if digits[7] == check", " if digits[7] != check"),
        ("[0]] * 4", "[0][::-1]] * 4"),
    ],
    "calendars": [
        ("row[1] == office", "row[1] != office"),
        ('"%d.%m.%Y"', '"%m.%d.%Y"'),
        (', "%Y%m%d"', ""),
    ],
    "wrapped": [
        ("note if hyphen", 'f" {note}" if hyphen'),
        ("above[3] += int(minutes or 0)", "pass"),
        ('f"{above[2]} {note}"', "above[2] + note"),
    ],
    "unpivot": [
        ("any(counts.values())", "all(counts.values())"),
        ("if any(counts.values()):", "if True:"),
        ("%Y-%m}", "%m-%Y}"),
    ],
    "phones": [
        ('.replace("(0)", "")', ""),
        ('re.sub("^0", "", number)', "number"),
        ("< 6", "< 5"),
    ],
    "pages": [
        ("all(row) and row != header", "all(row)"),
        ('.replace("(continued)", "")', ""),
        (" and not re.fullmatch(r\"Page \\d+ of \\d+\", row[0])", ""),
    ],
    "addresses": [
        ("len(number) == 5", "code == ''"),
        ("word[0].isdigit()", "word.isdigit() or word[-1] == 'a'"),
        ('words[0] == "Flat"', "len(number) < 2"),
    ],
    "missing": [
        (".strip().lower() in marks", ".strip() in marks"),
        ("if all(lacks):", "if any(lacks):"),
        ("hours_of[row[1]]) / len(hours_of[row[1]])", "[1.0])"),
    ],
    "categories": [
        ("w == stem or", "stem in w or"),
        ("word != stem and", "False and"),
        ("read(files[\"rules.csv\"])[1]", "read(files[\"rules.csv\"])[1][::-1]"),
    ],
    "mojibake": [
        ("repaired(better)", "better"),
        ('.replace("&amp;", "&")', ""),
        ('"latin-1"', '"cp1252"'),
    ],
}  # fmt: skip
"""Kind -> a piece of its solver and what is put in its place."""
