"""A second solver for every kind of the wire corpus, from the input and the prompt alone.

`MISTAKES` are planted in their source: each must cost the task on a hard instance.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from statistics import median_low
from typing import Any

Files = dict[str, str]
Rows = list[dict[str, Any]]


def kind(value: Any) -> str:
    """Name of a value's type, for which a type checker narrows nothing."""
    return type(value).__name__


def lines_of(text: str) -> Rows:
    return [json.loads(line) for line in text.splitlines()]


def sessions(files: Files, prompt: str) -> Rows:
    limit = timedelta(minutes=int(re.findall(r"more than (\d+) minutes", prompt)[0]))
    noise = re.findall(r"whose action is (\w+)", prompt)[0]
    events = [e for e in lines_of(files["events.jsonl"]) if e["action"] != noise]
    solved: Rows = []
    for event in sorted(events, key=lambda e: (e["user"], e["time"])):
        time = datetime.fromisoformat(event["time"])
        last: dict[str, Any] = solved[-1] if solved else {"user": None}
        same = last["user"] == event["user"]
        if same and time - datetime.fromisoformat(last["end"]) <= limit:
            last |= {"end": event["time"], "events": last["events"] + 1}
        else:
            row = {"user": event["user"], "start": event["time"], "end": event["time"]}
            solved.append({**row, "events": 1})
    return solved


def errors(files: Files, prompt: str) -> Rows:
    least = int(re.findall(r"status of (\d+) or more", prompt)[0])
    requests: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for line in files["access.log"].splitlines():
        match = re.search(r'"(\S+) (\S+) \S+" (\d{3}) ', line)
        if match is None or match[1] == "OPTIONS":
            continue
        path = match[2].split("?")[0].rstrip("/")
        requests[path] += 1
        faults[path] += int(match[3]) >= least
    solved: Rows = [
        {"path": p, "requests": n, "errors": faults[p], "rate": round(faults[p] / n * 100, 2)}
        for p, n in requests.items()
    ]
    return sorted(solved, key=lambda row: (-row["rate"], row["path"]))


def traces(files: Files, prompt: str) -> Rows:
    counts: Counter[tuple[str, str, int]] = Counter()
    for entry in re.split(r"(?m)^(?=\d{4}-\d\d-\d\d)", files["app.log"]):
        first, *lines = entry.strip().splitlines() or [""]
        if " ERROR " in first:
            frames = [line for line in lines if line.startswith("  File")]
            file, line = re.findall(r'"(.*)", line (\d+)', frames[-1])[0]
            counts[lines[-1].split(":")[0], file, int(line)] += 1
    names = ("error", "file", "line")
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [{**dict(zip(names, key, strict=True)), "count": count} for key, count in ranked]


def pairs(files: Files, prompt: str) -> Rows:
    solved: Rows = []
    for line in files["app.log"].splitlines():
        row: dict[str, Any] = {}
        for key, equals, value in re.findall(r'(\w+)(=?)("(?:\\.|[^"\\])*"|\S*)', line):
            if value.startswith('"'):
                row[key] = re.sub(r"\\(.)", r"\1", value[1:-1])
            elif re.fullmatch(r"\d+(\.\d+)?", value) or value in ("true", "false"):
                row[key] = json.loads(value)
            else:
                row[key] = (value or None) if equals else True
        solved.append(row)
    return solved


def zones(files: Files, prompt: str) -> Rows:
    offsets = json.loads(files["zones.json"])
    solved: Rows = []
    for event in lines_of(files["events.jsonl"]):
        at = event["at"]
        if isinstance(at, int):
            moment = datetime.fromtimestamp(at, UTC)
        else:
            for name, offset in offsets.items():
                at = at.replace(f" {name}", f":00{offset}")
            moment = datetime.fromisoformat(at).astimezone(UTC)
        solved.append({"id": event["id"], "utc": f"{moment:%Y-%m-%dT%H:%M:%SZ}"})
    return sorted(solved, key=lambda row: (row["utc"], row["id"]))


def percentiles(files: Files, prompt: str) -> dict[str, Any]:
    high = int(re.findall(r"`p(\d+)` of", prompt)[-1])
    times: dict[str, list[float]] = defaultdict(list)
    for request in lines_of(files["requests.jsonl"]):
        number, unit = re.findall(r"([\d.]+)(\w*)", str(request["took"]))[0]
        if request["status"] < 500:
            times[request["path"]].append(float(number) * (1000 if unit == "s" else 1))
    return {
        path: {
            "count": len(values),
            "p50": median_low(values),
            f"p{high}": sorted(values)[-(-high * len(values) // 100) - 1],
        }
        for path, values in times.items()
    }


def layers(files: Files, prompt: str) -> Any:
    appended = "then those entries of local" in prompt

    def merged(base: dict[str, Any], local: dict[str, Any]) -> dict[str, Any]:
        result = dict(base)
        for key, value in local.items():
            old = base.get(key)
            if key.endswith("!"):
                result[key[:-1]] = value
            elif value is None:
                result.pop(key, None)
            elif kind(value) == kind(old) == "dict":
                result[key] = merged(base[key], value)
            elif kind(value) == kind(old) == "list" and appended:
                result[key] = list(dict.fromkeys(old + value))
            else:
                result[key] = value
        return result

    return merged(json.loads(files["base.json"]), json.loads(files["local.json"]))


def violations(files: Files, prompt: str) -> Rows:
    schema = json.loads(files["schema.json"])
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool}

    def problem(rules: dict[str, Any], value: Any) -> str | None:
        if value is None:
            return "missing" if rules.get("required") else None
        boolean = isinstance(value, bool) and rules["type"] != "boolean"
        if boolean or not isinstance(value, types[rules["type"]]):
            return "type"
        if "min" in rules and value < rules["min"]:
            return "min"
        if "max" in rules and value > rules["max"]:
            return "max"
        return "one_of" if value not in rules.get("one_of", [value]) else None

    solved: Rows = []
    for line, record in enumerate(lines_of(files["records.jsonl"]), 1):
        faults = {field: problem(rules, record.get(field)) for field, rules in schema.items()}
        faults |= {field: "unknown" for field in record if field not in schema}
        solved += [{"line": line, "field": f, "problem": p} for f, p in faults.items() if p]
    return solved


def flatten(files: Files, prompt: str) -> Any:
    flat: dict[str, Any] = {}

    def walk(path: str, value: Any) -> None:
        if kind(value) == "dict" and value:
            for key, inner in value.items():
                walk(f"{path}/{key}", inner)
        elif kind(value) == "list" and value:
            for place, inner in enumerate(value):
                walk(f"{path}/{place}", inner)
        elif value is not None:
            flat[path[1:]] = value

    walk("", json.loads(files["document.json"]))
    if "a.b[0].c" in prompt:
        flat = {re.sub(r"/(\d+)", r"[\1]", p).replace("/", "."): v for p, v in flat.items()}
    return flat


def changes(files: Files, prompt: str) -> Rows:
    solved: Rows = []

    def same(old: Any, new: Any) -> bool:
        if kind(old) == "list" and "in any order" in prompt:
            return sorted(old) == sorted(new)
        return old == new

    def compare(path: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        for key in {**old, **new}:
            place = f"{path}{key}"
            if key not in old:
                solved.append({"path": place, "change": "added", "new": new[key]})
            elif key not in new:
                solved.append({"path": place, "change": "removed", "old": old[key]})
            elif isinstance(old[key], dict):
                compare(place + ".", old[key], new[key])
            elif not same(old[key], new[key]):
                row = {"path": place, "change": "changed"}
                solved.append({**row, "old": old[key], "new": new[key]})

    compare("", json.loads(files["before.json"]), json.loads(files["after.json"]))
    return sorted(solved, key=lambda row: row["path"])


def retries(files: Files, prompt: str) -> Rows:
    attempts: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for line in lines_of(files["attempts.jsonl"]):
        attempts[line["request"]][line["attempt"]] = line
    solved: Rows = []
    for request in sorted(attempts):
        lines = [line for _, line in sorted(attempts[request].items())]
        waits = [b["at"] - a["at"] for a, b in itertools.pairwise(lines)]
        doubled = all(b / a >= 2 for a, b in itertools.pairwise(waits))
        row = {"request": request, "attempts": len(lines), "waits": waits, "backoff": doubled}
        solved.append({**row, "ok": lines[-1]["status"] < 400})
    return solved


def embedded(files: Files, prompt: str) -> Rows:
    solved: Rows = []
    for record in lines_of(files["orders.jsonl"]):
        for row in csv.DictReader(io.StringIO(record["lines"])):
            cells: dict[str, Any] = {name: cell or None for name, cell in row.items()}
            for name, cell in row.items():
                if re.fullmatch(r"[\d.]+", cell):
                    cells[name] = float(cell)
            solved.append({"order": record["order"], **cells})
    return solved


SOLVERS = (
    sessions, layers, flatten, errors, traces, changes, pairs, violations, retries, zones,
    percentiles, embedded,
)  # fmt: skip
MISTAKES: dict[str, list[tuple[str, str]]] = {
    "sessions": [
        ("<= limit", "< limit"),
        (' if e["action"] != noise', ""),
        ("sorted(events, key=lambda e: (e[\"user\"], e[\"time\"]))", "events"),
    ],
    "layers": [
        ("result[key[:-1]] = value", "result[key] = value"),
        ("result.pop(key, None)", "result[key] = None"),
        ("merged(base[key], value)", "value"),
    ],
    "flatten": [
        ("elif value is not None", "else"),
        ("enumerate(value)", "enumerate(value, 1)"),
        ("{path}/{key}", "{path}/{key}/"),
    ],
    "errors": [
        ('.split("?")[0]', ""),
        ('.rstrip("/")', ""),
        ('match[1] == "OPTIONS"', "False"),
    ],
    "traces": [
        ("frames[-1]", "frames[0]"),
        ("lines[-1].split", "lines[0].split"),
        ("(-item[1], item[0])", "item"),
    ],
    "changes": [
        ('place + "."', "place"),
        ('key not in new:', 'key not in new and old.pop("", None):'),
        ("{**old, **new}", "old"),
    ],
    "pairs": [
        (r're.sub(r"\\(.)", r"\1", value[1:-1])', "value[1:-1]"),
        ("(value or None) if equals else True", "value or None"),
        ("(value or None) if equals", "value if equals"),
    ],
    "violations": [
        ("boolean or not isinstance", "not isinstance"),
        ('field: "unknown"', 'field: ""'),
        ("value < rules", "value <= rules"),
    ],
    "retries": [
        ("[line[\"attempt\"]] = line", "[len(attempts[line[\"request\"]])] = line"),
        ("b / a >= 2", "b / a > 2"),
        ("lines[-1]", "lines[0]"),
    ],
    "zones": [
        ("f\":00{offset}\"", "\":00Z\""),
        ("datetime.fromtimestamp(at, UTC)", "datetime.fromtimestamp(at / 1000, UTC)"),
        ('key=lambda row: (row["utc"], row["id"])', 'key=lambda row: row["id"]'),
    ],
    "percentiles": [
        ('if request["status"] < 500', "if True"),
        (" // 100) - 1", " // 100)"),
        ("1000 if unit", "1 if unit"),
    ],
    "embedded": [
        ("cell or None", "cell"),
        ("float(cell)", "cell"),
        ('io.StringIO(record["lines"])', 'io.StringIO(record["lines"].replace(chr(34), ""))'),
    ],
}  # fmt: skip
"""Kind -> a piece of its solver and what is put in its place."""
