"""Whether a gate stands behind a skill, before it is handed to clients."""

from __future__ import annotations

from pathlib import Path

from harness.core import Refused
from harness.skills.io import load_skill
from harness.skills.provenance import provenance_path, read_provenance

_WHY = {
    "none": "no gate has shown that it helps (gate: none)",
    "refused": "its gate refused it (gate: refused)",
    "edited": "it is no longer the skill that its gate accepted: it was edited since",
}


def refuse_ungated(skill: Path) -> None:
    """Refuse an evolved skill that no gate accepted; one without provenance was written by hand.

    What a gate said holds for the skill that it ran, and for no other.

    Raises:
        Refused: with what to do.
        BadInput: if its provenance is damaged.
    """
    if not provenance_path(skill).is_file():
        return
    provenance = read_provenance(skill)
    gate: str = provenance.gate
    if gate == "accepted" and provenance.skill != load_skill(skill).digest:
        gate = "edited"
    if (why := _WHY.get(gate)) is not None:
        raise Refused(
            f"{str(skill)!r}: {why}: run `harness evolve` with a gate, or read it "
            "(`harness skill review`) and add --ungated"
        )
