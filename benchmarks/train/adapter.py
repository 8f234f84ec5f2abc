"""The pocket adapter: LoRA from programs that passed, for a model that has no skill in its prompt.

    harness eval wire --split train --out BARE …
    python -m benchmarks.train.adapter examples SKILL --bare BARE --gold evals/examples/wire.jsonl
    harness eval wire --split train --skill SKILL --epochs 4 --out PASSED …   (temperature 0.7)
    python -m benchmarks.train.adapter rows rows.jsonl --bare BARE … --passed PASSED … --gold GOLD
    python -m benchmarks.train.adapter fit adapter --rows rows.jsonl --model FOLDER
    python -m benchmarks.train.adapter export adapter --model FOLDER
    python -m benchmarks.train.adapter table REPORT --arms skill=RUN adapter=RUN both=RUN

`examples` writes a skill of all gold programs, of which a task sees the nearest. `rows` takes the
prompts of the attempts without a skill, as `graph:program` sends them, and the last programs of the
attempts with those examples that passed: what examples taught through the prompt goes into weights,
by rejection sampling (Yuan et al. 2023, arXiv:2308.01825); and the gold programs themselves, which
is all that the skill was made of. `fit` trains on completions alone and reports rows, tokens, hours
and memory; with the same rows, seed and device it gives the same adapter, up to the device's own
rounding. The frozen weights are bfloat16, those of the adapter float32. `export` writes
`adapter/NAME.gguf` for the embedded engine (`local/MODEL+PATH.gguf`) and `adapter/merged` for vLLM.
`fit` needs peft, `export` gguf as well. `table` compares runs on wire's test tasks: on all of them,
and on those of kinds that training saw and did not see.

Settings were fixed before the first run on the CPU: rank 16 on every linear layer, scale 2, eight
epochs, eight rows a step, 5e-4 falling along a cosine after a tenth of the steps.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, cast

from benchmarks.reports import (
    Options,
    Result,
    benchmark,
    option,
    peak_mb,
    read_jsonl,
    report,
    write_jsonl,
)

SHOWN = 3
"""Worked examples in a prompt while trajectories are gathered."""
RANK, EPOCHS, BATCH, RATE, SEED = 16, 8, 8, 5e-4, 41
LONGEST = 4096
"""Tokens of a row; longer ones are left out, and counted."""


def examples(out: Path, bare: Path, gold: Path) -> None:
    """Write a skill that holds every gold program with the task of it, `SHOWN` a prompt."""
    from harness.agents import NEAREST_SECTION, worked_example
    from harness.skills import new_skill, write_skill
    from harness.trajectories import open_trajectories, to_openai

    replies = read_jsonl(gold)
    documents: list[Any] = [to_openai(trajectory) for trajectory in open_trajectories(bare)]
    tasks = {row["task_id"]: row["messages"][1]["content"] for row in documents}
    texts = [
        worked_example(tasks[row["task"]].strip(), row["reply"])
        for row in replies
        if row["task"] in tasks
    ]
    body = "\n\n".join([NEAREST_SECTION % SHOWN, *texts])
    write_skill(new_skill(out.name, "Worked examples.", body), out)


def rows(
    bare: list[Path], passed: list[Path], gold: Path | None = None
) -> Iterator[dict[str, Any]]:
    """Conversations of one turn: a task's bare prompt, and a program that passed or is gold."""
    from graphs.program import conversation, read_program
    from harness.trajectories import open_trajectories, to_openai

    prompts: dict[str, list[dict[str, str]]] = {}
    for trajectory in chain.from_iterable(map(open_trajectories, bare)):
        row: Any = to_openai(trajectory)
        system, user = (message["content"] for message in row["messages"][:2])
        form = next((form for form in (".xlsx", ".csv", ".json") if f"output{form}`" in user), "")
        prompts[row["task_id"]] = conversation(system, form and f"output{form}", user)
    answers: dict[tuple[str, str], None] = {}
    for trajectory in chain.from_iterable(map(open_trajectories, passed)):
        row = to_openai(trajectory)
        replies = [m["content"] for m in row["messages"] if m["role"] == "assistant"]
        if replies and row.get("score") == 1:
            answers[row["task_id"], read_program(replies[-1])[0]] = None
    for row in read_jsonl(gold) if gold else ():
        answers[row["task"], read_program(row["reply"])[0]] = None
    for task, program in answers:
        if program and task in prompts:
            answer = {"role": "assistant", "content": f"```python\n{program}\n```"}
            yield {"task": task, "messages": [*prompts[task], answer]}


def fit(data: Path, out: Path, model_name: str, seed: int) -> dict[str, Any]:
    """Train the adapter; it lies in `out` afterwards, in the form of peft.

    Returns:
        What the report says: rows, tokens, steps, losses, seconds, memory in MiB, device.
    """
    torch, peft, transformers = (
        cast("Any", import_module(name)) for name in ("torch", "peft", "transformers")
    )
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(model_name)
    cuda = torch.cuda.is_available()
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(model_name, dtype=torch.bfloat16)
    tokenized: list[dict[str, list[int]]] = []
    long = 0
    for row in read_jsonl(data):
        messages = row["messages"]
        prompt = tokenizer.apply_chat_template(
            messages[:-1], add_generation_prompt=True, tokenize=False
        )
        heads = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        answer = messages[-1]["content"] + tokenizer.eos_token
        tail = tokenizer(answer, add_special_tokens=False)["input_ids"]
        long += len(heads) + len(tail) > LONGEST
        if len(heads) + len(tail) <= LONGEST:
            tokenized.append({"input_ids": heads + tail, "labels": [-100] * len(heads) + tail})

    def collate(batch: list[dict[str, list[int]]]) -> dict[str, Any]:
        # Rows go alone: a run with padded rows in bfloat16 ended in nan on a GPU.
        return {name: torch.tensor([batch[0][name]]) for name in ("input_ids", "labels")}

    torch.manual_seed(seed)
    adapted: Any = peft.get_peft_model(
        model,
        peft.LoraConfig(
            r=RANK, lora_alpha=2 * RANK, target_modules="all-linear", task_type="CAUSAL_LM"
        ),
    )
    settings = transformers.TrainingArguments(
        output_dir=str(out / "checkpoints"),
        per_device_train_batch_size=1,
        gradient_accumulation_steps=BATCH,
        num_train_epochs=EPOCHS,
        learning_rate=RATE,
        lr_scheduler_type="cosine",
        warmup_steps=max(1, EPOCHS * len(tokenized) // BATCH // 10),
        bf16=True,
        use_cpu=not cuda,
        seed=seed,
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="epoch",
        save_total_limit=1,
        report_to="none",
        remove_unused_columns=False,
    )
    trainer = transformers.Trainer(
        model=adapted,
        args=settings,
        train_dataset=tokenized,
        data_collator=collate,
    )
    started = time.perf_counter()
    trainer.train(resume_from_checkpoint=any((out / "checkpoints").glob("checkpoint-*")))
    seconds = time.perf_counter() - started
    if not all(bool(torch.isfinite(weight).all()) for weight in adapted.parameters()):
        raise SystemExit("the training diverged: the adapter has weights that are no numbers")
    adapted.save_pretrained(str(out))
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    epoch = max(1, len(losses) // EPOCHS)
    return {
        "rows": len(tokenized),
        "too_long": long,
        "tokens": sum(len(row["input_ids"]) for row in tokenized) * EPOCHS,
        "completion_tokens": sum(sum(t >= 0 for t in row["labels"]) for row in tokenized) * EPOCHS,
        "steps": trainer.state.global_step,
        "loss_first_epoch": round(sum(losses[:epoch]) / epoch, 4),
        "loss_last_epoch": round(sum(losses[-epoch:]) / epoch, 4),
        "seconds": round(seconds, 1),
        "hours": round(seconds / 3600, 3),
        "device": torch.cuda.get_device_name() if cuda else "CPU",
        "gpu_memory_mib": torch.cuda.max_memory_allocated() // 2**20 if cuda else 0,
        "memory_mib": round(peak_mb()),
        "settings": {"rank": RANK, "epochs": EPOCHS, "batch": BATCH, "rate": RATE, "seed": seed},
    }


def rows_for_llama_cpp(weights: Any, heads: int) -> Any:
    """Rows of a query or key projection in llama.cpp's order: of each head, pairs that turn
    together lie side by side; transformers keeps the two halves apart."""
    halves = weights.reshape(heads, 2, weights.shape[0] // heads // 2, weights.shape[1])
    return halves.swapaxes(1, 2).reshape(weights.shape)


def export(adapter: Path, model_name: str) -> dict[str, Any]:
    """Write the adapter as a GGUF file, and the model with the adapter merged into its weights."""
    gguf, peft, safetensors, torch, transformers = (
        cast("Any", import_module(name))
        for name in ("gguf", "peft", "safetensors.numpy", "torch", "transformers")
    )
    config = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    base: Any = transformers.AutoModelForCausalLM.from_pretrained(model_name, dtype=torch.float32)
    shape = base.config
    path = adapter / f"{adapter.resolve().name}.gguf"
    writer = gguf.GGUFWriter(path, shape.model_type)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(config["lora_alpha"]))
    architectures = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(architectures[shape.model_type], shape.num_hidden_layers)
    heads = {"q_proj": shape.num_attention_heads, "k_proj": shape.num_key_value_heads}
    for name, weights in safetensors.load_file(adapter / "adapter_model.safetensors").items():
        module, _, side = name.removeprefix("base_model.model.").rpartition(".lora_")
        projection = module.rpartition(".")[2]
        turned = shape.model_type == "llama" and projection in heads and side == "B.weight"
        ordered = rows_for_llama_cpp(weights, heads[projection]) if turned else weights
        target = f"{names.get_name(module)}.weight.lora_{side[0].lower()}"
        writer.add_tensor(target, ordered.astype("float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    merged: Any = peft.PeftModel.from_pretrained(base, str(adapter)).merge_and_unload()
    merged.to(torch.bfloat16).save_pretrained(str(adapter / "merged"))
    transformers.AutoTokenizer.from_pretrained(model_name).save_pretrained(str(adapter / "merged"))
    return {"gguf": path.name, "bytes": path.stat().st_size}


def table(runs: dict[str, Path], first_tasks: int | None) -> dict[str, Any]:
    """Pass rates, tokens, and the difference of every run to the first, paired by task.

    Of runs that were stopped, only as many of the first tasks may count as all of them finished:
    what fails takes longer, and would be missing more often.
    """
    from harness.evals import load_suite, records
    from harness.evals.report import attempts_by_task
    from harness.stats import compare_rates, rate_interval

    tasks = load_suite("wire", "test").tasks[:first_tasks]
    everything = {task.id for task in tasks}
    seen = {task.id for task in tasks if task.meta.get("seen")}
    parts = {"all kinds": everything, "seen kinds": seen, "unseen kinds": everything - seen}
    passed: dict[str, dict[str, float]] = {}
    result: dict[str, Any] = {}
    for name, run in runs.items():
        rows = [record for record in records(run) if record.task_id in everything]
        passed[name] = {task: value for task, (value,) in attempts_by_task(rows).items()}
        tokens = sum(record.usage.tokens for record in rows)
        result[name] = {"tokens_per_task": round(tokens / len(rows))}
        for part, ids in parts.items():
            before, after = (
                {task: passed[arm][task] for task in ids & passed[arm].keys()}
                for arm in (next(iter(runs)), name)
            )
            result[name][part] = compare_rates(before, after).model_dump(
                include={"tasks", "after", "difference", "ci95", "p"}
            ) | {"after_ci95": rate_interval([[value] for value in after.values()])}
    return result


@benchmark(
    "step",
    "target",
    bare=option(type=Path, nargs="+", help="runs without a skill"),
    passed=option(type=Path, nargs="+", help="runs with examples"),
    gold=option(type=Path, help="gold programs"),
    rows=option(type=Path, help="file that `rows` wrote"),
    model=option(help="folder of the model"),
    seed=SEED,
    first=option(type=int, metavar="TASKS"),
    arms=option(nargs="+", metavar="NAME=RUN"),
)
def main(options: Options) -> Result:
    """Run one step; `target` is what it writes."""
    target: Path = options.target
    match str(options.step):
        case "examples":
            examples(target, options.bare[0], options.gold)
            return None
        case "rows":
            written = list(rows(options.bare, options.passed, options.gold))
            write_jsonl(target, written)
            return {"rows": len(written), "tasks": len({row["task"] for row in written})}
        case "fit":
            target.mkdir(parents=True, exist_ok=True)
            report(fit(options.rows, target, options.model, options.seed), target / "report.json")
            return None
        case "export":
            return export(target, options.model)
        case "table":
            runs = {name: Path(run) for name, run in (arm.split("=", 1) for arm in options.arms)}
            report(table(runs, options.first), target)
            return None
        case unknown:
            raise SystemExit(f"no step {unknown!r}: examples, rows, fit, export or table")
