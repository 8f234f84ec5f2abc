"""Commands printed below `next:` behind an accepted evolution and an audit."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.cli.next_steps import after_eval, after_evolution, after_receipt
from harness.core import BadInput
from harness.evals import EvalReport, EvalSettings, ItemRecord
from harness.evolve import EvolveResult, EvolveSettings


def lines(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in text.splitlines() if line.startswith("  harness ")]


def parsed(words: list[str]) -> bool:
    """Return True if the program takes the options of a command."""
    command: click.Command = cli
    context = click.Context(command)
    while isinstance(command, click.Group):
        name, *words = words if command is not cli else words[1:]
        found = command.get_command(context, name)
        assert found is not None, name
        command, context = found, click.Context(found, parent=context)
    command.make_context(command.name, words)
    return True


@pytest.mark.wing("receipts")
def test_an_accepted_skill_leads_to_its_receipt() -> None:
    result = EvolveResult.model_construct(skill=Path("evolved/skill/mine"), accepted=True, edits=2)
    settings = EvolveSettings.model_construct(gate="auto", suite="my-suite", out=Path("evolved"))
    with click.Context(click.Command("evolve")):
        text = after_evolution(result, settings)
    evaluated, audit, export = lines(text)
    sides = ["evolved/runs/gate-before", "evolved/runs/gate-after"]
    assert evaluated == ["harness", "compare", *sides]
    assert audit == [
        "harness", "skill", "audit", "evolved/skill/mine", "--suite", "my-suite", "--split",
        "selection",
    ]  # fmt: skip
    assert export[:3] == ["harness", "skill", "export"]
    assert parsed(audit)
    assert parsed(export)


@pytest.mark.parametrize(
    ("suite", "skill"), [("my-suite", "my-skill"), ("Log files", "log-files"), ("é", "my-skill")]
)
def test_a_run_leads_to_a_skill_named_after_its_suite(
    suite: str, skill: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.cli.next_steps._divides", bool)
    report = EvalReport.model_construct(skill=None, passed=1, failed=1, suite=suite)

    def none(_: object) -> list[ItemRecord]:
        return []

    monkeypatch.setattr("harness.evals.records", none)
    with click.Context(click.Command("run")):
        text = after_eval(report, Path("run"), EvalSettings.model_construct(suite="tasks"), ())
    (evolve,) = lines(text)
    assert evolve[evolve.index("--create") + 1] == skill
    assert parsed(evolve)
    assert "--create names the new skill" in text


def test_a_new_suite_tells_how_to_name_the_skill(tmp_path: Path) -> None:
    folder = tmp_path / "my-suite"
    done = CliRunner().invoke(cli, ["init", str(folder)])
    assert done.exit_code == 0, done.output
    readme = (folder / "README.md").read_text()
    assert "--create my-skill --out evolved" in readme
    assert "--skill evolved/skill/my-skill" in readme
    assert "`--create` names the new skill" in readme


@pytest.mark.parametrize("tasks", ["demo", "mine.csv?Frage=prompt", "missing.csv"])
def test_a_suite_is_not_made_of_what_is_no_file(tasks: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("Frage,answer\nSay yes,yes\n")
    folder = tmp_path / "my-suite"
    typed = ["init", str(folder), "--tasks", str(tmp_path / tasks) if "." in tasks else tasks]
    with pytest.raises(BadInput, match="--tasks: expected a task file, or hf:OWNER/NAME"):
        CliRunner().invoke(cli, typed, catch_exceptions=False)
    assert not folder.exists()


def test_a_suite_is_not_made_of_a_suite(tmp_path: Path) -> None:
    folder = tmp_path / "my-suite"
    (tmp_path / "suite.yaml").write_text("tasks: mine.csv\n")
    typed = ["init", str(folder), "--tasks", str(tmp_path / "suite.yaml")]
    with pytest.raises(BadInput, match=r"is a suite already: `harness eval .*suite.yaml` runs it"):
        CliRunner().invoke(cli, typed, catch_exceptions=False)
    assert not folder.exists()


@pytest.mark.wing("receipts")
def test_a_receipt_leads_to_its_verification() -> None:
    (verify,) = lines(after_receipt(Path("evolved/skill/mine"), Path("runs/audit")))
    assert verify == ["harness", "skill", "verify", "evolved/skill/mine", "--run", "runs/audit"]
    assert parsed(verify)
