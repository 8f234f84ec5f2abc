"""Judged attempts as rows of data sets for trainers (TRL's names): rollouts, groups, preferences.

The prompt is what stands before the model's first message, the completion all that follows, what
tools returned included. Attempts that are invalid or were not judged are left out: they say nothing
about the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

from pydantic import JsonValue

from harness.core import Trajectory
from harness.trajectories.formats.chat_rows import to_openai

Row = dict[str, JsonValue]


def to_rollouts(trajectories: Iterable[Trajectory]) -> Iterator[Row]:
    """A row for each judged attempt: `prompt`, `completion`, `reward` in [0, 1], task and id."""
    for trajectory in trajectories:
        row = to_openai(trajectory)
        messages = cast("list[dict[str, JsonValue]]", row["messages"])
        replies = [index for index, turn in enumerate(messages) if turn["role"] == "assistant"]
        if trajectory.reward is None or not replies:
            continue
        rollout: Row = {
            "id": trajectory.trajectory_id,
            "task_id": trajectory.task_id,
            "prompt": [*messages[: replies[0]]],
            "completion": [*messages[replies[0] :]],
            "reward": trajectory.reward,
            "passed": trajectory.outcome == "pass",
        }
        yield rollout | {"tools": row["tools"]} if "tools" in row else rollout


def to_groups(trajectories: Iterable[Trajectory]) -> Iterator[Row]:
    """A row for each prompt of a task: `completions` and `rewards` of its attempts.

    Holds all of them in memory. Another skill or agent is another prompt, and so another group.
    """
    groups: dict[str, dict[str, Any]] = {}
    for row in to_rollouts(trajectories):
        key = json.dumps([row["task_id"], row["prompt"]])
        blank = {name: row[name] for name in ("task_id", "prompt", "tools") if name in row}
        lists: dict[str, Any] = {"ids": [], "completions": [], "rewards": [], "passed": []}
        group = groups.setdefault(key, blank | lists)
        for name in ("id", "completion", "reward"):
            group[f"{name}s"].append(row[name])
        group["passed"].append(row["passed"])
    yield from groups.values()


def to_preferences(trajectories: Iterable[Trajectory]) -> Iterator[Row]:
    """A row for each pair of an attempt that passed and one that failed: `chosen`, `rejected`.

    Of a group the first that passed stands beside the first that failed, and so on, none twice: a
    task with many attempts has no more say than the fewer of either kind.
    """
    for group in to_groups(trajectories):
        completions = zip(
            cast("list[JsonValue]", group["completions"]),
            cast("list[bool]", group["passed"]),
            strict=True,
        )
        sides: dict[bool, list[JsonValue]] = {True: [], False: []}
        for completion, passed in completions:
            sides[passed].append(completion)
        common = {name: group[name] for name in ("task_id", "prompt", "tools") if name in group}
        for chosen, rejected in zip(sides[True], sides[False], strict=False):
            yield common | {"chosen": chosen, "rejected": rejected}
