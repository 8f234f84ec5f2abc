"""Every fenced block of README and docs does what it says, typed from an empty home.

Commands of a page run in one folder, in order; so do its blocks of Python, and the examples of a
group of commands. A block of data is read. What is not run here is one of the EXCEPTIONS.
"""

from __future__ import annotations

import doctest
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Generator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.docs.commands import BLOCK, Line, without_variables
from tests.docs.desk import ROOT, Desk, Ended, edges, lay
from tests.docs.test_parsed import LINES, PAGES


class Exemption(NamedTuple):
    """Commands that are not run as they stand.

    Attributes:
        pattern: of their lines.
        reason: why not.
    """

    pattern: str
    reason: str


EXCEPTIONS = (
    Exemption(
        r"^make |python3? -m venv|pip install|harness demo|eval examples/",
        "CI's own steps, test_demo.py and test_example_agents.py of tests/acceptance run them; "
        "here: the targets, the extras, --help",
    ),
    Exemption(
        r"python -m benchmarks|--suite demo|eval(?: run)? (?:demo|folio)|corpora generate",
        "measurements of minutes to days; here: --dry-run or --help",
    ),
    Exemption(
        r"--executor ray|models serve Qwen|models status|vllm/Qwen2",
        "a cluster, or GPUs; here: --dry-run or --help",
    ),
    Exemption(
        r"hf:|sb\.yaml|models (?:serve|chat) local|corpora (?:pull|convert)|chartqa|optimum-cli|"
        r"spreadsheetbench_tasks|--tasks tasks|verl|claude -p|codex exec|ssh-keygen|"
        r"(?:check|compress) train|harness (?:transcribe|speak)|\.mp3",
        "data, weights, keys and programs of others; here: --help",
    ),
)
"""What is not typed as it stands."""
SPREAD = re.compile(r"--workers \d")
"""Half a minute of processes that import everything: run in `make full`, planned in `make test`."""
SERVES = re.compile(r"--web|models serve|harness view(?!.*--html)")
UNREADABLE = re.compile(r"^(?![-+]).*(?:\bNone\b|\{')|Traceback", re.MULTILINE)
"""What no person is to read, but in the lines of a skill that `diff` shows."""
CODES = {
    "harness check": (0, 5), "harness debug": (0, 130), "harness skill review": (0, 130),
    "harness evolve --suite my/suite.yaml --create table-work": (5,),
    "harness evolve --trajectories runs/before --tasks my/suite.yaml --create table-work": (5,),
}  # fmt: skip
"""Exit codes besides 0: a check may say no, nobody answers what is asked, and the model of the desk
writes no programs to learn from."""
NAMES = {
    "checkpoints.md": "from tests.docs.graphs import builder",
    "debugger.md": "from tests.docs.graphs import trajectory",
    "debugger-walkthrough.md": "from tests.docs.graphs import *",
}
"""What the Python of a page uses and does not make."""


def group_of(line: Line) -> str:
    """The page of a line, or the command whose group's examples run together."""
    words = line.place.removesuffix(" --help").split()
    return line.place if line.place.endswith(".md") else " ".join(words[:2])


PLACES = [(place, list(lines)) for place, lines in groupby(LINES, key=group_of)]
CASES = [
    *(pytest.param(place, lines, False, id=place) for place, lines in PLACES),
    *(
        pytest.param(place, lines, True, id=f"{place}, in processes", marks=pytest.mark.full)
        for place, lines in PLACES
        if any(SPREAD.search(line.text) for line in lines)
    ),
]


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    folder = tmp_path_factory.mktemp("desk")
    with edges(folder):
        yield lay(folder / "desk").folder


@pytest.fixture
def desk(laid: Path, tmp_path: Path) -> Desk:
    shutil.copytree(laid, tmp_path / "desk")
    return Desk(tmp_path / "desk")


def in_place_of(desk: Desk, words: list[str]) -> Ended:
    """Run what stands for an exception: its plan, or its help."""
    typed = without_variables(words)
    line = " ".join(typed)
    if typed[0] == "make":
        done = subprocess.run(
            ["make", "-n", *typed[1:]], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return Ended(done.returncode, done.stderr)
    if extras := re.search(r"agent-skill-harness\[(.*)\]", line):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        missing = set(extras[1].split(",")) - set(project["optional-dependencies"])
        return Ended(len(missing), f"no extras {missing}")
    if line.startswith(("harness", "python -m benchmarks")):
        ours = typed[: typed.index("--")] if "--" in typed else typed
        helped = desk.type([*ours, "--help"])
        absent = re.search(r"examples/|hf:|chartqa|sb\.yaml|models \w+ local", line)
        planned = "--dry-run" in helped.text and absent is None
        return desk.type([*words, "--dry-run"]) if planned else helped
    return Ended(0, "")


VALUES = {
    "DIR": "evolved/skill/spreadsheet-basics", "NAME": "skills/short-answers",
    "CONVERSATION": "talk",
}  # fmt: skip
"""What a reader fills in for a name in capitals."""


def with_values(desk: Desk, line: str, words: list[str], shown: str) -> list[str]:
    """The words with what a reader fills in, or copies from what was printed before."""
    words = [VALUES.get(word, word) for word in words]
    if "expand" in words:
        ids = re.findall(r"\b[0-9a-f]{10,}\b", shown)
        return [*words[:-1], ids[-1] if ids else "none"]
    if "3fa92c" in line:
        folder = desk.folder / words[3]
        listed = json.loads(desk.type(["harness", "skill", "versions", str(folder), "--json"]).text)
        return [listed["current"][:8] if word == "3fa92c" else word for word in words]
    return words


@pytest.mark.parametrize(("place", "lines", "spread"), CASES)
def test_what_is_shown_works(place: str, lines: list[Line], spread: bool, desk: Desk) -> None:
    problems, shown, running = list[str](), "", set[str]()
    with ExitStack() as runs:
        for line in lines:
            for words in line.commands:
                if words[:3] == ["harness", "eval", "ctl"] and words[4] not in running:
                    running.add(words[4])
                    runs.enter_context(desk.running(words[4]))
                if "--out" in words:  # each of a page's examples begins without it
                    shutil.rmtree(desk.folder / words[words.index("--out") + 1], ignore_errors=True)
                excepted = any(re.search(kind.pattern, line.text) for kind in EXCEPTIONS)
                if excepted or (not spread and SPREAD.search(line.text)):
                    done = in_place_of(desk, words)
                elif SERVES.search(line.text):
                    done = desk.serve(words)
                else:
                    done = desk.type(with_values(desk, line.text, words, shown))
                shown += f"{line.text}\n{done.text}"
                command = " ".join(without_variables(words))
                codes = [value for start, value in CODES.items() if command.startswith(start)]
                if done.code not in (codes or [(0,)])[0] or UNREADABLE.search(done.text):
                    problems.append(f"{line.text}\n  exit code {done.code}\n{done.text[-800:]}")
    assert not problems, "\n\n".join(problems)


BLOCKS = [
    (page.name, language, body)
    for page in PAGES
    for language, body in BLOCK.findall(page.read_text("utf-8"))
]


@pytest.mark.parametrize("page", sorted({name for name, kind, _ in BLOCKS if kind == "python"}))
def test_python_that_is_shown_runs(page: str, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.folder)
    names: dict[str, Any] = {"__name__": page}
    exec(NAMES.get(page, ""), names)  # noqa: S102  # the pages' own text
    for name, language, body in BLOCKS:
        if (name, language) == (page, "python") and ">>>" not in body:
            exec(compile(body, page, "exec", dont_inherit=True), names)  # noqa: S102
        elif (name, language) == (page, "python"):
            test = doctest.DocTestParser().get_doctest(body, names, page, page, 0)
            assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize(
    ("page", "language", "body"), [block for block in BLOCKS if block[1] in ("json", "yaml")]
)
def test_data_that_is_shown_is_well_formed(page: str, language: str, body: str) -> None:
    assert json.loads(body) if language == "json" else yaml.safe_load(body)


def test_images_that_are_shown_start_a_command_of_ours(desk: Desk) -> None:
    for body in [body for _, language, body in BLOCKS if language == "dockerfile"]:
        steps = dict(line.split(" ", 1) for line in body.splitlines())
        assert set(steps) <= {"FROM", "COPY", "RUN", "USER", "WORKDIR", "CMD"}
        command = json.loads(steps["CMD"])
        options = {word for word in command if word.startswith("--")}
        assert not options - set(desk.type([*command[:2], "--help"]).text.replace(",", " ").split())


def test_every_block_is_of_a_kind_that_is_run_or_read() -> None:
    assert {language for _, language, _ in BLOCKS} <= {
        "", "console", "dockerfile", "json", "python", "sh", "text", "yaml"
    }  # fmt: skip


def test_exceptions_are_few_and_needed() -> None:
    assert len(EXCEPTIONS) <= 5
    for kind in EXCEPTIONS:
        for part in kind.pattern.split("|"):
            assert any(re.search(kind.pattern, line.text) for line in LINES), part
