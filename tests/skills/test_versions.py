"""Versions: content-addressed, deterministic, restorable, and never taken for a skill."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core import BadInput, digest_tree
from harness.skills import (
    diff,
    list_versions,
    load_skill,
    read_log,
    read_provenance,
    read_version,
    record_version,
    rollback,
    version_skill,
    versions_path,
    write_skill,
)
from tests.skills.evolved import EDITS, SEED, append, evolve


def test_an_evolution_is_two_versions_and_repeating_it_changes_nothing(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    seed, evolved = list_versions(folder)
    assert (seed.digest, seed.parent, seed.edits) == (SEED.digest, "", ())
    assert (evolved.parent, evolved.edits) == (SEED.digest, EDITS)
    assert evolved.digest == load_skill(folder).digest
    before = digest_tree(tmp_path)
    evolve(tmp_path)
    assert digest_tree(tmp_path) == before
    evolve(tmp_path / "elsewhere")
    assert digest_tree(versions_path(folder)) == digest_tree(
        tmp_path / "elsewhere/skill/a-skill.versions"
    )


def test_no_stored_file_looks_like_a_skill(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    names = {path.name.casefold() for path in versions_path(folder).rglob("*")}
    assert "skill.md" not in names


def test_a_later_evolution_keeps_only_its_own_edits(tmp_path: Path) -> None:
    folder = evolve(tmp_path, EDITS[:1])
    first, earlier = load_skill(folder), read_provenance(folder)
    again = evolve(tmp_path, (append("- more", "Writing", "t9"),), first, earlier)
    last = list_versions(again)[-1]
    assert [edit.content for edit in last.edits] == ["- more"]
    assert last.parent == first.digest
    assert last.provenance is not None
    assert [edit.content for edit in last.provenance.edits] == ["- read back", "- more"]


def test_rollback_and_back_restore_text_modes_and_provenance(tmp_path: Path) -> None:
    seed = replace(
        SEED, files={"scripts/a.sh": b"#!/bin/sh\n"}, executable=frozenset({"scripts/a.sh"})
    )
    folder = evolve(tmp_path, seed=seed)
    evolved, provenance = load_skill(folder), read_provenance(folder)
    done = rollback(folder)
    assert (done.before, done.after, done.kept) == (evolved.digest, seed.digest, False)
    assert load_skill(folder).all_files == seed.all_files
    assert load_skill(folder).executable == seed.executable
    with pytest.raises(BadInput, match="no provenance"):
        read_provenance(folder)
    rollback(folder, done.before[:8])
    assert load_skill(folder).all_files == evolved.all_files
    assert read_provenance(folder) == provenance
    assert [entry.action for entry in read_log(folder)] == ["recorded", "recorded"] + [
        "restored"
    ] * 2
    with pytest.raises(BadInput, match="first version"):
        rollback(folder)
        rollback(folder)


def test_edits_by_hand_are_kept_and_undone(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    evolved = load_skill(folder)
    path = folder / "SKILL.md"
    path.write_text(path.read_text() + "\nmine\n")
    mine = load_skill(folder)
    done = rollback(folder)
    assert (done.kept, load_skill(folder).digest) == (True, evolved.digest)
    assert "-mine" in done.diff
    rollback(folder, mine.digest[:6])
    assert path.read_text().endswith("\nmine\n")


def test_a_kill_between_the_swap_and_the_log_is_mended(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    provenance = read_provenance(folder)
    evolved = load_skill(folder)
    write_skill(SEED, folder)  # as far as a killed rollback came: provenance and log are old
    rollback(folder, SEED.digest)
    assert read_log(folder)[-1].digest == SEED.digest
    rollback(folder, evolved.digest)
    assert read_provenance(folder) == provenance


def test_a_failed_write_leaves_the_skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = evolve(tmp_path)
    before = digest_tree(folder)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    with pytest.raises(BadInput, match="No space"):
        rollback(folder)
    assert digest_tree(folder) == before


def test_a_version_is_found_by_its_start_and_checked(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    version = read_version(folder, SEED.digest[:6])
    assert diff(version_skill(folder, version), SEED) == ""
    for name in ("", SEED.digest[:5], "ffffff"):
        with pytest.raises(BadInput, match="no version"):
            read_version(folder, name)
    damaged = versions_path(folder) / "objects" / version.files["SKILL.md"]
    damaged.write_bytes(damaged.read_bytes() + b"x")
    before = digest_tree(folder)
    with pytest.raises(BadInput, match="missing or damaged"):
        rollback(folder)
    assert digest_tree(folder) == before


def test_a_skill_without_versions_says_so(tmp_path: Path) -> None:
    write_skill(SEED, tmp_path / "a-skill")
    with pytest.raises(BadInput, match="nothing to go back to"):
        rollback(tmp_path / "a-skill")
    record_version(tmp_path / "a-skill", "first")
    shutil.rmtree(versions_path(tmp_path / "a-skill") / "objects")
    with pytest.raises(BadInput, match="missing or damaged"):
        rollback(tmp_path / "a-skill", SEED.digest)
