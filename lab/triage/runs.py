"""Tickets of a variant, and the agent's attempts at them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from pydantic import JsonValue

from harness.core import AgentInfo, Observation, ObservationResult, Step, ToolCall, Trajectory
from lab.triage.trade import Policy, Trade

# Tickets to which a policy applies, tickets that look like them, and tickets about other things.
STRUCK, NEAR, PLAIN = (4, 7), (2, 5), (8, 14)
# Chance that the agent gets a policy right by luck, or another ticket wrong for no reason.
LUCK, NOISE = 0.05, 0.03
# Chance of the habits; of a spurious correlate beside its policy, and elsewhere.
HABIT, BESIDE, ELSEWHERE = 0.95, 0.7, 0.12


@dataclass(frozen=True)
class Run:
    """One attempt at a ticket.

    Attributes:
        number: of the ticket.
        policy: that applies; None where the agent knows all that it needs.
        near: the policy that the ticket looks like, without being under it.
        passed: how it ended.
        ticket: sentences of the ticket; the first says what it is about.
        acts: what the agent wrote, without its answer.
        answer: the answer.
        decision: the sentence of the agent that led to the label.
        label: the right one.
    """

    number: int
    policy: Policy | None
    near: Policy | None
    passed: bool
    ticket: tuple[str, ...]
    acts: tuple[str, ...]
    answer: str
    decision: str
    label: str

    @property
    def task(self) -> str:
        """The id of its task."""
        return f"ticket-{self.number:03d}"


def runs(trade: Trade, seed: int) -> list[Run]:
    """The attempts of a variant, one for each of its tickets, without a skill."""
    chance = Random(f"triage {trade.name} {seed}")
    drawn: list[tuple[Policy | None, Policy | None]] = []
    for policy in trade.policies:
        drawn += [(policy, None)] * chance.randint(*STRUCK)
        drawn += [(None, policy)] * chance.randint(*NEAR)
    drawn += [(None, None)] * chance.randint(*PLAIN)
    chance.shuffle(drawn)
    return [_run(trade, n, *pair, chance) for n, pair in enumerate(drawn, start=1)]


def _run(
    trade: Trade, number: int, policy: Policy | None, near: Policy | None, chance: Random
) -> Run:
    like = policy or near
    if like is not None:
        label = like.right if policy is not None else like.wrong
        subject, decision = chance.choice(like.ticket if policy else like.near), like.acts
        wrong = like.wrong
        passed = chance.random() < (LUCK if policy is not None else 1 - NOISE)
        if passed and policy is not None:
            decision = (f"The right choice seems to be {label}.",)
    else:
        label, subject, act = chance.choice(trade.plain)
        decision, passed = (act,), chance.random() >= NOISE
        wrong = label
    if not passed and wrong == label:
        wrong = chance.choice([rival.right for rival in trade.policies if rival.right != label])
    item = chance.choice(trade.items)

    def filled(text: str) -> str:
        return trade.filled(text.replace("<item>", item), chance)

    extra = [filled(text) for text in chance.sample(trade.filler, chance.randint(1, 2))]
    for beside, line, *_ in trade.correlates:
        likely = BESIDE if policy is not None and policy.name == beside else ELSEWHERE
        extra += [line] if chance.random() < likely else []
    chance.shuffle(extra)
    decision_line = filled(chance.choice(decision))
    habits = [line for line, *_ in trade.habits if chance.random() < HABIT]
    routine = chance.sample(trade.routine, chance.randint(1, len(trade.routine)))
    return Run(
        number=number,
        policy=policy,
        near=near,
        passed=passed,
        ticket=(filled(subject), *extra),
        acts=(*habits, *routine, decision_line),
        answer=trade.answer.format(label=label if passed else wrong),
        decision=decision_line,
        label=label,
    )


def trajectory(trade: Trade, run: Run) -> Trajectory:
    """The attempt as an eval run stores it: system prompt, ticket, tool call, answer."""
    prompt = trade.ask.format(n=run.number, ticket=" ".join(run.ticket))
    steps = [
        Step(step_id=1, source="system", message=trade.system),
        Step(step_id=2, source="user", message=prompt),
    ]
    acts = list(run.acts)
    if trade.tool is not None:
        name, output = trade.tool
        call = ToolCall(tool_call_id="call-1", function_name=name, arguments={"n": run.number})
        content = output.format(n=run.number)
        result = ObservationResult(source_call_id=call.tool_call_id, content=content)
        steps.append(
            Step(
                step_id=3, source="agent", message=acts.pop(0), tool_calls=(call,),
                observation=Observation(results=(result,)),
            )
        )  # fmt: skip
    message = "\n".join([*acts, run.answer])
    steps.append(Step(step_id=len(steps) + 1, source="agent", message=message))
    metadata: dict[str, JsonValue] = {
        "task_id": run.task, "outcome": "pass" if run.passed else "fail", "answer": message,
        "simulated": True, "task": {"prompt": prompt, "expected": run.label},
    }  # fmt: skip
    return Trajectory(
        trajectory_id=f"run-{run.task}",
        agent=AgentInfo(name="triage", version="1"),
        steps=tuple(steps),
        extra={"harness": metadata},
    )
