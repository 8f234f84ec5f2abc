"""One pass over a patch: trial after trial, each edit whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from harness.core import Edit, Patch
from harness.skills import document as doc
from harness.skills.containment import contained
from harness.skills.document import Document, Line, Withhold
from harness.skills.markdown import scan
from harness.skills.operations import OPERATIONS, clean_content
from harness.skills.tokens import count_tokens
from harness.skills.types import SKILL_FILE, Limits, Skill


@dataclass
class Run:
    """State of a pass.

    Attributes:
        documents: the text files by path.
        notes: index of an applied edit -> note.
        unchanged: applied edits that the skill already said.
        withheld: index of an edit -> reason.
        removed: index of an edit -> the text it removed.
    """

    base: Skill
    documents: dict[str, Document]
    notes: dict[int, str] = field(default_factory=dict[int, str])
    unchanged: set[int] = field(default_factory=set[int])
    withheld: dict[int, str] = field(default_factory=dict[int, str])
    removed: dict[int, str] = field(default_factory=dict[int, str])
    dropped: set[str] = field(default_factory=set[str])

    @property
    def skill(self) -> Skill:
        """The skill as it stands."""
        edited = {path: lines for path, lines in self.documents.items() if path != SKILL_FILE}
        files = {path: data for path, data in self.base.files.items() if path not in self.dropped}
        for path, lines in edited.items():
            text = self.base.file_text(path)
            if text is None or doc.texts(lines) != doc.texts(doc.document(text)):
                files[path] = doc.render(lines).encode()
        body = self.base.body
        lines = self.documents[SKILL_FILE]
        if doc.texts(lines) != doc.texts(doc.document(self.base.text)):
            body = doc.render(lines)[len(self.base.header) :]
        return replace(self.base, body=body, files=files)

    @property
    def existing(self) -> frozenset[str]:
        """Paths of all files as they stand."""
        return frozenset({*self.base.files, *self.documents} - self.dropped)


def run_edits(
    skill: Skill,
    patch: Patch,
    limits: Limits,
    bans: Mapping[int, str],
    documents: dict[str, Document] | None = None,
) -> Run:
    """Apply what can be applied, best-supported first, until nothing more fits.

    An edit may rest on text that another edit brings: those that found no anchor are tried again
    after the others. `documents` are the skill's files with the owners of an earlier pass.
    """
    run = Run(skill, dict(documents) if documents is not None else text_files(skill))
    order = sorted(range(len(patch.edits)), key=lambda i: (-patch.edits[i].support, i))
    pending = [i for i in order if i not in bans]
    run.withheld.update(bans)
    progress = True
    while pending and progress:
        progress = False
        for i in list(pending):
            try:
                _apply_one(run, patch.edits[i], i, limits)
            except Withhold as reason:
                run.withheld[i] = str(reason)
            else:
                run.withheld.pop(i, None)
                pending.remove(i)
                progress = progress or i not in run.unchanged
    return run


def text_files(skill: Skill) -> dict[str, Document]:
    """Every text file as a document."""
    found: dict[str, Document] = {}
    for path in skill.all_files:
        text = skill.file_text(path)
        if text is not None and "\x00" not in text:
            found[path] = doc.document(text)
    return found


def _apply_one(run: Run, edit: Edit, i: int, limits: Limits) -> None:
    path = contained(edit, run.existing)
    if edit.op == "create":
        _create(run, path, edit, i, limits)
        return
    if path not in run.documents:
        raise Withhold(f"{path!r} is no text file")
    if edit.op == "delete_file":
        lines = run.documents[path]
        doc.refuse_claimed(lines, 0, len(lines), i)
        run.removed[i] = doc.render(lines)
        del run.documents[path]
        run.dropped.add(path)
        run.notes[i] = ""
        return
    before = run.documents[path]
    trial = list(before)
    note = OPERATIONS[edit.op](trial, edit, i)
    if note is None:
        run.unchanged.add(i)
    else:
        _check_trial(path, before, trial, limits)
    run.documents[path] = trial
    run.notes[i] = "already there" if note is None else note
    if edit.op in ("replace_in_section", "delete_section"):
        gone = Counter(doc.texts(before)) - Counter(doc.texts(trial))
        run.removed[i] = "\n".join(gone)


def _create(run: Run, path: str, edit: Edit, i: int, limits: Limits) -> None:
    block = clean_content(edit.content)
    lines = [Line(text, i, frozenset({i})) for text in block]
    if path in run.existing:
        if path in run.documents and doc.texts(run.documents[path]) == block:
            run.documents[path] = claimed = list(run.documents[path])
            doc.claim(claimed, 0, len(block), i)
            run.unchanged.add(i)
            run.notes[i] = "already there"
            return
        raise Withhold(f"{path!r} exists with other content")
    references = [one for one in run.existing if one.startswith("references/")]
    if path.startswith("references/") and len(references) >= limits.references:
        raise Withhold(f"the skill has {len(references)} references (limit {limits.references})")
    if len(block) >= limits.reference_lines:
        raise Withhold(f"{len(block)} lines (a reference must stay below {limits.reference_lines})")
    run.documents[path] = lines
    run.dropped.discard(path)
    run.notes[i] = ""


def _check_trial(path: str, before: Document, trial: Document, limits: Limits) -> None:
    """Refuse a trial that breaks the frontmatter, a fence or a size limit."""
    front = doc.front_length(before)
    if doc.texts(trial[:front]) != doc.texts(before[:front]):
        raise Withhold("the frontmatter is protected")
    open_before = scan(doc.texts(before)).open_fence
    if open_before is None and scan(doc.texts(trial)).open_fence is not None:
        raise Withhold("would leave a code fence open")
    lines, was = len(trial), len(before)
    limit = limits.skill_lines if path == SKILL_FILE else limits.reference_lines
    if lines >= limit and lines > was:
        raise Withhold(f"{path} would have {lines} lines (must stay below {limit})")
    if path == SKILL_FILE:
        tokens = count_tokens(doc.render(trial))
        if tokens >= limits.skill_tokens and tokens > count_tokens(doc.render(before)):
            raise Withhold(f"SKILL.md would have {tokens} tokens (limit {limits.skill_tokens})")
