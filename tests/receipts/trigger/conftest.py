"""A library of three skills, and the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.models import transport
from harness.skills import new_skill, write_skill

SKILLS = {
    "bake-bread": "Bake sourdough bread at home. Use when a loaf has to rise, proof or bake.",
    "tax-forms": "Fill income tax forms. Use when the user asks about deductions or returns.",
    "tie-knots": "Tie climbing knots with ropes. Use for bowline, hitch or rope questions.",
}


def trigger(*words: object) -> Result:
    """`harness skill trigger` with these arguments."""
    return CliRunner().invoke(cli, ["skill", "trigger", *map(str, words)])


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of skills."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(transport, "BASE_S", 0.001)
    folder = tmp_path / "library"
    for name, description in SKILLS.items():
        body = f"\n# {name}\n\n- First rule of {name}.\n"
        write_skill(new_skill(name, description, body), folder / name)
    return folder
