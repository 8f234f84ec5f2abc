"""A small evolution on the disk, as the review, the versions and `explain` find it."""

from __future__ import annotations

import json
from pathlib import Path

from harness.core import Edit, Patch
from harness.skills import (
    Provenance,
    Skill,
    apply_patch,
    new_skill,
    provenance_of,
    record_version,
    write_provenance,
    write_skill,
)

SEED = new_skill(
    "a-skill", "Use when testing.", "\n# A\n\n## Checks\n\n- old\n\n## Writing\n\n- w\n"
)


def append(content: str, section: str = "Checks", *sources: str) -> Edit:
    return Edit(
        file="SKILL.md",
        op="append_to_section",
        target_section=section,
        content=content,
        sources=sources,
        support=len(sources),
    )


EDITS = (
    append("- read back", "Checks", "t1", "t2"),
    append("- see [dates](references/dates.md)", "Writing", "t3"),
    Edit(file="references/dates.md", op="create", content="# Dates\n", sources=("t3",), support=1),
)

RECORDS = [
    {
        "kind": "error",
        "trajectory_id": "t1",
        "task_id": "task-1",
        "summary": "The result was never read back.",
        "items": [{"title": "Read back", "lesson": "Read back what you wrote."}],
        "evidence": ["saved output.xlsx", "done"],
        "evidence_steps": [7],
        "proof": None,
    },
    {"trajectory_id": "t3", "summary": "Dates\nwere text.", "evidence": ["'2024-01-01'"]},
]


def evolve(
    out: Path,
    edits: tuple[Edit, ...] = EDITS,
    seed: Skill = SEED,
    earlier: Provenance | None = None,
) -> Path:
    """Write the result of an evolution under `out`; return the skill directory."""
    result = apply_patch(seed, Patch(edits=edits))
    assert result.withheld == ()
    folder = out / "skill" / seed.name
    provenance = provenance_of(result, seed, earlier)
    write_skill(result.skill, folder)
    write_provenance(provenance, folder)
    (out / "records.json").write_text(json.dumps(RECORDS))
    record_version(folder, "evolved", provenance, parent=seed, parent_provenance=earlier)
    return folder
