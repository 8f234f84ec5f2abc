"""Reading forgives, writing does not; both agree with skills-ref."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import BadInput, digest_tree
from harness.skills import load_skill, new_skill, parse_skill, validate, write_skill

SHIPPED = ("spreadsheet-basics", "agent-skill-harness", "documents-and-charts")
BODIES = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=60)
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="<>"),
    min_size=1,
    max_size=30,
).filter(lambda text: "---" not in text)


def skills_ref(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "skills_ref.cli", "validate", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_skills_are_valid_strict_and_reproduced(
    name: str, repository: Path, tmp_path: Path
) -> None:
    folder = repository / "skills" / name
    skill = load_skill(folder)
    assert validate(skill) == []
    assert skills_ref(folder).returncode == 0
    write_skill(skill, tmp_path / name)
    assert digest_tree(tmp_path / name) == digest_tree(folder) == skill.digest


@given(description=WORDS, licence=WORDS, body=BODIES)
def test_parse_of_write_is_the_identity(description: str, licence: str, body: str) -> None:
    skill = new_skill("a-skill", description, f"\n# T\n{body}\n", license=licence)
    again = parse_skill(skill.text)
    assert again.warnings == ()
    assert (again.description, again.frontmatter, again.body) == (
        skill.description,
        skill.frontmatter,
        skill.body,
    )


def test_awkward_values_pass_skills_ref(tmp_path: Path) -> None:
    text = 'Use when: "x" is # y, {a: b} - or \\n; ünïcode: yes'
    skill = new_skill("a-skill", text, license="true", compatibility="1.0")
    write_skill(skill, tmp_path / "a-skill")
    result = skills_ref(tmp_path / "a-skill")
    assert result.returncode == 0, result.stderr
    assert load_skill(tmp_path / "a-skill").description == text


@pytest.mark.parametrize("bad", ["has --- inside", "a < b", ""])
def test_what_some_client_refuses_is_never_written(bad: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        write_skill(new_skill("a-skill", bad), tmp_path / "a-skill")
    assert list(tmp_path.iterdir()) == []


def test_the_reader_forgives_and_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "loose"
    folder.mkdir()
    raw = "\ufeff---\r\nname: loose\r\ndescription: Use when: x\r\n---\r\n# T\r\n"
    (folder / "SKILL.md").write_bytes(raw.encode())
    skill = load_skill(folder)
    assert (skill.name, skill.description) == ("loose", "Use when: x")
    assert len(skill.warnings) == 3
    write_skill(skill, folder)
    assert skills_ref(folder).returncode == 0
    assert validate(load_skill(folder)) == []


def test_links_out_of_the_skill_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    write_skill(new_skill("a-skill", "d"), tmp_path / "a-skill")
    (tmp_path / "a-skill" / "leak.md").symlink_to(tmp_path / "secret.md")
    skill = load_skill(tmp_path / "a-skill")
    assert "leak.md" not in skill.files
    assert "link" in skill.warnings[0].message


def test_replacing_leaves_nothing_beside_the_skill(tmp_path: Path) -> None:
    """Official defect 2: `xlsx_backup_<time>` was left in the folder of skills."""
    root = tmp_path / "skills"
    write_skill(new_skill("a-skill", "first"), root / "a-skill")
    write_skill(new_skill("a-skill", "second"), root / "a-skill")
    assert [one.name for one in root.iterdir()] == ["a-skill"]
    assert load_skill(root / "a-skill").description == "second"


def test_a_failed_write_leaves_the_old_skill(tmp_path: Path) -> None:
    target = tmp_path / "a-skill"
    write_skill(new_skill("a-skill", "first"), target)
    clash = parse_skill(
        new_skill("a-skill", "second").text,
        files={"references": b"a file", "references/x.md": b"under it"},
    )
    with pytest.raises(BadInput, match="cannot write"):
        write_skill(clash, target)
    assert load_skill(target).description == "first"
    assert [one.name for one in tmp_path.iterdir()] == ["a-skill"]


def test_a_link_in_place_of_the_skill_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a-skill").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match="link"):
        write_skill(new_skill("a-skill", "d"), tmp_path / "a-skill")


def test_the_name_must_be_the_directory(tmp_path: Path) -> None:
    """Official defect 12: released skills whose directory differs from their name."""
    with pytest.raises(BadInput, match="directory of that name"):
        write_skill(new_skill("a-skill", "d"), tmp_path / "other")


def test_no_skill_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"SKILL\.md"):
        load_skill(tmp_path / "absent")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux swaps directories in one step")
def test_a_reader_never_misses_the_skill_while_it_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "a-skill"
    write_skill(new_skill("a-skill", "first"), target)
    watch = (
        "import sys, pathlib\n"
        "path, missed = pathlib.Path(sys.argv[1]), 0\n"
        "print('ready', flush=True)\n"
        "while not (path / 'stop').exists():\n"
        "    missed += not path.exists()\n"
        "print(missed)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", watch, str(target)], stdout=subprocess.PIPE, text=True
    ) as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.readline() == "ready\n"
        try:
            for number in range(100):
                write_skill(new_skill("a-skill", f"version {number}"), target)
        finally:
            (target / "stop").touch()
        missed = watcher.stdout.readline()
    assert missed == "0\n"
