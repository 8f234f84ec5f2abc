"""One call that must name a skill or none: for models too small for tools, and for candidates.

The reply is held to the names by a JSON schema. Worked examples over two small libraries of ours,
which no user has, show that a name in the request is to be copied: without them the embedded model
of 135 M parameters answers with whatever stands last.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.agents import AgentContext, AgentRun, Recorder, Sample
from harness.core import BadInput, Unreachable, Usage, render
from harness.evolve import Candidate
from harness.models import Message, Model, SampleLimitReached, Sampling
from harness.receipts.trigger.queries import CONTROLS
from harness.skills import Skill

CHOOSE, NONE = "choose", "none"
LONGEST_CHOICE = 64  # tokens of a reply
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
    """The agent `choose`: one call an attempt."""

    def __init__(self, library: Sequence[Skill]) -> None:
        self.spec = CHOOSE
        self._skills = {skill.name: skill.description for skill in library}

    async def run(self, sample: Sample, context: AgentContext) -> AgentRun:
        """One query."""
        recorder = Recorder(self.spec, sample, context)
        messages, response_format = choice(self._skills, sample.prompt)
        recorder.message("user", str(messages[-1]["content"]))
        try:
            reply = await context.model.complete(
                messages, sampling=context.sampling, response_format=response_format
            )
        except SampleLimitReached as error:
            return recorder.run(None, str(error))
        except (Unreachable, BadInput) as error:
            return recorder.run(None, f"{type(error).__name__}: {error}")
        recorder.reply(reply)
        try:
            name = chosen(reply.text, self._skills)
        except ValueError as error:
            return recorder.run(None, str(error))
        return replace(recorder.run(None), answer=json.dumps([name] if name else []))


def choice(skills: Mapping[str, str], query: str) -> tuple[list[Message], dict[str, Any]]:
    """The messages that ask for a choice among skills, and the schema of the reply.

    Args:
        skills: name -> description.
        query: what a user asks.
    """
    messages: list[Message] = []
    for examples, request, name in _EXAMPLES:
        reply = json.dumps({"skill": name})
        messages += [_question(examples, request), {"role": "assistant", "content": reply}]
    schema = {
        "type": "object",
        "properties": {"skill": {"type": "string", "enum": [*skills, NONE]}},
        "required": ["skill"],
        "additionalProperties": False,
    }
    json_schema = {"name": "choice", "schema": schema, "strict": True}
    messages.append(_question(skills, query))
    return messages, {"type": "json_schema", "json_schema": json_schema}


def chosen(text: str, skills: Mapping[str, str]) -> str:
    """The skill that a reply names, "" for none.

    Raises:
        ValueError: if it is no choice.
    """
    try:
        name = json.loads(text)["skill"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"expected a choice as JSON, found {text!r:.100}") from None
    if name not in (*skills, NONE):
        raise ValueError(f"chose {name!r:.60}, which is not among the skills")
    return "" if name == NONE else str(name)


async def measure_descriptions(
    name: str,
    descriptions: Sequence[str],
    queries: Sequence[str],
    rivals: Sequence[str],
    foreign: Sequence[str],
    model: Model,
) -> tuple[list[Candidate], Usage]:
    """Measure descriptions of one skill with a model, a call a query: the plugin `choose`.

    Args:
        name: of the skill.
        descriptions: the candidates.
        own: requests that should load it.
        rivals: descriptions of other skills that stand beside it.
        foreign: requests that should not load it.
        model: chooses.

    Returns:
        One row a description with valid answers; none where the model does not load the skill
        even when it is named, or where hardly a reply can be read.
    """
    usage = Usage()

    async def opens(description: str, query: str) -> bool | None:
        nonlocal usage
        beside = {f"skill-{number}": text for number, text in enumerate(rivals, start=1)}
        skills = {**beside, name: description}
        messages, response_format = choice(skills, query)
        try:
            reply = await model.complete(
                messages,
                sampling=Sampling(temperature=0.0, max_tokens=LONGEST_CHOICE),
                response_format=response_format,
            )
            usage += reply.usage
            return chosen(reply.text, skills) == name
        except (BadInput, ValueError):
            return None

    async def answers(description: str, queries: Sequence[str]) -> list[bool]:
        replies = await asyncio.gather(*(opens(description, query) for query in queries))
        return [reply for reply in replies if reply is not None]

    rows: list[Candidate] = []
    for description in descriptions:
        if not rows:  # the control: a client that loads skills at all loads one that is named
            controls = await answers(description, [text.format(name=name) for text in CONTROLS])
            if 2 * sum(controls) <= len(CONTROLS):
                return [], usage
        hits, false = await answers(description, queries), await answers(description, foreign)
        if 2 * len(hits) > len(queries) and 2 * len(false) > len(foreign):
            rate = sum(hits) / len(hits)
            rows.append(Candidate(text=description, recall=rate, wrong=sum(false) / len(false)))
    return rows, usage


def _question(skills: Mapping[str, str], query: str) -> Message:
    rows = [{"name": name, "description": text} for name, text in skills.items()]
    return {"role": "user", "content": render("skill_choose", skills=rows, query=query).strip()}
