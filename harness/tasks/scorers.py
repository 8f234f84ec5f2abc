"""Checks that read an answer another way than by comparing texts: by pattern, as JSON, by meaning.

| check | passes where | settings in `meta` |
|---|---|---|
| `regex` | one of the patterns in `answer` matches somewhere | |
| `json` | the answer holds all that `answer` holds | `path`: part of the answer, as `a.b[0]` |
| `json_schema` | the answer fits the JSON schema in `answer` | `path` |
| `similarity` | its meaning is near that of an accepted answer | `threshold` (0.8) |
| `all` | the weighted mean of `checks` is high enough | `checks`, `threshold` (1.0) |

JSON may stand in a fence, or be the first value in a text. `checks` of `all` are objects with
`check`, `answer`, `weight` (1.0) and the settings of that check; comparisons are among them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue, ValidationError

from harness.core import BadInput, Score, Task, failed, first_fault, passed, plain, require
from harness.core.documents import parse_json
from harness.core.plugins import load
from harness.tasks.answers import (
    COMPARISONS,
    accepted_answers,
    compare_answer,
    declared,
    setting,
)

Scorer = Callable[[Task, str | None, Path], Score]
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)


def regex(task: Task, answer: str | None, workdir: Path) -> Score:
    """Pass if a pattern matches.

    Raises:
        BadInput: if one is no regular expression.
    """
    from harness.tasks.bounded import workers

    texts = (answer or "", plain(answer or ""))
    for pattern in accepted_answers(task):
        about = f"task {task.id!r}: the pattern {pattern!r:.200}"
        if workers("patterns").call("search", pattern, texts, about=about):
            return passed()
    return failed(f"no match of {task.answer!r} in {answer!r:.200}")


def json_value(task: Task, answer: str | None, workdir: Path) -> Score:
    """Pass if the answer's JSON holds all of `task.answer`; further keys are no fault."""
    value, fault = _value(task, answer)
    if fault is None:
        fault = _lacks(declared(task), value, "answer")
    return passed() if fault is None else failed(fault)


def json_schema(task: Task, answer: str | None, workdir: Path) -> Score:
    """Pass if the answer's JSON fits a schema (JSON Schema 2020-12).

    Raises:
        BadInput: if `task.answer` is no schema.
    """
    from harness.tasks.bounded import workers

    require("jsonschema", "the check json_schema needs jsonschema", "jsonschema")
    value, fault = _value(task, answer)
    values, about = [value] * (fault is None), f"task {task.id!r}: the JSON schema in 'answer'"
    wrong = workers("patterns").call("validate", declared(task), values, about=about)
    fault = wrong or fault
    return passed() if fault is None else failed(fault)


def similarity(task: Task, answer: str | None, workdir: Path) -> Score:
    """Cosine similarity of sentence embeddings with the nearest accepted answer.

    Raises:
        BadInput: without an encoder.
    """
    threshold, accepted = setting(task, "threshold", 0.8), accepted_answers(task)
    if not (answer or "").strip():
        return failed("there is no final answer")
    vectors = load("encoders", "sentences")().encode([answer, *accepted])
    value = min(1.0, max(0.0, float((vectors[1:] @ vectors[0]).max())))
    if value >= threshold:
        return passed(value=value)
    return failed(f"similarity {value:.2f} to {accepted[0]!r} is below {threshold}", value)


def several(task: Task, answer: str | None, workdir: Path) -> Score:
    """The weighted mean of several checks; invalid if one of them is.

    Raises:
        BadInput: if `meta["checks"]` is no list of checks with weights above 0.
    """
    total = reached = 0.0
    reasons: list[str] = []
    values: dict[str, JsonValue] = {}
    for number, (part, weight) in enumerate(parts(task), start=1):
        scorer = SCORERS.get(part.check or "")
        score = scorer(part, answer, workdir) if scorer else compare_answer(part, answer)
        if score.outcome == "invalid":
            return score
        total, reached = total + weight, reached + weight * score.value
        values[f"{number} {part.check}"] = score.value
        reasons += [f"{part.check}: {score.reason}"] if score.outcome == "fail" else []
    value = reached / total
    if value >= setting(task, "threshold", 1.0):
        return passed(value=value, checks=values)
    return failed("; ".join(reasons), value, checks=values)


def parts(task: Task) -> list[tuple[Task, float]]:
    """The checks of `all` as tasks, with their weights.

    Raises:
        BadInput: see :func:`several`.
    """
    rows = task.meta.get("checks")
    if not isinstance(rows, list) or not rows:
        raise BadInput(f"task {task.id!r}: check 'all' needs a list 'checks' in meta")
    checks: list[tuple[Task, float]] = []
    for row in rows:
        fields: dict[str, Any] = {**row} if isinstance(row, dict) else {}
        check, gold = fields.pop("check", None), fields.pop("answer", None)
        names = [name for name in (*COMPARISONS, *SCORERS) if name != "all"]
        if check not in names:
            raise BadInput(
                f"task {task.id!r}: checks: expected one of {', '.join(names)}, found {check!r}"
            )
        weight = fields.pop("weight", 1.0)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or weight <= 0:
            raise BadInput(f"task {task.id!r}: checks: expected a weight > 0, found {weight!r}")
        update = {"check": check, "answer": gold, "meta": fields}
        try:
            checks.append((Task.model_validate(task.model_dump() | update), float(weight)))
        except ValidationError as error:
            raise BadInput(f"task {task.id!r}: checks: {first_fault(error)}") from error
    return checks


def _value(task: Task, answer: str | None) -> tuple[Any, str | None]:
    """The JSON of an answer, or the part that `meta["path"]` names; and what is wrong with it."""
    text = (answer or "").strip()
    fenced, first = _FENCE.search(text), re.search(r"[\[{]", text)
    try:
        if fenced:
            value = parse_json(fenced[1])
        elif first:
            value = json.JSONDecoder().raw_decode(text, first.start())[0]
        else:
            value = parse_json(text)
    except (ValueError, RecursionError):
        return None, f"expected JSON, got {answer!r:.200}"
    path = str(task.meta.get("path", ""))
    try:
        for step in re.findall(r"[^.\[\]]+", path):
            value = value[int(step) if isinstance(value, list) else step]
    except (LookupError, TypeError, ValueError):
        return None, f"the answer has no {path!r}: got {answer!r:.200}"
    return value, None


def _lacks(expected: Any, got: Any, path: str) -> str | None:
    """Name what `expected` has and `got` lacks; None if nothing."""
    if isinstance(expected, dict):
        for key, value in cast("dict[str, Any]", expected).items():
            if not isinstance(got, dict) or key not in got:
                return f"{path} lacks {key!r}"
            if fault := _lacks(value, got[key], f"{path}.{key}"):
                return fault
        return None
    if isinstance(expected, list) and isinstance(got, list):
        pairs = list(zip(cast("list[Any]", expected), cast("list[Any]", got), strict=False))
        faults = (_lacks(a, b, f"{path}[{n}]") for n, (a, b) in enumerate(pairs))
        longer = len(cast("list[Any]", expected)) != len(cast("list[Any]", got))
        return next(filter(None, faults), f"{path} has another length" if longer else None)
    if isinstance(expected, str) and isinstance(got, str):
        expected, got = plain(expected), plain(got)
    same = expected == got and isinstance(expected, bool) == isinstance(got, bool)
    return None if same else f"{path}: expected {expected!r}, got {got!r:.200}"


SCORERS: dict[str, Scorer] = {
    "regex": regex,
    "json": json_value,
    "json_schema": json_schema,
    "similarity": similarity,
    "all": several,
}
