"""A stranger's package extends the harness through entry points, exactly as our wings do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.core.plugins import load, plugins

TOOL = "from harness.tools import get_tools; print(get_tools(['count_words'])[0].description)"


@pytest.fixture(scope="module")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source")
    package = repository / "examples" / "word-limit"
    for path in package.rglob("*"):
        if path.suffix in (".py", ".toml"):
            copy = source / path.relative_to(package)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, source], check=True)
    return target


def run(site: Path, cwd: Path, *command: str) -> str:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *command],
        cwd=cwd, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_package_adds_a_command(site: Path, tmp_path: Path) -> None:
    (tmp_path / "text.md").write_text("four words stand here")
    assert run(site, tmp_path, "-m", "harness", "words", "text.md") == "4\n"
    assert "Count the words of FILE." in run(site, tmp_path, "-m", "harness", "--help")


def test_a_package_adds_a_tool(site: Path, tmp_path: Path) -> None:
    assert run(site, tmp_path, "-c", TOOL) == "Count the words of a text.\n"


def test_a_package_adds_a_scorer(site: Path, tmp_path: Path) -> None:
    row = {"id": "a", "prompt": "Say it briefly.", "check": "word_limit", "meta": {"words": 3}}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(row))
    (tmp_path / "agent.py").write_text(
        "def answer(prompt, workdir, skill):\n    return 'brief enough, yes'\n"
    )
    command = ["eval", "tasks.jsonl", "--agent", "py:agent.py:answer", "--trust"]
    model = ["--model", "simulated/lookup", "--sandbox", "none", "--out", "run", "--json"]
    report = json.loads(run(site, tmp_path, "-m", "harness", *command, *model))
    assert (report["passed"], report["items"]) == (1, 1)


def test_a_plugin_that_is_missing_is_named() -> None:
    with pytest.raises(BadInput, match=r"no plugin 'telepathy' in harness\.tools"):
        load("tools", "telepathy")


def test_wings_register_as_packages_do() -> None:
    assert {"ask", "debug", "skill audit"} <= set(plugins("commands"))
    assert {"search", "zoom"} <= set(plugins("tools"))
    assert plugins("families")["vqa"].module.startswith("harness.vision")
