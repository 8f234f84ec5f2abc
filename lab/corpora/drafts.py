"""Tasks drawn from a seed: three difficulties, and corpora whose tasks are plain files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from pydantic import JsonValue

from harness.core import Task, write_atomic
from harness.corpora import Split, check_limit, write_tasks

Difficulty = Literal["easy", "medium", "hard"]
DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")
_ROWS: dict[Difficulty, tuple[int, int]] = {"easy": (8, 12), "medium": (15, 24), "hard": (30, 44)}


class Draft:
    """The input of one task.

    Args:
        rng: source of everything random in it.
        difficulty: sets the number of rows and how dirty the input is.
    """

    def __init__(self, rng: Random, difficulty: Difficulty) -> None:
        self.rng = rng
        self.difficulty: Difficulty = difficulty
        self.rows = rng.randint(*_ROWS[difficulty])

    @property
    def dirty(self) -> bool:
        """True if the input is dirty (medium and hard)."""
        return self.difficulty != "easy"

    @property
    def hard(self) -> bool:
        """True if the task is of the hard kind."""
        return self.difficulty == "hard"


@dataclass(frozen=True)
class Built:
    """A task without its id.

    Attributes:
        prompt: states every rule.
        files: name -> content of the input files.
        gold: content of the golden file.
        ordered: whether the order of a table's rows counts; the prompt then says so.
        answer: what the meta of the task says of the place of its answer.
    """

    prompt: str
    files: Mapping[str, str | bytes]
    gold: str | bytes
    ordered: bool = False
    answer: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True)
class FileCorpus:
    """A corpus of tasks on files; its test split may have kinds that no other split has.

    Attributes:
        name: of the corpus, begins the ids.
        kinds: name -> what draws a task.
        per_stratum: split -> tasks of one kind and difficulty.
        suffix: of the golden files.
        seed: another seed gives another corpus.
        unseen: kinds that train and selection do not have.
        draft: makes the draft that a kind draws its task with.
        check: family of the tasks.
        input_path: of an input file, by split, task and name.
    """

    name: str
    kinds: Mapping[str, Callable[[Any], Built]]
    per_stratum: Mapping[Split, int]
    suffix: str
    seed: int
    unseen: frozenset[str] = frozenset()
    draft: Callable[[Random, Difficulty], Draft] = Draft
    check: str = "output"
    input_path: str = "inputs/{split}/{task}/{name}"

    def kinds_of(self, split: Split) -> list[str]:
        """The kinds of a split, in the order in which they take turns."""
        return [kind for kind in self.kinds if split == "test" or kind not in self.unseen]

    def split_size(self, split: Split) -> int:
        """Tasks of a split."""
        return self.per_stratum[split] * len(self.kinds_of(split)) * len(DIFFICULTIES)

    def write_split(self, split: Split, out: Path, limit: int | None = None) -> list[Task]:
        """Write `<split>.jsonl` with `inputs/` and `golden/` beside it; the same bytes every time.

        Args:
            split: train, selection or test.
            out: folder; files of the same names are replaced.
            limit: only so many tasks: kinds take turns, so that few tasks still mix.

        Raises:
            BadInput: if `limit` is below 1, or the folder cannot be written.
        """
        check_limit(limit)
        kinds = self.kinds_of(split)
        tasks: list[Task] = []
        for number in range(self.split_size(split))[:limit]:
            turn, index = divmod(number, len(kinds))
            # The difficulty shifts from kind to kind.
            difficulty = DIFFICULTIES[(turn + index) % len(DIFFICULTIES)]
            tasks.append(self._write_task(split, number, kinds[index], difficulty, out))
        write_tasks(tasks, out, split, defaults=True)
        return tasks

    def _write_task(
        self, split: Split, number: int, kind: str, difficulty: Difficulty, out: Path
    ) -> Task:
        task_id = f"{self.name}-{split}-{number:03}"
        built = self.kinds[kind](self.draft(Random(f"{self.seed}:{task_id}"), difficulty))
        golden = f"golden/{split}/{task_id}{self.suffix}"
        files = {
            name: self.input_path.format(split=split, task=task_id, name=name)
            for name in built.files
        }
        for name, content in built.files.items():
            write_atomic(out / files[name], content)
        write_atomic(out / golden, built.gold)
        return Task(
            id=task_id,
            prompt=built.prompt,
            files=files,
            answer=golden,
            check=self.check,
            meta={
                **(built.answer or {}),
                "kind": kind,
                **({"seen": kind not in self.unseen} if self.unseen else {}),
                "difficulty": difficulty,
                "stratum": f"{kind}/{difficulty}",
                **({"ordered": built.ordered} if built.answer is None else {}),
            },
        )


def csv_text(rows: Sequence[Sequence[object]]) -> str:
    """Rows as CSV; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def table_task(
    prompt: str,
    rows: Sequence[Sequence[object]],
    gold: Sequence[Sequence[object]],
    *,
    ordered: bool = False,
    **tables: Sequence[Sequence[object]],
) -> Built:
    """A task on `table.csv`.

    Args:
        prompt: states every rule.
        rows: of the table, its header first.
        gold: rows of the golden table, its header first.
        ordered: whether the order of the rows counts.
        tables: rows of further files, by their names without suffix.
    """
    files = {f"{name}.csv": csv_text(table) for name, table in {"table": rows, **tables}.items()}
    return Built(prompt, files, csv_text(gold), ordered)


def json_text(value: JsonValue) -> str:
    """A JSON document on several lines."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def jsonl_text(values: Sequence[JsonValue]) -> str:
    """JSON values, one a line."""
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
