"""Files of the official code: read, written again, read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, Edit, Patch
from harness.evolve.formats.patches import (
    OfficialPatches,
    read_official_patches,
    write_official_patches,
)
from harness.evolve.formats.records import (
    load_official,
    read_any_records,
    read_official_records,
)
from harness.evolve.types import AnalystRecord, MemoryItem

ERROR = AnalystRecord(
    kind="error",
    trajectory_id="7-1",
    task_id="7-1",
    summary="one row was written",
    items=(MemoryItem(title="Fill it", lesson="Write all rows.", generalization="ranges"),),
    evidence=("step 3", "step 5"),
)
SUCCESS = AnalystRecord(
    kind="success",
    trajectory_id="13-1",
    task_id="13-1",
    items=(MemoryItem(title="Read back", lesson="Open it again."),),
)


def write(records: list[AnalystRecord], folder: Path) -> None:
    """The records in the official form, which has no field for trajectory, edits and proof."""
    for kind in ("error", "success"):
        rows = [official(record) for record in records if record.kind == kind]
        (folder / f"parsed_{kind}_records.json").write_text(json.dumps(rows))


def official(record: AnalystRecord) -> dict[str, Any]:
    causes = [
        {
            "type": "failure_cause",
            "number": number,
            "title": record.summary if number == 1 else "",
            "content": content,
            "relation_to_skill": "",
        }
        for number, content in enumerate(record.evidence, start=1)
    ]
    memories = [
        {
            "type": "failure_memory" if record.kind == "error" else "success_memory",
            "number": number,
            "title": item.title,
            "description": item.generalization,
            "content": item.lesson,
        }
        for number, item in enumerate(record.items, start=1)
    ]
    return {"instance_id": record.task_id, "items": [*causes, *memories]}


def test_records_in_the_official_form_are_read(tmp_path: Path) -> None:
    write([ERROR, SUCCESS], tmp_path)
    found = read_official_records(tmp_path)
    assert found.records == (ERROR, SUCCESS)
    assert found.losses == ()


def test_the_parsed_prompt_file_is_left_out_with_a_note(tmp_path: Path) -> None:
    twin = SUCCESS.model_copy(update={"trajectory_id": "13-1_prompt", "task_id": "13-1_prompt"})
    write([SUCCESS, twin], tmp_path)
    found = read_official_records(tmp_path / "parsed_success_records.json")
    assert [record.task_id for record in found.records] == ["13-1"]
    assert [(loss.trajectory_id, "'13-1'" in loss.reason) for loss in found.losses] == [
        ("13-1_prompt", True)
    ]


def test_a_task_that_is_called_prompt_stays(tmp_path: Path) -> None:
    own = SUCCESS.model_copy(update={"trajectory_id": "my_prompt", "task_id": "my_prompt"})
    write([own], tmp_path)
    assert read_official_records(tmp_path).records == (own,)


@pytest.mark.parametrize(
    "content", ["{", "{}", "[1]", '[{"instance_id": 3}]', '[{"items": []}]', "[" * 9999]
)
def test_another_shape_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "parsed_error_records.json"
    file.write_text(content, "utf-8")
    with pytest.raises(BadInput, match="parsed_error_records"):
        read_official_records(file)


def test_any_records_are_joined_to_trajectories(tmp_path: Path) -> None:
    write([ERROR, SUCCESS], tmp_path)
    found = read_any_records(tmp_path, {"7-1": ("run-a/7-1", "fail")})
    assert [record.trajectory_id for record in found.records] == ["run-a/7-1"]
    assert [name for name, _ in found.unmatched] == ["13-1"]
    kept = read_any_records(tmp_path, {}, keep_unmatched=True)
    assert [record.trajectory_id for record in kept.records] == ["7-1", "13-1"]


def test_intermediates_of_ours_give_records(tmp_path: Path) -> None:
    edit = Edit(file="SKILL.md", op="append_to_section", content="- x", sources=("7-1",), support=1)
    patches = OfficialPatches(levels=((Patch(reasoning="why", edits=(edit,), batch_index=1),),))
    write_official_patches(patches, tmp_path / "patches")
    assert read_official_patches(tmp_path / "patches") == patches
    (record,) = read_any_records(tmp_path / "patches", {"7-1": ("t", "fail")}).records
    assert (record.trajectory_id, record.edits, record.summary) == ("t", (edit,), "why")


def test_levels_are_read_in_the_order_of_numbers(tmp_path: Path) -> None:
    levels = tuple((Patch(reasoning=f"level {number}"),) for number in range(12))
    write_official_patches(OfficialPatches(levels=levels, final=Patch(), diffs="# a\r\n"), tmp_path)
    assert read_official_patches(tmp_path).levels == levels


@pytest.mark.parametrize("kind", ["error", "success"])
def test_official_records_come_back_field_by_field(shared: Path, kind: str) -> None:
    source = shared / "fixtures/trace2skill_official" / f"{kind}_analysis"
    file = source / f"parsed_{kind}_records.json"
    rows = [row.model_dump(mode="json", exclude_unset=True) for row in load_official(file)]
    assert rows == json.loads(file.read_text("utf-8"))
    assert read_official_records(source).records


def test_official_intermediates_come_back_byte_for_byte(shared: Path, tmp_path: Path) -> None:
    source = shared / "fixtures/trace2skill_official/evo/intermediates"
    found = read_official_patches(source)
    assert [len(level) for level in found.levels] == [4, 2, 1]
    assert found.translated is not None
    assert found.diffs
    write_official_patches(found, tmp_path / "again")
    for file in (file for file in (tmp_path / "again").rglob("*") if file.is_file()):
        name = file.relative_to(tmp_path / "again")
        assert file.read_bytes() == (source / name).read_bytes(), name
