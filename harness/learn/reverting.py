"""Commands of git that take work back, or take it on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

_WHOLE = (".", ":/", "*", "./")
_SEGMENTS = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
_KEPT = re.compile(
    r"^git\s+(?:-\S+\s+)*(?:commit|merge|push)\b(?!.*--(?:dry-run|abort))"
    r"|^gh\s+pr\s+(?:merge|create)\b"
)


def takes_back(command: str, edited: Iterable[str]) -> bool:
    """Whether a command line undoes every one of the files `edited`."""
    files = [path for path in edited if path]
    return any(_segment(part, files) for part in _SEGMENTS.split(command.strip()))


def _segment(part: str, files: list[str]) -> bool:
    try:
        words = shlex.split(part)
    except ValueError:
        return False
    if len(words) < 2 or words[0] != "git":
        return False
    words = words[3:] if words[1] == "-C" else words[1:]
    verb, rest = (words[0], words[1:]) if words else ("", [])
    if verb == "reset":
        return "--hard" in rest
    if verb == "revert":
        return "--abort" not in rest and "--no-commit" not in rest
    if verb == "restore":
        staged_only = "--staged" in rest and "--worktree" not in rest
        return not staged_only and _covers([one for one in rest if not one.startswith("-")], files)
    if verb == "checkout" and not {"-b", "-B", "--orphan", "-t"} & set(rest):
        named = rest[rest.index("--") + 1 :] if "--" in rest else _paths(rest)
        return _covers([one for one in named if not one.startswith("-")], files)
    return False


def _paths(words: list[str]) -> list[str]:
    """The paths of a checkout without `--`: its first word may name a branch instead.

    `main` is one, although `src/main/App.java` lies in a folder of that name.
    """
    bare = [one for one in words if not one.startswith("-")]
    first = [one for one in bare[:1] if one in _WHOLE or "." in one or "/" in one]
    return first + bare[1:]


def _covers(named: list[str], files: list[str]) -> bool:
    """Whether the paths of a command are the whole tree or hold every file that was edited."""
    if any(one in _WHOLE for one in named):
        return True
    return bool(files) and all(any(_within(file, one) for one in named) for file in files)


def _within(file: str, path: str) -> bool:
    path = path.removeprefix("./").rstrip("/")
    return f"/{file}".endswith(f"/{path}") or f"/{path}/" in f"/{file}"


def takes_on(command: str) -> bool:
    """Whether a command line commits, merges or pushes."""
    return any(_KEPT.match(part) for part in _SEGMENTS.split(command.strip()))
