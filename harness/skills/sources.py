"""What the analysts wrote about the trajectories that an edit came from.

An evolution leaves its analyst records as `records.json` beside the skill (or one folder above).
The file is read leniently: this room knows its field names and nothing of the analysts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from harness.core import BadInput
from harness.core.values import Value

RECORDS = "records.json"


class Quote(Value):
    """A passage of a trajectory that an analyst points to; `step` is its id, None if unknown."""

    text: str
    step: int | None = None


class Source(Value):
    """One analyst record, as far as a reader of the skill needs it.

    Attributes:
        kind: `error` or `success`; "" if no record of this trajectory was kept.
        summary: root cause of the failure, or what made the run succeed.
        lessons: the analyst's lessons, in its words.
        quotes: the evidence.
        proven: whether the harness ran the fix and it held; None where none was asked for.
    """

    trajectory_id: str
    task_id: str = ""
    kind: str = ""
    summary: str = ""
    lessons: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()
    proven: bool | None = None

    def __str__(self) -> str:
        head = f"{self.trajectory_id}: {self.summary or 'no analyst record was kept'}"
        return "\n".join([head, *(f'  "{one.text}"  {self.at(one)}' for one in self.quotes)])

    def at(self, quote: Quote) -> str:
        """Where a quote stands: `trajectory_id step N`."""
        step = "step unknown" if quote.step is None else f"step {quote.step}"
        return f"{self.trajectory_id} {step}"


def sources_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Source, ...]:
    """Sources from analyst records as JSON; a row without `trajectory_id` is left out."""
    return tuple(_source(row) for row in rows if row.get("trajectory_id"))


def read_sources(skill: Path) -> tuple[Source, ...]:
    """The records of the evolution that wrote the skill directory; () if there are none.

    Looked for as `<skill>.records.json`, then `records.json` beside the skill and one folder
    above (`OUT/skill/NAME` and `OUT/records.json`).

    Raises:
        BadInput: if the file is no list of JSON objects.
    """
    skill = skill.resolve()
    own = skill.parent / f"{skill.name}.{RECORDS}"
    for path in (own, skill.parent / RECORDS, skill.parent.parent / RECORDS):
        if path.is_file():
            return sources_of(_rows(path))
    return ()


def matching(sources: Iterable[Source], trajectory_ids: Iterable[str]) -> tuple[Source, ...]:
    """The records of these trajectories; one without summary where no record was kept."""
    known: dict[str, list[Source]] = {}
    for one in sources:
        known.setdefault(one.trajectory_id, []).append(one)
    return tuple(
        one for id_ in trajectory_ids for one in known.get(id_, [Source(trajectory_id=id_)])
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        value: Any = json.loads(path.read_bytes())
    except ValueError as error:
        raise BadInput(f"{str(path)!r} is no JSON: {error}") from error
    if not isinstance(value, list) or not all(
        isinstance(row, dict) for row in cast("list[Any]", value)
    ):
        raise BadInput(f"{str(path)!r}: expected a list of analyst records")
    return cast("list[dict[str, Any]]", value)


def _source(row: Mapping[str, Any]) -> Source:
    steps = _list(row.get("evidence_steps"))
    quotes = [
        Quote(text=str(text), step=_step(steps[i] if i < len(steps) else None))
        for i, text in enumerate(_list(row.get("evidence")))
    ]
    items = [
        cast("dict[str, Any]", one) for one in _list(row.get("items")) if isinstance(one, dict)
    ]
    return Source(
        trajectory_id=str(row["trajectory_id"]),
        task_id=str(row.get("task_id") or ""),
        kind=str(row.get("kind") or ""),
        summary=" ".join(str(row.get("summary") or "").split()),
        lessons=tuple(str(one.get("lesson") or one.get("title") or "") for one in items),
        quotes=tuple(quotes),
        proven=_proven(row.get("proof")),
    )


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _step(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _proven(proof: Any) -> bool | None:
    """As the harness judges a proof: the clean input and two perturbed ones, all passed."""
    if not isinstance(proof, dict):
        return None
    runs = _list(cast("dict[str, Any]", proof).get("runs"))
    rows = [cast("dict[str, Any]", one) for one in runs if isinstance(one, dict)]
    clean = sum(row.get("kind") == "clean" for row in rows)
    perturbed = len(rows) - clean
    return bool(clean) and perturbed >= 2 and all(row.get("passed") is True for row in rows)
