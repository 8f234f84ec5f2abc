"""Rollouts of every role with its reward, in the parquet schema that verl reads and writes.

`python -m harness.rag.check.rollouts ROLLOUTS OUT` writes the prompts that a trainer starts from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import BadInput, digest, render, require, write_atomic
from harness.models import Message
from harness.rag.check.blind import solve_passages
from harness.rag.check.rewards import RewardName, reward

if TYPE_CHECKING:
    from harness.rag.check.batch import BatchReport

# Roles that take a gradient; the Proposer's rollouts are exported without a reward.
_TRAINED = ("solver", "checker")
_NEED = "a parquet file needs pyarrow"


@dataclass(frozen=True)
class Rollout:
    """One call.

    Attributes:
        role: `solver`, `proposer` or `checker`.
        messages: the prompt.
        response: what came back.
        sample: which vote of a Checker, from 0.
    """

    role: str
    messages: tuple[Message, ...]
    response: str
    sample: int = 0


@dataclass
class Recorder:
    """Collects the calls of one check; its :meth:`tell` is an `on_event` of the graph's context.

    A reply that could not be read is no rollout to learn from: the one that follows it is.
    """

    rollouts: list[Rollout] = field(default_factory=list[Rollout])

    def tell(self, event: dict[str, Any]) -> None:
        """Take a reply in."""
        if event["type"] != "reply":
            return
        sample = int(event.get("sample", 0))
        rollout = Rollout(event["role"], tuple(event["messages"]), event["reply"].text, sample)
        if event.get("again"):
            self.rollouts = [
                earlier
                for earlier in self.rollouts
                if replace(earlier, response=rollout.response) != rollout
            ]
        self.rollouts.append(rollout)


def export(results: Iterable[BatchReport], out: Path, by: RewardName) -> None:
    """Write the rollouts of checked answers, rewarded `by`, as one parquet file of verl's schema.

    The Solver's is made where the answer came from elsewhere and its question is known. Solver and
    Checker share one scalar (they cooperate, section 4 of the paper); it is null for a Proposer and
    where there is no verdict, and `extra_info.trainable` is false there. Documents stand in the
    Solver's rows.
    """
    exported: list[dict[str, Any]] = []
    for result in results:
        scalar = reward(result.report, by)
        rollouts = list(result.rollouts)
        if result.question.strip() and all(rollout.role != "solver" for rollout in rollouts):
            passages = solve_passages(result.documents)
            prompt = render("march_solve", asked=result.question, passages=passages)
            messages = ({"role": "user", "content": prompt},)
            rollouts.insert(0, Rollout("solver", messages, result.answer))
        for index, rollout in enumerate(rollouts):
            value = scalar if rollout.role in _TRAINED else None
            exported.append(
                {
                    "data_source": "harness_check",
                    "prompt": [
                        {"role": message["role"], "content": str(message["content"])}
                        for message in rollout.messages
                    ],
                    "ability": "fact_check",
                    "responses": [rollout.response],
                    "rewards": [value],
                    "reward_model": {"style": "rule", "ground_truth": ""},
                    "extra_info": {
                        "index": index,
                        "split": "train",
                        "answer": result.id,
                        "role": rollout.role,
                        "sample": rollout.sample,
                        "reward": by,
                        "verdict": result.report.verdict.value,
                        "trainable": value is not None,
                        "question": result.question,
                        "documents": list(result.contexts) if rollout.role == "solver" else [],
                    },
                }
            )
    write_parquet(exported, out)


def write_parquet(exported: Sequence[dict[str, Any]], out: Path) -> None:
    """Write rows as one parquet file.

    Raises:
        BadInput: if pyarrow is not installed, or the file cannot be written.
    """
    arrow = require("pyarrow", _NEED, "pyarrow")
    parquet = require("pyarrow.parquet", _NEED, "pyarrow")
    # verl's columns: those of its inputs, and `responses` of its generations; `rewards` beside
    text, texts = arrow.string(), arrow.list_(arrow.string())
    info = {
        "index": arrow.int64(), "split": text, "answer": text, "role": text,
        "sample": arrow.int64(), "reward": text, "verdict": text, "trainable": arrow.bool_(),
        "question": text, "documents": texts,
    }  # fmt: skip
    columns = {
        "data_source": text,
        "prompt": arrow.list_(arrow.struct({"role": text, "content": text}.items())),
        "ability": text,
        "responses": texts,
        "rewards": arrow.list_(arrow.float64()),
        "reward_model": arrow.struct({"style": text, "ground_truth": text}.items()),
        "extra_info": arrow.struct(info.items()),
    }
    schema = arrow.schema(columns.items())
    table, buffer = arrow.Table.from_pylist(list(exported), schema=schema), BytesIO()
    parquet.write_table(table, buffer)
    write_atomic(out, buffer.getvalue())


def write_prompts(rollouts: Path, out: Path) -> int:
    """Write the rows that a trainer starts from: the Solvers', each prompt once.

    The reward function needs a response's documents, which only a Solver's row has; a Proposer is
    not trained, and a Checker's share of the reward is known after the Solver's only.

    Args:
        rollouts: parquet of :func:`write_parquet`, whose columns stay as they are.
        out: parquet to write.

    Returns:
        How many rows there are.

    Raises:
        BadInput: if pyarrow is not installed, `rollouts` is no such file, or has no Solver.
    """
    parquet = require("pyarrow.parquet", _NEED, "pyarrow")
    prompts: dict[str, dict[str, Any]] = {}
    try:
        for row in parquet.read_table(rollouts).to_pylist():
            if row["extra_info"]["role"] == "solver" and row["extra_info"]["documents"]:
                prompts.setdefault(digest(row["prompt"]), row)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"expected the rollouts of a check in {str(rollouts)!r}: {error}") from error
    if not prompts:
        raise BadInput(
            f"{str(rollouts)!r} has no row of a Solver with documents: check answers "
            "with their questions"
        )
    write_parquet(list(prompts.values()), out)
    return len(prompts)


if __name__ == "__main__":
    import sys

    print(write_prompts(Path(sys.argv[1]), Path(sys.argv[2])), "prompts")
