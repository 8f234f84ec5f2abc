"""What an evolution leaves behind, beside the skill."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from harness.core import BadInput, Patch, write_atomic
from harness.core.pages import render_page
from harness.evolve.stages import Evolution
from harness.evolve.types import EvolveResult
from harness.skills import count_tokens, provenance_of, read_provenance
from harness.skills.provenance import Provenance, explain, write_provenance

RESULT = "evolve.json"

TEMPLATE = Path(__file__).parent / "templates" / "evolution.html.j2"


def check_out(out: Path) -> None:
    """Refuse a folder that holds something else.

    Raises:
        BadInput: if `out` is a file, or a folder with files that no evolution wrote.
    """
    if out.is_file():
        raise BadInput(f"expected a folder for --out, found a file at {str(out)!r}")
    ours = {"skill", "patches", "runs", "calls.sqlite", RESULT}
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in ours):
        raise BadInput(f"{str(out)!r} holds other files: give an empty folder for --out")


def result_of(evolution: Evolution, seconds: float) -> EvolveResult:
    """The summary of a finished evolution."""
    assert evolution.applied is not None, "an evolution ends behind apply"
    skill, verdict = evolution.applied.skill, evolution.verdict
    rules = Counter(str(edit.support) for edit in evolution.merged.patch.edits)
    accepted = {"accepted": True, "refused": False}.get(verdict.verdict)
    models = [one for one in (evolution.model, evolution.merger) if one is not None]
    return EvolveResult(
        skill=str(evolution.skill_dir),
        accepted=accepted,
        edits=sum(one.changed for one in evolution.applied.applied),
        discarded=len(evolution.discarded),
        gate=verdict,
        tokens=evolution.usage.tokens,
        cost_usd=evolution.usage.cost_usd,
        seconds=seconds,
        records=len(evolution.records),
        losses=len(evolution.losses),
        conflicts=len(evolution.merged.conflicts),
        method=evolution.merged.method,
        lines=skill.text.count("\n"),
        skill_tokens=count_tokens(skill.text),
        support=dict(sorted(rules.items(), key=lambda pair: int(pair[0]))),
        simulated=any(model.simulated for model in models)
        or any(one.harness.get("simulated") for one in evolution.trajectories),
        problems=tuple(evolution.problems),
    )


def write_all(evolution: Evolution, result: EvolveResult) -> None:
    """Write everything but the skill; `evolve.json` last, so that it marks a whole result."""
    out, provenance = evolution.options.out, _provenance(evolution)
    (out / RESULT).unlink(missing_ok=True)
    _write_patches(evolution, out / "patches")
    write_provenance(provenance, evolution.skill_dir)
    _write(out / "provenance.json", provenance)
    _write(out / "discarded.json", evolution.discarded)
    _write(out / "conflicts.json", evolution.merged.conflicts)
    _write(out / "report.json", _details(evolution, result))
    write_atomic(out / "report.html", _page(evolution, result, provenance))
    _write(out / RESULT, result)


def _provenance(evolution: Evolution) -> Provenance:
    assert evolution.applied is not None, "an evolution ends behind apply"
    earlier = None
    if evolution.options.skill is not None:
        try:
            earlier = read_provenance(evolution.options.skill)
        except BadInput:
            earlier = None  # a seed that no evolution wrote has no origins to carry over
    return provenance_of(evolution.applied, evolution.seed, earlier)


def _details(evolution: Evolution, result: EvolveResult) -> dict[str, Any]:
    recorded = evolution.recorded
    return {
        "options": evolution.options.fingerprint(),
        "seed": evolution.seed.digest,
        "skill": evolution.applied.skill.digest if evolution.applied else "",
        "result": result.model_dump(mode="json", exclude={"seconds", "skill"}),
        "records": {
            "error": sum(record.kind == "error" for record in evolution.records),
            "success": sum(record.kind == "success" for record in evolution.records),
            "repaired": recorded.repaired if recorded else (),
            "trimmed": recorded.trimmed if recorded else 0,
            "unmatched": recorded.unmatched if recorded else (),
        },
        "losses": [loss.model_dump(mode="json") for loss in evolution.losses],
        "reasoning": evolution.merged.patch.reasoning,
    }


def _page(evolution: Evolution, result: EvolveResult, provenance: Provenance) -> str:
    assert evolution.applied is not None, "an evolution ends behind apply"
    skill = evolution.applied.skill
    lines: list[dict[str, Any]] = []
    for file in skill.all_files:
        text = skill.file_text(file)
        for number in range(1, len((text or "").removesuffix("\n").split("\n")) + 1):
            if text is not None:
                found = explain(provenance, skill, file, number)
                lines.append(
                    {"file": file, "number": number, "text": found.text, "edit": found.edit}
                )
    return render_page(
        TEMPLATE,
        result=result.model_copy(update={"skill": skill.name}),
        gate=result.gate,
        method=result.method,
        lines=lines,
        discarded=evolution.discarded,
        conflicts=evolution.merged.conflicts,
        losses=evolution.losses,
        unmatched=evolution.recorded.unmatched if evolution.recorded else (),
        histogram=[(int(support), count) for support, count in result.support.items()],
    )


def _write_patches(evolution: Evolution, target: Path) -> None:
    """The intermediates under the names of the official code, swapped in as a whole."""
    files: dict[str, Patch] = {"final_patch.json": evolution.final}
    for number, patch in enumerate(evolution.patches, start=1):
        files[f"map_patches/patch_{number:04d}.json"] = patch
    for level, patches in enumerate(evolution.levels, start=1):
        for number, patch in enumerate(patches, start=1):
            files[f"merge_level_{level}/merged_{number:04d}.json"] = patch
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".writing-") as folder:
        built = Path(folder) / "patches"
        for name, patch in files.items():
            path = built / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_json(patch), encoding="utf-8")
        if target.exists():
            target.rename(Path(folder) / "old")
        shutil.move(built, target)


def _write(path: Path, value: BaseModel | Sequence[BaseModel] | dict[str, Any]) -> None:
    write_atomic(path, _json(value))


def _json(value: BaseModel | Sequence[BaseModel] | dict[str, Any]) -> str:
    plain: Any = value
    if isinstance(value, BaseModel):
        plain = value.model_dump(mode="json")
    elif not isinstance(value, dict):
        plain = [one.model_dump(mode="json") for one in value]
    return json.dumps(plain, ensure_ascii=False, indent=1) + "\n"
