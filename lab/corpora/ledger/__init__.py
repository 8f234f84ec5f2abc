"""Our own spreadsheet corpus: invented workbooks with tasks and golden answers, from a seed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from harness.core import Task, write_atomic
from harness.corpora import Split, check_limit, write_tasks
from lab.corpora.drafts import DIFFICULTIES, Difficulty
from lab.corpora.ledger import cell_kinds, sheet_kinds
from lab.corpora.ledger.sheet import Built, Draft, workbook_bytes

KINDS: dict[str, Callable[[Draft], Built]] = {
    "lookup": cell_kinds.lookup,
    "dates": cell_kinds.dates,
    "split": cell_kinds.split,
    "merge": cell_kinds.merge,
    "flag": cell_kinds.flag,
    "running": cell_kinds.running,
    "numbers": cell_kinds.numbers,
    "deduplicate": sheet_kinds.deduplicate,
    "aggregate": sheet_kinds.aggregate,
    "sort": sheet_kinds.sort,
    "unmerge": sheet_kinds.unmerge,
}
PER_STRATUM: dict[Split, int] = {"train": 4, "selection": 7, "test": 11}
SEED = 20261121


def split_size(split: Split) -> int:
    """Tasks of a split: 132, 231 and 363."""
    return PER_STRATUM[split] * len(KINDS) * len(DIFFICULTIES)


def write_split(split: Split, out: Path, limit: int | None = None, seed: int = SEED) -> list[Task]:
    """Write `<split>.jsonl` with `inputs/` and `golden/` beside it; the same bytes every time.

    Args:
        split: train, selection or test.
        out: folder; files of the same names are replaced.
        limit: only so many tasks: the strata are dealt in turn, so that few tasks still mix.
        seed: another seed gives another corpus.

    Raises:
        BadInput: if `limit` is below 1, or the folder cannot be written.
    """
    check_limit(limit)
    tasks: list[Task] = []
    for number in range(split_size(split))[:limit]:
        turn, place = divmod(number, len(KINDS))
        # The difficulty shifts from kind to kind.
        difficulty = DIFFICULTIES[(turn + place) % len(DIFFICULTIES)]
        tasks.append(_write_task(split, number, list(KINDS)[place], difficulty, out, seed))
    write_tasks(tasks, out, split, defaults=True)
    return tasks


def _write_task(
    split: Split, number: int, kind: str, difficulty: Difficulty, out: Path, seed: int
) -> Task:
    task_id = f"ledger-{split}-{number:03}"
    draft = Draft(Random(f"{seed}:{task_id}"), difficulty)
    built = KINDS[kind](draft)
    source, golden = f"inputs/{split}/{task_id}.xlsx", f"golden/{split}/{task_id}.xlsx"
    write_atomic(out / source, workbook_bytes(draft.book))
    built.solve()
    write_atomic(out / golden, workbook_bytes(draft.book))
    return Task(
        id=task_id,
        prompt=built.prompt,
        files={"input.xlsx": source},
        answer=golden,
        check="spreadsheet",
        meta={
            "instruction_type": built.level,
            "answer_position": built.position,
            "answer_sheet": built.sheet,
            "kind": kind,
            "difficulty": difficulty,
            "stratum": f"{kind}/{difficulty}",
        },
    )
