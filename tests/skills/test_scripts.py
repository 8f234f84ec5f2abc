"""Scripts are tried in the real sandbox before a skill with them is admitted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.sandbox import Limits, SandboxUnavailable, select
from harness.skills import Execute, Problem, admit_scripts, load_skill, new_skill

HELP = """import argparse

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.parse_args()
"""


@pytest.fixture(scope="module")
def execute() -> Execute:
    try:
        sandbox = select()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    return partial(sandbox.exec, limits=Limits(wall_s=3, cpu_s=3))


def tried(execute: Execute, path: str, text: str) -> list[Problem]:
    files = {path: text.encode(), "scripts/helper.py": b"VALUE = 1\n"}
    found = admit_scripts(replace(new_skill("a-skill", "d"), files=files), execute)
    return [one for one in found if one.file == path]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("scripts/a.py", HELP),
        ("scripts/a.py", f"import helper\n\nassert helper.VALUE == 1\n{HELP}"),
        ("scripts/a.sh", 'if [ "$1" = --help ]; then echo usage; exit 0; fi\nexit 3\n'),
        ("scripts/a", f"#!/usr/bin/env python3\n{HELP}"),
    ],
)
def test_good_scripts_are_admitted(execute: Execute, path: str, text: str) -> None:
    assert tried(execute, path, text) == []


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("scripts/a.py", "def f(:\n", "does not parse"),
        ("scripts/a.sh", "if true; then\n", "does not parse"),
        ("scripts/a.py", "while True:\n    pass\n", "does not end by itself"),
        ("scripts/a.py", "import sys\nsys.exit(9)\n", "ends with 9"),
        (
            "scripts/a.py",
            "import urllib.request\nurllib.request.urlopen('http://example.com')\n",
            "wants the network",
        ),
    ],
)
def test_bad_scripts_are_refused(execute: Execute, path: str, text: str, message: str) -> None:
    (found,) = tried(execute, path, text)
    assert (found.level, message in found.message) == ("error", True), found


def test_what_cannot_be_tried_is_said(execute: Execute) -> None:
    (crash,) = tried(execute, "scripts/a.py", "import sys\nopen(sys.argv[1])\n")
    assert (crash.level, "ends with 1" in crash.message) == ("warning", True)
    (unknown,) = tried(execute, "scripts/a.pl", "#!/usr/bin/perl\nprint 1;\n")
    assert (unknown.level, "no interpreter known" in unknown.message) == ("warning", True)


def test_a_script_reaches_neither_the_skill_nor_the_machine(
    execute: Execute, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    text = f"import pathlib\npathlib.Path('SKILL.md').unlink()\nopen({str(mark)!r}, 'w')\n"
    skill = replace(new_skill("a-skill", "d"), files={"scripts/a.py": text.encode()})
    before = skill.digest
    admit_scripts(skill, execute)
    assert not mark.exists()
    assert skill.digest == before


def test_which_files_are_scripts() -> None:
    files = {"assets/x.csv": b"1", "assets/run": b"#!/bin/sh\n", "references/r.md": b"r"}
    skill = replace(new_skill("a-skill", "d"), files={**files, "scripts/data.txt": b"x"})
    assert skill.scripts == ["assets/run", "scripts/data.txt"]


def test_scripts_of_shipped_skills_are_admitted(execute: Execute, repository: Path) -> None:
    folders = [path for path in (repository / "skills").iterdir() if path.is_dir()]
    skills = [load_skill(folder) for folder in folders]
    scripts = sorted(script for skill in skills for script in skill.scripts)
    assert scripts == [*["scripts/helpers.py"] * 3, "scripts/word_count.py"]
    assert [problem for skill in skills for problem in admit_scripts(skill, execute)] == []
