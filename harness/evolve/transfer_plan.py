"""What a transfer will compare and what it will cost, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.core import BadInput
from harness.evals import LoadedSuite
from harness.stats import detectable_lift, required_tasks

ALPHA = 0.05
"""Error that all comparisons share (two-sided)."""
USEFUL_LIFT = 0.10
"""A task set that cannot see ten points says nothing by finding nothing."""


@dataclass(frozen=True)
class TransferPlan:
    """What will be compared; made before anything is spent.

    Attributes:
        author: models that have a hand in the skill.
        users: specs of the models that will use it.
        suites: each with exactly the tasks that are run.
        epochs: attempts per task and side.
        discordance: expected share of results that change.
        margin: smallest difference that is accepted.
    """

    author: str
    users: tuple[str, ...]
    suites: tuple[LoadedSuite, ...]
    epochs: int = 1
    discordance: float = 0.25
    margin: float = 0.0

    @property
    def comparisons(self) -> list[tuple[str, LoadedSuite]]:
        """Every (user, suite), users outermost."""
        return [(user, suite) for user in self.users for suite in self.suites]

    @property
    def level(self) -> float:
        """Error that the first of the comparisons may make (two-sided)."""
        return ALPHA / max(1, len(self.comparisons))

    def calls(self, suite: LoadedSuite) -> int:
        """Model calls of one user on the suite at most, both sides."""
        return 2 * len(suite.tasks) * self.epochs * suite.suite.max_turns

    def lines(self) -> list[str]:
        """The plan in sentences: one a comparison, and the sum."""
        found = [f"{user} on {self._suite_line(suite)}" for user, suite in self.comparisons]
        total = sum(self.calls(suite) for _, suite in self.comparisons)
        count = len(self.comparisons)
        shared = f" share an error of {ALPHA:.0%}" if count > 1 else f", error {ALPHA:.0%}"
        many = "comparisons" if count > 1 else "comparison"
        return [*found, f"{count} {many}{shared}; at most {total:,} calls for transfer"]

    def _suite_line(self, suite: LoadedSuite) -> str:
        tasks = len(suite.tasks)
        found = detectable_lift(tasks, self.discordance, alpha=self.level)
        needed = required_tasks(USEFUL_LIFT, self.discordance, alpha=self.level)
        sees = "no lift can be detected" if found is None else f"detects {100 * found:+.1f} points"
        name = f"{suite.suite.name} ({suite.split})" if suite.split else suite.suite.name
        return (
            f"{name}: {tasks} tasks, {2 * tasks * self.epochs} attempts, at most "
            f"{self.calls(suite):,} calls; {sees} with 80% power if {self.discordance:.0%} of the "
            f"results change" + (f"; ten points need {needed} tasks" if needed > tasks else "")
        )


def held_out(suite: LoadedSuite, taught: Mapping[str, str], limit: int | None) -> LoadedSuite:
    """The suite without tasks that taught, its first `limit` tasks.

    Args:
        suite: the suite.
        taught: prompts of the tasks that teach, by id.
        limit: tasks at most; None for all.

    Raises:
        BadInput: if none is left.
    """
    left = untaught(suite, taught)
    if not left.tasks:
        raise BadInput(
            f"--transfer {suite.suite.name!r}: all of its {len(suite.tasks)} tasks are among those "
            "that teach; give a suite with tasks of its own"
        )
    return suite.model_copy(update={"tasks": left.tasks[:limit]})


def untaught(suite: LoadedSuite, taught: Mapping[str, str]) -> LoadedSuite:
    """The suite without tasks of the same id and prompt as one that taught; maybe without any."""
    left = tuple(task for task in suite.tasks if taught.get(task.id) != task.prompt)
    return suite.model_copy(update={"tasks": left})
