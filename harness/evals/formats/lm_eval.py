"""Samples of lm-evaluation-harness, as it writes them with `--log_samples`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import BadInput, listing, mapping, parse_json, read_json, read_rows, string
from harness.evals.formats.building import Attempts, Figures, conversation
from harness.evals.report import Results

_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<when>\d{4}-\d\d-\d\dT[\d.:-]+)")
NO_SAMPLES = "has totals alone: run lm_eval with --log_samples, which writes samples_*.jsonl"


def is_sample(row: dict[str, Any]) -> bool:
    """Return True if a row of JSONL is such a sample."""
    return {"doc_id", "doc", "filtered_resps"} <= row.keys()


def samples_in(folder: Path) -> list[Path]:
    """The newest file of samples of every task in a folder, at most one folder below it."""
    newest: dict[str, tuple[str, Path]] = {}
    for path in sorted([*folder.glob("samples_*.jsonl"), *folder.glob("*/samples_*.jsonl")]):
        if name := _SAMPLES.fullmatch(path.stem):
            newest[name["task"]] = max(newest.get(name["task"], ("", path)), (name["when"], path))
    return [path for _, path in newest.values()]


def lm_eval_results(path: Path, metric: str | None = None) -> list[Results]:
    """The run that a file of samples, or a folder of such, is of.

    A task is named by its set and its number there; a document that is not the same in two runs
    (`doc_hash`) is another task. A sample passes with a metric of 1.

    Args:
        path: `samples_TASK_TIME.jsonl`, or the folder that `--output_path` named.
        metric: such as `exact_match,strict-match`, as lm_eval prints them; default the first of
            each file.

    Raises:
        BadInput: if it holds no samples, or a metric that is no share.
    """
    attempts, model = Attempts(), ""
    figures: Figures = {}
    tasks: list[str] = []
    for file in samples_in(path) if path.is_dir() else [path]:
        name = _SAMPLES.fullmatch(file.stem)
        task = name["task"] if name else file.stem
        tasks.append(task)
        report = file.with_name(f"results_{name['when'] if name else ''}.json")
        totals = mapping(read_json(report)) if report.is_file() else {}
        model = model or _model(mapping(totals.get("config")))
        for metric_name, value in mapping(mapping(totals.get("results")).get(task)).items():
            if isinstance(value, int | float):
                figures[f"{task} {metric_name}"] = value
        _read(file, task, metric, model, attempts)
    suite = ",".join(tasks)
    return [attempts.results(path.name, "lm-eval", suite=suite, model=model, figures=figures)]


def _read(file: Path, task: str, metric: str | None, model: str, attempts: Attempts) -> None:
    metric_name, _, wanted_filter = (metric or "").partition(",")
    seen: set[str] = set()
    used = 0
    for number, row in read_rows(file):
        names = [string(name) for name in listing(row.get("metrics")) if name in row]
        kind = string(row.get("filter"))
        seen |= {f"{name},{kind}" for name in names}
        column = metric_name or (names[0] if names else "")
        wanted_filter = wanted_filter or kind  # the first of the file, where none is named
        if kind != wanted_filter or column not in names:
            continue
        value = row[column]
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise BadInput(
                f"{file}:{number}: expected {column!r} between 0 and 1, got {value!r:.40}; "
                f"another is named with --metric: {', '.join(sorted(seen))}"
            )
        used += 1
        reply = next(iter(listing(row.get("filtered_resps"))), None)
        answer = reply if isinstance(reply, str) else None
        messages = [*_asked(row), {"role": "assistant", "content": answer or ""}]
        attempts.add(
            f"{task}/{row['doc_id']}-{string(row.get('doc_hash'))[:6]}",
            "pass" if value == 1 else "fail", float(value),
            answer=answer, stratum=task, trajectory=conversation(messages, "lm-eval", model),
        )  # fmt: skip
    if not used:
        listed = ", ".join(sorted(seen)) or "none"
        raise BadInput(
            f"{str(file)!r}: expected samples with {metric or 'a metric'}, found {listed}"
        )


def _asked(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of a request; a chat lies in it as a text of JSON."""
    first = mapping(next(iter(mapping(row.get("arguments")).values()), None)).get("arg_0")
    text = string(first) or string(next(iter(listing(first)), None))
    try:
        chat = listing(parse_json(text)) if text.startswith("[") else []
    except ValueError:
        chat = []
    messages = [mapping(message) for message in chat]
    readable = all(
        message.get("role") in ("system", "user", "assistant") and string(message.get("content"))
        for message in messages
    )
    yield from messages if messages and readable else [{"role": "user", "content": text}]


def _model(config: dict[str, Any]) -> str:
    """Name of the model among the arguments, which older versions write as one text."""
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        pairs = (pair.partition("=") for pair in arguments.split(","))
        arguments = {name.strip(): value for name, _, value in pairs}
    options = mapping(arguments)
    return (
        string(options.get("model"))
        or string(options.get("pretrained"))
        or string(config.get("model"))
    )
