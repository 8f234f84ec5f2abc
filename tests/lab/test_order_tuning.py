"""Recall of the order desk's remedies in the wordings that they were tuned on.

These figures say what the word lists reach, not how they do on unseen text: for that there is a
set of wordings of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab.simulator import load_profile
from lab.simulator.entailment import Remedy

_WORDINGS: dict[str, dict[str, list[str]]] = json.loads(
    (Path(__file__).parent / "order_paraphrases_tuning.json").read_text("utf-8")
)


def _remedies() -> dict[str, Remedy]:
    return {mode.slip: mode.remedy for mode in load_profile("orders").orders if mode.remedy}


def _hearing() -> list[tuple[str, str, str, set[str]]]:
    """(remedy, kind of line, line, remedies heard in it) for every line."""
    remedies = _remedies()
    return [
        (slip, kind, line, {name for name, one in remedies.items() if one.said_in(line)})
        for slip, kinds in _WORDINGS.items()
        for kind, lines in kinds.items()
        for line in lines
    ]


def test_entailing_lines_are_heard() -> None:
    lines = [(slip, line, heard) for slip, kind, line, heard in _hearing() if kind == "entails"]
    missed = [(slip, line) for slip, line, heard in lines if slip not in heard]
    assert len(lines) == 240
    assert len(missed) <= 0.04 * len(lines), missed


def test_negated_lines_and_decoys_are_not_heard() -> None:
    lines = [(slip, line, heard) for slip, kind, line, heard in _hearing() if kind != "entails"]
    mistaken = [(slip, line) for slip, line, heard in lines if slip in heard]
    assert len(lines) == 168
    assert len(mistaken) <= 0.02 * len(lines), mistaken


def test_no_line_is_heard_as_another_remedy() -> None:
    crossed = [(slip, line, heard) for slip, _, line, heard in _hearing() if heard - {slip}]
    assert not crossed


def test_the_analysts_wordings_are_heard_as_their_own_remedy_alone() -> None:
    analyst = load_profile("orders-analyst").analyst
    assert analyst is not None
    wordings: list[tuple[Any, ...]] = [
        (slip, line, {name for name, one in _remedies().items() if one.said_in(line)})
        for slip, symptom in zip(_remedies(), analyst.symptoms, strict=True)
        for line in symptom.wordings
    ]
    assert not [found for found in wordings if found[2] != {found[0]}]
