"""What every role said, with its reward, in the parquet schema that verl reads and writes.

`python -m harness.rag.check.rollouts ROLLOUTS OUT` writes the prompts that a trainer starts from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from harness.core import BadInput, digest, render, write_atomic
from harness.models import Message
from harness.rag.check.blind.session import solve_passages
from harness.rag.check.rewards import RewardName, reward
from harness.rag.check.types import Report
from harness.rag.retrieve import Document

TRAINED = ("solver", "checker")
"""Roles that take a gradient; the Proposer's rollouts are exported without a reward."""


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
        one = Rollout(event["role"], tuple(event["messages"]), event["reply"].text, sample)
        same = (one.role, one.messages, one.sample)
        if event.get("again"):
            self.rollouts = [
                old for old in self.rollouts if (old.role, old.messages, old.sample) != same
            ]
        self.rollouts.append(one)


def with_solver(
    rollouts: Sequence[Rollout], asked: str, answer: str, documents: Sequence[Document]
) -> list[Rollout]:
    """The rollouts with the Solver's, where the answer came from elsewhere and is known to a
    question."""
    if any(one.role == "solver" for one in rollouts) or not asked.strip():
        return list(rollouts)
    prompt = render("march_solve", asked=asked, passages=solve_passages(documents))
    return [Rollout("solver", ({"role": "user", "content": prompt},), answer), *rollouts]


def rows(
    name: str,
    asked: str,
    documents: Sequence[Document],
    rollouts: Sequence[Rollout],
    report: Report,
    by: RewardName = "ztr",
) -> list[dict[str, Any]]:
    """Rows of verl's schema for one answer.

    Solver and Checker share one scalar (they cooperate, section 4 of the paper); it is null for a
    Proposer and where there is no verdict, and `extra_info.trainable` is false there.

    Args:
        name: of the answer; groups its rows.
        asked: what the user asked.
        documents: what it was checked against; they stand in the Solver's rows.
        rollouts: of all roles.
        report: on the answer.
        by: which reward.
    """
    scalar = reward(report, by)
    texts = [one.text for one in documents]
    found: list[dict[str, Any]] = []
    for index, one in enumerate(rollouts):
        value = scalar if one.role in TRAINED else None
        info = {
            "index": index,
            "split": "train",
            "answer": name,
            "role": one.role,
            "sample": one.sample,
            "reward": by,
            "verdict": report.verdict.value,
            "trainable": value is not None,
            "question": asked,
            "documents": texts if one.role == "solver" else [],
        }
        messages = [{"role": m["role"], "content": str(m["content"])} for m in one.messages]
        found.append(
            {
                "data_source": "harness_check",
                "prompt": messages,
                "ability": "fact_check",
                "responses": [one.response],
                "rewards": [value],
                "reward_model": {"style": "rule", "ground_truth": ""},
                "extra_info": info,
            }
        )
    return found


def write_parquet(found: Sequence[dict[str, Any]], out: Path) -> None:
    """Write rows as one parquet file.

    Raises:
        BadInput: if pyarrow is not installed, or the file cannot be written.
    """
    try:
        arrow: Any = import_module("pyarrow")  # ships no type information
        parquet: Any = import_module("pyarrow.parquet")
    except ModuleNotFoundError as error:
        raise BadInput("a parquet file needs pyarrow: pip install pyarrow") from error
    written = BytesIO()
    parquet.write_table(arrow.Table.from_pylist(list(found), schema=_schema(arrow)), written)
    write_atomic(out, written.getvalue())


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
    try:
        parquet: Any = import_module("pyarrow.parquet")  # ships no type information
        kept: dict[str, dict[str, Any]] = {}
        for row in parquet.read_table(rollouts).to_pylist():
            if row["extra_info"]["role"] == "solver" and row["extra_info"]["documents"]:
                kept.setdefault(digest(row["prompt"]), row)
    except ModuleNotFoundError as error:
        raise BadInput("a parquet file needs pyarrow: pip install pyarrow") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"expected the rollouts of a check in {str(rollouts)!r}: {error}") from error
    if not kept:
        raise BadInput(
            f"{str(rollouts)!r} has no row of a Solver with documents: check answers "
            "with their questions"
        )
    write_parquet(list(kept.values()), out)
    return len(kept)


def _schema(arrow: Any) -> Any:
    """verl's columns: those of its inputs, and `responses` of its generations; `rewards` beside."""
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
    return arrow.schema(columns.items())


if __name__ == "__main__":
    import sys

    print(write_prompts(Path(sys.argv[1]), Path(sys.argv[2])), "prompts")
