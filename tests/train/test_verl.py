"""The plug-ins in the real verl, as far as a processor runs it: estimators, losses, ten steps."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("verl")

import numpy as np
import torch

from examples.objectives.recipes.tiny import tiny_model

pytestmark = [
    pytest.mark.wing("train"),
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
]
WORDS = [*"0123456789", "+", "=", "is", "the", "answer"]
RESPONSE = 6
VERL: Any = import_module("verl")
ALGORITHMS: Any = import_module("verl.trainer.ppo.core_algos")
TRAINER: Any = import_module("verl.trainer.ppo.ray_trainer")
PLUG_IN: Any = import_module("harness.train.verl")


def settings(**changes: Any) -> Any:
    from omegaconf import OmegaConf

    return OmegaConf.create({"gdpo_reward_keys": ["correct", "brief"], **changes})


def batch_of(scores: list[dict[str, float]], mask: torch.Tensor) -> Any:
    """Build the batch of verl's trainer once rewards are there."""
    names = [f"query {number // 8}" for number in range(len(scores))]
    return VERL.DataProto.from_dict(
        tensors={
            "token_level_rewards": torch.zeros_like(mask),
            "response_mask": mask,
            "prompts": torch.zeros(len(scores), 4),
            "attention_mask": torch.cat([torch.ones(len(scores), 4), mask], 1),
        },
        non_tensors={
            "uid": np.array(names, dtype=object),
            **{name: np.array([score[name] for score in scores]) for name in scores[0]},
        },
    )


def test_every_process_of_verl_knows_them() -> None:
    code = (
        "import verl\nfrom verl.trainer.ppo import core_algos as c\n"
        "print(c.get_adv_estimator_fn('gdpo').__module__, c.get_policy_loss_fn('dupo').__module__)"
    )
    variables = {**os.environ, "VERL_USE_EXTERNAL_MODULES": "harness.train.verl"}
    process = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True
    )
    assert process.stdout.split()[-2:] == ["harness.train.verl"] * 2


def test_registering_again_changes_nothing() -> None:
    PLUG_IN.register()
    PLUG_IN.register()
    assert ALGORITHMS.get_adv_estimator_fn("gdpo") is PLUG_IN.gd2po_advantages
    with pytest.raises(ValueError, match="already been registered"):
        ALGORITHMS.register_adv_est("gdpo")(len)


def test_only_the_estimator_of_this_name_is_given_rewards_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reason for its name: were it called otherwise, verl would leave the rewards out."""

    mask = torch.ones(8, RESPONSE)
    scores = [{"correct": float(n % 2), "brief": 1 - n / 8} for n in range(8)]
    probe: dict[str, Any] = {}

    def given(**arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
        probe.update(arguments)
        return mask, mask

    monkeypatch.setitem(ALGORITHMS.ADV_ESTIMATOR_REGISTRY, "harness_probe", given)
    TRAINER.compute_advantage(batch_of(scores, mask), "harness_probe", config=settings())
    assert "non_tensor_batch" not in probe
    PLUG_IN.register()
    after = TRAINER.compute_advantage(batch_of(scores, mask), "gdpo", config=settings())
    assert after.batch["advantages"].any()


def test_a_rollout_in_conflict_has_no_advantage() -> None:
    PLUG_IN.register()
    scores = [{"correct": 1.0, "brief": 1.0}, {"correct": 1.0, "brief": 0.0}] * 2
    scores += [{"correct": 0.0, "brief": 0.0}, {"correct": 0.0, "brief": 1.0}] * 2
    after = TRAINER.compute_advantage(
        batch_of(scores, torch.ones(8, RESPONSE)), "gdpo", config=settings()
    )
    advantages = after.batch["advantages"][:, 0]
    assert not advantages[1::2].any()
    assert (advantages[0:4:2] > 0).all()
    assert (advantages[4::2] < 0).all()


def test_no_verdict_has_no_advantage_and_missing_rewards_are_named() -> None:
    PLUG_IN.register()
    scores = [{"correct": math.nan, "brief": math.nan}] + [
        {"correct": float(n > 3), "brief": float(n > 3)} for n in range(7)
    ]
    mask = torch.ones(8, RESPONSE)
    unsure = TRAINER.compute_advantage(batch_of(scores, mask), "gdpo", config=settings())
    assert torch.isfinite(unsure.batch["advantages"]).all()
    assert not unsure.batch["advantages"][0].any()
    assert unsure.batch["advantages"][1:].all()
    with pytest.raises(ValueError, match=r"gdpo_reward_keys.*'fast'"):
        TRAINER.compute_advantage(
            batch_of(scores, mask), "gdpo", config=settings(gdpo_reward_keys=["fast"])
        )
    with pytest.raises(ValueError, match="gdpo_reward_weights"):
        weighted = settings(gdpo_reward_weights=[1.0, 2.0])
        TRAINER.compute_advantage(batch_of(scores, mask), "gdpo", config=weighted)


def test_ten_steps_of_a_tiny_model() -> None:
    """verl's own advantage step and loss lookup around a model; its engine for rollouts is not."""

    PLUG_IN.register()
    model, tokenizer = tiny_model(WORDS, width=16)
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    actor = import_module("verl.workers.config").ActorConfig(
        strategy="fsdp",
        clip_ratio_low=0.2,
        clip_ratio_high=0.28,
        rollout_n=8,
        ppo_micro_batch_size_per_gpu=1,
    )
    prompts = tokenizer(["3 + 1 =", "5 + 1 ="], return_tensors="pt")["input_ids"]
    prompts = prompts.repeat_interleave(8, 0)
    briefs: list[float] = []
    for _ in range(10):
        whole = model.generate(prompts, do_sample=True, max_new_tokens=RESPONSE, pad_token_id=0)
        whole = torch.nn.functional.pad(whole, (0, 4 + RESPONSE - whole.shape[1]))
        mask = (whole[:, 4:] > 1).float()
        mask[:, 0] = 1
        texts = tokenizer.batch_decode(whole[:, 4:], skip_special_tokens=True)
        answers = ["4"] * 8 + ["6"] * 8
        scores = [
            PLUG_IN.compute_score("sums", text, answer, check="contains", characters=40)
            for text, answer in zip(texts, answers, strict=True)
        ]
        briefs.append(float(np.mean([score["brief"] for score in scores])))
        batch = TRAINER.compute_advantage(batch_of(scores, mask), "gdpo", config=settings())

        def logprobs(tokens: torch.Tensor = whole) -> torch.Tensor:
            scores = model(tokens).logits[:, 3:-1].log_softmax(-1)
            return scores.gather(-1, tokens[:, 4:, None])[..., 0]

        with torch.no_grad():
            old = logprobs()
        loss, metrics = ALGORITHMS.get_policy_loss_fn("dupo")(
            old, logprobs(), batch.batch["advantages"], mask, "token-mean", actor
        )
        assert torch.isfinite(loss)
        assert metrics["actor/ppo_kl"] == pytest.approx(0.0, abs=1e-5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # pyright: ignore[reportUnknownMemberType]
    assert sum(briefs[-3:]) > sum(briefs[:3])
