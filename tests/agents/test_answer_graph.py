"""The one-call answerer: one request, the skill's examples as turns before the task."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core import assets
from tests.agents.scripted import attempt, completion

FORM = assets.load_object("graphs/answer.py:FORM", assets.root())


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the openai client wants to see."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "almanac"
    folder.mkdir()
    (folder / "SKILL.md").write_text(
        '---\nname: "almanac"\ndescription: "Short answers."\n---\n# Almanac\n\n'
        "## Answer format\n\n- One line.\n\n## Worked examples\n\nTask: a?\nAnswer: b\n"
    )
    return folder


def test_examples_stand_as_turns_between_form_and_task(skill: Path, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    run, served = attempt(
        lambda _: completion(" Tolvik \n"), tmp_path / "w", spec="graph:answer", skill=skill
    )
    (body,) = served.bodies
    system, *turns = body["messages"]
    assert "One line." in system["content"]
    assert "Worked examples" not in system["content"]
    assert turns == [
        *FORM,
        {"role": "user", "content": "a?"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "Do it."},
    ]
    assert "tools" not in body
    assert (run.answer, run.invalid) == ("Tolvik", None)


def test_without_a_skill_only_the_form_precedes_the_task(tmp_path: Path) -> None:
    _, served = attempt(lambda _: completion("x"), tmp_path, spec="graph:answer")
    assert served.bodies[0]["messages"][1:] == [*FORM, {"role": "user", "content": "Do it."}]
