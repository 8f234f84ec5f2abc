"""An evolution as the page reads it: its skill, block by block, and what every block came from.

Read are the files that an evolution leaves (`evolve.json`, `discarded.json`, `conflicts.json`, the
skill directory, its provenance, the analysts' records), by their field names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.core import BadInput, Edit, read_json
from harness.core.redaction import redact
from harness.debug.web.browse.library import Library, Place
from harness.skills import (
    SKILL_FILE,
    Provenance,
    load_skill,
    matching,
    read_provenance,
    read_sources,
    shown_blocks,
)


def evolution(entry: Place) -> dict[str, Any]:
    """Verdict and figures of an evolution, every line of its skill, what was left out; JSON only.

    `lines` are blocks of lines (:class:`harness.skills.ShownBlock`) with the number of an edit in
    `edits`, or None for text of the seed.

    Raises:
        BadInput: if a file of it is damaged.
    """
    skill, provenance = _skill(entry)
    edits = provenance.edits if provenance is not None else ()
    return {
        "result": _read(entry.path / "evolve.json") or {},
        "lines": [] if skill is None else _lines(skill, provenance),
        "edits": [_edit(edit) for edit in edits],
        "discarded": _read(entry.path / "discarded.json") or [],
        "conflicts": _read(entry.path / "conflicts.json") or [],
    }


def lineage(library: Library, name: str, number: int) -> dict[str, Any]:
    """Trace an edit to its patch, the trajectories, and the steps that were quoted.

    `run` of a source is the eval run that holds its trajectory, None where it lies elsewhere.

    Raises:
        BadInput: if the evolution has no such edit.
    """
    entry = library.place(name, "evolution")
    skill, provenance = _skill(entry)
    if skill is None or provenance is None or not 0 <= number < len(provenance.edits):
        raise BadInput(f"evolution {name!r} has no edit {number}")
    edit = provenance.edits[number]
    records = [
        {
            "trajectory": source.trajectory_id,
            "task": source.task_id,
            "kind": source.kind,
            "summary": redact(source.summary),
            "lessons": [redact(lesson) for lesson in source.lessons],
            "quotes": [{"text": redact(quote.text), "step": quote.step} for quote in source.quotes],
            "proven": source.proven,
            "run": library.home(name, source.trajectory_id),
        }
        for source in matching(read_sources(skill), edit.sources)
    ]
    return {**_edit(edit), "records": records}


def _skill(entry: Place) -> tuple[Path | None, Provenance | None]:
    """The skill directory that an evolution wrote, and its provenance; None where there is none."""
    skill = next(iter(sorted((entry.path / "skill").glob(f"*/{SKILL_FILE}"))), None)
    if skill is None:
        return None, None
    try:
        return skill.parent, read_provenance(skill.parent)
    except BadInput:
        return skill.parent, None


def _lines(folder: Path, provenance: Provenance | None) -> list[dict[str, Any]]:
    skill = load_skill(folder)
    provenance = provenance or Provenance(skill=skill.digest, parent=skill.digest)
    return [
        {
            **block._asdict(),
            "edit": provenance.edits.index(block.edit)
            if block.edit and block.text.strip()
            else None,
        }
        for block in shown_blocks(provenance, skill)
    ]


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "op": edit.op,
        "file": edit.file,
        "section": edit.target_section,
        "content": edit.content,
        "support": edit.support,
        "sources": list(edit.sources),
    }


def _read(path: Path) -> Any:
    """The JSON of a file, None where there is none."""
    return read_json(path) if path.is_file() else None
