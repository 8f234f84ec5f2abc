"""GRPO with two rewards in TRL on your own trajectories: correct, and short (GD2PO).

    python examples/objectives/two_rewards.py rollouts/rollouts.jsonl --model NAME

`harness trajectories export RUN --format rollouts --out rollouts` writes the file. Its prompts are
trained on; the reference is the shortest of the best recorded answers. The model writes its own
completions. Without `--model` a random model of a few thousand parameters shows that all parts fit;
it learns nothing. Each log line has `gd2po/conflict`: the share of rollouts that one reward praises
and the other blames, which do not teach.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.tasks.answers import normalise
from harness.train.trl import GD2POTrainer

LONG = 5
"""Words of a reference beyond which a right answer hardly ever repeats it."""


def text_of(messages: Any) -> str:
    """The text of a prompt or completion, which may be a list of messages."""
    if isinstance(messages, str):
        return messages
    return "\n".join(message.get("content") or "" for message in messages)


def rows_of(path: Path) -> list[dict[str, str]]:
    """A row a prompt that an attempt passed: its text, and the answer of the best attempt."""
    best: dict[str, tuple[float, str]] = {}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        prompt, answer = text_of(row["prompt"]), text_of(row["completion"]).strip()
        attempts = (best.get(prompt, (0.0, "")), (row["reward"], answer))
        best[prompt] = max(attempts, key=lambda attempt: (attempt[0], -len(attempt[1])))
    return [
        {"prompt": prompt, "reference": answer}
        for prompt, (reward, answer) in best.items()
        if reward > 0
    ]


def correct(completions: list[str], reference: list[str], **_: Any) -> list[float]:
    """1 where the words of the reference stand in the completion: 6 is not in 16, 1,500 is 1500."""
    return [
        float(f" {normalise(answer)} " in f" {normalise(text)} ")
        for text, answer in zip(completions, reference, strict=True)
    ]


def brief(completions: list[str], **_: Any) -> list[float]:
    """1 for no words, 0 for forty and more."""
    return [max(0.0, 1 - len(text.split()) / 40) for text in completions]


def random_model(texts: list[str]) -> tuple[Any, Any]:
    """A narrow model with random weights, and a tokenizer of the words of the texts."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = ["<pad>", "<eos>", "<unk>", *sorted({word for text in texts for word in text.split()})]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer: Any = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, pad_token_id=0, eos_token_id=1,
        bos_token_id=1,
    )  # fmt: skip
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    return LlamaForCausalLM(config), PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def main() -> None:
    """Train and print the log."""
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("rollouts", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("grpo"))
    options = parser.parse_args()
    if options.rollouts.is_dir():  # that of `harness trajectories export --out`
        options.rollouts /= "rollouts.jsonl"
    rows = rows_of(options.rollouts)
    if long := sum(len(row["reference"].split()) > LONG for row in rows):
        print(
            f"{long} of {len(rows)} references have more than {LONG} words, and `correct` asks for "
            "all of them in one piece: let the agent end with a short answer, or change `correct`",
            file=sys.stderr,
        )
    if not rows:
        parser.error(f"{options.rollouts} holds no attempt that passed: there is nothing to aim at")
    model: Any = options.model
    tokenizer: Any = None
    if model is None:
        model, tokenizer = random_model([text for row in rows for text in row.values()])
    trl: Any = import_module("trl")  # imports its parts when they are used
    settings = trl.GRPOConfig(
        output_dir=str(options.out), max_steps=options.steps, per_device_train_batch_size=16,
        num_generations=8, max_completion_length=64 if options.model else 8, logging_steps=1,
        report_to="none", save_strategy="no", disable_tqdm=True, bf16=False,
    )  # fmt: skip
    trainer: Any = GD2POTrainer(
        model=model, processing_class=tokenizer, args=settings, reward_funcs=[correct, brief],
        train_dataset=import_module("datasets").Dataset.from_list(rows),
    )  # fmt: skip
    trainer.train()
    trainer.save_model(str(options.out))
    print(f"{len(rows)} prompts, {options.steps} steps; the model is in {options.out}")


if __name__ == "__main__":
    main()
