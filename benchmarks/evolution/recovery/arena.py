"""What a method may use, with its calls counted: attempts, analyses, and one seed of everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from harness.core import Task, digest
from lab.simulator import Profile, load_profile, respond
from lab.simulator.orders import APPLIES, read_task


class BudgetSpent(Exception):
    """The method has made all calls that it was given."""


@dataclass(frozen=True)
class Attempt:
    """One attempt at a task: what an analyst reads, and whether it passed."""

    task: Task
    answer: str
    log: str
    passed: bool


@dataclass
class Arena:
    """One seed and one rate of analyst errors.

    Attributes:
        seed: of tasks, of the agent's failures and of the analyst's errors.
        error: rate of each kind of analyst error.
        distraction: chance that one useless rule spoils an attempt.
        train: tasks that a method may attempt.
        budget: calls that a method may make; one more raises :class:`BudgetSpent`.
        calls: calls that it has made.
    """

    seed: int
    error: float
    distraction: float
    train: tuple[Task, ...]
    budget: int
    calls: int = 0
    _seen: dict[str, Attempt] = field(default_factory=dict[str, Attempt])

    @cached_property
    def agent(self) -> Profile:
        """The agent with its planted failures."""
        return load_profile(f"orders?seed={self.seed}&distraction={self.distraction}")

    @cached_property
    def analyst(self) -> Profile:
        """The analyst with its errors."""
        return load_profile(f"orders-analyst?error={self.error}&seed={self.seed}")

    def attempt(self, skill: str, task: Task) -> Attempt:
        """One call of the agent; the same attempt again is answered from memory, uncounted."""
        key = digest([skill, task.id])
        if key not in self._seen:
            self._count()
            self._seen[key] = attempt(self.agent, skill, task)
        return self._seen[key]

    def lessons(self, failed_attempt: Attempt) -> list[str]:
        """One call of the analyst: its lessons from an attempt, true or not."""
        assert self.analyst.analyst is not None
        self._count()
        return [
            text
            for _, text in self.analyst.analyst.lessons(
                failed_attempt.log, failed=not failed_attempt.passed
            )
        ]

    def _count(self) -> None:
        if self.calls >= self.budget:
            raise BudgetSpent
        self.calls += 1


def attempt(agent: Profile, skill: str, task: Task) -> Attempt:
    """What the simulated agent answers with `skill` in its system prompt."""
    messages = [{"role": "system", "content": skill}, {"role": "user", "content": task.prompt}]
    message = respond(agent, {"messages": messages})["choices"][0]["message"]
    text = str(message["content"])
    log = f"{task.prompt}\n\nREASONING {message.get('reasoning_content', '')}\n{text}"
    return Attempt(task, text, log, text == task.answer)


def planted(agent: Profile, tasks: Sequence[Task]) -> dict[str, int]:
    """Failure mode -> number of tasks in which it shows without a skill."""
    counts: Counter[str] = Counter()
    names = {mode.slip: mode.name for mode in agent.orders}
    for task in tasks:
        read = read_task(task.prompt)
        assert read is not None
        for slip in agent.slips(task.prompt.strip(), "", APPLIES[read[0]]):
            counts[names[slip]] += 1
    return counts


def recall_precision(
    agent: Profile, skill: str, seen: dict[str, int]
) -> tuple[float, float | None]:
    """(share of the modes seen in two tasks or more that are cured, share of rules that cure).

    A rule is a bullet of the text; one that cures nothing, or causes a failure, counts against
    precision, which is None of a skill without rules.
    """
    frequent = [mode for mode in agent.orders if seen.get(mode.name, 0) >= 2 and mode.remedy]
    cured = [mode for mode in frequent if mode.remedy and mode.remedy.entailed_by(skill)]
    rules = [line for line in skill.splitlines() if line.lstrip().startswith("- ")]
    rules = [line for line in rules if not line.lstrip().startswith("- [")]  # links are no rules
    good = [
        line
        for line in rules
        if any(mode.remedy and mode.remedy.said_in(line) for mode in agent.orders)
        and not any(mode.cause and mode.cause.said_in(line) for mode in agent.orders)
    ]
    recall = len(cured) / len(frequent) if frequent else 1.0
    return recall, len(good) / len(rules) if rules else None
