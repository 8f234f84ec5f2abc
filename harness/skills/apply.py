"""Apply a patch to a skill: pure, deterministic, and either valid or undone.

The guardrails of Trace2Skill (arXiv 2603.25158, section 2.3: target exists, line ranges do not
conflict, format validates) and those its code lacks: containment, unique anchors, links judged
after trial application, size limits, idempotence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from harness.core import Edit, Patch, Value
from harness.skills.markdown import count_tokens, render_header, scan
from harness.skills.operations import (
    OPERATIONS,
    Document,
    Withhold,
    claim,
    clean_content,
    document,
    front_length,
    refuse_claimed,
    render,
    texts,
    written_by,
)
from harness.skills.skill import SKILL_FILE, Skill
from harness.skills.validate import Limits, dangling, orphans, validate

MAX_ROUNDS = 4
# Text that clients read. Scripts are code that runs: no patch of a model writes one.
EXTENSIONS = frozenset({".md", ".txt", ".csv", ".json", ".yaml", ".yml"})
FOLDERS = frozenset({"references", "assets"})
_PROTECTED = re.compile(r"(?i)^(?:licen[cs]e|notice|copying|provenance)\b.*$")
_PART = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")


class AppliedEdit(Value):
    """An edit that is in the result.

    Attributes:
        index: position in the patch, from 0.
        changed: False if the skill already said this (a re-run).
        note: how the edit was adapted (headings demoted, merged into an existing section, ...).
    """

    edit: Edit
    index: int
    changed: bool
    note: str = ""


@dataclass(frozen=True)
class ApplyResult:
    """The result of :func:`apply_patch`.

    Attributes:
        skill: the new skill; the old one, untouched, if `rolled_back`.
        applied: edits in the result, in patch order.
        withheld: (edit, reason) of the others, in patch order.
        rolled_back: why the whole application was undone, "" if it stands.
        lines: file -> index of the edit (or None) that each line comes from; 1 entry per line.
    """

    skill: Skill
    applied: tuple[AppliedEdit, ...]
    withheld: tuple[tuple[Edit, str], ...]
    rolled_back: str = ""
    lines: Mapping[str, tuple[int | None, ...]] = field(
        default_factory=dict[str, tuple[int | None, ...]]
    )


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
    rounds = _until_stable(start, patch, sizes)
    last = rounds[-1]
    result = last.skill
    before = {(problem.file, problem.message) for problem in validate(start, sizes)}
    for problem in validate(result, sizes):
        if problem.level == "error" and (problem.file, problem.message) not in before:
            reason = f"rolled back: {problem}"
            reasons = [last.withheld.get(i, reason) for i in range(len(patch.edits))]
            withheld = tuple(zip(patch.edits, reasons, strict=True))
            return ApplyResult(skill, (), withheld, reason, {})
    applied: list[AppliedEdit] = []
    for i, edit in enumerate(patch.edits):
        applying = [run for run in rounds if i in run.notes]
        if applying:
            changed = any(i not in run.unchanged for run in applying)
            applied.append(
                AppliedEdit(edit=edit, index=i, changed=changed, note=applying[0].notes[i])
            )
    indices = {row.index for row in applied}
    return ApplyResult(
        result if result.all_files != start.all_files else skill,
        tuple(applied),
        tuple((edit, last.withheld[i]) for i, edit in enumerate(patch.edits) if i not in indices),
        "",
        {path: tuple(line.owner for line in lines) for path, lines in last.documents.items()},
    )


def _until_stable(skill: Skill, patch: Patch, limits: Limits) -> list[Run]:
    """Runs until a further one changes nothing; edits that never settle are banned."""
    bans: dict[int, str] = {}
    while True:
        rounds = [_linked(skill, patch, limits, bans, _text_files(skill))]
        for _ in range(MAX_ROUNDS):
            last = rounds[-1]
            unclaimed = {
                path: [replace(line, claims=frozenset()) for line in lines]
                for path, lines in last.documents.items()
            }
            repeated = _linked(last.skill, patch, limits, bans, unclaimed)
            if repeated.skill.all_files == last.skill.all_files:
                return rounds
            rounds.append(repeated)
        unstable = set(rounds[-1].notes) - rounds[-1].unchanged
        bans.update(dict.fromkeys(unstable, "would change the skill again on every re-run"))


def _linked(
    skill: Skill,
    patch: Patch,
    limits: Limits,
    bans: Mapping[int, str],
    documents: Mapping[str, Document],
) -> Run:
    """One run, repeated without the edits that leave a dangling link or an orphan."""
    banned = dict(bans)
    old_dangling = {(file, path) for file, _, path in dangling(skill)}
    old_orphans = set(orphans(skill))
    while True:
        run = Run(skill, dict(documents), limits)
        run.apply(patch, banned)
        blamed: dict[int, str] = {}
        for file, index, path in dangling(run.skill):
            if (file, path) not in old_dangling:
                # The deleter of the link's target is to blame, else the line's writer.
                deleter = _file_edit(run, patch, "delete_file", path)
                owner = run.documents[file][index].owner if file in run.documents else None
                if deleter is not None:
                    blamed[deleter] = f"{file} still links to {path!r}: no edit removed the link"
                elif owner is not None:
                    blamed[owner] = f"links to {path!r}, which does not exist"
        for path in [path for path in orphans(run.skill) if path not in old_orphans]:
            # The orphan's creator is to blame, else whoever removed the link to it.
            creator = _file_edit(run, patch, "create", path)
            if creator is not None:
                reason = f"no applied edit links {path!r} from SKILL.md: it would be an orphan"
                blamed[creator] = reason
            else:
                removers = [i for i, text in run.removed.items() if path in text]
                blamed |= dict.fromkeys(removers, f"would remove the only link to {path!r}")
        if blamed.keys() <= banned.keys():
            return run
        banned = blamed | banned


def _file_edit(run: Run, patch: Patch, op: str, path: str) -> int | None:
    """The applied edit that created or deleted a file."""
    edits = ((i, patch.edits[i]) for i in run.notes)
    matches = (i for i, edit in edits if edit.op == op and edit.file.removeprefix("./") == path)
    return next(matches, None)


def _text_files(skill: Skill) -> dict[str, Document]:
    files = ((path, skill.file_text(path)) for path in skill.all_files)
    return {path: document(text) for path, text in files if text is not None and "\x00" not in text}


@dataclass
class Run:
    """One pass over a patch: trial after trial, each edit whole or not at all.

    Attributes:
        documents: the text files by path, with the owners of an earlier pass.
        notes: index of an applied edit -> note.
        unchanged: applied edits that the skill already said.
        withheld: index of an edit -> reason.
        removed: index of an edit -> the text it removed.
        dropped: paths of deleted files.
    """

    base: Skill
    documents: dict[str, Document]
    limits: Limits
    notes: dict[int, str] = field(default_factory=dict[int, str])
    unchanged: set[int] = field(default_factory=set[int])
    withheld: dict[int, str] = field(default_factory=dict[int, str])
    removed: dict[int, str] = field(default_factory=dict[int, str])
    dropped: set[str] = field(default_factory=set[str])

    @property
    def skill(self) -> Skill:
        """The skill as it stands."""
        body = self.base.body
        files = {path: data for path, data in self.base.files.items() if path not in self.dropped}
        for path, lines in self.documents.items():
            text = self.base.file_text(path)
            if text is None or texts(lines) != texts(document(text)):
                if path == SKILL_FILE:
                    body = render(lines)[len(self.base.header) :]
                else:
                    files[path] = render(lines).encode()
        return replace(self.base, body=body, files=files)

    @property
    def existing(self) -> frozenset[str]:
        """Paths of all files as they stand."""
        return frozenset({*self.base.files, *self.documents} - self.dropped)

    def apply(self, patch: Patch, bans: Mapping[int, str]) -> None:
        """Apply what can be applied, best-supported first, until nothing more fits.

        An edit may rest on text that another edit brings: those that found no anchor are tried
        again after the others.
        """
        self.withheld.update(bans)
        order = sorted(range(len(patch.edits)), key=lambda i: (-patch.edits[i].support, i))
        pending = [i for i in order if i not in bans]
        progress = True
        while pending and progress:
            progress = False
            for i in list(pending):
                try:
                    self._apply_edit(patch.edits[i], i)
                except Withhold as reason:
                    self.withheld[i] = str(reason)
                else:
                    self.withheld.pop(i, None)
                    pending.remove(i)
                    progress = progress or i not in self.unchanged

    def _apply_edit(self, edit: Edit, i: int) -> None:
        path = _contained(edit, self.existing, self.limits)
        note: str | None = ""
        if edit.op == "create":
            note = self._create(path, edit, i)
        elif path not in self.documents:
            raise Withhold(f"{path!r} is no text file")
        elif edit.op == "delete_file":
            lines = self.documents[path]
            refuse_claimed(lines, 0, len(lines), i)
            self.removed[i] = render(lines)
            del self.documents[path]
            self.dropped.add(path)
        else:
            before = self.documents[path]
            trial = list(before)
            note = OPERATIONS[edit.op](trial, edit, i)
            if note is not None:
                self._check_trial(path, before, trial)
            self.documents[path] = trial
            if edit.op in ("replace_in_section", "delete_section"):
                self.removed[i] = "\n".join(Counter(texts(before)) - Counter(texts(trial)))
        if note is None:
            self.unchanged.add(i)
        self.notes[i] = "already there" if note is None else note

    def _create(self, path: str, edit: Edit, i: int) -> str | None:
        block = clean_content(edit.content)
        limits, existing = self.limits, self.existing
        if path in existing:
            lines = list(self.documents.get(path, ()))
            if texts(lines) != block:
                raise Withhold(f"{path!r} exists with other content")
            claim(lines, 0, len(block), i)
            self.documents[path] = lines
            return None
        references = [name for name in existing if name.startswith("references/")]
        if path.startswith("references/") and len(references) >= limits.references:
            raise Withhold(
                f"the skill has {len(references)} references (limit {limits.references})"
            )
        if len(block) >= limits.reference_lines:
            raise Withhold(
                f"{len(block)} lines (a reference must stay below {limits.reference_lines})"
            )
        self.documents[path] = written_by(i, block)
        self.dropped.discard(path)
        return ""

    def _check_trial(self, path: str, before: Document, trial: Document) -> None:
        """Refuse a trial that breaks the frontmatter, a fence or a size limit."""
        front, limits = front_length(before), self.limits
        if texts(trial[:front]) != texts(before[:front]):
            raise Withhold("the frontmatter is protected")
        open_before = scan(texts(before)).open_fence
        if open_before is None and scan(texts(trial)).open_fence is not None:
            raise Withhold("would leave a code fence open")
        limit = limits.skill_lines if path == SKILL_FILE else limits.reference_lines
        if len(trial) >= limit and len(trial) > len(before):
            raise Withhold(f"{path} would have {len(trial)} lines (must stay below {limit})")
        tokens = count_tokens(render(trial)) if path == SKILL_FILE else 0
        if tokens >= limits.skill_tokens and tokens > count_tokens(render(before)):
            raise Withhold(f"SKILL.md would have {tokens} tokens (limit {limits.skill_tokens})")


def _contained(edit: Edit, existing: frozenset[str], limits: Limits) -> str:
    """The path of the file to edit, normalised.

    Raises:
        Withhold: if the path leaves the skill, is protected or of a kind no patch may write.
    """
    path = edit.file.strip().removeprefix("./")
    parts = path.split("/")
    if not all(_PART.match(part) for part in parts):
        raise Withhold(f"path {edit.file!r} is not a plain path inside the skill")
    if path == SKILL_FILE:
        if edit.op in ("create", "delete_file"):
            raise Withhold("SKILL.md is protected: it can be neither created nor deleted")
        return path
    if path.casefold() == SKILL_FILE.casefold() or _PROTECTED.match(parts[-1]):
        raise Withhold(f"{path!r} is protected")
    suffix = PurePosixPath(path).suffix.lower()
    script = limits.scripts and parts[0] == "scripts" and suffix == ".py"
    if suffix not in EXTENSIONS and not script:
        raise Withhold(f"{path!r}: patches write {', '.join(sorted(EXTENSIONS))} only")
    if edit.op != "create":
        if path not in existing:
            raise Withhold(f"no file {path!r} in the skill")
        return path
    if len(parts) != 2 or (parts[0] not in FOLDERS and not script):
        raise Withhold(f"{path!r}: new files lie directly under references/ or assets/")
    clash = next((o for o in existing if o != path and o.casefold() == path.casefold()), None)
    if clash:
        raise Withhold(f"{path!r} differs from {clash!r} by case only")
    return path
