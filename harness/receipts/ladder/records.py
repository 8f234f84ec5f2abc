"""The rungs of a ladder and what was run on each: enough to compute the ladder again.

`<skill>.ladder.jsonl` has a header and one line an attempt; the bodies of the controls stand in the
header, so that anyone can read what the skill was compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from harness.core import Value, digest
from harness.evals import Split
from harness.receipts.records import (
    Attempted,
    Conditions,
    RecordsFile,
    RunContents,
    attempted_of,
    read_lines,
    replied,
)
from harness.trajectories import content_text

SCHEMA = "agent-skill-harness/ladder-records/1"
RungKind = Literal["control", "part", "skill", "repeat"]
RungName = Literal[
    "none",
    "placebo",
    "format",
    "random",
    "best",
    "double",
    "nearest",
    "lessons",
    "no-model",
    "prose",
    "skill",
    "repeat",
]
TITLES: Mapping[RungName, str] = {
    "none": "no skill",
    "placebo": "placebo",
    "format": "format rule alone",
    "random": "random gold examples",
    "best": "best of eight sets of gold examples",
    "double": "best of eight at double the tokens",
    "nearest": "the gold examples nearest to each task",
    "lessons": "list of all lessons",
    "no-model": "the functions without a model",
    "prose": "the skill's prose alone",
    "skill": "the skill",
    "repeat": "the skill again (A/A)",
}
ORDER: tuple[RungName, ...] = tuple(TITLES)
NO_MODEL: RungName = "no-model"
"""The rung on which code calls the skill's functions: `replies` is of the program that it wrote."""


class Rung(Value):
    """One condition.

    Attributes:
        name: of the rung, and of its run folder.
        kind: a control; a part of the skill; the skill; or the skill a second time.
        target: tokens that it should have; None where its length is its own.
        tokens: that it adds to a prompt, by the tokenizer of the project.
        skill: digest of its skill directory, "" for none.
        body: of a control's SKILL.md, as it was shown to the agent.
        examples: ids of the tasks of its examples.
        run: the rung whose attempts it has: its own name, or an earlier rung with the same text.
        note: what a reader must know.
    """

    name: RungName
    kind: RungKind
    target: int | None = None
    tokens: int
    skill: str = ""
    body: str = ""
    examples: tuple[str, ...] = ()
    run: RungName
    note: str = ""

    @property
    def title(self) -> str:
        """For people."""
        return TITLES[self.name]


class Choice(Value):
    """Choice of the best of several sets, on tasks that are not those of the test.

    Attributes:
        tokens: of each set.
        passed: tasks that passed with each set, of `tasks`; the first of the best was taken.
        attempts: that were made for it.
        calls: model calls of them.
        used: tokens of them.
    """

    rung: RungName
    tokens: tuple[int, ...]
    passed: tuple[int, ...]
    attempts: int
    calls: int
    used: int

    @property
    def best(self) -> int:
        """Number of the chosen set."""
        return self.passed.index(max(self.passed))


class LadderHeader(Conditions):
    """The first line.

    Attributes:
        epochs: attempts a task on every rung.
        planned: what was said before the first call.
        rungs: in their order.
        choose_split: the split that the best sets were chosen on; None without examples.
        choose_tasks: how many of its tasks.
        choices: of the sets of examples.
        unseen: ids of the tasks whose kind the other splits lack (`meta.seen` is false).
        pool: where the examples came from, how many were verified and refused.
    """

    schema_: Literal["agent-skill-harness/ladder-records/1"] = Field(default=SCHEMA, alias="schema")
    epochs: int
    planned: str
    rungs: tuple[Rung, ...]
    choose_split: Split | None = None
    choose_tasks: int = 0
    choices: tuple[Choice, ...] = ()
    unseen: tuple[str, ...] = ()
    pool: str = ""


class LadderRow(Attempted):
    """One attempt of a rung that has a run of its own.

    Attributes:
        seconds: that it took.
        context: tokens of the prompt of its first call, as the model's server counts them.
    """

    rung: RungName
    seconds: float = 0.0
    context: int | None = None


class LadderRecords(RecordsFile[LadderHeader, LadderRow]):
    """The records of a ladder."""


def read_ladder(path: Path) -> LadderRecords:
    """Read the records of a ladder.

    Raises:
        BadInput: if they are missing, damaged, or of another schema.
    """
    header, rows = read_lines(path, SCHEMA, LadderHeader, LadderRow)
    return LadderRecords(header=header, rows=rows)


def rows_of(rung: RungName, ids: Iterable[str], run: RunContents) -> list[LadderRow]:
    """The records of a rung's attempts."""
    rows: list[LadderRow] = []
    for id_ in ids:
        first = next(iter(replied(run.trajectories.get(id_))), None)
        metrics = first.metrics if first is not None else None
        row = LadderRow(
            **attempted_of(id_, run),
            rung=rung,
            seconds=round(run.items[id_].usage.seconds, 2),
            context=metrics.prompt_tokens if metrics is not None else None,
        )
        if rung == NO_MODEL:
            written = digest(content_text(first.message)) if first is not None else ""
            changes = {"tokens": 0, "calls": (), "context": None, "replies": written}
            row = row.model_copy(update=changes)
        rows.append(row)
    return rows
