"""Inputs of `harness judge`: answers, pairs or candidates in JSONL, or the answers of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, ConfigDict, Field

from harness.core import BadInput, Value, decoding, mapping, read_models, string
from harness.evals import finished_items
from harness.evals.report import open_run
from harness.judge.types import Question

Label = bool | int | str | None


def _named(*names: str) -> Any:
    return Field(default=None, validation_alias=AliasChoices(*names))


class Row(Value):
    """One row: an answer, a pair (`a`, `b`), or candidates; with a label where people gave one.

    Other columns are left alone.

    Attributes:
        label: of an answer true, false, `pass` or `fail`; of a pair `A`, `B` or `tie`; of
            candidates the index of the best.
    """

    model_config = ConfigDict(extra="ignore")

    id: str = Field(min_length=1)
    prompt: Annotated[str, Field(validation_alias=AliasChoices("prompt", "question", "task"))]
    answer: str | None = _named("answer", "response")
    a: str | None = _named("a", "response_a", "response_A")
    b: str | None = _named("b", "response_b", "response_B")
    candidates: tuple[str, ...] = ()
    label: Label = None
    reference: str = ""
    rubric: str = ""
    constraints: tuple[str, ...] = ()

    @property
    def mode(self) -> str:
        """`pointwise`, `pairwise` or `best-of-n`."""
        kinds = {
            "pointwise": self.answer is not None,
            "pairwise": self.a is not None and self.b is not None,
            "best-of-n": bool(self.candidates),
        }
        modes = [name for name, present in kinds.items() if present]
        if len(modes) != 1:
            raise BadInput(
                f"row {self.id!r}: expected an 'answer', 'a' and 'b', or 'candidates', found "
                f"{', '.join(modes) or 'none of them'}"
            )
        return modes[0]

    def question(self, rubric: str) -> Question:
        """Make the judge's question; `rubric` is for rows without one of their own."""
        return Question(
            prompt=self.prompt, rubric=self.rubric or rubric, reference=self.reference,
            constraints=self.constraints,
        )  # fmt: skip


class LabelRow(Value):
    """A label of `--calibrate`, for the row of that id; other columns are left alone."""

    model_config = ConfigDict(extra="ignore")

    id: str
    label: bool | str


def read_judged(
    path: Path, limit: int | None = None, questions: Mapping[str, Question] | None = None
) -> list[Row]:
    """The rows of a file, or the valid answers of an eval run.

    Args:
        path: of the file or the run.
        limit: take the first rows only.
        asked: what the run's suite asks the judge of each task; None without a suite.

    Raises:
        BadInput: if they cannot be read, repeat an id, are of several modes, have a label that is
            none, or there are none.
    """
    rows = _of_run(path, questions) if path.is_dir() else read_models(path, Row)
    rows = rows[:limit]
    if not rows:
        raise BadInput(f"{str(path)!r} has nothing to judge")
    if len({row.id for row in rows}) < len(rows):
        raise BadInput(f"{str(path)!r}: expected ids that are unique")
    if len(modes := {row.mode for row in rows}) > 1:
        raise BadInput(f"{str(path)!r}: expected rows of one kind, found {sorted(modes)}")
    for row in rows:
        _check_label(row, f"{path}: row {row.id!r}")
    return rows


def _check_label(row: Row, where: str) -> None:
    number = len(row.candidates)
    if number == 1:
        raise BadInput(f"{where}: expected two or more candidates")
    if row.label is None:
        return
    if row.answer is not None:
        passes(row.label, where)
    elif not number and row.label not in ("A", "B", "tie"):
        raise BadInput(f"{where}: expected a label of A, B or tie, found {row.label!r:.60}")
    elif number and (type(row.label) is not int or not 0 <= row.label < number):
        raise BadInput(
            f"{where}: expected as a label the index of the best candidate, 0 to {number - 1}, "
            f"found {row.label!r:.60}"
        )


def _of_run(run: Path, questions: Mapping[str, Question] | None) -> list[Row]:
    reader = open_run(run)
    prompts: dict[str, str] = {}
    with decoding(run):
        for row in reader.trajectories():
            task = mapping(mapping(mapping(row.get("extra")).get("harness")).get("task"))
            prompts[row["trajectory_id"]] = string(task.get("prompt"))
    rows: list[Row] = []
    for item in finished_items(reader):
        question = Question(prompt=prompts.get(item.id, ""))
        if questions is not None:
            if item.task_id not in questions:
                raise BadInput(
                    f"{str(run)!r}: task {item.task_id!r} is not in the suite: name the suite of "
                    "the run, or leave --suite out"
                )
            question = questions[item.task_id]
        if item.answer is not None and question.prompt:
            rows.append(
                Row(
                    id=item.id, prompt=question.prompt, answer=item.answer,
                    rubric=question.rubric, reference=question.reference,
                )
            )  # fmt: skip
    return rows


def passes(label: Label, where: str) -> bool:
    """A label of an answer as a truth value.

    Raises:
        BadInput: if it is none.
    """
    words = {True: True, False: False, "pass": True, "fail": False, "true": True, "false": False}
    if isinstance(label, (bool, str)) and label in words:
        return words[label]
    raise BadInput(f"{where}: expected a label of true, false, pass or fail, found {label!r:.60}")
