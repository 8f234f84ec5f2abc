"""Every line of a skill can name the trajectories that it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core import BadInput, Edit, Patch, Refused
from harness.skills import (
    Provenance,
    Skill,
    apply_patch,
    explain,
    explain_place,
    export,
    install_from,
    load_skill,
    new_skill,
    provenance_of,
    provenance_path,
    read_provenance,
    receipt_files,
    refuse_ungated,
    write_provenance,
    write_skill,
)

START = new_skill("a-skill", "d", "\n# A\n\n## Checks\n\n- old\n\n## Writing\n\n- write\n")


def learned(content: str, section: str, source: str) -> Patch:
    edit = Edit(
        file="SKILL.md",
        op="append_to_section",
        target_section=section,
        content=content,
        sources=(source,),
        support=1,
    )
    return Patch(edits=(edit,))


def sources(skill: Skill, provenance: Provenance) -> dict[str, tuple[str, ...]]:
    lines = skill.text.removesuffix("\n").split("\n")
    found = [explain(provenance, skill, "SKILL.md", n + 1) for n in range(len(lines))]
    return {one.text: one.edit.sources for one in found if one.edit and one.text}


def test_what_a_gate_said_holds_for_that_skill_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a-skill"
    result = apply_patch(START, learned("- w1", "Writing", "t1"))
    write_skill(result.skill, folder)
    refuse_ungated(folder)  # written by hand
    provenance = provenance_of(result, START)
    for gate in ("accepted", ""):
        write_provenance(provenance.model_copy(update={"gate": gate}), folder)
        refuse_ungated(folder)
    for gate in ("none", "refused"):
        write_provenance(provenance.model_copy(update={"gate": gate}), folder)
        with pytest.raises(Refused, match=rf"\(gate: {gate}\): run `harness evolve` with a gate"):
            refuse_ungated(folder)
    said = {"gate": "none", "gate_said": "too few tasks to tell"}
    write_provenance(provenance.model_copy(update=said), folder)
    with pytest.raises(Refused, match=r"\(not gated: too few tasks to tell\): run .* more tasks"):
        refuse_ungated(folder)
    write_provenance(provenance.model_copy(update={"gate": "accepted"}), folder)
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "- by hand\n")
    with pytest.raises(Refused, match="edited since"):
        refuse_ungated(folder)


def test_an_exported_skill_that_no_gate_accepted_is_refused_again(tmp_path: Path) -> None:
    folder = tmp_path / "a-skill"
    result = apply_patch(START, learned("- w1", "Writing", "a private session"))
    write_skill(result.skill, folder)
    write_provenance(provenance_of(result, START).model_copy(update={"gate": "none"}), folder)
    project, other = tmp_path / "project", tmp_path / "other"
    receipt = receipt_files(folder, load_skill(folder))
    export(load_skill(folder), "claude", project, receipt=receipt)
    copied = project / ".claude" / "skills" / "a-skill"
    export(load_skill(folder), "skill", project, receipt=receipt)
    other.mkdir()
    for source in (copied, project / "a-skill.skill"):
        with pytest.raises(Refused, match="gate: none"):
            install_from(str(source), other)
    (installed, *_) = install_from(str(project / "a-skill.skill"), other, ungated=True)
    provenance = other / "harness-receipts" / "claude" / "a-skill.provenance.json"
    assert installed.status == "written" and provenance.is_file()
    assert not any(
        b"a private session" in p.read_bytes() for p in project.rglob("*") if p.is_file()
    )


def test_origins_survive_a_second_round_above_them() -> None:
    first = apply_patch(START, learned("- w1", "Writing", "t1"))
    one = provenance_of(first, START)
    assert sources(first.skill, one) == {"- w1": ("t1",)}
    second = apply_patch(first.skill, learned("- c1\n- c2", "Checks", "t2"))
    two = provenance_of(second, first.skill, one)
    assert sources(second.skill, two) == {"- w1": ("t1",), "- c1": ("t2",), "- c2": ("t2",)}
    assert (two.parent, two.skill) == (START.digest, second.skill.digest)


def test_a_rerun_keeps_the_origins() -> None:
    patch = learned("- w1", "Writing", "t1")
    first = apply_patch(START, patch)
    one = provenance_of(first, START)
    again = apply_patch(first.skill, patch)
    assert provenance_of(again, first.skill, one) == one


def test_it_lies_beside_the_skill_and_is_found_from_a_place(tmp_path: Path) -> None:
    result = apply_patch(START, learned("- w1", "Writing", "t1"))
    root = tmp_path / "a-skill"
    write_skill(result.skill, root)
    assert write_provenance(provenance_of(result, START), root) == provenance_path(root)
    assert not list(root.rglob("*.json"))
    number = result.skill.text.split("\n").index("- w1") + 1
    found = explain_place(f"{root}/SKILL.md:{number}")
    assert found.edit is not None
    assert found.edit.sources == ("t1",)
    assert explain_place(f"{root}/SKILL.md:1").edit is None


@pytest.mark.parametrize("place", ["SKILL.md", "SKILL.md:x", ":3"])
def test_malformed_places(place: str) -> None:
    with pytest.raises(BadInput, match="FILE:LINE"):
        explain_place(place)


def test_missing_and_damaged_provenance(tmp_path: Path) -> None:
    root = tmp_path / "a-skill"
    write_skill(START, root)
    with pytest.raises(BadInput, match="no provenance"):
        read_provenance(root)
    provenance_path(root).write_text('{"skill": 1}')
    with pytest.raises(BadInput, match="no provenance file"):
        read_provenance(root)
    result = apply_patch(START, learned("- w1", "Writing", "t1"))
    write_provenance(provenance_of(result, START), root)
    with pytest.raises(BadInput, match="lines 1 to"):
        explain_place(f"{root}/SKILL.md:999")
