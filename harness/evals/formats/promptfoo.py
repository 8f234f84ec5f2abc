"""Outputs of promptfoo (`promptfoo eval -o out.json`): a run for every provider and prompt."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from harness.core import Outcome, Usage, count, digest, listing, mapping, read_json, string
from harness.evals.formats.building import Attempts, conversation
from harness.evals.report import Results

COUNTS = {"testPassCount": "passed", "testFailCount": "failed", "testErrorCount": "errors"}
ERROR = 2
"""`failureReason` of a row that has no verdict: the provider or an assertion failed."""


def is_promptfoo(document: dict[str, Any]) -> bool:
    """Return True if a JSON document is such an output."""
    return "config" in document and "results" in mapping(document.get("results"))


def promptfoo_results(path: Path) -> list[Results]:
    """The runs of an output, in the order of its columns.

    A task is a test: its description, or the value of its first variable, with a digest of its
    variables and assertions, so that a test that was moved is the same and one that was changed
    is not. Repeated tests are attempts at one task. Errors are invalid; promptfoo counts them as
    failures in its pass rate.

    Raises:
        BadInput: if it is no such output, or has no row.
    """
    document = mapping(read_json(path))
    columns: dict[int, Attempts] = defaultdict(Attempts)
    names: dict[int, tuple[str, str]] = {}
    body = mapping(document.get("results"))
    for row in map(mapping, listing(body.get("results"))):
        column = count(row.get("promptIdx"))
        provider = mapping(row.get("provider"))
        model = string(provider.get("label")) or string(provider.get("id"))
        names.setdefault(column, (model, string(mapping(row.get("prompt")).get("label"))))
        _add(columns[column], row, model)
    several = len({label for _, label in names.values()}) > 1
    prompts = [mapping(prompt) for prompt in listing(body.get("prompts"))]
    suite = string(mapping(document.get("config")).get("description")) or path.stem
    version = string(mapping(document.get("metadata")).get("promptfooVersion"))
    results: list[Results] = []
    for column in sorted(columns):
        model, label = names[column]
        name = path.name if len(columns) == 1 else f"{path.name}:{model}"
        if several:
            name += f" [{label[:40]}]"
        metrics = mapping(prompts[column].get("metrics")) if column < len(prompts) else {}
        results.append(
            columns[column].results(
                name, "promptfoo", suite=suite, model=model, version=version,
                agent=label[:80],
                figures={COUNTS[key]: count(metrics[key]) for key in COUNTS if key in metrics},
            )
        )  # fmt: skip
    return results or [Attempts().results(path.name, "promptfoo", suite="", model="")]


def _add(attempts: Attempts, row: dict[str, Any], model: str) -> None:
    test, reply = mapping(row.get("testCase")), mapping(row.get("response"))
    variables = mapping(row.get("vars")) or mapping(test.get("vars"))
    label = string(test.get("description")) or str(next(iter(variables.values()), "test"))
    question = digest([variables, listing(test.get("assert"))])
    grading, used = mapping(row.get("gradingResult")), mapping(reply.get("tokenUsage"))
    error = string(row.get("error"))
    invalid = row.get("failureReason") == ERROR or (not grading and bool(error))
    outcome: Outcome = "pass" if row.get("success") is True else "fail"
    score, output = row.get("score"), reply.get("output")
    answer = output if isinstance(output, str) else None if output is None else str(output)
    messages = [
        {"role": "user", "content": string(mapping(row.get("prompt")).get("raw"))},
        {"role": "assistant", "content": answer or ""},
    ]
    attempts.add(
        f"{label[:40]} {question[:6]}",
        "invalid" if invalid else outcome,
        float(score) if isinstance(score, int | float) else float(outcome == "pass"),
        reason=error if invalid else string(grading.get("reason")),
        answer=answer,
        usage=Usage(
            calls=1, prompt_tokens=count(used.get("prompt")),
            completion_tokens=count(used.get("completion")),
            cached_tokens=count(used.get("cached")), cost_usd=None,
            seconds=count(row.get("latencyMs")) / 1000,
        ),
        trajectory=conversation(messages, "promptfoo", model),
    )  # fmt: skip
