"""Analysts are told what was right, and read the user's documents."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, Trajectory
from harness.evolve import EvolveOptions
from harness.evolve.analysts.single import Background, analyse
from tests.evolve.conftest import trajectory

LESSON = {
    "root_cause": "The agent sent it to Billing.",
    "memory_items": [
        {
            "title": "Late refunds",
            "lesson": "Send refunds after 30 days to Escalation.",
            "generalization": "",
            "evidence": ["I chose the team Billing for this"],
        }
    ],
}


class Noted:
    """A model that keeps the prompt and answers with one lesson."""

    simulated = False

    def __init__(self) -> None:
        self.prompt = ""

    async def complete(self, messages: Any, **settings: Any) -> Any:
        self.prompt = messages[-1]["content"]
        raise RuntimeError("asked")


def failed() -> Trajectory:
    run = trajectory("T", "fail", "I chose the team Billing for this")
    facts = {**run.harness, "task": {"expected": "Escalation"}, "reason": "got 'Billing'"}
    return run.model_copy(update={"extra": {"harness": facts}})


def prompt(background: Background) -> str:
    model = Noted()
    with pytest.raises(RuntimeError, match="asked"):
        asyncio.run(analyse(failed(), "error", model, "", background))  # pyright: ignore[reportArgumentType]
    return model.prompt


def options(**fields: Any) -> EvolveOptions:
    return EvolveOptions.model_validate({"out": "out", "create": "x", **fields})


def test_the_expected_answer_and_the_objection_are_shown() -> None:
    text = prompt(Background.of(options()))
    assert "Expected: Escalation" in text
    assert "got 'Billing'" in text


def test_blind_analysts_see_neither() -> None:
    text = prompt(Background.of(options(blind=True)))
    assert "Escalation" not in text
    assert "got 'Billing'" not in text
    assert "could not have known" in text


def test_documents_are_read_and_change_the_evolution(tmp_path: Path) -> None:
    policy = tmp_path / "refunds.md"
    policy.write_text("After 30 days refunds go to Escalation.", "utf-8")
    named = options(context=[policy])
    assert "After 30 days refunds go to Escalation." in prompt(Background.of(named))
    before = json.dumps(named.fingerprint())
    policy.write_text("After 14 days refunds go to Escalation.", "utf-8")
    assert json.dumps(named.fingerprint()) != before
    assert "context" not in options().fingerprint()


def test_a_binary_document_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.pdf").write_bytes(b"%PDF-1.7 \0\0")
    with pytest.raises(BadInput, match="is no text"):
        Background.of(options(context=[tmp_path / "policy.pdf"]))
