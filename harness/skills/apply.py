"""Apply a patch to a skill: pure, deterministic, and either valid or undone.

The guardrails of Trace2Skill (arXiv 2603.25158, section 2.3: target exists, line ranges do not
conflict, format validates) and those its code lacks: containment, unique anchors, links judged
after trial application, size limits, idempotence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from harness.core import Edit, Patch
from harness.skills.document import Document
from harness.skills.engine import Run, run_edits
from harness.skills.frontmatter import render_header
from harness.skills.links import dangling, orphans
from harness.skills.types import AppliedEdit, ApplyResult, Limits, Problem, Skill
from harness.skills.validate import validate

MAX_ROUNDS = 4


def apply_patch(skill: Skill, patch: Patch, limits: Limits | None = None) -> ApplyResult:
    """Apply the edits that are safe, best-supported first (ties: earlier first).

    The result is stable: applying the same patch to it changes nothing. An edit that would break
    a limit, a link or the format is withheld with the reason; if the skill still had an error
    that it did not have before, nothing is applied and `rolled_back` says why.

    Raises:
        BadInput: if the skill's own frontmatter has no strict form.
    """
    sizes = limits or Limits()
    start = replace(skill, header=render_header(skill.frontmatter), warnings=())
    rounds = _stable(start, patch, sizes)
    result = rounds[-1].skill
    before = {_key(problem) for problem in validate(start, sizes) if problem.level == "error"}
    broken = [
        problem
        for problem in validate(result, sizes)
        if problem.level == "error" and _key(problem) not in before
    ]
    if broken:
        reason = f"rolled back: {broken[0]}"
        kept = rounds[-1].withheld
        withheld = tuple((edit, kept.get(i, reason)) for i, edit in enumerate(patch.edits))
        return ApplyResult(skill, (), withheld, reason, {})
    final = result if result.all_files != start.all_files else skill
    return ApplyResult(final, *_sorted_out(rounds, patch), "", _owners(rounds[-1].documents))


def _sorted_out(
    rounds: list[Run], patch: Patch
) -> tuple[tuple[AppliedEdit, ...], tuple[tuple[Edit, str], ...]]:
    applied: list[AppliedEdit] = []
    withheld: list[tuple[Edit, str]] = []
    for i, edit in enumerate(patch.edits):
        notes = [run.notes[i] for run in rounds if i in run.notes]
        if notes:
            changed = any(i in run.notes and i not in run.unchanged for run in rounds)
            applied.append(AppliedEdit(edit=edit, index=i, changed=changed, note=notes[0]))
        else:
            withheld.append((edit, rounds[-1].withheld[i]))
    return tuple(applied), tuple(withheld)


def _key(problem: Problem) -> tuple[str, str]:
    return problem.file, problem.message


def _owners(documents: Mapping[str, Document]) -> dict[str, tuple[int | None, ...]]:
    return {path: tuple(line.owner for line in lines) for path, lines in documents.items()}


def _stable(skill: Skill, patch: Patch, limits: Limits) -> list[Run]:
    """Runs until a further one changes nothing; edits that never settle are banned."""
    bans: dict[int, str] = {}
    while True:
        rounds = [_linked(skill, patch, limits, bans, None)]
        for _ in range(MAX_ROUNDS):
            last = rounds[-1]
            again = _linked(last.skill, patch, limits, bans, _unclaimed(last.documents))
            if again.skill.all_files == last.skill.all_files:
                return rounds
            rounds.append(again)
        restless = set(rounds[-1].notes) - rounds[-1].unchanged
        bans.update(dict.fromkeys(restless, "would change the skill again on every re-run"))


def _unclaimed(documents: Mapping[str, Document]) -> dict[str, Document]:
    return {
        path: [replace(line, claims=frozenset()) for line in lines]
        for path, lines in documents.items()
    }


def _linked(
    skill: Skill,
    patch: Patch,
    limits: Limits,
    bans: dict[int, str],
    documents: dict[str, Document] | None,
) -> Run:
    """One run, repeated without the edits that leave a dangling link or an orphan."""
    tried = dict(bans)
    known_dangling = {(file, path) for file, _, path in dangling(skill)}
    known_orphans = set(orphans(skill))
    while True:
        run = run_edits(skill, patch, limits, tried, documents)
        guilty: dict[int, str] = {}
        for file, index, path in dangling(run.skill):
            if (file, path) not in known_dangling:
                guilty |= _linker(run, patch, file, index, path)
        for path in orphans(run.skill):
            if path not in known_orphans:
                guilty |= _orphaner(run, patch, path)
        fresh = {index: reason for index, reason in guilty.items() if index not in tried}
        if not fresh:
            return run
        tried |= fresh


def _linker(run: Run, patch: Patch, file: str, index: int, path: str) -> dict[int, str]:
    """Who is to blame for a dangling link: the deleter of its target, else the line's writer."""
    for i in run.notes:
        edit = patch.edits[i]
        if edit.op == "delete_file" and edit.file.removeprefix("./") == path:
            return {i: f"{file} still links to {path!r}: no edit removed the link"}
    owner = run.documents[file][index].owner if file in run.documents else None
    return {} if owner is None else {owner: f"links to {path!r}, which does not exist"}


def _orphaner(run: Run, patch: Patch, path: str) -> dict[int, str]:
    """Who is to blame for an orphan: its creator, else whoever removed the link to it."""
    for i in run.notes:
        edit = patch.edits[i]
        if edit.op == "create" and edit.file.removeprefix("./") == path:
            return {i: f"no applied edit links {path!r} from SKILL.md: it would be an orphan"}
    return {
        i: f"would remove the only link to {path!r}"
        for i, removed in run.removed.items()
        if path in removed
    }
