"""A Llama of a few thousand parameters, made where it is used, and a trainer of TRL for it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from tempfile import gettempdir
from typing import Any

import torch

# Imports its parts when they are used; where there is only verl, a model can be had without it.
TRL: Any = import_module("trl") if find_spec("trl") else None


def tiny_model(
    words: Sequence[str], seed: int = 0, *, scores: bool = False, width: int = 32
) -> tuple[Any, Any]:
    """A Llama with random weights that knows these words alone, and its tokenizer.

    Args:
        words: between blanks; `<pad>`, `<eos>` and `<unk>` are added.
        seed: of the weights, and of what torch draws next.
        scores: make a model that gives a text a number, which is a reward model.
        width: of its states.
    """
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
    vocabulary = {word: number for number, word in enumerate(["<pad>", "<eos>", "<unk>", *words])}
    splitter: Any = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    splitter.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    config: Any = transformers.LlamaConfig(
        vocab_size=len(vocabulary), hidden_size=width, intermediate_size=2 * width,
        num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
        max_position_embeddings=64, pad_token_id=0, eos_token_id=1, bos_token_id=1,
    )  # fmt: skip
    config.num_labels = 1
    kind = "SequenceClassification" if scores else "CausalLM"
    tokenizer: Any = transformers.PreTrainedTokenizerFast(
        tokenizer_object=splitter, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )
    return getattr(transformers, f"LlamaFor{kind}")(config), tokenizer


def fit(
    kind: str, model: Any, tokenizer: Any, rows: Sequence[dict[str, Any]], steps: int,
    *, rate: float = 0.01, batch: int = 64, seed: int = 0, trainer: Any = None,
    columns: Sequence[str] = (), settings: dict[str, Any] | None = None, **given: Any,
) -> Any:  # fmt: skip
    """Train a model in TRL, and return its trainer.

    Args:
        kind: as in `trl.SFTConfig` and `trl.SFTTrainer`.
        model: from :func:`tiny_model`, changed in place.
        tokenizer: its own.
        rows: of the data set, in the form that this trainer reads.
        steps: of the optimizer.
        rate: of learning, constant.
        batch: rows a step.
        seed: of the order of rows, and of what the model writes.
        trainer: a subclass instead of TRL's own.
        columns: of numbers, which the trainer finds in its batches as tensors.
        settings: more of the configuration.
        given: more arguments of the trainer.
    """
    datasets: Any = import_module("datasets")
    datasets.disable_progress_bars()
    arguments = getattr(TRL, f"{kind}Config")(
        output_dir=gettempdir(), max_steps=steps, learning_rate=rate, seed=seed,
        lr_scheduler_type="constant", per_device_train_batch_size=batch, use_cpu=True, bf16=False,
        disable_tqdm=True, logging_strategy="no", save_strategy="no", report_to="none",
        **{"remove_unused_columns": not columns, **(settings or {})},
    )  # fmt: skip
    made = (trainer or getattr(TRL, f"{kind}Trainer"))(
        model=model, processing_class=tokenizer, args=arguments,
        train_dataset=datasets.Dataset.from_list(list(rows)), **given,
    )  # fmt: skip
    if columns:
        plain: Any = made.data_collator

        def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
            numbers = {name: torch.tensor([row[name] for row in rows]) for name in columns}
            return {**plain(rows), **numbers}

        made.data_collator = collate
    if steps:
        made.train()
    # TRL's own `forward` would compute with this model's weights in a copy of the model, too.
    model.__dict__.pop("forward", None)
    model.eval()
    return made


def preferred(model: Any, tokenizer: Any, rows: Sequence[dict[str, Any]]) -> Any:
    """1 where a reward model puts the chosen text of a pair above the rejected, shape (pairs,)."""
    texts = [f"{row[side]}<eos>" for side in ("chosen", "rejected") for row in rows]
    chosen, rejected = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits.chunk(2)
    return (chosen > rejected)[:, 0].double()
