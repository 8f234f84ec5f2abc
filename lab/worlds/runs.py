"""Tasks of a world, and attempts at them as trajectories."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from pydantic import JsonValue

from harness.core import (
    AgentInfo,
    Observation,
    ObservationResult,
    Step,
    Task,
    ToolCall,
    Trajectory,
)
from lab.simulator.draws import draw
from lab.worlds.grammar import Voice
from lab.worlds.world import Sign, World


class WorldTask(NamedTuple):
    """A task with what decides how it ends.

    Attributes:
        task: its id and prompt.
        kind: its kind.
        holds: signs whose object the table holds.
    """

    task: Task
    kind: str
    holds: frozenset[str]


class Held(NamedTuple):
    """Behaviour of an agent with a skill.

    Attributes:
        advice: sign -> share of the lines about it that say its remedy; the others say the
            opposite.
        tokens: length of the skill.
    """

    advice: Mapping[str, float]
    tokens: int = 0


NOTHING = Held({})
OMITS = 0.2
"""Share of the sentences about a wrong action that say which right one is left out."""
CODE = re.compile(r"^#|\w\(")


class Shown(NamedTuple):
    """Trace of a sign in a transcript.

    Attributes:
        sign: its name.
        right: whether it is the right action.
        quote: the sentence.
        struck: whether it drawn the attempt fail.
    """

    sign: str
    right: bool
    quote: str
    struck: bool


@dataclass(frozen=True)
class Attempt:
    """One attempt.

    Attributes:
        task: what was asked.
        passed: how it ended.
        shown: the signs in its transcript.
        lines: what the agent wrote, signs and routine.
    """

    task: WorldTask
    passed: bool
    shown: tuple[Shown, ...]
    lines: tuple[str, ...]


def tasks(world: World, count: int, prefix: str) -> tuple[WorldTask, ...]:
    """`count` tasks; another prefix gives others of the same world."""
    drawn: list[WorldTask] = []
    for number in range(count):
        name = f"{prefix}-{number:04d}"
        chance = Random(f"task {world.seed} {name}")
        voice = Voice(world.words, chance, 0.0)
        kind = chance.choice(world.kinds)
        holds = frozenset(sign.name for sign in world.signs if chance.random() < sign.present)
        objects = [
            sign.objects[0] for sign in world.signs if sign.present < 1 and sign.name in holds
        ]
        question = voice.text(kind.ask).replace("<who>", voice.pick(world.words.who))
        table = f"The table holds {' and '.join(objects)}. " if objects else ""
        prompt = f"File {number + 1} of the desk. {table}{question}"
        task = Task(id=name, prompt=prompt, meta={"kind": kind.name})
        drawn.append(WorldTask(task, kind.name, holds))
    return tuple(drawn)


class Outcome(NamedTuple):
    """Result of an attempt, before anything is written.

    Attributes:
        passed: how it ends.
        struck: causes and traps that struck.
        wrong: signs whose wrong action is taken.
        holds: signs whose condition holds.
    """

    passed: bool
    struck: frozenset[str]
    wrong: frozenset[str]
    holds: frozenset[str]


def outcome(world: World, task: WorldTask, skill: Held = NOTHING) -> Outcome:
    """Decide the result of the attempt at a task with a skill: always the same."""
    name = task.task.id

    def chance(event: str, sign: str = "") -> float:
        return draw(event, world.seed, name, sign)

    struck: set[str] = set()
    wrong: set[str] = set()
    holds: set[str] = set()
    for sign in sorted(world.signs, key=lambda sign: bool(sign.beside)):
        if (not sign.kinds or task.kind in sign.kinds) and sign.name in task.holds:
            holds.add(sign.name)
        likely = sign.strike if sign.name in holds else sign.elsewhere
        likely = sign.beside_chance if sign.beside in struck else likely
        does_wrong = chance("wrong", sign.name) < likely
        share = skill.advice.get(sign.name)
        if share is not None and chance("obeys", sign.name) < world.obeys:
            remedy, opposite = share**world.majority, (1 - share) ** world.majority
            does_wrong = chance("side", sign.name) >= remedy / (remedy + opposite)
        if does_wrong:
            wrong.add(sign.name)
            if sign.name in holds and sign.harmful:
                struck.add(sign.name)
    failed = bool(struck) and chance("luck") >= world.luck
    failed |= chance("noise") < world.noise
    failed |= chance("distraction") < world.distraction * skill.tokens / 1000
    return Outcome(not failed, frozenset(struck), frozenset(wrong), frozenset(holds))


def attempt(world: World, task: WorldTask, skill: Held = NOTHING) -> Attempt:
    """The attempt at a task with a skill, with what the agent writes: always the same."""
    name = task.task.id
    ended = outcome(world, task, skill)
    voice = Voice(world.words, Random(f"log {world.seed} {name}"), world.steepness)
    shown: list[Shown] = []
    for sign in voice.chance.sample(world.signs, len(world.signs)):
        wrong, struck = sign.name in ended.wrong, sign.name in ended.struck
        narrated = sign.name in ended.holds and voice.chance.random() < sign.narrated
        if sign.hidden_by not in ended.struck and (wrong or narrated):
            quote = sentence_of(voice, sign, wrong=wrong)
            shown.append(Shown(sign.name, not wrong, quote, struck and not ended.passed))
    plain = voice.chance.sample(world.words.routine, voice.chance.randint(3, 7))
    lines = [voice.text(text).replace("<n>", str(voice.chance.randint(2, 90))) for text in plain]
    for show in shown:
        lines.insert(voice.chance.randint(1, len(lines)), show.quote)
    return Attempt(task, ended.passed, tuple(shown), tuple(lines))


def sentence_of(voice: Voice, sign: Sign, *, wrong: bool) -> str:
    """A sentence of an agent that does the wrong action of a sign, or the right one."""
    if wrong and voice.chance.random() < OMITS:
        action, frames = voice.action(sign.right, sign.objects), voice.words.log["omits"]
    else:
        action = voice.action(sign.wrong if wrong else sign.right, sign.objects)
        frames = voice.words.log["does"]
    text = voice.pick(frames).format_map(action.fields())
    return f"{text[0].upper()}{text[1:]}"


def trajectory(world: World, run: Attempt) -> Trajectory:
    """The attempt as an eval run stores it."""
    chance = Random(f"steps {world.seed} {run.task.task.id}")
    name, answer = run.task.task.id, str(chance.randint(10, 9999))
    steps = [Step(step_id=1, source="user", message=run.task.task.prompt)]
    lines = list(run.lines)
    while lines:
        size = chance.randint(2, 4)
        part, lines = lines[:size], lines[size:]
        steps.append(_step(len(steps) + 1, part, chance))
    steps.append(Step(step_id=len(steps) + 1, source="agent", message=f"The answer is {answer}."))
    metadata: dict[str, JsonValue] = {
        "task_id": name, "outcome": "pass" if run.passed else "fail", "answer": answer,
        "simulated": True, "task": {"prompt": run.task.task.prompt},
    }  # fmt: skip
    return Trajectory(
        trajectory_id=f"run-{name}",
        agent=AgentInfo(name="planted", version="1"),
        steps=tuple(steps),
        extra={"harness": metadata},
    )


def _step(number: int, lines: list[str], chance: Random) -> Step:
    """Sentences as a message, code as a call of a tool with what it returned."""
    code = [line for line in lines if CODE.search(line)]
    prose = "\n".join(line for line in lines if line not in code)
    if not code:
        return Step(step_id=number, source="agent", message=prose)
    call = ToolCall(
        tool_call_id=f"call-{number}", function_name="python", arguments={"code": "\n".join(code)}
    )
    output = ObservationResult(source_call_id=call.tool_call_id, content=f"{chance.randint(2, 90)}")
    return Step(
        step_id=number,
        source="agent",
        message=prose,
        tool_calls=(call,),
        observation=Observation(results=(output,)),
    )
