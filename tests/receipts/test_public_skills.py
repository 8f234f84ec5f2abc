"""The measurement of others' skills: its manifest, and verdicts from outcomes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.receipts.public_skills import (
    OWN,
    PERMISSIVE,
    Arm,
    PublicSkill,
    compared,
    facts,
    least_passes,
    read_manifest,
)
from harness.core import BadInput, Outcome, Usage, assets, digest_tree
from harness.evals.report import ItemRecord
from harness.skills import new_skill, write_skill

BARE, SHORT, LONG = (Arm("roster", skill, None) for skill in ("", "a/short", "a/long"))


def items(outcomes: str, prompt: int) -> list[ItemRecord]:
    """An attempt a letter: passed, failed or invalid."""
    names: dict[str, Outcome] = {"p": "pass", "f": "fail", "i": "invalid"}
    usage = Usage(calls=2, prompt_tokens=2 * prompt, completion_tokens=20)
    return [
        ItemRecord(id=str(n), task_id=str(n), outcome=names[letter], value=0, usage=usage)
        for n, letter in enumerate(outcomes)
    ]


def test_the_manifest_is_complete() -> None:
    manifest = read_manifest()
    assert len(manifest.skills) >= 24
    assert len({skill.name for skill in manifest.skills} | OWN.keys()) == len(manifest.skills) + 4
    assert {skill.repository for skill in manifest.skills} == manifest.repositories.keys()
    for repository in manifest.repositories.values():
        assert repository["licence"] in PERMISSIVE
        assert re.fullmatch(r"[0-9a-f]{40}", repository["commit"])
        assert repository["stated_in"]
    for suite in {skill.suite for skill in manifest.skills} | set(OWN.values()):
        assert (assets.root() / "evals" / f"{suite}.yaml").is_file()


def test_a_skill_is_the_one_that_was_named(tmp_path: Path) -> None:
    folder = tmp_path / "owner+name" / "skills" / "sums"
    write_skill(new_skill("sums", "Adds."), folder)
    skill = PublicSkill(
        repository="owner/name", path="skills/sums", suite="wire", on_topic=True,
        digest=digest_tree(folder),
    )  # fmt: skip
    assert (skill.name, skill.folder(tmp_path)) == ("owner/sums", folder)
    (folder / "SKILL.md").write_text("another")
    with pytest.raises(BadInput, match="owner/sums"):
        skill.folder(tmp_path)


def test_facts_name_kinds_of_problems_without_their_text(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_skill(new_skill(name, "Adds.", f"\n# A\n\n[x](no-{name}.md)\n"), tmp_path / name)
    result = facts({"o/a": tmp_path / "a", "o/b": tmp_path / "b", "short-answers": tmp_path / "a"})
    assert result["problems"] == {"error: link to \u2026, which does not exist": 2}
    assert result["skills"]["o/a"]["errors"] == 1


def test_verdicts_are_paired_and_hold_together() -> None:
    result = compared({
        BARE: items("f" * 20 + "p" * 20, 100),
        SHORT: items("p" * 40, 300),
        LONG: items("f" * 39 + "p", 900),
        Arm("roster", "a/longest", None): items("i" * 40, 0),
    })  # fmt: skip
    short, long = result["skills"]
    assert (short["verdict"], short["difference"], short["context"]) == ("helps", 50.0, 200)
    assert (long["verdict"], long["passed"], long["valid"]) == ("hurts", 1, 40)
    assert result["critical"] > 1.96
    assert result["without"]["roster"]["passed"] == 20
    assert result["not_measured"] == ["a/longest"]
    assert [part["context"] for part in result["by_length"]] == [[200, 200], [800, 800]]


def test_invalid_attempts_are_neither_passes_nor_losses() -> None:
    result = compared({BARE: items("ppppff", 1), SHORT: items("ppiiff", 1)})
    assert [result["skills"][0][key] for key in ("difference", "valid")] == [0.0, 4]
    assert result["skills"][0]["verdict"] == "nothing detectable"


def test_suites_are_not_compared_with_one_another() -> None:
    runs = {BARE: items("fff", 1), SHORT: items("fff", 1)}
    other = {arm._replace(suite="wire"): items("ppp", 1) for arm in (BARE, LONG)}
    result = compared({**runs, **other})
    assert [row["difference"] for row in result["skills"]] == [0.0, 0.0]
    assert result["by_length"] == []


def test_how_many_passes_show_help() -> None:
    assert least_passes(24, 3.09) == 9
    assert least_passes(3, 3.09) is None
