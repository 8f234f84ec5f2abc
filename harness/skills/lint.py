"""Warnings about content: secrets, machine paths, injected instructions, scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.core.redaction import find_secrets
from harness.skills.types import Problem, Skill

_ABSOLUTE = re.compile(
    r"(?<![\w.:/])(?:/(?:home|Users|root|mnt|tmp|var|opt)/[\w.-]+|[A-Z]:\\[\w.-]+)"
)
_INJECTION = re.compile(
    r"(?i)\b(?:ignore|disregard|forget)\b.{0,30}\b(?:previous|prior|above|earlier|system)\b"
    r".{0,20}\b(?:instructions?|prompts?|rules?)\b"
    r"|\b(?:do not|never|don't)\b.{0,20}\b(?:tell|inform|mention)\b.{0,20}\buser\b"
    r"|\bcurl\b[^\n|]*\|\s*(?:ba|z)?sh\b"
)
_HIDDEN = re.compile(
    "[\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064\ufeff]|[\U000e0000-\U000e007f]"
)


_LINE_RULES = (
    (_ABSOLUTE, "absolute path: it will not exist elsewhere"),
    (_INJECTION, "reads like an injected instruction"),
    (_HIDDEN, "invisible characters"),
)


def lint(skill: Skill) -> Iterator[Problem]:
    """Warnings a reviewer should look at, line by line."""
    for path in skill.all_files:
        text = skill.file_text(path)
        if text is not None:
            yield from _lint_text(path, text)
            if text.startswith("#!") and path not in skill.executable:
                yield _warning(path, 1, "has a #! line but no executable bit")
    for path in sorted(skill.executable):
        if not skill.files[path].startswith((b"#!", b"\x7fELF")):
            yield _warning(path, None, "executable bit on a file that is no program")


def _lint_text(path: str, text: str) -> Iterator[Problem]:
    for secret in find_secrets(text):
        yield _warning(path, text[: text.index(secret)].count("\n") + 1, "looks like a secret")
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, message in _LINE_RULES:
            if pattern.search(line):
                yield _warning(path, number, message)


def _warning(file: str, line: int | None, message: str) -> Problem:
    return Problem(level="warning", file=file, line=line, message=message)
