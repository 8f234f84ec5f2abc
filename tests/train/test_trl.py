"""The plug-ins in the real TRL: ten steps of a tiny random model."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import torch

from examples.objectives.recipes.tiny import tiny_model
from harness.train.objectives.advantages import gd2po
from harness.train.rewards import check_reward, contrastive

pytestmark = [
    pytest.mark.wing("train"),
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
]


WORDS = [*"0123456789", "+", "=", "is", "the", "answer"]
# Imports its trainers when they are used, which takes seconds: so do the tests with ours.
TRL: Any = import_module("trl")


def brief(completions: list[str], **_: Any) -> list[float]:
    """A reward that a correct answer can conflict with."""
    return [1 - len(text.split()) / 8 for text in completions]


def train(kind: Any, out: Path, rewards: list[Any], **settings: Any) -> Any:
    """The trainer after ten steps of two prompts with eight rollouts each."""
    model, tokenizer = tiny_model(WORDS, width=16)
    rows = [{"prompt": f"{n} + 1 = the answer is", "answer": str(n + 1)} for n in range(8)]
    arguments = TRL.GRPOConfig(
        output_dir=str(out),
        max_steps=10,
        per_device_train_batch_size=16,
        num_generations=8,
        max_completion_length=6,
        learning_rate=0.02,
        loss_type="dapo",
        epsilon_high=0.28,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
    )
    trainer = kind(
        model=model,
        processing_class=tokenizer,
        args=arguments,
        train_dataset=import_module("datasets").Dataset.from_list(rows),
        reward_funcs=rewards,
        **settings,
    )
    before = [parameter.detach().clone() for parameter in model.parameters()]
    trainer.train()
    after = list(trainer.model.parameters())
    assert any(not torch.equal(*pair) for pair in zip(before, after, strict=True))
    assert all(torch.isfinite(parameter).all() for parameter in after)
    return trainer


def logged(trainer: Any, name: str) -> list[float]:
    """A figure of every step."""
    return [row[name] for row in trainer.state.log_history if name in row]


def test_gd2po_runs_ten_steps_of_grpo(tmp_path: Path) -> None:
    from harness.train.trl import GD2POTrainer

    batches: list[tuple[torch.Tensor, torch.Tensor]] = []

    class Observed(GD2POTrainer):
        def _generate_and_score_completions(self, inputs: Any) -> Any:
            batch = super()._generate_and_score_completions(inputs)
            batches.append((self._rewards.clone(), batch["advantages"].clone()))
            return batch

    trainer = train(Observed, tmp_path, [check_reward("contains"), brief])
    assert trainer.state.global_step == len(batches) == 10
    conflicts, kept = logged(trainer, "gd2po/conflict"), logged(trainer, "gd2po/keep")
    assert len(conflicts) == 10
    assert max(conflicts) > 0
    assert [a + b for a, b in zip(conflicts, kept, strict=True)] == pytest.approx([1.0] * 10)
    for rewards, advantages in batches:
        groups = [number // 8 for number in range(16)]
        assert torch.allclose(advantages, gd2po(rewards.T, groups).values)


def test_a_policy_of_brief_answers_is_learnt(tmp_path: Path) -> None:
    from harness.train.trl import GD2POTrainer

    rewards = logged(train(GD2POTrainer, tmp_path, [brief]), "reward")
    assert sum(rewards[-3:]) > sum(rewards[:3])


def test_an_attempt_without_verdict_has_no_advantage(tmp_path: Path) -> None:
    from harness.train.trl import GD2POTrainer

    def sometimes(completions: list[str], **_: Any) -> list[float | None]:
        return [None if not number % 4 else len(text) for number, text in enumerate(completions)]

    seen: list[torch.Tensor] = []

    class Observed(GD2POTrainer):
        def _generate_and_score_completions(self, inputs: Any) -> Any:
            batch = super()._generate_and_score_completions(inputs)
            seen.append(batch["advantages"])
            return batch

    train(Observed, tmp_path, [sometimes])
    assert all(not advantages[::4].any() for advantages in seen)
    assert any(advantages.any() for advantages in seen)


def test_clipo_is_a_reward_function(tmp_path: Path) -> None:
    from harness.train.trl import GD2POTrainer

    def embed(texts: list[str]) -> torch.Tensor:
        return torch.tensor([[text.count(digit) + 0.1 for digit in "0123456789"] for text in texts])

    rewards: list[float | None] = []
    correct = check_reward("contains")
    changed = contrastive(correct, embed)

    def observed(**columns: Any) -> list[float | None]:
        values = changed(**columns)
        right = correct(**columns)
        for value, plain in zip(values, right, strict=True):
            assert value is not None
            assert plain is not None
            assert plain - 0.5 <= value <= plain
        rewards.extend(values)
        return values

    train(GD2POTrainer, tmp_path, [observed])
    assert any(value not in (0.0, 1.0) for value in rewards)


def test_weights_of_rewards_are_refused(tmp_path: Path) -> None:
    from harness.train.trl import GD2POTrainer

    model, tokenizer = tiny_model(WORDS, width=16)
    arguments = TRL.GRPOConfig(
        output_dir=str(tmp_path), reward_weights=[1.0, 0.5], use_cpu=True, bf16=False
    )
    with pytest.raises(ValueError, match="reward_weights"):
        GD2POTrainer(
            model=model,
            processing_class=tokenizer,
            args=arguments,
            train_dataset=import_module("datasets").Dataset.from_list([{"prompt": "1"}]),
            reward_funcs=[brief, brief],
        )


def test_the_example_trains_on_exported_rollouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from examples.objectives import two_rewards

    rows = [
        {"prompt": [{"role": "user", "content": f"Two times {n} ?"}], "reward": float(n % 2),
         "completion": [{"role": "assistant", "content": str(2 * n)}]}
        for n in range(8)
    ]  # fmt: skip
    rows[1]["completion"] = [{"role": "assistant", "content": "You get two when you double one."}]
    (tmp_path / "rollouts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = [str(tmp_path), "--steps", "2", "--out", str(tmp_path / "grpo")]
    monkeypatch.setattr("sys.argv", ["two_rewards", *words])
    two_rewards.main()
    printed = capsys.readouterr()
    assert "4 prompts, 2 steps" in printed.out  # what nobody passed is left out
    assert printed.err.count("1 of 4 references have more than 5 words") == 1
    texts = ["It is 16.", "It is 6.", "1,500 crowns"]
    assert two_rewards.correct(texts, ["6", "6", "1500"]) == [0, 1, 1]
    assert (tmp_path / "grpo" / "config.json").is_file()
