"""What SKILL.md and its references point to inside the skill."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.skills.markdown import scan
from harness.skills.types import SKILL_FILE, Skill

_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_MENTION = re.compile(r"(?<![\w./-])((?:references|scripts|assets)/[\w./-]*\.\w+)")


def links(lines: Iterable[str]) -> list[tuple[int, str]]:
    """(index of the line, path) of every relative link or mention outside code and comments.

    Mentions are paths such as `references/dates.md` in plain text or backticks.
    """
    rows = list(lines)
    kinds = scan(rows).kinds
    found: list[tuple[int, str]] = []
    for index, line in enumerate(rows):
        if kinds[index] != "text":
            continue
        targets = [match.group(1) for match in _LINK.finditer(line)]
        inline = [path for path in map(_relative, targets) if path]
        rest = _LINK.sub(" ", line)
        mentions = [match.group(1) for match in _MENTION.finditer(rest)]
        found += [(index, path) for path in dict.fromkeys(inline + mentions)]
    return found


def dangling(skill: Skill) -> list[tuple[str, int, str]]:
    """(file, index of the line, path) of links in Markdown files to files that are absent."""
    found: list[tuple[str, int, str]] = []
    for file in skill.all_files:
        text = skill.file_text(file) if file.endswith(".md") else None
        if text is None:
            continue
        for index, path in links(text.split("\n")):
            if not _exists(skill, file, path):
                found.append((file, index, path))
    return found


def orphans(skill: Skill) -> list[str]:
    """References that SKILL.md never names: no client would ever load them."""
    return [
        path
        for path in skill.files
        if path.startswith("references/") and not mentions(skill.body, path)
    ]


def mentions(text: str, path: str) -> bool:
    """Whether `text` names the file `path`, in a link, in prose or in code."""
    return re.search(rf"(?<![\w/-]){re.escape(path)}(?![\w/-])", text) is not None


def _relative(target: str) -> str:
    if re.match(r"^(?:[a-zA-Z][\w+.-]*:|#|/)", target):
        return ""
    return target.split("#")[0].split("?")[0].removeprefix("./")


def _exists(skill: Skill, file: str, path: str) -> bool:
    """References may link from the skill's root or from their own folder."""
    folder = file.rpartition("/")[0]
    candidates = {path, f"{folder}/{path}" if folder else path}
    if path.startswith("../") and folder:
        candidates.add(path.removeprefix("../"))
    names = {SKILL_FILE, *skill.files}
    folders = {name.rpartition("/")[0] for name in names}
    return any(one in names or one.rstrip("/") in folders for one in candidates)
