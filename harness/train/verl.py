"""Objectives as plug-ins of verl: rewards, advantages of GD2PO, and the loss of DUPO.

`VERL_USE_EXTERNAL_MODULES=harness.train.verl` makes every process of verl import this module, which
registers `gdpo` as GD2PO and the policy loss `dupo`. GD2PO takes the name of verl's own estimator:
verl hands rewards by name to the one called "gdpo" and to no other (0.9.1, `compute_advantage`).
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from harness.core import Task, require
from harness.train.objectives.advantages import Rule, clipped_terms, gd2po, whitened
from harness.train.rewards import final_answer, task_reward

ESTIMATOR, LOSS = "gdpo", "dupo"


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: dict[str, Any] | None = None,
    *,
    check: str | None = None,
    characters: int = 0,
    **_: Any,
) -> dict[str, float]:
    """Reward function in verl's form: a check of ours, and with `characters` also brevity.

    For `reward.custom_reward_function` (path `pkg://harness.train.verl`), whose `reward_kwargs` are
    `check` and `characters`.

    Args:
        data_source: not used.
        solution_str: the response; its thoughts are left out.
        ground_truth: the task's answer.
        extra_info: `check`, which goes before the one given here, `meta` and `question`, if any.
        check: of rows that name none.
        characters: length from which on brevity is 0.

    Returns:
        `score`, which verl's own estimators use, `correct` and, where asked for, `brief`: names for
        `algorithm.gdpo_reward_keys`. Without a verdict `correct` is NaN and has no part in GD2PO;
        `score` must be a number for verl and is 0, and `invalid` is 1.
    """
    info = extra_info or {}
    task = Task(
        id=str(info.get("index", data_source)),
        prompt=str(info.get("question", "")),
        answer=ground_truth,
        check=info.get("check") or check,
        meta=info.get("meta") or {},
    )
    value = task_reward(task, final_answer(solution_str))
    score = {
        "score": value or 0.0,
        "correct": math.nan if value is None else value,
        "invalid": float(value is None),
    }
    if characters:
        score["brief"] = max(0.0, 1 - len(solution_str) / characters)
    return score


def gd2po_advantages(
    token_level_rewards: Tensor,
    response_mask: Tensor,
    config: Any,
    index: Any,
    non_tensor_batch: dict[str, Any],
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """Advantages and returns of tokens, both of shape (rollouts, tokens), as verl's estimators.

    Settings, under `algorithm`: `gdpo_reward_keys`, and with a `+` before them `gd2po_rule` and
    `gd2po_threshold`.

    Args:
        token_level_rewards: used for its device alone.
        response_mask: shape (rollouts, tokens).
        config: verl's `algorithm`.
        index: the query of each rollout.
        non_tensor_batch: has each reward by its name.

    Raises:
        ValueError: no reward keys, or one that `compute_score` did not return; weights, which a
            reward that is normalised by itself has not.
    """
    keys = list(config.get("gdpo_reward_keys") or ())
    if missing := [key for key in keys if key not in non_tensor_batch] or not keys:
        raise ValueError(
            f"algorithm.gdpo_reward_keys: expected names of rewards out of "
            f"{sorted(non_tensor_batch)}, found {missing or keys}"
        )
    if config.get("gdpo_reward_weights"):
        raise ValueError("GD2PO normalises each reward by itself: leave gdpo_reward_weights out")
    reward_columns = [np.asarray(non_tensor_batch[key], dtype=np.float32) for key in keys]
    rewards = torch.tensor(np.stack(reward_columns))
    rule = cast("Rule", config.get("gd2po_rule") or "hard")
    threshold = config.get("gd2po_threshold")
    result = gd2po(rewards, list(index), rule, 0.8 if threshold is None else float(threshold))
    teaches = result.keep & ~rewards.isnan().all(0)
    mask = response_mask.cpu() * teaches[:, None]
    advantages = whitened(result.values, mask).to(token_level_rewards)
    return advantages, advantages


def dupo_loss(
    old_log_prob: Tensor,
    log_prob: Tensor,
    advantages: Tensor,
    response_mask: Tensor,
    loss_agg_mode: str = "token-mean",
    config: Any = None,
    rollout_is_weights: Tensor | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """The clipped objective without verl's third bound, as verl's policy losses.

    Args:
        old_log_prob: shape (rollouts, tokens).
        log_prob: the same.
        advantages: the same.
        response_mask: the same; tokens of tools have 0.
        loss_agg_mode: verl's; `token-mean` is the paper's.
        config: verl's actor, whose `clip_ratio_low` and `clip_ratio_high` count.
        rollout_is_weights: verl's correction for the engine that sampled, if any.
    """
    low, high = config.clip_ratio_low, config.clip_ratio_high
    terms = clipped_terms(log_prob, old_log_prob, advantages, response_mask, low, high)
    if rollout_is_weights is not None:
        terms = terms * rollout_is_weights
    batch = getattr(config, "global_batch_info", {})
    loss = _algorithms().agg_loss(terms, response_mask, loss_agg_mode, **batch)
    change = torch.where(response_mask.bool(), old_log_prob - log_prob, 0.0).sum()
    return loss, {"actor/ppo_kl": float(change.detach() / response_mask.sum().clamp(min=1))}


def _algorithms() -> Any:
    return require("verl.trainer.ppo.core_algos", "this plug-in is one of verl", "verl")


def register() -> None:
    """Make verl know both; a second time changes nothing."""
    algorithms = _algorithms()
    # verl refuses a second function of a name, and its own has this one.
    algorithms.ADV_ESTIMATOR_REGISTRY.pop(ESTIMATOR, None)
    algorithms.register_adv_est(ESTIMATOR)(gd2po_advantages)
    algorithms.register_policy_loss(LOSS)(dupo_loss)


register()
