"""What clients of a skill demand, all of them together, and what a skill costs to load.

The union of the agentskills specification, skills-ref, `npx skills`, Gemini CLI, Codex and
Anthropic's packager, and of the limits that Trace2Skill sets itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from harness.core import Value
from harness.core.errors import BadInput
from harness.skills.io import KEYS, load_skill, render_header
from harness.skills.lint import lint
from harness.skills.markdown import headings, scan, sections
from harness.skills.tokens import TOKENIZER, count_tokens
from harness.skills.types import Limits, Problem, Skill, error, warning

MAX_NAME, MAX_DESCRIPTION, MAX_COMPATIBILITY = 64, 1024, 500
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_MENTION = re.compile(r"(?<![\w./-])((?:references|scripts|assets)/[\w./-]*\.\w+)")


def validate(skill: Skill, limits: Limits | None = None) -> list[Problem]:
    """Errors (some client or rule refuses the skill) and warnings, errors first."""
    problems = [
        *skill.warnings,
        *_frontmatter(skill),
        *_sizes(skill, limits or Limits()),
        *_structure(skill),
        *lint(skill),
    ]
    return sorted(set(problems), key=lambda row: (row.level, row.file, row.line or 0, row.message))


def _frontmatter(skill: Skill) -> Iterator[Problem]:
    if not skill.header:
        yield error("no frontmatter: the file must start with --- and name, description, ---", 1)
        return
    for key, value in skill.frontmatter.items():
        line = _line_of(skill, key)
        if key not in KEYS:
            yield error(f"key {key!r} is not one of {', '.join(KEYS)}", line)
        elif isinstance(value, Mapping) != (key == "metadata"):
            expected = "a map of text" if key == "metadata" else "text"
            yield error(f"{key!r} must be {expected}", line)
    name, line = unicodedata.normalize("NFKC", skill.name), _line_of(skill, "name")
    if not name.strip():
        yield error("'name' is missing", line)
    else:
        if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name):
            yield error(f"name {name!r}: lower-case a-z, 0-9 and single inner hyphens only", line)
        if len(name) > MAX_NAME:
            yield error(f"name has {len(name)} characters (limit {MAX_NAME})", line)
        if skill.directory is not None and skill.directory != skill.name:
            yield error(f"name {name!r} differs from its directory {skill.directory!r}", line)
    description, line = skill.description, _line_of(skill, "description")
    if not description.strip():
        yield error("'description' is missing: it tells clients when to load the skill", line)
    if len(description) > MAX_DESCRIPTION:
        yield error(
            f"description has {len(description)} characters (limit {MAX_DESCRIPTION})", line
        )
    if re.search(r"[<>]", description):
        yield error("description holds '<' or '>', which Anthropic's validator refuses", line)
    compatibility = skill.frontmatter.get("compatibility", "")
    if len(compatibility) > MAX_COMPATIBILITY:
        yield error(f"compatibility has {len(compatibility)} characters (limit 500)")
    try:
        strict = render_header(skill.frontmatter)
    except BadInput as refusal:
        yield error(str(refusal), 1)
        return
    if re.search(r":\s*[{\[]", skill.header) or "---" in skill.header.strip("-\n"):
        yield error("flow style or '---' inside the frontmatter: skills-ref refuses it", 1)
    elif strict != skill.header:
        yield warning("the frontmatter is not in the strict form; export rewrites it", 1)


def _line_of(skill: Skill, key: str) -> int:
    form = re.compile(rf"[\"']?{re.escape(key)}[\"']?\s*:")
    lines = enumerate(skill.header.split("\n"), 1)
    return next((number for number, line in lines if form.match(line)), 1)


def _line_count(text: str) -> int:
    return len(text.removesuffix("\n").split("\n"))


def _sizes(skill: Skill, limits: Limits) -> Iterator[Problem]:
    lines, tokens = _line_count(skill.text), count_tokens(skill.text)
    if lines >= limits.skill_lines:
        yield error(f"{lines} lines (must stay below {limits.skill_lines})")
    if tokens >= limits.skill_tokens:
        yield error(f"{tokens} tokens by {TOKENIZER} (must stay below {limits.skill_tokens})")
    references = [path for path in skill.files if path.startswith("references/")]
    if len(references) > limits.references:
        yield error(f"{len(references)} references (limit {limits.references})")
    for path in references:
        count = _line_count(skill.file_text(path) or "")
        if path.endswith(".md") and count >= limits.reference_lines:
            yield error(f"{count} lines (must stay below {limits.reference_lines})", file=path)
        if path.count("/") > 1:
            yield error("references lie one level deep, directly under references/", file=path)


def _structure(skill: Skill) -> Iterator[Problem]:
    if not skill.body.strip():
        yield error("no text under the frontmatter")
    for path, lines in _markdown_files(skill):
        opened = scan(lines).open_fence
        if opened is not None:
            yield error("code fence is never closed", opened + 1, path)
        for start, _, _, title in headings(lines):
            if title.casefold() == "new section":
                yield error("placeholder heading 'New Section'", start + 1, path)
    for file, index, target in dangling(skill):
        yield error(f"link to {target!r}, which does not exist", index + 1, file)
    for path in orphans(skill):
        yield error("SKILL.md never names this file: no client would load it", file=path)


def _markdown_files(skill: Skill) -> Iterator[tuple[str, list[str]]]:
    for path in skill.all_files:
        text = skill.file_text(path) if path.endswith(".md") else None
        if text is not None:
            yield path, text.split("\n")


def links(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(index of the line, path) of every relative link or mention outside code and comments.

    Mentions are paths such as `references/dates.md` in plain text or backticks.
    """
    rows = list(lines)
    for index, (line, kind) in enumerate(zip(rows, scan(rows).kinds, strict=True)):
        if kind == "text":
            paths = [
                target.split("#")[0].split("?")[0].removeprefix("./")
                for target in _LINK.findall(line)
                if not re.match(r"(?:[a-zA-Z][\w+.-]*:|#|/)", target)
            ]
            paths += _MENTION.findall(_LINK.sub(" ", line))
            yield from ((index, path) for path in dict.fromkeys(paths) if path)


def dangling(skill: Skill) -> list[tuple[str, int, str]]:
    """(file, index of the line, path) of links in Markdown files to files that are absent.

    References may link from the skill's root or from their own folder.
    """
    names = set(skill.all_files)
    folders = {name.rpartition("/")[0] for name in names}
    missing: list[tuple[str, int, str]] = []
    for file, lines in _markdown_files(skill):
        folder = file.rpartition("/")[0]
        for index, path in links(lines):
            candidates = {path}
            if folder:
                candidates |= {f"{folder}/{path}", path.removeprefix("../")}
            if not any(name in names or name.rstrip("/") in folders for name in candidates):
                missing.append((file, index, path))
    return missing


def orphans(skill: Skill) -> list[str]:
    """References that SKILL.md never names: no client would ever load them."""
    references = [path for path in skill.files if path.startswith("references/")]
    return [path for path in references if not mentions(skill.body, path)]


def mentions(text: str, path: str) -> bool:
    """Whether `text` names the file `path`, in a link, in prose or in code."""
    return re.search(rf"(?<![\w/-]){re.escape(path)}(?![\w/-])", text) is not None


class Heading(Value):
    """A heading of SKILL.md; `line` counts from 1."""

    title: str
    level: int
    line: int


class FileSize(Value):
    """A file beside SKILL.md; `tokens` is None for what is no text."""

    path: str
    bytes: int
    tokens: int | None


class Summary(Value):
    """Tokens of the three tiers (catalogue, SKILL.md, files), by the tokenizer named."""

    name: str
    description: str
    digest: str
    tokenizer: str
    catalogue_tokens: int
    skill_tokens: int
    skill_lines: int
    outline: tuple[Heading, ...]
    files: tuple[FileSize, ...]


def summary(path: Path) -> Summary:
    """What the skill directory `path` holds, and what it costs to load."""
    skill = load_skill(path)
    texts = {name: skill.file_text(name) for name in skill.files}
    return Summary(
        name=skill.name,
        description=skill.description,
        digest=skill.digest,
        tokenizer=TOKENIZER,
        catalogue_tokens=count_tokens(f"{skill.name}: {skill.description}"),
        skill_tokens=count_tokens(skill.text),
        skill_lines=_line_count(skill.text),
        outline=tuple(
            Heading(title=section.title, level=section.level, line=section.start + 1)
            for section in sections(skill.text)
        ),
        files=tuple(
            FileSize(
                path=name,
                bytes=len(skill.files[name]),
                tokens=None if text is None else count_tokens(text),
            )
            for name, text in texts.items()
        ),
    )
