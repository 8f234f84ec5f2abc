"""What must not leave the machine, found in sessions and replaced, by kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from harness.core import Trajectory
from harness.core.redaction import REDACTED, SECRETS
from harness.trajectories import dump

LEAST_TEXT = 6
"""Characters of a text that is looked at."""
LEAST = 8
"""Characters of a secret that is looked for elsewhere in its session."""
_WORDS = (
    r"(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|secret[_-]?key(?:[_-]?base)?"
    r"|private[_-]?key|token|credentials?|pwd|[_.-]pass)"
)
_NAME = rf"[\w.-]*{_WORDS}"
_VARIABLE = (
    r"(?<![\w.-])(?:[A-Z][A-Z0-9_]*?(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|CREDENTIALS?|PWD)"
    r"|(?:[A-Z][A-Z0-9_]*?)?(?:API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET_KEY(?:_BASE)?)"
    r"|(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|[A-Z][A-Z0-9_]*_PASS)(?==))"
)
# A value without quotes: no variable, template, call or subscript, and not what ends a sentence,
# a list or a block. Within it any mark may stand: passwords hold them.
_START = r"(?!\$[\w{(]|[<{}(\[=:])(?![\w./]{0,99}[(\[])"
_BODY, _END = r"[^\s\"'`]", r"[^\s\"'`,;:.)\]}>\\]"
_QUOTED = r"(?P<mark>[\"'`])(?P<value>(?:\\.|(?!(?P=mark))[^\s\\]){6,})(?P=mark)"
LOCAL: dict[str, re.Pattern[str]] = {
    # As in a shell or its files, where no space stands around the sign: a quoted one may hold some.
    "quoted variable": re.compile(
        rf"{_VARIABLE}=(?P<mark>[\"'])(?P<value>(?:(?!(?P=mark))[^\n]){{6,200}})(?P=mark)"
    ),
    "variable": re.compile(  # also behind a quotation mark that was cut off before its end
        rf"{_VARIABLE}[ \t]*[=:][ \t]*(?:\\?(?P<mark>[\"'`])"
        rf"(?!(?:(?!(?P=mark))[^\n]){{0,300}}(?P=mark)))?(?P<value>{_START}{_BODY}{{5,}}{_END})"
    ),
    "named key": re.compile(
        r"(?<![\w.-])[A-Z][A-Z0-9_]*_KEY[ \t]*[=:][ \t]*[\"']?(?P<value>(?=\S{0,99}[0-9])"
        r"(?=\S{0,99}[A-Za-z])[\w+/=.~-]{16,})(?![\w(\[])"
    ),
    "quoted secret": re.compile(rf"(?i)(?<![\w.-]){_NAME}[\"'`]?\s*(?:=|:=|:|=>)\s*{_QUOTED}"),
    "password": re.compile(
        rf"(?i)(?<![\w.-]){_NAME}(?:\s*[:=][ \t]*(?:\r?\n[ \t]+)?|\s+is\s+|\s+)"
        r"(?P<value>(?=\S{0,99}[A-Za-z])(?=\S{0,99}[0-9!#$%^&*?~])"
        rf"{_START}{_BODY}{{7,}}{_END})"
    ),
    "login": re.compile(r"(?<!\w)(?:-u|--user)[= ]+[\"']?[^\s:\"']{1,99}:(?P<value>[^\s\"']{4,})"),
    "email address": re.compile(
        r"(?<![A-Za-z0-9._%+-])(?P<value>[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?!github\.com|users\.noreply)"
        r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})\b"
    ),
}
"""Beside those of `harness.core.redaction`: too eager for every text, right for what is sent."""
_WORD_HINTS = ("pass", "secret", "key", "token", "credential", "pwd")
_HINTS: dict[str, tuple[str, ...]] = {
    "API key": ("sk-", "pk-", "rk-"),
    "GitHub token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "AWS key id": ("akia", "asia"),
    "Slack token": ("xox", "hooks.slack"),
    "bearer token": ("bearer", "authorization"),
    "private key": ("private key-----",),
    "Google API key": ("aiza",),
    "JSON web token": ("eyj",),
    "Stripe key": ("_live_", "_test_", "whsec_"),
    "password in a URL": ("://",),
    "quoted variable": _WORD_HINTS,
    "variable": _WORD_HINTS,
    "named key": ("_key",),
    "quoted secret": _WORD_HINTS,
    "password": _WORD_HINTS,
    "login": ("-u", "--user"),
    "email address": ("@",),
}
"""What a text holds, in lower case, if it can hold that kind: most texts hold none of it."""
_EVERY_HINT = tuple({hint for hints in _HINTS.values() for hint in hints})
_ALL = [*SECRETS.items(), *LOCAL.items()]
_PLACEHOLDER = re.compile(
    r"(?i)^(?:\[REDACTED\]?|x{4,}|\*+|\.{3,}|none|null|true|false|your[_-]?\w*|example\w*|changeme"
    r"|(?=[\w.]*(?:environ|getenv|config|settings|process\.env))[\w.]+|string|optional\w*|secret|token"
    r"|password|str|self\.\w+"
    r"|\$\w+|\$\(.*\)|\$?\{.*\}|<.*>|%\(\w+\)s|.*[$#]\{[\w.]+\}.*)$"  # what stands for a value
)
_MARKS, _MEANT = re.compile(r"\\+([nrt\"'/])"), {'"': '"', "'": "'", "/": "/"}
_KEYS = re.compile(rf"(?i)^{_NAME}$")
_BARE = ("variable", "password")
_ENDS = re.compile(r"[,;&|<>(){}\[\]$]")


class Redactor:
    """Replaces secrets in the sessions that it is given, and counts them by kind.

    A secret that was found by its form or its name is then replaced wherever else its session
    holds it, bare or within other text.

    Args:
        home: replaced by `~`, since it names the user; None leaves paths as they are.
    """

    def __init__(self, home: Path | None) -> None:
        self.home = home
        self.counts: Counter[str] = Counter()

    def clean(self, trajectory: Trajectory) -> tuple[Trajectory, Counter[str]]:
        """The session without secrets, and how many were replaced, by kind."""
        document: JsonValue = dump(trajectory)
        found: Counter[str] = Counter()
        known = self._known(document)
        clean = self._value(document, known, found, "")
        self.counts += found
        return Trajectory.model_validate(clean), found

    def text(self, text: str) -> tuple[str, Counter[str]]:
        """One text without secrets: for files that an agent will read."""
        found: Counter[str] = Counter()
        known = sorted(known_in(text), key=len, reverse=True)
        clean = self._text(text, known, found)
        self.counts += found
        return clean, found

    def _known(self, document: JsonValue) -> list[str]:
        """Every secret of a session; longest first, since one may begin with another."""
        found: set[str] = set()
        for name, text in _texts(document):
            found |= known_in(text)
            if _KEYS.match(name) and len(text) >= LEAST and not _PLACEHOLDER.match(text):
                found |= {text} if "\n" not in text and " " not in text.strip() else set()
        return sorted(found, key=len, reverse=True)

    def _value(
        self, value: JsonValue, known: list[str], found: Counter[str], name: str
    ) -> JsonValue:
        if isinstance(value, str):
            return self._text(value, known, found)
        if isinstance(value, list):
            return [self._value(one, known, found, name) for one in value]
        if isinstance(value, dict):
            return {
                self._text(key, known, found): self._value(one, known, found, key)
                for key, one in value.items()
            }
        return value

    def _text(self, text: str, known: list[str], found: Counter[str]) -> str:
        for kind, pattern in _possible(text):
            text = _replaced(text, kind, pattern, found)
        for value in known:
            if value in text:
                found["repeated secret"] += text.count(value)
                text = text.replace(value, REDACTED)
        home = "" if self.home is None else str(self.home)
        return text.replace(home, "~") if len(home) > 1 else text


def _replaced(text: str, kind: str, pattern: re.Pattern[str], found: Counter[str]) -> str:
    def replace(match: re.Match[str]) -> str:
        value = _secret(match)
        if _PLACEHOLDER.match(value):
            return match.group()
        found[kind] += 1
        return match.group().replace(value, REDACTED)

    return pattern.sub(replace, text)


def _possible(text: str) -> list[tuple[str, re.Pattern[str]]]:
    """The kinds that a text can hold, with their forms."""
    if len(text) < LEAST_TEXT:
        return []
    folded = text.lower()
    held = {hint for hint in _EVERY_HINT if hint in folded}
    return [pair for pair in _ALL if pair[0] not in _HINTS or not held.isdisjoint(_HINTS[pair[0]])]


def secrets_in(text: str) -> Iterator[tuple[str, str]]:
    """(secret, kind) of everything in a text that must not leave."""
    for kind, pattern in _possible(text):
        for match in pattern.finditer(text):
            value = _secret(match)
            if not _PLACEHOLDER.match(value):
                yield value, kind


def known_in(text: str) -> set[str]:
    """Secrets of a text that are replaced wherever else they stand.

    A text that was written out as JSON or as a string of a program has `\\n` before what began a
    line: it is looked through without such marks too.
    """
    found = {value for value, kind in _heads(text) if _distinct(value, kind)}
    if "\\" in text:
        bare = _MARKS.sub(lambda mark: _MEANT.get(mark[1], "\n"), text)
        found |= {value for value, _ in secrets_in(bare) if "\n" not in value}
        found |= {value for value, kind in _heads(bare) if _distinct(value, kind)}
    return found


def _heads(text: str) -> Iterator[tuple[str, str]]:
    """As :func:`secrets_in`; of a value without quotes also what stands before its first mark.

    Whether `abcd1234;ls` is one value or ends at the semicolon cannot be told: both are meant.
    """
    for value, kind in secrets_in(text):
        yield value, kind
        if kind in _BARE:
            yield _ENDS.split(value, maxsplit=1)[0], kind


def _distinct(value: str, kind: str) -> bool:
    """Whether a secret cannot be a common word that stands elsewhere for itself."""
    mixed = re.search(r"[A-Za-z]", value) and re.search(r"[^A-Za-z_.]", value)
    return len(value) >= LEAST and (
        bool(mixed) or kind in ("variable", "quoted variable") or kind in SECRETS
    )


def _secret(match: re.Match[str]) -> str:
    """The part of a match that is secret: its group `value`, else all of it."""
    return match.groupdict().get("value") or match.group()


def speakable(quote: str) -> str:
    """A quote up to the first secret in it, so that it stands in the log and may be shown."""
    found = [value for value, _ in secrets_in(quote)]
    ends = [quote.index(value) for value in found if value in quote]
    return quote[: min(ends)].strip() if ends else quote


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """(name of its field, text) of every text of a JSON value."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _texts(one, name)
    elif isinstance(value, dict):
        for key, one in cast("dict[str, Any]", value).items():
            yield "", key
            yield from _texts(one, key)
