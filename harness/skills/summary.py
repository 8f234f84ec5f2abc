"""What a skill holds and what it costs to load, tier by tier."""

from __future__ import annotations

from pathlib import Path

from harness.core.values import Value
from harness.skills.io import load_skill
from harness.skills.markdown import sections
from harness.skills.tokens import TOKENIZER, count_tokens


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
    """Summarise the skill directory `path`."""
    skill = load_skill(path)
    files: list[FileSize] = []
    for name, data in skill.files.items():
        text = skill.file_text(name)
        tokens = None if text is None else count_tokens(text)
        files.append(FileSize(path=name, bytes=len(data), tokens=tokens))
    return Summary(
        name=skill.name,
        description=skill.description,
        digest=skill.digest,
        tokenizer=TOKENIZER,
        catalogue_tokens=count_tokens(f"{skill.name}: {skill.description}"),
        skill_tokens=count_tokens(skill.text),
        skill_lines=len(skill.text.removesuffix("\n").split("\n")),
        outline=tuple(
            Heading(title=one.title, level=one.level, line=one.start + 1)
            for one in sections(skill.text)
        ),
        files=tuple(files),
    )
