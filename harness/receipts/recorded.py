"""Records held against the run folder that they were taken from: its items and recorded calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.core import Trajectory
from harness.core.rundir import RunReader
from harness.evals import ItemRecord, finished_items
from harness.models.recordings import open_recording
from harness.models.wire import request_digest
from harness.receipts.plan import Rollout
from harness.receipts.records import Records, Row
from harness.receipts.traces import calls_of, echoed_units, read_units
from harness.receipts.units import Cut


def row_of(
    rollout: Rollout,
    items: Mapping[str, ItemRecord],
    seen: Mapping[str, Trajectory],
    parsed: Cut,
) -> Row:
    """The record of one finished rollout."""
    item, trajectory = items[rollout.id], seen.get(rollout.id)
    units = parsed.units
    return Row(
        id=rollout.id,
        task=rollout.task,
        units="".join("1" if unit.number in rollout.units else "0" for unit in units),
        outcome=item.outcome,
        answer=item.answer,
        tokens=item.usage.tokens,
        calls=calls_of(trajectory) if trajectory else (),
        read=read_units(trajectory, units) if trajectory else (),
        echoed=echoed_units(trajectory, units) if trajectory else (),
    )


def run_differs(run: Path, records: Records, parsed: Cut) -> Iterator[str]:
    """What in the records is not as the run folder has it, one sentence each; at most one a kind.

    Every rollout is taken from the run again, and every call that it names must be among the
    recorded ones, under the digest of its own request.

    Raises:
        BadInput: if there is no run, or its calls cannot be read.
    """
    reader = RunReader(run)
    items = {item.id: item for item in finished_items(reader)}
    rows = (Trajectory.model_validate(row) for row in reader.trajectories())
    seen = {row.trajectory_id: row for row in rows}
    for row in records.rows:
        if row.id not in items:
            yield f"run: rollout {row.id} is not in it"
            break
        epoch = items[row.id].epoch
        rollout = Rollout(task=row.task, pair=epoch // 2, side=epoch % 2, units=row.present)
        if row_of(rollout, items, seen, parsed) != row:
            yield f"run: rollout {row.id} is another one there than in the records"
            break
    stored = {
        call.call_id
        for call in open_recording(run / "calls.sqlite")
        if request_digest(call.kind, call.body) == call.call_id
    }
    lost = [call for row in records.rows for call in row.calls if call not in stored]
    if lost:
        yield f"run: {len(lost)} calls are not among the recorded ones, the first {lost[0][:12]}"
