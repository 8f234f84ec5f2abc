"""What an evolution leaves behind, beside the skill."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from harness.core import BadInput, Value, render_page, write_atomic
from harness.evolve.baselines.transfer import TransferRow
from harness.evolve.evidence import step_of
from harness.evolve.formats.patches import OfficialPatches, write_official_patches
from harness.evolve.outcome import Finished
from harness.evolve.runs import load
from harness.evolve.types import EvolveResult
from harness.skills import (
    Provenance,
    Skill,
    count_tokens,
    explain_file,
    provenance_of,
    read_provenance,
    record_version,
    review_form,
    review_rows,
    write_provenance,
)

RESULT = "evolve.json"

TEMPLATE = Path(__file__).parent / "templates" / "evolution.html.j2"


def check_out(out: Path) -> None:
    """Refuse a folder that holds something else.

    Raises:
        BadInput: if `out` is a file, or a folder with files that no evolution wrote.
    """
    if out.is_file():
        raise BadInput(f"expected a folder for --out, found a file at {str(out)!r}")
    ours = {"skill", "patches", "runs", "calls.sqlite", "work.sqlite", "writer.lock", RESULT}
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in ours):
        raise BadInput(f"{str(out)!r} holds other files: give an empty folder for --out")


def result_of(
    done: Finished,
    seconds: float,
    baselines: Sequence[Value] = (),
    transfer: Sequence[TransferRow] = (),
) -> EvolveResult:
    """The summary of a finished evolution, with rows of baselines and users if any were run."""
    skill = done.applied.skill
    rules = Counter(str(edit.support) for edit in done.merge.patch.edits)
    return EvolveResult(
        skill=str(done.evolution.skill_dir),
        accepted={"accepted": True, "refused": False}.get(done.gate.verdict),
        edits=sum(one.changed for one in done.applied.applied),
        discarded=len(done.discarded),
        gate=done.gate,
        calls=done.usage.calls,
        tokens=done.usage.tokens,
        cost_usd=done.usage.cost_usd,
        seconds=seconds,
        records=len(done.collected.records),
        losses=len(done.losses),
        conflicts=len(done.merge.conflicts),
        method=done.merge.method,
        lines=skill.text.count("\n"),
        skill_tokens=count_tokens(skill.text),
        support=dict(sorted(rules.items(), key=lambda pair: int(pair[0]))),
        simulated=done.evolution.simulated
        or any(one.simulated for one in (*done.runs.runs, *transfer)),
        problems=done.problems,
        baselines=tuple(row.model_dump(mode="json") for row in baselines),
        transfer=tuple(row.model_dump(mode="json", by_alias=True) for row in transfer),
    )


def write_all(done: Finished, result: EvolveResult) -> None:
    """Write everything but the skill; `evolve.json` last, so that it marks a whole result."""
    evolution = done.evolution
    out, provenance = evolution.options.out, _provenance(done)
    (out / RESULT).unlink(missing_ok=True)
    # The intermediates under the names of the official code, which reads them back.
    write_official_patches(OfficialPatches(levels=done.levels, final=done.final), out / "patches")
    write_provenance(provenance, evolution.skill_dir)
    record_version(
        evolution.skill_dir,
        f"evolved from {len(done.collected.records)} records",
        provenance,
        parent=evolution.seed,
        parent_provenance=_earlier(done),
    )
    rows = _records(done)
    write_atomic(out / "records.json", json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    _write(out / "provenance.json", provenance)
    _write(out / "discarded.json", done.discarded)
    _write(out / "conflicts.json", done.merge.conflicts)
    _write(out / "report.json", _details(done, result))
    write_atomic(out / "report.html", _page(done, result, provenance, rows))
    _write(out / RESULT, result)


def _provenance(done: Finished) -> Provenance:
    found = provenance_of(done.applied, done.evolution.seed, _earlier(done))
    verdict = "none" if done.gate.verdict == "not gated" else done.gate.verdict
    return found.model_copy(update={"gate": verdict})


def _earlier(done: Finished) -> Provenance | None:
    """The seed's own provenance; none for a seed that no evolution wrote."""
    seed = done.evolution.options.skill
    try:
        return None if seed is None else read_provenance(seed)
    except BadInput:
        return None


def _records(done: Finished) -> list[dict[str, Any]]:
    """The analysts' records, each quote with the step of the trajectory that holds it."""
    runs = {run.id: run for run in done.runs.runs}
    rows: list[dict[str, Any]] = []
    for record in done.collected.records:
        row = record.model_dump(mode="json")
        run = runs.get(record.trajectory_id)
        if run is not None and record.evidence:
            (trajectory,) = load([run], done.evolution.shelf)
            row["evidence_steps"] = [step_of(quote, trajectory) for quote in record.evidence]
        rows.append(row)
    return rows


def _details(done: Finished, result: EvolveResult) -> dict[str, Any]:
    recorded, records = done.collected.recorded, done.collected.records
    return {
        "options": done.evolution.options.fingerprint(),
        "seed": done.evolution.seed.digest,
        "skill": done.applied.skill.digest,
        "result": result.model_dump(mode="json", exclude={"seconds", "skill"}),
        "records": {
            "error": sum(record.kind == "error" for record in records),
            "success": sum(record.kind == "success" for record in records),
            "repaired": recorded.repaired if recorded else (),
            "trimmed": recorded.trimmed if recorded else 0,
            "unmatched": recorded.unmatched if recorded else (),
        },
        "selection": done.selection.model_dump(mode="json") if done.selection else None,
        "losses": [loss.model_dump(mode="json") for loss in done.losses],
        "reasoning": done.merge.patch.reasoning,
    }


def _page(
    done: Finished, result: EvolveResult, provenance: Provenance, records: list[dict[str, Any]]
) -> str:
    edits = [one.edit for one in done.applied.applied if one.changed]
    skill, recorded = done.applied.skill, done.collected.recorded
    return render_page(
        TEMPLATE,
        result=result.model_copy(update={"skill": skill.name}),
        gate=result.gate,
        method=result.method,
        lines=_lines(skill, provenance),
        discarded=done.discarded,
        conflicts=done.merge.conflicts,
        review=review_form(review_rows(edits, records), done.applied.skill.digest),
        losses=done.losses,
        unmatched=recorded.unmatched if recorded else (),
        selection=done.selection,
        histogram=[(int(support), count) for support, count in result.support.items()],
    )


def _lines(skill: Skill, provenance: Provenance) -> list[dict[str, Any]]:
    """Every line of the skill's text files with the edit that wrote it."""
    return [
        {"file": file, "number": one.line, "text": one.text, "edit": one.edit}
        for file in skill.all_files
        if skill.file_text(file) is not None
        for one in explain_file(provenance, skill, file)
    ]


def _write(path: Path, value: BaseModel | Sequence[BaseModel] | dict[str, Any]) -> None:
    write_atomic(path, _json(value))


def _json(value: BaseModel | Sequence[BaseModel] | dict[str, Any]) -> str:
    plain: Any = value
    if isinstance(value, BaseModel):
        plain = value.model_dump(mode="json")
    elif not isinstance(value, dict):
        plain = [one.model_dump(mode="json") for one in value]
    return json.dumps(plain, ensure_ascii=False, indent=1) + "\n"
