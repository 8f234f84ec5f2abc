"""Provenance of a skill: the trajectories behind each line, and what the analysts wrote of them.

Kept beside the skill, never in its text. A line is known by its digest and its occurrence, not its
number, so that moving lines around does not lose their origin. An evolution leaves its analyst
records as `records.json` beside the skill (or one folder above); they are read leniently: this room
knows their field names and nothing of the analysts.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from pydantic import Field, ValidationError

from harness.core import (
    BadInput,
    Edit,
    Value,
    listing,
    mapping,
    read_foreign,
    read_json,
    write_atomic,
)
from harness.skills.apply import ApplyResult
from harness.skills.evidence import RULES, RuleEvidence, of_content, read_rules
from harness.skills.skill import SKILL_FILE, Skill, load_skill

ANALYST_RECORDS = "records.json"
Stored = TypeVar("Stored", bound=Value)


class LineOrigin(Value):
    """Lines of one file that one edit wrote.

    Attributes:
        lines: (digest of the line, occurrence of that line in the file from 0), in order.
    """

    file: str
    edit: int
    lines: tuple[tuple[str, int], ...]


class Provenance(Value):
    """The origin of a skill's lines.

    Attributes:
        skill: digest of the skill directory that it describes.
        parent: digest of the skill that the edits were applied to first.
        edits: every edit that wrote a line, with `sources` and `support`.
        gate: the verdict of a gate on the skill, on tasks that no analyst saw: `accepted`,
            `refused`, `none` where no gate was run or it could not tell; "" where nobody noted it.
        gate_said: the gate's reason, with the difference and its interval; "" without a gate.
    """

    skill: str
    parent: str
    edits: tuple[Edit, ...] = ()
    origins: tuple[LineOrigin, ...] = ()
    gate: Literal["", "accepted", "refused", "none"] = ""
    # Left out where it is empty: earlier files do not have it.
    gate_said: str = Field(default="", exclude_if=lambda text: not text)


class Quote(Value):
    """Passage of a trajectory that an analyst points to.

    Attributes:
        step: id of the step that it stands in, None where it was not found.
        how: `verbatim`, or `fragment`: the quote is a paraphrase, and `passage` is what it speaks
            of; "" where it was not found.
        passage: of the run, where the quote is a paraphrase.
        log: file and line of the session log that holds it, "" where there is no log.
    """

    text: str
    step: int | None = None
    how: Literal["verbatim", "fragment", ""] = ""
    passage: str = ""
    log: str = ""


class Source(Value):
    """One analyst record, as far as a reader of the skill needs it.

    Attributes:
        kind: `error` or `success`; "" if no record of this trajectory was kept.
        summary: root cause of the failure, or what made the run succeed.
        lessons: the analyst's lessons, in its words.
        wordings: those of them that the rule at hand was made from.
        quotes: the evidence.
        proven: whether the harness ran the fix and it held; None where no proof was required.
    """

    trajectory_id: str
    task_id: str = ""
    kind: str = ""
    summary: str = ""
    lessons: tuple[str, ...] = ()
    wordings: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()
    proven: bool | None = None

    def __str__(self) -> str:
        head = f"{self.trajectory_id}: {self.summary or 'no analyst wrote about it'}"
        lines = [f"  says: {wording}" for wording in self.wordings]
        for quote in self.quotes:
            lines.append(f'  "{quote.text}"  {self.at(quote)}')
            lines += [f"    | {line}" for line in quote.passage.splitlines()]
        return "\n".join([head, *lines])

    def at(self, quote: Quote) -> str:
        """Locate a quote: `trajectory_id step N`, how it was found, and the line of the log."""
        how = f" ({quote.how})" if quote.how else ""
        step = "not located" if quote.step is None else f"step {quote.step}{how}"
        return f"{self.trajectory_id} {step} {quote.log}".rstrip()


class Explanation(Value):
    """The origin of one line.

    Attributes:
        line: in `file`, from 1.
        edit: None for text of the skill before any patch.
        records: of the analysts, for each source of the edit.
        evidence: what speaks for the rule and against it; None for text before any patch.
    """

    file: str
    line: int
    text: str
    edit: Edit | None = None
    records: tuple[Source, ...] = ()
    evidence: RuleEvidence | None = None


def provenance_of(
    result: ApplyResult, parent: Skill, earlier: Provenance | None = None
) -> Provenance:
    """The origin of every line of `result.skill`; `earlier` is that of `parent`, carried over."""
    before = earlier or Provenance(skill="", parent=parent.digest)
    changed = [applied for applied in result.applied if applied.changed]
    numbers = {applied.index: n for n, applied in enumerate(changed, len(before.edits))}
    inherited = _edits_by_line(before)
    rows: dict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)
    for file in result.skill.all_files:
        text, owners = result.skill.file_text(file), result.lines.get(file, ())
        keys = [] if text is None else _line_keys(text)
        for key, owner in zip_longest(keys, owners[: len(keys)]):
            number = inherited.get((file, key)) if owner is None else numbers.get(owner)
            if number is not None:
                rows[file, number].append(key)
    return Provenance(
        skill=result.skill.digest,
        parent=before.parent,
        edits=(*before.edits, *(applied.edit for applied in changed)),
        origins=tuple(
            LineOrigin(file=file, edit=number, lines=tuple(keys))
            for (file, number), keys in sorted(rows.items())
        ),
    )


def explain(provenance: Provenance, skill: Skill, file: str, line: int) -> Explanation:
    """Explain line `line` (from 1) of `file`.

    Raises:
        BadInput: if there is no such file or line.
    """
    lines = explain_file(provenance, skill, file)
    if not 1 <= line <= len(lines):
        raise BadInput(f"{file} has lines 1 to {len(lines)}, not {line}")
    return lines[line - 1]


def explain_file(provenance: Provenance, skill: Skill, file: str) -> tuple[Explanation, ...]:
    """Explain every line of `file`, in order.

    Raises:
        BadInput: if there is no such file.
    """
    text = skill.file_text(file)
    if text is None:
        raise BadInput(f"no text file {file!r} in skill {skill.name!r}")
    written = _edits_by_line(provenance)
    rows: list[Explanation] = []
    lines = text.removesuffix("\n").split("\n")
    for number, (line, key) in enumerate(zip(lines, _line_keys(text), strict=True), 1):
        position = written.get((file, key))
        edit = None if position is None else provenance.edits[position]
        rows.append(Explanation(file=file, line=number, text=line, edit=edit))
    return tuple(rows)


def explain_place(location: str) -> Explanation:
    """Explain `path/to/skill/FILE:LINE`: its edit, the analysts' records, the steps they quote.

    The provenance lies beside the skill, the records where :func:`read_sources` looks.

    Raises:
        BadInput: if the place is malformed, in no skill, or there is no provenance.
    """
    name, _, number = location.rpartition(":")
    if not name or not number.isdecimal():
        raise BadInput(f"expected FILE:LINE, got {location!r}")
    path = Path(name).resolve()
    root = next((folder for folder in path.parents if (folder / SKILL_FILE).is_file()), None)
    if root is None:
        raise BadInput(f"{name!r} lies in no skill directory (no SKILL.md above it)")
    file = path.relative_to(root).as_posix()
    line = explain(read_provenance(root), load_skill(root), file, int(number))
    if line.edit is None:
        return line
    rules = evolution_file(root, RULES)
    evidence = of_content(read_rules(rules) if rules else (), line.edit.content)
    records: list[Source] = []
    for record in matching(read_sources(root), line.edit.sources):
        # Of a record with several lessons, what the lessons of this rule quote.
        quoted = evidence.quotes.get(record.trajectory_id, ())
        quotes = tuple(quote for quote in record.quotes if quote.text in quoted) or record.quotes
        wordings = evidence.wordings.get(record.trajectory_id, ())
        records.append(record.model_copy(update={"wordings": wordings, "quotes": quotes}))
    return line.model_copy(update={"records": tuple(records), "evidence": evidence})


def _line_keys(text: str) -> list[tuple[str, int]]:
    """(digest, occurrence) of every line of a file's text."""
    seen: Counter[str] = Counter()
    keys: list[tuple[str, int]] = []
    for line in text.removesuffix("\n").split("\n"):
        tag = hashlib.sha256(line.strip().encode()).hexdigest()[:16]
        keys.append((tag, seen[tag]))
        seen[tag] += 1
    return keys


def _edits_by_line(provenance: Provenance) -> dict[tuple[str, tuple[str, int]], int]:
    return {
        (origin.file, key): origin.edit for origin in provenance.origins for key in origin.lines
    }


def write_value(path: Path, value: Value) -> Path:
    """Write a value beside a skill as JSON, the same bytes every time."""
    plain = value.model_dump(mode="json")
    write_atomic(path, json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    return path


def read_value(path: Path, kind: type[Stored], fault: str) -> Stored:
    """Read a value that lies beside a skill.

    Raises:
        BadInput: if it is missing or of another shape; `fault` says so of the path.
    """
    try:
        return kind.model_validate_json(read_foreign(path))
    except OSError as error:
        raise BadInput(f"{str(path)!r} {fault}: {error.strerror}") from error
    except ValidationError as error:
        raise BadInput(f"{str(path)!r} {fault}: {error.errors()[0]['msg']}") from error


def provenance_path(skill: Path) -> Path:
    """Return the path of a skill directory's provenance, which lies beside it."""
    return skill.parent / f"{skill.name}.provenance.json"


def write_provenance(provenance: Provenance, skill: Path) -> Path:
    """Write `<skill>.provenance.json` beside the skill directory."""
    return write_value(provenance_path(skill), provenance)


def read_provenance(skill: Path) -> Provenance:
    """Read the provenance that lies beside a skill directory (or `provenance.json` there).

    Raises:
        BadInput: if there is none, or it is damaged.
    """
    for path in (provenance_path(skill), skill.parent / "provenance.json"):
        if path.is_file():
            return read_value(path, Provenance, "is no provenance file")
    raise BadInput(f"no provenance beside {str(skill)!r}: was it written by `harness evolve`?")


def read_sources(skill: Path) -> tuple[Source, ...]:
    """The records of the evolution that wrote the skill directory; () if there are none.

    Raises:
        BadInput: if the file is no list of JSON objects.
    """
    path = evolution_file(skill, ANALYST_RECORDS)
    if path is None:
        return ()
    rows: Any = read_json(path)
    if not isinstance(rows, list) or len(_objects(rows)) != len(cast("list[Any]", rows)):
        raise BadInput(f"{str(path)!r}: expected a list of analyst records")
    return sources_of(_objects(rows))


def evolution_file(skill: Path, name: str) -> Path | None:
    """A file that an evolution left beside the skill directory; None if there is none.

    Looked for as `<skill>.NAME`, then `NAME` beside the skill and one folder above
    (`OUT/skill/NAME` and `OUT/NAME`).
    """
    skill = skill.resolve()
    beside = skill.parent / f"{skill.name}.{name}"
    candidates = (beside, skill.parent / name, skill.parent.parent / name)
    return next((path for path in candidates if path.is_file()), None)


def matching(sources: Iterable[Source], trajectory_ids: Iterable[str]) -> tuple[Source, ...]:
    """The records of these trajectories; one without summary where no record was kept."""
    by_id: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        by_id[source.trajectory_id].append(source)
    return tuple(
        source for id_ in trajectory_ids for source in by_id.get(id_, [Source(trajectory_id=id_)])
    )


def sources_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Source, ...]:
    """Sources from analyst records as JSON; a row without `trajectory_id` is left out."""
    sources: list[Source] = []
    for row in rows:
        if not row.get("trajectory_id"):
            continue
        texts, proof = listing(row.get("evidence")), row.get("proof")
        steps = listing(row.get("evidence_steps"))[: len(texts)]
        locations = listing(row.get("evidence_places"))[: len(texts)]
        proven = None
        if isinstance(proof, dict):
            # As the harness judges a proof: the clean input and two perturbed ones, all passed.
            runs = _objects(cast("dict[str, Any]", proof).get("runs"))
            clean = sum(run.get("kind") == "clean" for run in runs)
            passed = all(run.get("passed") is True for run in runs)
            proven = clean > 0 and len(runs) - clean >= 2 and passed
        source = Source(
            trajectory_id=str(row["trajectory_id"]),
            task_id=str(row.get("task_id") or ""),
            kind=str(row.get("kind") or ""),
            summary=" ".join(str(row.get("summary") or "").split()),
            lessons=tuple(
                str(lesson.get("lesson") or lesson.get("title") or "")
                for lesson in _objects(row.get("items"))
            ),
            quotes=tuple(
                _quote(str(text), step, location)
                for text, step, location in zip_longest(texts, steps, locations)
            ),
            proven=proven,
        )
        sources.append(source)
    return tuple(sources)


def _quote(text: str, step: Any, location: Any) -> Quote:
    """A quote of a record, which older evolutions wrote with the number of its step alone."""
    fields = mapping(location)
    how, passage = fields.get("how"), fields.get("passage")
    return Quote(
        text=text,
        step=step if type(step) is int else None,
        how=how if how in ("verbatim", "fragment") else "",
        passage=str(passage or ""),
        log=str(fields.get("log") or ""),
    )


def _objects(value: Any) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", row) for row in listing(value) if isinstance(row, dict)]
