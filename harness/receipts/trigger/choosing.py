"""An agent that asks for the skill in one call: for models too small to use tools.

The reply is held to the names by a JSON schema. Worked examples over two small libraries of ours,
which no user has, show that a name in the request is to be copied: without them the embedded model
of 135 M parameters answers with whatever stands last.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.agents.recording import Recorder
from harness.agents.types import AgentContext, AgentRun, Sample
from harness.core import BadInput, Unreachable
from harness.core.prompts import render
from harness.models import SampleLimitReached
from harness.skills import Skill

CHOOSE, NONE = "choose", "none"
_LOAVES = {"bake-bread": "Bake bread at home", "tax-forms": "Fill in tax forms"}
_ROPES = {"tie-knots": "Tie knots in ropes", "bicycle-repair": "Repair a bicycle"}
_EXAMPLES = (
    (_LOAVES, "Use the skill tax-forms now.", "tax-forms"),
    (_LOAVES, "My loaf does not rise.", "bake-bread"),
    (_LOAVES, "Sing me a song.", NONE),
    (_ROPES, "Load tie-knots, please.", "tie-knots"),
    (_ROPES, "I want bicycle-repair: read it first.", "bicycle-repair"),
    (_ROPES, "How old is the moon?", NONE),
    (_ROPES, "My chain slips.", "bicycle-repair"),
)


class Chooser:
    """One call whose reply must be the name of a skill, or none; its answer is a JSON list.

    Args:
        library: the skills at hand.
    """

    def __init__(self, library: Sequence[Skill]) -> None:
        self.spec = CHOOSE
        self._skills = {one.name: one.description for one in library}
        schema = {
            "type": "object",
            "properties": {"skill": {"type": "string", "enum": [*self._skills, NONE]}},
            "required": ["skill"],
            "additionalProperties": False,
        }
        self._format: dict[str, Any] = {
            "type": "json_schema",
            "json_schema": {"name": "choice", "schema": schema, "strict": True},
        }

    async def run(self, sample: Sample, context: AgentContext) -> AgentRun:
        """One query."""
        recorder = Recorder(self.spec, sample, context)
        messages = [*_examples(), _question(self._skills, sample.prompt)]
        recorder.message("user", messages[-1]["content"])
        try:
            reply = await context.model.complete(
                messages, sampling=context.sampling, response_format=self._format
            )
        except SampleLimitReached as error:
            return recorder.run(None, str(error))
        except (Unreachable, BadInput) as error:
            return recorder.run(None, f"{type(error).__name__}: {error}")
        recorder.reply(reply)
        try:
            chosen = json.loads(reply.text)["skill"]
        except (ValueError, KeyError, TypeError):
            return recorder.run(None, f"expected a choice as JSON, found {reply.text!r:.100}")
        if chosen not in (*self._skills, NONE):
            return recorder.run(None, f"chose {chosen!r:.60}, which is not among the skills")
        answer = json.dumps([one for one in self._skills if one == chosen])
        return replace(recorder.run(None), answer=answer)


def _question(skills: dict[str, str], query: str) -> dict[str, str]:
    rows = [{"name": name, "description": text} for name, text in skills.items()]
    return {"role": "user", "content": render("skill_choose", skills=rows, query=query).strip()}


def _examples() -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for skills, query, name in _EXAMPLES:
        found += [
            _question(skills, query),
            {"role": "assistant", "content": json.dumps({"skill": name})},
        ]
    return found
