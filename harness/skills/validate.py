"""What clients of a skill demand, all of them together.

The union of the agentskills specification, skills-ref, `npx skills`, Gemini CLI, Codex and
Anthropic's packager, and of the limits that Trace2Skill sets itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from harness.core.errors import BadInput
from harness.skills.frontmatter import KEYS, render_header
from harness.skills.links import dangling, orphans
from harness.skills.lint import lint
from harness.skills.markdown import headings, scan
from harness.skills.tokens import TOKENIZER, count_tokens
from harness.skills.types import SKILL_FILE, Limits, Problem, Skill

MAX_NAME, MAX_DESCRIPTION, MAX_COMPATIBILITY = 64, 1024, 500


def validate(skill: Skill, limits: Limits | None = None) -> list[Problem]:
    """Errors (some client or rule refuses the skill) and warnings, errors first."""
    sizes = limits or Limits()
    problems = [
        *skill.warnings,
        *_frontmatter(skill),
        *_sizes(skill, sizes),
        *_structure(skill),
        *_references(skill),
        *lint(skill),
    ]
    return sorted(set(problems), key=lambda one: (one.level, one.file, one.line or 0, one.message))


def _error(message: str, line: int | None = None, file: str = SKILL_FILE) -> Problem:
    return Problem(level="error", file=file, line=line, message=message)


def _frontmatter(skill: Skill) -> Iterator[Problem]:
    if not skill.header:
        yield _error("no frontmatter: the file must start with --- and name, description, ---", 1)
        return
    for key, value in skill.frontmatter.items():
        line = _line_of(skill, key)
        if key not in KEYS:
            yield _error(f"key {key!r} is not one of {', '.join(KEYS)}", line)
        if isinstance(value, Mapping) != (key == "metadata") and key in KEYS:
            yield _error(
                f"{key!r} must be {'a map of text' if key == 'metadata' else 'text'}", line
            )
    yield from _name(skill)
    yield from _description(skill)
    compatibility = skill.frontmatter.get("compatibility", "")
    if len(compatibility) > MAX_COMPATIBILITY:
        yield _error(f"compatibility has {len(compatibility)} characters (limit 500)")
    try:
        strict = render_header(skill.frontmatter)
    except BadInput as error:
        yield _error(str(error), 1)
        return
    if re.search(r":\s*[{\[]", skill.header) or "---" in skill.header.strip("-\n"):
        yield _error("flow style or '---' inside the frontmatter: skills-ref refuses it", 1)
    elif strict != skill.header:
        yield Problem(
            level="warning",
            file=SKILL_FILE,
            line=1,
            message="the frontmatter is not in the strict form; export rewrites it",
        )


def _name(skill: Skill) -> Iterator[Problem]:
    name, line = unicodedata.normalize("NFKC", skill.name), _line_of(skill, "name")
    if not name.strip():
        yield _error("'name' is missing", line)
        return
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name):
        yield _error(f"name {name!r}: lower-case a-z, 0-9 and single inner hyphens only", line)
    if len(name) > MAX_NAME:
        yield _error(f"name has {len(name)} characters (limit {MAX_NAME})", line)
    if skill.directory is not None and skill.directory != skill.name:
        yield _error(f"name {name!r} differs from its directory {skill.directory!r}", line)


def _description(skill: Skill) -> Iterator[Problem]:
    text, line = skill.description, _line_of(skill, "description")
    if not text.strip():
        yield _error("'description' is missing: it tells clients when to load the skill", line)
    if len(text) > MAX_DESCRIPTION:
        yield _error(f"description has {len(text)} characters (limit {MAX_DESCRIPTION})", line)
    if re.search(r"[<>]", text):
        yield _error("description holds '<' or '>', which Anthropic's validator refuses", line)


def _line_of(skill: Skill, key: str) -> int:
    for number, line in enumerate(skill.header.split("\n"), 1):
        if re.match(rf"[\"']?{re.escape(key)}[\"']?\s*:", line):
            return number
    return 1


def _sizes(skill: Skill, limits: Limits) -> Iterator[Problem]:
    lines = len(skill.text.removesuffix("\n").split("\n"))
    if lines >= limits.skill_lines:
        yield _error(f"{lines} lines (must stay below {limits.skill_lines})")
    tokens = count_tokens(skill.text)
    if tokens >= limits.skill_tokens:
        yield _error(f"{tokens} tokens by {TOKENIZER} (must stay below {limits.skill_tokens})")
    references = [path for path in skill.files if path.startswith("references/")]
    if len(references) > limits.references:
        yield _error(f"{len(references)} references (limit {limits.references})")
    for path in references:
        text = skill.file_text(path) or ""
        count = len(text.removesuffix("\n").split("\n"))
        if path.endswith(".md") and count >= limits.reference_lines:
            yield _error(f"{count} lines (must stay below {limits.reference_lines})", file=path)


def _structure(skill: Skill) -> Iterator[Problem]:
    if not skill.body.strip():
        yield _error("no text under the frontmatter")
    for path in skill.all_files:
        text = skill.file_text(path) if path.endswith(".md") else None
        if text is None:
            continue
        lines = text.split("\n")
        opened = scan(lines).open_fence
        if opened is not None:
            yield _error("code fence is never closed", opened + 1, path)
        for start, _, _, title in headings(lines):
            if title.casefold() == "new section":
                yield _error("placeholder heading 'New Section'", start + 1, path)


def _references(skill: Skill) -> Iterator[Problem]:
    for file, index, target in dangling(skill):
        yield _error(f"link to {target!r}, which does not exist", index + 1, file)
    for path in orphans(skill):
        yield _error("SKILL.md never names this file: no client would load it", file=path)
    for path in skill.files:
        if path.startswith("references/") and path.count("/") > 1:
            yield _error("references lie one level deep, directly under references/", file=path)
