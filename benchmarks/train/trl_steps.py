"""GRPO with the plug-ins of two objectives: rewards early and late, seconds a step, memory.

    python -m benchmarks.train.trl_steps --model FOLDER --out trl_steps.json

A Hugging Face folder learns sums of two numbers up to `--largest` in TRL, 16 prompts with 8
completions each in a step, written by the model's own `generate`. Two rewards that a program
checks: `right`, the last number of the answer is the sum, and `brief`, one less the share of the
allowed tokens that were used. Arms: `gd2po` (`GD2POTrainer`, both rewards), `clipo` (`contrastive`
around a right and brief answer: of the right completions of a prompt those that are unlike the
others get less), and `grpo` (TRL's own trainer with both rewards) as the control. On a GPU in
bfloat16 over weights of 32 bits, where small steps are not lost, on the processor in 32 bits. An
arm stops after `--steps` or its share of `--seconds`; what it reached stands in `steps`. The exit
status is 1 where a parameter is no number or an arm took no step.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import time
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.reports import option, read_options, report
from harness.train.rewards import contrastive, plain_text
from harness.train.trl import GD2POTrainer

TRL: Any = import_module("trl")
TRANSFORMERS: Any = import_module("transformers")
DATASETS: Any = import_module("datasets")
ARMS = ("gd2po", "clipo", "grpo")
PROMPTS, COMPLETIONS, EDGE = 16, 8, 10
ASK = "What is {a} + {b}? Answer with the number alone."


def right(completions: list[Any], answer: list[str], **_: Any) -> list[float | None]:
    """1 where the last number is the sum."""
    numbers = [re.findall(r"\d+", plain_text(text)) or [""] for text in completions]
    return [float(last[-1] == sum_) for last, sum_ in zip(numbers, answer, strict=True)]


def briefness(most: int) -> Any:
    """The reward `brief` for at most that many tokens."""

    def brief(completion_ids: list[list[int]], **_: Any) -> list[float]:
        return [1 - len(ids) / most for ids in completion_ids]

    return brief


def right_and_brief(most: int) -> Any:
    """1 where an answer is right and at most a quarter of the allowed tokens long."""

    def reward(
        prompts: list[Any], completions: list[Any], completion_ids: list[list[int]], **columns: Any
    ) -> list[float | None]:
        values = right(completions, **columns)
        pairs = zip(values, completion_ids, strict=True)
        return [float(bool(value) and len(ids) <= most / 4) for value, ids in pairs]

    return reward


def rows(tokenizer: Any, largest: int) -> Any:
    """All sums as a data set: chats where the tokenizer has a template, else plain text."""
    asked: list[dict[str, Any]] = []
    for a, b in product(range(1, largest + 1), repeat=2):
        text = ASK.format(a=a, b=b)
        chat = [{"role": "user", "content": text}]
        prompt = chat if tokenizer.chat_template else text
        asked.append({"prompt": prompt, "answer": str(a + b)})
    return DATASETS.Dataset.from_list(asked)


def embedder(model: Any, tokenizer: Any) -> Any:
    """Texts to the means of the policy's last states, shape (texts, width)."""

    def embed(texts: list[str]) -> Tensor:
        given = tokenizer([text or " " for text in texts], return_tensors="pt", padding=True)
        mask = given["attention_mask"].to(model.device)
        with torch.no_grad():
            states = model(
                input_ids=given["input_ids"].to(model.device), attention_mask=mask,
                output_hidden_states=True,
            ).hidden_states[-1].float()  # fmt: skip
        means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
        return means.cpu()

    return embed


class Clock(TRANSFORMERS.TrainerCallback):
    """Seconds of every step; stops the training at the deadline."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.steps: list[float] = []
        self._started = 0.0

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Start of a step."""
        self._started = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """End of a step."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.steps.append(time.perf_counter() - self._started)
        control.should_training_stop |= time.perf_counter() > self.deadline
        return control


def run(arm: str, options: Any, out: Path, seconds: float) -> dict[str, Any]:
    """One training of the model as it lies in the folder."""
    gpu = torch.cuda.is_available()
    tokenizer: Any = TRANSFORMERS.AutoTokenizer.from_pretrained(str(options.model))
    model: Any = TRANSFORMERS.AutoModelForCausalLM.from_pretrained(
        str(options.model), dtype=torch.float32
    )
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    settings = TRL.GRPOConfig(
        output_dir=str(out),
        max_steps=options.steps,
        per_device_train_batch_size=PROMPTS * COMPLETIONS,
        num_generations=COMPLETIONS,
        max_completion_length=options.tokens,
        learning_rate=options.rate,
        lr_scheduler_type="constant",
        loss_type="dapo",
        epsilon_high=0.28,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=not gpu,
        bf16=gpu,
        gradient_checkpointing=False,
        disable_tqdm=True,
        seed=7,
    )
    clock = Clock(time.perf_counter() + seconds)
    rewards: list[Any] = [right, briefness(options.tokens)]
    if arm == "clipo":
        rewards = [contrastive(right_and_brief(options.tokens), embedder(model, tokenizer))]
    trainer: Any = (GD2POTrainer if arm == "gd2po" else TRL.GRPOTrainer)(
        model=model,
        processing_class=tokenizer,
        args=settings,
        train_dataset=rows(tokenizer, options.largest),
        reward_funcs=rewards,
        callbacks=[clock],
    )
    if gpu:
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    trainer.train()
    history = [row for row in trainer.state.log_history if "reward" in row]
    names = [
        name for name in history[0]
        if name == "reward" or (name.startswith("rewards/") and name.endswith("/mean"))
        or name.startswith(("gd2po/", "completions/mean_length"))
    ]  # fmt: skip

    def mean(part: list[dict[str, float]]) -> dict[str, float]:
        return {name: round(statistics.fmean(row[name] for row in part), 4) for name in names}

    return {
        "arm": arm,
        "steps": len(clock.steps),
        "step_s": round(statistics.median(clock.steps), 3),
        "train_s": round(time.perf_counter() - started, 1),
        "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2) if gpu else None,
        "first": mean(history[:EDGE]),
        "last": mean(history[-EDGE:]),
        "rewards": [round(row["reward"], 4) for row in history],
        "finite": all(bool(torch.isfinite(weight).all()) for weight in model.parameters()),
    }


def main() -> None:
    """Train every arm, write the report after each, print a table."""
    options = read_options(
        __doc__,
        model=Path,
        arms=list(ARMS[:2]),
        steps=100,
        tokens=64,
        rate=1e-5,
        largest=12,
        seconds=300.0,
        out=option(type=Path),
    )
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    result: dict[str, Any] = {"gpu": card, "model": options.model.name, "arms": []}
    result |= {"prompts": PROMPTS, "completions": COMPLETIONS, "tokens": options.tokens}
    result |= {
        "rate": options.rate,
        "largest": options.largest,
        "torch": torch.__version__,
        "trl": TRL.__version__,
    }
    for arm in options.arms:
        with tempfile.TemporaryDirectory() as name:
            share = options.seconds / len(options.arms)
            result["arms"].append(run(arm, options, Path(name), share))
        report(result, options.out)
        if card:
            torch.cuda.empty_cache()
    print(f"{'':<8}{'steps':>6}{'s a step':>10}{'GiB':>7}   rewards of the first and last {EDGE}")
    for row in result["arms"]:
        edges = ", ".join(f"{n} {row['first'][n]} to {row['last'][n]}" for n in row["first"])
        memory = row["peak_gib"] or 0
        print(f"{row['arm']:<8}{row['steps']:>6}{row['step_s']:>10.2f}{memory:>7.1f}   {edges}")
    sys.exit(0 if all(row["steps"] and row["finite"] for row in result["arms"]) else 1)


if __name__ == "__main__":
    main()
