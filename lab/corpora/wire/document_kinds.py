"""Tasks on JSON documents and records."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random

from pydantic import JsonValue

from lab.corpora import world
from lab.corpora.drafts import Built, Draft, csv_text, json_text, jsonl_text

_KEYS = ("cache", "limits", "mail", "paths", "queue", "retry", "server", "store", "theme", "users")
_LEAVES = ("port", "host", "size", "mode", "level", "ttl", "name", "owner")

Row = dict[str, JsonValue]


def _leaf(rng: Random) -> JsonValue:
    return rng.choice((rng.randrange(1, 9000), rng.choice(world.CITIES), rng.random() < 0.5))


def _names(rng: Random) -> list[JsonValue]:
    return [name.lower() for name in rng.sample(world.FIRST_NAMES, rng.randint(2, 4))]


def layers(draft: Draft) -> Built:
    """Two layers of settings are merged by stated rules."""
    rng = draft.rng
    appended = rng.random() < 0.5

    def drawn(depth: int, top: bool) -> tuple[Row, Row, Row]:
        """An object of the base, of the layer above it, and both merged."""
        base: Row = {}
        local: Row = {}
        merged: Row = {}
        ways = ["same", "changed", "new", "list"]
        ways += [
            *(["removed", "object"] if draft.dirty else []),
            *(["whole"] if draft.hard else []),
        ]
        names = rng.sample(_KEYS if top else _LEAVES, 7 if top else 4)
        for number, name in enumerate(names):
            way = ways[number % len(ways)] if top else rng.choice(ways)
            old, new = _leaf(rng), _leaf(rng)
            if way in ("object", "whole") and depth:
                old, new, merged_child = drawn(depth - 1, False)
                base[name], local[name + "!" * (way == "whole")] = old, new
                merged[name] = merged_child if way == "object" else new
            elif way == "list":
                old, new = _names(rng), _names(rng)
                base[name], local[name] = old, new
                merged[name] = [*old, *(v for v in new if v not in old)] if appended else new
            elif way == "removed":
                base[name], local[name] = old, None
            else:
                base |= {} if way == "new" else {name: old}
                local |= {} if way == "same" else {name: new}
                merged[name] = old if way == "same" else new
        return base, local, merged

    base, local, merged = drawn(2 if draft.hard else 1, True)
    lists = "the list of base, then those entries of local that are not in it"
    prompt = (
        "Merge the settings of `local.json` into those of `base.json` and write the result. Where "
        "both have an object under a key, merge the objects by the same rules. Where both have a "
        f"list, the result is {lists if appended else 'the list of local'}. Where local has null, "
        "the key is left out of the result. Any other value of local takes the place of that of "
        "base. Keys that only one of them has stay. A key of local that ends in ! means the key "
        "without the !: its value, an object, takes the place of that of base as it stands."
    )
    files = {"base.json": json_text(base), "local.json": json_text(local)}
    return Built(prompt, files, json_text(merged))


def violations(draft: Draft) -> Built:
    """Records are checked against a small schema."""
    rng = draft.rng
    low, high = rng.randrange(1, 9), rng.randrange(40, 99)
    modes = rng.sample(world.REGIONS, 3)
    schema: dict[str, Row] = {
        "name": {"type": "string", "required": True},
        "age": {"type": "integer", "required": True, "min": low, "max": high},
        "region": {"type": "string", "one_of": [*modes]},
        "score": {"type": "number", "min": 0},
        "active": {"type": "boolean"},
    }
    wrong: dict[str, list[tuple[str, JsonValue]]] = {
        "name": [("missing", None), ("type", 7)],
        "age": [("min", low - 1), ("max", high + 1), ("type", "30"), ("missing", None)],
        "region": [("one_of", "Nowhere"), ("type", False)],
        "score": [("min", -0.5), ("type", "1.5")],
        "active": [("type", "yes"), ("type", 1)],
    }
    if draft.hard:
        wrong["age"] += [("type", True), ("type", 30.5)]
        wrong["score"].append(("type", True))
    records: list[JsonValue] = []
    gold: list[JsonValue] = []
    for line in range(1, draft.rows + 1):
        row: Row = {
            "name": " ".join(world.person(rng)),
            "age": rng.choice((low, high, rng.randint(low, high))),
            "region": rng.choice(modes),
            "score": rng.choice((0, 7, 2.5)),
            "active": rng.random() < 0.5,
        }
        for field in schema:
            if rng.random() < (0.15 if draft.dirty else 0.1) or (line == 2 and field == "age"):
                problem, value = rng.choice(wrong[field])
                gold.append({"line": line, "field": field, "problem": problem})
                row[field] = value
                if value is None and rng.random() < 0.5:
                    del row[field]
        for field in ("region", "score"):
            if rng.random() < 0.1 and not any(g == row.get(field) for _, g in wrong[field]):
                row[field] = None
        if draft.hard and rng.random() < 0.2:
            row["note"] = "checked"
            gold.append({"line": line, "field": "note", "problem": "unknown"})
        records.append(row)
    prompt = (
        "Check every line of `records.jsonl` against `schema.json` (field -> rules) and write a "
        "list of objects `line` (from 1), `field` and `problem`, by line, within a line by the "
        "order of the fields in the schema. A field has at most one problem, the first of: missing "
        "(it is required, and absent or null), type, min (below), max (above), one_of (not among "
        "the values). A field that is absent or null without being required has no problem. true "
        "and false are of type boolean alone; a whole number is an integer, and every number is a "
        "number. A field that the schema does not have has the problem unknown, after all others "
        "of its line."
    )
    files = {"schema.json": json_text({**schema}), "records.jsonl": jsonl_text(records)}
    return Built(prompt, files, json_text(gold))


def flatten(draft: Draft) -> Built:
    """A nested document becomes one object of paths."""
    rng = draft.rng
    brackets = rng.random() < 0.5
    gold: Row = {}

    def drawn(path: str, depth: int, nested: bool = False) -> JsonValue:
        chance = 1.0 if nested else rng.random()
        if depth == 0 or (path and chance < 0.35):
            empty = draft.dirty and rng.random() < 0.15
            empties: tuple[JsonValue, ...] = ([], {}, None if draft.hard else [])
            value = rng.choice(empties) if empty else _leaf(rng)
            if value is not None:
                gold[path] = value
            return value
        if path and chance < 0.6:
            steps = [f"[{n}]" if brackets else f"/{n}" for n in range(rng.randint(1, 3))]
            return [drawn(path + step, depth - 1) for step in steps]
        row: Row = {}
        for key in rng.sample(_KEYS, rng.randint(2, 4) if path else 5):
            step = f"{'.' if brackets else '/'}{key}" if path else key
            row[key] = drawn(path + step, depth - 1, nested=not path and not row)
        if draft.hard and not path:
            row["note"] = None
        return row

    document = drawn("", 4 if draft.hard else 3 if draft.dirty else 2)
    example = "a.b[0].c" if brackets else "a/b/0/c"
    prompt = (
        "Write the document as one object without nesting: path -> value. A path names the keys "
        f"and, for entries of lists, the places counted from 0, as in {example}. Values are "
        "numbers, texts and booleans, as they stand; an empty list or object is a value, too. Null "
        "values are left out."
    )
    return Built(prompt, {"document.json": json_text(document)}, json_text(gold))


def changes(draft: Draft) -> Built:
    """List the changes between two documents."""
    rng = draft.rng
    gold: list[Row] = []
    by_content = draft.hard and rng.random() < 0.5

    def drawn(path: str, depth: int) -> tuple[Row, Row]:
        """An object before and after."""
        before: Row = {}
        after: Row = {}
        for number, key in enumerate(rng.sample(_LEAVES if path else _KEYS, 4 if path else 8)):
            key_path = f"{path}.{key}" if path else key
            way = rng.choice(("same", "same", "added", "removed", "changed", "list"))
            way = (
                ("changed", "added", "removed", "list")[number] if not path and number < 4 else way
            )
            old, new = _leaf(rng), rng.randrange(10_000, 20_000)
            if depth and number > 4:
                before[key], after[key] = drawn(key_path, depth - 1)
            elif way == "list":
                names = _names(rng)
                turned = names[::-1]
                before[key], after[key] = names, turned
                if not by_content:
                    gold.append(
                        {"path": key_path, "change": "changed", "old": names, "new": turned}
                    )
            elif way == "same":
                before[key] = after[key] = old
            elif way == "added":
                after[key] = new
                gold.append({"path": key_path, "change": way, "new": new})
            else:
                before[key] = old
                after |= {key: new} if way == "changed" else {}
                gold.append({"path": key_path, "change": way, "old": old})
                gold[-1] |= {"new": new} if way == "changed" else {}
        return before, after

    before, after = drawn("", 2 if draft.hard else 1 if draft.dirty else 0)
    gold.sort(key=lambda row: str(row["path"]))
    order = (
        "if they have the same entries in any order" if by_content else "entry by entry, in order"
    )
    prompt = (
        "Write what has changed from `before.json` to `after.json`: a list of objects `path`, "
        "`change`, `old` and `new`, sorted by path. Objects that stand in both are compared key by "
        "key; a path is the keys with dots between them. `change` is added (the key is only in "
        "after: no `old`), removed (only in before: no `new`) or changed. Two lists are equal "
        f"{order}; a list that is not equal is one change, with both lists. What is equal is left "
        "out."
    )
    files = {"before.json": json_text(before), "after.json": json_text(after)}
    return Built(prompt, files, json_text([*gold]))


def retries(draft: Draft) -> Built:
    """Attempts are joined by their request."""
    rng = draft.rng
    lines: list[JsonValue] = []
    gold: list[JsonValue] = []
    for number in range(max(4, draft.rows // 3)):
        name, time = f"r{rng.randrange(16**3):03x}{number:02}", rng.randrange(1000, 9000)
        count = rng.randint(1, 4) if number else 3
        waits: list[int] = []
        status = 0
        for attempt in range(1, count + 1):
            status = rng.choice((500, 502, 503)) if attempt < count else rng.choice((200, 201, 503))
            line: Row = {"request": name, "attempt": attempt, "at": time, "status": status}
            lines += [line, line] if draft.hard and rng.random() < 0.3 else [line]
            if attempt < count:
                doubled = waits and rng.random() < 0.7
                waits.append(waits[-1] * 2 if doubled else rng.randint(1, 20))
                time += waits[-1]
        gold.append(
            {
                "request": name,
                "attempts": count,
                "waits": [*waits],
                "backoff": all(b >= 2 * a for a, b in pairwise(waits)),
                "ok": status < 400,
            }
        )
    if draft.dirty:
        rng.shuffle(lines)
    gold.sort(key=lambda row: str(row["request"]) if isinstance(row, dict) else "")
    prompt = (
        "Join the attempts of every request. A line that stands twice, with the same values, "
        "counts once. Write a list with one object for each request, sorted by request: `request`; "
        "`attempts`, how many; `waits`, the seconds (`at`) from each attempt to the next, in the "
        "order of the attempts; `backoff`, whether every wait is at least twice the wait before it "
        "(true with fewer than two waits); `ok`, whether the status of the last attempt is below "
        "400."
    )
    return Built(prompt, {"attempts.jsonl": jsonl_text(lines)}, json_text(gold))


def embedded(draft: Draft) -> Built:
    """Tables inside the texts of JSON records become objects."""
    rng = draft.rng
    columns: list[tuple[str, Callable[[], JsonValue]]] = [
        ("article", lambda: rng.choice(world.PRODUCTS)),
        ("units", lambda: rng.randrange(1, 90)),
        ("price", lambda: rng.randrange(100, 9000) / 4),
        ("city", lambda: rng.choice(world.CITIES)),
    ]
    records: list[JsonValue] = []
    gold: list[JsonValue] = []
    for number in range(max(3, draft.rows // 4)):
        order = rng.sample(columns, 4) if draft.dirty else columns
        rows: list[list[JsonValue]] = []
        for _ in range(rng.randint(1, 4) + (number == 0)):
            row: list[JsonValue] = [draw() for _, draw in order]
            if draft.dirty and rng.random() < 0.3:
                row[rng.randrange(4)] = None
            if draft.hard and rng.random() < 0.5:
                texts = [n for n, value in enumerate(row) if isinstance(value, str)]
                row = [f"{v}, {rng.choice(('big', 'old'))}" if n in texts[:1] else v
                       for n, v in enumerate(row)]  # fmt: skip
            rows.append(row)
            pairs = zip((name for name, _ in order), row, strict=True)
            gold.append({"order": f"O{number + 1}", **dict(pairs)})
        text = csv_text([[name for name, _ in order], *rows])
        records.append({"order": f"O{number + 1}", "lines": text})
    prompt = (
        "In every record `lines` is a text that holds a table as CSV: a header, commas between the "
        "cells, double quotes around cells that hold a comma. Write one list with one object for "
        "each row of all tables, in the order of the input: `order` of the record, and the cells "
        "by their column. Cells that are numbers become numbers, empty cells null, all others stay "
        "texts."
    )
    return Built(prompt, {"orders.jsonl": jsonl_text(records)}, json_text(gold))
