"""Tasks of six test runners: made again from sessions, passed by the right patch alone.

A runner that this machine lacks leaves its task out, with its name in the skip: no stand-in.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.core.rundir import RunReader
from harness.evals import finished_items
from tests.acceptance import conftest as acceptance
from tests.acceptance.conftest import Harness
from tests.learn.clients import write_claude, write_codex
from tests.learn.test_rebuilding import commit

harness = acceptance.harness


class Kind(NamedTuple):
    """A small repository: its files, what is to be mended, and the tests that come with it."""

    program: str
    command: str
    output: str
    source: str
    wrong: str
    right: str
    tests: dict[str, str]
    files: dict[str, str] = {}


GO_TEST = """package sum

import "testing"

func TestAdd(t *testing.T) {
\tif Add(2, 3) != 5 {
\t\tt.Fatal("2 + 3 is 5")
\t}
}
"""
CMAKE = """cmake_minimum_required(VERSION 3.16)
project(sum C)
enable_testing()
add_executable(check check.c sum.c)
add_test(NAME check COMMAND check)
"""
MAIN = "int add(int, int);\nint main(void) { return add(2, 3) == 5 ? 0 : 1; }\n"
KINDS = {
    "pytest": Kind(
        "python3", "python -m pytest -q", "1 passed in 0.01s", "sum.py",
        "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n",
        {"test_sum.py": "from sum import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"},
    ),
    "unittest": Kind(
        "python3", "python3 -m unittest", "Ran 1 test in 0.000s\n\nOK", "total.py",
        "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n",
        {"test_total.py": "import unittest\nfrom total import add\n\n\n"
                          "class Sum(unittest.TestCase):\n    def test_add(self):\n"
                          "        self.assertEqual(add(2, 3), 5)\n"},
    ),
    "npm": Kind(
        "npm", "npm test", "# tests 1\n# pass 1\n# fail 0", "sum.js",
        "exports.add = (a, b) => a - b;\n", "exports.add = (a, b) => a + b;\n",
        {"sum.test.js": "const test = require('node:test');\n"
                        "const assert = require('node:assert');\n"
                        "test('adds', () => assert.equal(require('./sum').add(2, 3), 5));\n"},
        {"package.json": json.dumps({"name": "sum", "scripts": {"test": "node --test"}})},
    ),
    "cargo": Kind(
        "cargo", "cargo test", "test result: ok. 1 passed; 0 failed", "src/lib.rs",
        "pub fn add(a: i32, b: i32) -> i32 { a - b }\n",
        "pub fn add(a: i32, b: i32) -> i32 { a + b }\n",
        {"tests/sum.rs": "#[test]\nfn adds() { assert_eq!(sum::add(2, 3), 5); }\n"},
        {"Cargo.toml": '[package]\nname = "sum"\nversion = "0.1.0"\nedition = "2021"\n'},
    ),
    "go": Kind(
        "go", "go test ./...", "ok  \tsum\t0.002s", "sum.go",
        "package sum\n\nfunc Add(a, b int) int { return a - b }\n",
        "package sum\n\nfunc Add(a, b int) int { return a + b }\n",
        {"sum_test.go": GO_TEST}, {"go.mod": "module sum\n\ngo 1.19\n"},
    ),
    "ctest": Kind(
        "ctest", "cmake -B build && cmake --build build && ctest --test-dir build",
        "100% tests passed, 0 tests failed out of 1", "sum.c",
        "int add(int a, int b) { return a - b; }\n", "int add(int a, int b) { return a + b; }\n",
        {"tests/check.c": MAIN}, {"CMakeLists.txt": CMAKE.replace("check.c", "tests/check.c"),
                            "tests/check.c": "int main(void) { return 0; }\n"},
    ),
}  # fmt: skip


def repository(folder: Path, kind: Kind) -> Path:
    """A repository with the bug, an unrelated commit, and the commit that mends and tests it."""
    folder.mkdir(parents=True)
    commit(folder, {kind.source: kind.wrong, **kind.files}, "2026-01-01T00:00:00Z")
    commit(folder, {"README.md": "Sums.\n"}, "2026-02-01T00:00:00Z")
    commit(folder, {kind.source: kind.right, **kind.tests}, "2026-06-01T00:00:00Z")
    return folder


AGENT = """import json, pathlib, sys
for source, texts in json.load(open(sys.argv[1])).items():
    path = pathlib.Path(source)
    if path.is_file():
        path.write_text(texts[sys.argv[2]])
"""


def starts(program: str) -> bool:
    """Return True if it is here; rustup's cargo needs a toolchain in the home folder, too."""
    found = shutil.which(program)
    return found is not None and (
        program != "cargo" or subprocess.run([found, "--version"], check=False).returncode == 0
    )


@pytest.mark.slow
def test_tasks_of_six_runners_are_passed_by_the_right_patch_alone(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The home folder stays: toolchains lie there.
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    here = {name: kind for name, kind in KINDS.items() if starts(kind.program)}
    patches: dict[str, dict[str, str]] = {}
    for name, kind in here.items():
        code = repository(tmp_path / "code" / name, kind)
        events = (
            ("user", f"add() of {name} subtracts, mend it."), ("edit", kind.source),
            ("sh", kind.command, kind.output, 0),
        )  # fmt: skip
        if name in ("npm", "go", "pytest"):
            write_codex(tmp_path / "codex", name, events, cwd=str(code))
        else:
            write_claude(tmp_path / "claude", name, events, cwd=str(code))
        wrong = kind.wrong.replace("a - b", "b - a")
        patches[kind.source] = {"right": kind.right, "wrong": wrong}
    (tmp_path / "patches.json").write_text(json.dumps(patches))
    (tmp_path / "agent.py").write_text(AGENT)
    done = harness("learn", "--out", "learned", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    tasks = {row["repository"]: row for row in json.loads(done.stdout)["tasks"]}
    reasons = {row["session"]: row["why_not"] for row in json.loads(done.stdout)["tasks"]}
    assert {name for name, row in tasks.items() if row["verified"]} == set(here), reasons
    ended: dict[str, dict[str, str]] = {}
    for patch in ("right", "wrong"):
        words = (sys.executable, tmp_path / "agent.py", tmp_path / "patches.json", patch)
        agent = f"cmd:{shlex.join(map(str, words))}"
        harness("eval", "learned/suite", "--agent", agent, "--model", "none", "--out", patch)
        names = {row["task"]: name for name, row in tasks.items()}
        ended[patch] = {
            names[sample.task_id]: sample.outcome
            for sample in finished_items(RunReader(tmp_path / patch))
        }
    assert ended == {"right": dict.fromkeys(here, "pass"), "wrong": dict.fromkeys(here, "fail")}
    if lacking := set(KINDS) - set(here):
        pytest.skip(f"not on this machine: {sorted(lacking)}; the others passed")
