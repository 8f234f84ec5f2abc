"""A merging model by script: it joins lessons by what they mean and never errs. SIMULATED."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any

from harness.core import Edit, Usage, digest
from harness.evolve.merge.lessons import of_edit
from harness.models import Reply
from harness.models.types import Message
from lab.triage.judge import meaning
from lab.triage.trade import Trade

_ROW = re.compile(r"^(e\d+) \(support (\d+)\): (\{.*\})$", re.MULTILINE)


class ScriptedMerger:
    """Answers merge prompts as a model would that understands every lesson.

    Of lessons that contradict each other it keeps the side with more support, as the prompt asks.
    It does not know which lessons are true.

    Args:
        trade: whose lessons it reads.
    """

    spec = "simulated/triage-merger"
    simulated = True
    constrains = False

    def __init__(self, trade: Trade) -> None:
        self._trade = trade

    async def complete(self, messages: list[Message], **_: Any) -> Reply:
        """The merge of the edits of a prompt."""
        sides: dict[str, dict[str, list[tuple[str, int, Edit]]]] = defaultdict(dict)
        for name, support, text in _ROW.findall(str(messages[-1]["content"])):
            edit = Edit.model_validate_json(text)
            (lesson,) = of_edit(edit)
            statement = meaning(self._trade, lesson.text)
            matter = (
                statement.about
                if statement.kind in ("policy", "opposite")
                else (f"{statement.kind} {statement.about}")
            )
            sides[matter].setdefault(statement.kind, []).append((name, int(support), edit))
        edits: list[dict[str, Any]] = []
        for side in sides.values():
            rows = max(side.values(), key=lambda rows: sum(support for _, support, _ in rows))
            best = max(rows, key=lambda row: row[1])[2]
            names = [name for group in side.values() for name, _, _ in group]
            fields = best.model_dump(exclude={"sources", "support"}, exclude_defaults=True)
            edits.append({"from": names, **fields})
        reply = {"reasoning": "joined by meaning", "edits": edits, "changelog_entries": []}
        text = json.dumps(reply)
        return Reply(
            call_id=digest(text), text=text, finish_reason="stop", model=self.spec, usage=Usage()
        )
