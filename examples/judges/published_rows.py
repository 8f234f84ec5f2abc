"""Rows of published data sets as samples of Skill-RM, without what says which answer is right."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from harness.judge.skill_rm.bank import Sample
from harness.judge.types import Setting

# Stems in keys of metadata that may say, or hint at, which answer is right or who wrote it.
BLOCKED = frozenset(
    {
        "answer", "annotat", "best", "better", "chosen", "correct", "decision", "expected",
        "generator", "gold", "grade", "judg", "label", "loser", "model", "origin", "outcome",
        "passed", "prefer", "rank", "rating", "reject", "result", "reward", "score", "solution",
        "source", "subset", "target", "truth", "verdict", "vote", "winn", "worse",
    }
)  # fmt: skip


def sample_of(row: Mapping[str, JsonValue], answers: Sequence[str], setting: Setting) -> Sample:
    """Keep what a judge may know of a row of a data set.

    Args:
        row: `prompt`; in the setting `operational` also `reference`, `checklist`, and `metadata`,
            of which what :func:`open_metadata` leaves is added to the checklist.
        answers: that are judged.
        setting: what may be shown. Nothing else of the row is passed on in either.
    """
    prompt = str(row.get("prompt", ""))
    if setting == "fair":
        return Sample(prompt, tuple(answers))
    further = open_metadata(row.get("metadata"))
    lines = [str(row.get("checklist") or ""), json.dumps(further) if further else ""]
    checklist = "\n".join(filter(None, lines))
    return Sample(prompt, tuple(answers), str(row.get("reference") or ""), checklist)


def open_metadata(value: JsonValue) -> JsonValue:
    """Metadata without members whose key says which answer is right or who wrote it, at any depth.

    Of a key the letters count, in lower case (`GOLD-id`, `goldId` and `groundtruth` are blocked).
    A stem that another word has by chance (`resource`) costs a harmless member. Values are not
    looked at: metadata that says the key in a value (`{"name": "gold", ...}`) is not to be mounted.
    """
    if isinstance(value, list):
        return [open_metadata(member) for member in value]
    if not isinstance(value, dict):
        return value
    return {name: open_metadata(part) for name, part in value.items() if not _blocked(name)}


def _blocked(key: str) -> bool:
    letters = "".join(filter(str.isalpha, unicodedata.normalize("NFKC", key).lower()))
    return any(stem in letters for stem in BLOCKED)
