"""Which trajectories a unit was learned from, where an evolution left its provenance."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.receipts.records import Origin
from harness.receipts.units import Unit
from harness.skills import (
    Explanation,
    explain_file,
    load_skill,
    matching,
    provenance_path,
    read_provenance,
    read_sources,
)


def origins_of(skill: Path, units: Iterable[Unit]) -> dict[str, tuple[Origin, ...]]:
    """Unit id -> trajectories of the edits that wrote its lines; {} without a provenance.

    Raises:
        BadInput: if the provenance beside the skill is damaged.
    """
    skill = skill.resolve()
    if not any(p.is_file() for p in (provenance_path(skill), skill.parent / "provenance.json")):
        return {}
    value, provenance = load_skill(skill), read_provenance(skill)
    known = read_sources(skill)
    files: dict[str, tuple[Explanation, ...]] = {}
    found: dict[str, tuple[Origin, ...]] = {}
    for unit in units:
        if unit.file not in files:
            files[unit.file] = explain_file(provenance, value, unit.file)
        first, last = unit.lines
        edits = [line.edit for line in files[unit.file][first - 1 : last]]
        ids = dict.fromkeys(id_ for edit in edits if edit is not None for id_ in edit.sources)
        if ids:
            found[unit.id] = tuple(
                Origin(
                    trajectory=one.trajectory_id,
                    steps=tuple(sorted({q.step for q in one.quotes if q.step is not None})),
                )
                for one in matching(known, ids)
            )
    return found
