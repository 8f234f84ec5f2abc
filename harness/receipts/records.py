"""What was run, compactly: enough to compute a receipt again without a model.

`<skill>.receipt.jsonl` lies beside the skill. Its first line says what everything depends on, each
further line is one rollout. The format is documented in `docs/reference/receipt.md`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from harness.core import BadInput, Outcome, Value, canonical_json, digest
from harness.evals import Split
from harness.receipts.plan import AuditPlan

SCHEMA = "agent-skill-harness/audit-records/1"


class Origin(Value):
    """Where a unit comes from, as the provenance beside the skill tells.

    Attributes:
        trajectory: id of a trajectory that an edit of the unit's lines was learned from.
        steps: its steps that the analyst quoted.
    """

    trajectory: str
    steps: tuple[int, ...] = ()


class Header(Value):
    """The first line.

    Attributes:
        skill: digest of the skill directory.
        files: path -> SHA-256 of every file of the skill.
        suite: name or path, as it was given.
        suite_digest: of settings, tasks and their files.
        tasks: (id, digest) of every task of the design, in the order of a round.
        prompts: digest of the prompt templates.
        origins: unit id -> where it comes from.
    """

    schema_: Literal["agent-skill-harness/audit-records/1"] = Field(default=SCHEMA, alias="schema")
    name: str
    skill: str
    files: dict[str, str]
    suite: str
    split: Split | None
    suite_digest: str
    tasks: tuple[tuple[str, str], ...]
    agent: str
    model: str
    simulated: bool
    skill_mode: str
    prompts: str
    version: str
    seed: int
    plan: AuditPlan
    origins: dict[str, tuple[Origin, ...]] = {}


class Row(Value):
    """One rollout.

    Attributes:
        id: `<task>` or `<task>@<epoch>`.
        units: one character a unit: 1 for present, 0 for absent.
        outcome: pass, fail or invalid.
        answer: final answer; judged again where the answer alone decides.
        tokens: prompt and completion tokens of the rollout.
        calls: digests of its model calls, in order.
        read: units whose file the agent's tool calls named.
        echoed: units of which the agent's text repeats a run of words (a heuristic).
    """

    id: str
    task: str
    units: str
    outcome: Outcome
    answer: str | None = None
    tokens: int = 0
    calls: tuple[str, ...] = ()
    read: tuple[int, ...] = ()
    echoed: tuple[int, ...] = ()

    @property
    def present(self) -> tuple[int, ...]:
        """Numbers of the units that were in the skill."""
        return tuple(at for at, char in enumerate(self.units) if char == "1")


class Records(Value):
    """A records file."""

    header: Header
    rows: tuple[Row, ...]

    @property
    def text(self) -> str:
        """The file as it is written."""
        first = self.header.model_dump(mode="json", by_alias=True)
        rows = [row.model_dump(mode="json", exclude_defaults=True) for row in self.rows]
        return "".join(canonical_json(one) + "\n" for one in (first, *rows))

    @property
    def digest(self) -> str:
        """SHA-256 of the file."""
        return digest(self.text.encode())


def read_records(path: Path) -> Records:
    """Read a records file.

    Raises:
        BadInput: if it is missing, damaged, or of another schema.
    """
    if not path.is_file():
        raise BadInput(f"expected the records of an audit at {str(path)!r}, found no file")
    rows: list[Row] = []
    header: Header | None = None
    text = _text(path)
    lines = text.removesuffix("\n").split("\n") if text else []  # no other ends of lines count
    for number, line in enumerate(lines, 1):
        try:
            if header is None:
                header = Header.model_validate(json.loads(line))
            else:
                rows.append(Row.model_validate(json.loads(line)))
        except (ValidationError, ValueError) as error:
            raise BadInput(f"{path}:{number}: expected a line of {SCHEMA}: {error}") from error
    if header is None:
        raise BadInput(f"{str(path)!r} is empty: expected a line of {SCHEMA}")
    found = Records(header=header, rows=tuple(rows))
    if found.text != text:  # the same values in other bytes
        raise BadInput(f"{str(path)!r} is not as it was written: a byte of it was changed")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{str(path)!r} is not UTF-8 (byte {error.start})") from error
