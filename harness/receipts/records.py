"""Compact records of a run: enough to compute a receipt again without a model.

`<skill>.receipt.jsonl` lies beside the skill. Its first line says what everything depends on, each
further line is one rollout, and shows by its trajectory which units were read or followed.
`docs/reference/receipt.md` documents the format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import Field, ValidationError

from harness.core import (
    BadInput,
    Outcome,
    Step,
    Task,
    Trajectory,
    Value,
    canonical_json,
    digest,
    first_fault,
    read_foreign,
)
from harness.core.rundir import RunReader
from harness.evals import ItemRecord, Split, finished_items
from harness.models import StoredCall, open_recording, read_reply, request_digest
from harness.receipts.plan import AuditPlan, Rollout
from harness.receipts.units import Cut, Origin, Unit
from harness.skills import (
    mentions,
)
from harness.stats import cluster_names
from harness.trajectories import content_text

SCHEMA = "agent-skill-harness/audit-records/1"
RUN = 5
"""Words in a row that count as an echo."""
_WORD = re.compile(r"[\w']+")
HeaderT = TypeVar("HeaderT", bound="Conditions")
RowT = TypeVar("RowT", bound="Attempted")


class Conditions(Value):
    """Conditions that every measurement of a skill depends on.

    Attributes:
        skill: digest of the skill directory.
        files: path -> SHA-256 of every file of the skill.
        suite: name or path, as it was given.
        suite_digest: of settings, tasks and their files.
        tasks: (id, digest) of every task, in their order.
        groups: task id -> its group, of those that have one: intervals are then by group.
        prompts: digest of the prompt templates.
    """

    name: str
    skill: str
    files: dict[str, str]
    suite: str
    split: Split | None
    suite_digest: str
    tasks: tuple[tuple[str, str], ...]
    groups: dict[str, str] = Field(default={}, exclude_if=lambda value: not value)
    agent: str
    model: str
    simulated: bool
    skill_mode: str
    prompts: str
    version: str
    seed: int

    def count_groups(self, tasks: Iterable[str]) -> int | None:
        """The number of groups that tasks are in, each without one by itself; None for none."""
        return len(set(cluster_names([*tasks], self.groups))) or None


class Header(Conditions):
    """The first line.

    Attributes:
        plan: of the audit; its rounds have the tasks in their order.
        origins: unit id -> where it comes from.
        by: column by which effects are estimated group by group, "" for none.
        by_values: task id -> its value in that column.
    """

    schema_: Literal["agent-skill-harness/audit-records/1"] = Field(default=SCHEMA, alias="schema")
    plan: AuditPlan
    origins: dict[str, tuple[Origin, ...]] = {}
    by: str = Field(default="", exclude_if=lambda value: not value)
    by_values: dict[str, str] = Field(default={}, exclude_if=lambda value: not value)


class Attempted(Value):
    """One attempt.

    Attributes:
        id: `<task>` or `<task>@<epoch>`.
        outcome: pass, fail or invalid.
        answer: final answer; judged again where the answer alone decides.
        tokens: prompt and completion tokens.
        calls: digests of its model calls, in order.
        replies: digest of what the model replied to them, "" without a recorded call.
    """

    id: str
    task: str
    outcome: Outcome
    answer: str | None = None
    tokens: int = 0
    calls: tuple[str, ...] = ()
    replies: str = ""


class Row(Attempted):
    """One rollout of an audit.

    Attributes:
        units: one character a unit: 1 for present, 0 for absent.
        read: units whose file the agent's tool calls named.
        echoed: units of which the agent's text repeats a run of words (a heuristic).
    """

    units: str = Field(pattern="^[01]*$")
    read: tuple[int, ...] = ()
    echoed: tuple[int, ...] = ()

    @property
    def present(self) -> tuple[int, ...]:
        """Numbers of the units that were in the skill."""
        return tuple(number for number, char in enumerate(self.units) if char == "1")


class RecordsFile(Value, Generic[HeaderT, RowT]):
    """Records of a run: a header, and a row an attempt."""

    header: HeaderT
    rows: tuple[RowT, ...]

    @property
    def text(self) -> str:
        """The file as it is written."""
        return records_text(self.header, self.rows)

    @property
    def digest(self) -> str:
        """SHA-256 of the file."""
        return digest(self.text.encode())


class Records(RecordsFile[Header, Row]):
    """The records of an audit."""


def records_text(header: Conditions, rows: Iterable[Attempted]) -> str:
    """A records file as it is written: its header, then one line an attempt."""
    first = header.model_dump(mode="json", by_alias=True)
    lines = [row.model_dump(mode="json", exclude_defaults=True) for row in rows]
    return "".join(canonical_json(line) + "\n" for line in (first, *lines))


def read_records(path: Path) -> Records:
    """Read the records of an audit.

    Raises:
        BadInput: if they are missing, damaged, or of another schema.
    """
    header, rows = read_lines(path, SCHEMA, Header, Row)
    return Records(header=header, rows=rows)


def read_lines(
    path: Path, schema: str, header_type: type[HeaderT], row_type: type[RowT]
) -> tuple[HeaderT, tuple[RowT, ...]]:
    """Read a records file of any schema.

    Raises:
        BadInput: if it is missing, damaged, or of another schema.
    """
    if not path.is_file():
        raise BadInput(f"expected records at {str(path)!r}, found no file")
    try:
        text = read_foreign(path).decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{str(path)!r} is not UTF-8 (byte {error.start})") from error
    first, *lines = text.removesuffix("\n").split("\n")  # no other ends of lines count
    number = 1
    try:
        header, rows = header_type.model_validate_json(first), list[RowT]()
        for number, line in enumerate(lines, 2):  # noqa: B007  # named if it is damaged
            rows.append(row_type.model_validate_json(line))
    except ValidationError as error:
        fault = first_fault(error, "line")
        raise BadInput(f"{path}:{number}: expected a line of {schema}: {fault}") from error
    if records_text(header, rows) != text:  # the same values in other bytes
        raise BadInput(f"{str(path)!r} is not as it was written: a byte of it was changed")
    return header, tuple(rows)


def call_of(step: Step) -> str:
    """The digest of the model call behind a step, "" if none is known."""
    return str((step.extra or {}).get("call_id") or "")


class RunContents(NamedTuple):
    """Item records, trajectories and answered calls of a run folder, by id."""

    items: dict[str, ItemRecord]
    trajectories: dict[str, Trajectory]
    calls: dict[str, StoredCall]

    def altered(self, step: Step) -> bool:
        """Return True if a step says other than the recorded reply to its call."""
        call = self.calls.get(call_of(step))
        if call is None:
            return False
        reply = read_reply(call.call_id, call.response, call.usage, cached=True)
        return content_text(step.message) not in (reply.text, reply.raw_text)


def read_run(run: Path, calls: Iterable[StoredCall]) -> RunContents:
    """Read a run folder, except its calls.

    Raises:
        BadInput: if there is no run.
    """
    reader = RunReader(run)
    rows = (Trajectory.model_validate(row) for row in reader.trajectories())
    return RunContents(
        {item.id: item for item in finished_items(reader)},
        {row.trajectory_id: row for row in rows},
        {call.call_id: call for call in calls},
    )


def row_of(rollout: Rollout, run: RunContents, parsed: Cut) -> Row:
    """The record of one finished rollout."""
    trajectory, units = run.trajectories.get(rollout.id), parsed.units
    return Row(
        **attempted_of(rollout.id, run),
        units="".join("1" if unit.number in rollout.units else "0" for unit in units),
        read=read_units(trajectory, units) if trajectory else (),
        echoed=echoed_units(trajectory, units) if trajectory else (),
    )


def attempted_of(id_: str, run: RunContents) -> dict[str, Any]:
    """Return the fields in the record of any finished attempt."""
    item = run.items[id_]
    calls = [call_of(step) for step in replied(run.trajectories.get(id_))]
    replies = [digest(run.calls[call].response) for call in calls if call in run.calls]
    return {
        "id": id_,
        "task": item.task_id,
        "outcome": item.outcome,
        "answer": item.answer,
        "tokens": item.usage.tokens,
        "calls": tuple(calls),
        "replies": digest(replies) if replies else "",
    }


def replied(trajectory: Trajectory | None) -> list[Step]:
    """Steps with what the model said in a call that is known."""
    return [step for step in trajectory.steps if call_of(step)] if trajectory else []


def read_units(trajectory: Trajectory, units: tuple[Unit, ...]) -> tuple[int, ...]:
    """Units with a file that a tool call names: the agent opened or ran it."""
    calls = _calls(trajectory)
    return tuple(
        unit.number
        for unit in units
        if any(mentions(call, path) for path in unit.files for call in calls)
    )


def echoed_units(trajectory: Trajectory, units: tuple[Unit, ...]) -> tuple[int, ...]:
    """Units of which the agent repeats five words in a row that the user did not say.

    A heuristic: agents also follow what they do not repeat, and say what nobody told them. The
    same count in rollouts without the unit stands beside it in the receipt.
    """
    agent, user = (
        _runs(" ".join(content_text(s.message) for s in trajectory.steps if s.source == source))
        for source in ("agent", "user")
    )
    added = agent.union(*map(_runs, _calls(trajectory))) - user
    return tuple(unit.number for unit in units if added and added & _unit_runs(unit.text))


def _calls(trajectory: Trajectory) -> list[str]:
    """Arguments of all tool calls."""
    return [
        canonical_json(call.arguments)
        for step in trajectory.steps
        for call in step.tool_calls or ()
    ]


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = [word.casefold() for word in _WORD.findall(text)]
    return frozenset(tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1))


_unit_runs = lru_cache(maxsize=1024)(_runs)
"""Of a unit's text, which is needed for every trajectory."""


def run_differs(run: Path, records: Records, parsed: Cut) -> Iterator[str]:
    """List differences between records and run folder, one sentence each; at most one a kind.

    Every rollout is taken from the run again, and every call that it names must be among the
    recorded ones, under the digest of its own request, with the reply that the trajectory has.

    Raises:
        BadInput: if there is no run, or its calls cannot be read.
    """
    contents = genuine_run(run)
    for row in records.rows:
        if row.id not in contents.items:
            yield f"run: rollout {row.id} is not in it"
            break
        epoch = contents.items[row.id].epoch
        rollout = Rollout(task=row.task, pair=epoch // 2, side=epoch % 2, units=row.present)
        if row_of(rollout, contents, parsed) != row:
            yield f"run: rollout {row.id} is another one there than in the records"
            break
    yield from replies_differ(contents, records.rows)


def genuine_run(run: Path) -> RunContents:
    """Read a run folder with those of its calls that have the digest of their request.

    Raises:
        BadInput: if there is no run, or its calls cannot be read.
    """
    recorded = open_recording(run / "calls.sqlite")
    return read_run(run, [c for c in recorded if request_digest(c.kind, c.body) == c.call_id])


def replies_differ(contents: RunContents, rows: Sequence[Attempted]) -> Iterator[str]:
    """Replies in the run's trajectories that the model did not give, and calls that are lost."""
    for row in rows:
        if any(map(contents.altered, replied(contents.trajectories.get(row.id)))):
            yield f"run: the trajectory of {row.id} has a reply that the model did not give"
            break
    lost = [call for row in rows for call in row.calls if call not in contents.calls]
    if lost:
        yield f"run: {len(lost)} calls are not among the recorded ones, the first {lost[0][:12]}"


def task_digests(tasks: Sequence[Task]) -> tuple[tuple[str, str], ...]:
    """(id, digest) of each task."""
    return tuple(
        (task.id, digest(task.model_dump(mode="json", exclude={"group"}))) for task in tasks
    )


def task_groups(tasks: Sequence[Task]) -> dict[str, str]:
    """The groups of those tasks that have one."""
    return {task.id: task.group for task in tasks if task.group}
