"""Checks and judges of ours as reward functions of trainers: TRL's form here, verl's in `verl`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from harness.core import BadInput, Task, without_thoughts
from harness.sandbox import Sandbox
from harness.tasks import ModelJudge, family, output_file

if TYPE_CHECKING:
    from torch import Tensor

    from harness.train.objectives.contrast import Variant

Text = str | Sequence[Mapping[str, Any]]
"""A prompt or completion: plain, or messages with `role` and `content`."""
Reward = Callable[..., list[float | None]]
"""`f(prompts, completions, **columns)`, a reward or None for each completion."""


def plain_text(text: Text) -> str:
    """A text as it is; of messages the last one's content."""
    return text if isinstance(text, str) else str(text[-1].get("content") or "") if text else ""


def final_answer(completion: Text) -> str:
    """Return the part of a completion that follows its reasoning."""
    return without_thoughts(plain_text(completion)).strip()


def task_reward(
    task: Task, answer: str, *, judge: ModelJudge | None = None, sandbox: Sandbox | None = None
) -> float | None:
    """The score of an answer in [0, 1]; None where there is no verdict, which is not a 0.

    Args:
        task: with its check.
        answer: the final answer.
        judge: the model that a check such as `rubric` asks.
        sandbox: where checks that are code run; None: the first that stops every attack.

    Raises:
        BadInput: if the task does not fit its check, or is judged by a file that an agent leaves.
    """
    if name := output_file(task):
        raise BadInput(
            f"task {task.id!r}: check {task.check!r} judges {name!r} in a work folder, and a "
            "completion has none: reward recorded attempts with `trajectories export` instead"
        )
    with TemporaryDirectory() as workdir:
        folder = Path(workdir)
        score = family(task, sandbox, judge=judge).score(task, folder, folder, answer)
    return None if score.outcome == "invalid" else score.value


def check_reward(
    check: str | None = None, *, judge: ModelJudge | None = None, sandbox: Sandbox | None = None
) -> Reward:
    """A check as TRL's reward function.

    The columns `answer`, `check` and `meta` of the data set are those of a task; `check` of a row
    goes before the one given here, and without either `em` or `json` judges. Columns that no check
    reads are passed over, as TRL asks.

    Args:
        check: of rows that name none.
        judge: as for :func:`task_reward`.
        sandbox: as for :func:`task_reward`.
    """

    def reward(
        prompts: Sequence[Text], completions: Sequence[Text], **columns: Any
    ) -> list[float | None]:
        rewards: list[float | None] = []
        for number, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
            row = {name: columns[name][number] for name in ("answer", "meta") if name in columns}
            check_name = columns["check"][number] if "check" in columns else None
            meta: Any = row.get("meta") or "{}"
            task = Task(
                id=str(number),
                prompt=plain_text(prompt),
                answer=row.get("answer"),
                check=check_name or check,
                meta=json.loads(meta) if isinstance(meta, str) else meta,
            )
            answer = final_answer(completion)
            rewards.append(task_reward(task, answer, judge=judge, sandbox=sandbox))
        return rewards

    reward.__name__ = check or "check"  # TRL logs a reward by the name of its function
    return reward


def contrastive(
    reward: Reward,
    embed: Callable[[list[str]], Tensor],
    variant: Variant = "supcon_in",
    threshold: float = 1.0,
    temperature: float = 0.1,
) -> Reward:
    """CLIPO on a reward function: correct rollouts that are unlike the others get less.

    The rollouts of a prompt must come in one call, as they do in TRL with one process.

    Args:
        reward: says which rollouts are correct.
        embed: texts -> vectors, shape (texts, width).
        variant: see :func:`harness.train.objectives.contrast.contrastive_losses`.
        threshold: least reward of a correct rollout.
        temperature: of the cosines. The defaults of this and of `variant` find an outlier among the
            correct rollouts most often (`docs/concepts/objectives.md`); the paper's are
            `supcon_out` and 0.05, which find it more seldom than the distance to the mean does.
    """

    def changed(
        prompts: Sequence[Text], completions: Sequence[Text], **columns: Any
    ) -> list[float | None]:
        import torch

        from harness.train.objectives.contrast import contrastive_losses, contrastive_reward

        values = reward(prompts, completions, **columns)
        correct = torch.tensor([value is not None and value >= threshold for value in values])
        states = embed([plain_text(completion) for completion in completions])
        groups = [repr(prompt) for prompt in prompts]
        losses, _ = contrastive_losses(states, correct, groups, variant, temperature)
        penalties = [float(penalty) for penalty in contrastive_reward(losses)]
        return [
            None if value is None else value + penalty
            for value, penalty in zip(values, penalties, strict=True)
        ]

    changed.__name__ = "contrastive"
    return changed
