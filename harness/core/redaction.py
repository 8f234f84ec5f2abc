"""Secrets never reach a log, a trajectory or a report: one redactor, with two levels.

Tokens and keys have forms that nothing else has: a match is a secret in any text. The thorough
level also takes what is named like a secret, logins and email addresses: too eager for every text,
right for what leaves the machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

REDACTED = "[REDACTED]"
LEAST_TEXT = 6
"""Characters of a text that is searched."""
LEAST = 8
"""Characters of a secret that is searched for word for word; shorter ones (`EMPTY`, `none`) are
placeholders."""
_KEY_HEADERS = ("authorization", "x-api-key", "api-key", "proxy-authorization", "cookie")
_KEY_VARIABLE = re.compile(r"(?i)(api_?key|token|secret|password)$")


class _Form(NamedTuple):
    """How a kind of secret looks.

    Attributes:
        pattern: matches it; its group `value` is the secret, else all of it.
        hints: a text that holds none of these, in lower case, holds no secret of the kind.
        thorough: whether only the thorough level looks for it.
    """

    pattern: re.Pattern[str]
    hints: tuple[str, ...] = ("",)
    thorough: bool = False


def _token(pattern: str, *hints: str) -> _Form:
    """A form whose word starts (`\\b`) are found behind a written-out line end or tab, too.

    A log within a log holds `\\n` before what began a line: to `\\b`, its `n` is one word with it.
    """
    return _Form(re.compile(pattern.replace(r"\b", r"(?:\b|(?<=\\[nrt]))")), hints or ("",))


def _named(pattern: str, *hints: str) -> _Form:
    return _Form(re.compile(pattern), hints or _WORD_HINTS, thorough=True)


_WORD_HINTS = ("pass", "secret", "key", "token", "credential", "pwd")
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
_FORMS: dict[str, _Form] = {
    "API key": _token(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}", "sk-", "pk-", "rk-"),
    "GitHub token": _token(
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
    ),
    "AWS key id": _token(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", "akia", "asia"),
    "Slack token": _token(
        r"\bxox[abeprs]-[A-Za-z0-9-]{10,}|\bhooks\.slack\.com/services/[A-Za-z0-9/]{20,}",
        "xox",
        "hooks.slack",
    ),
    "bearer token": _token(
        r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}=*"
        r"|\bauthorization[\"']?\s*[:=]\s*[\"']?basic\s+[A-Za-z0-9+/]{8,}=*",
        "bearer",
        "authorization",
    ),
    # A key that was cut off has no end mark: its lines are taken as far as they go.
    "private key": _token(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
        r"(?:[\s\S]{0,20000}?-----END [A-Z ]*PRIVATE KEY-----|(?:\\n|\s|[A-Za-z0-9+/=]){24,})",
        "private key-----",
    ),
    "Google API key": _token(r"\bAIza[0-9A-Za-z_-]{35}", "aiza"),
    "JSON web token": _token(
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", "eyj"
    ),
    "Stripe key": _token(
        r"\b(?:(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{20,})",
        "_live_",
        "_test_",
        "whsec_",
    ),
    "service token": _token(
        r"\b(?:glpat-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{30,}"
        r"|pypi-[A-Za-z0-9_-]{40,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
        r"|dop_v1_[a-f0-9]{40,}|lin_api_[A-Za-z0-9]{30,}|ya29\.[A-Za-z0-9_-]{20,})"
    ),
    # Neither a variable nor what an earlier redaction has left.
    "password in a URL": _token(
        r"(?<=://)[^\s/:@\"'<>{}$]*:(?P<value>(?!\[REDACTED\]@|\$\w)[^\s/@\"'<>{}]{3,})(?=@)", "://"
    ),
    # As in a shell or its files, where no space stands around the sign: a quoted one may hold some.
    "quoted variable": _named(
        rf"{_VARIABLE}=(?P<mark>[\"'])(?P<value>(?:(?!(?P=mark))[^\n]){{6,200}})(?P=mark)"
    ),
    "variable": _named(  # also behind a quotation mark that was cut off before its end
        rf"{_VARIABLE}[ \t]*[=:][ \t]*(?:\\?(?P<mark>[\"'`])"
        rf"(?!(?:(?!(?P=mark))[^\n]){{0,300}}(?P=mark)))?(?P<value>{_START}{_BODY}{{5,}}{_END})"
    ),
    "named key": _named(
        r"(?<![\w.-])[A-Z][A-Z0-9_]*_KEY[ \t]*[=:][ \t]*[\"']?(?P<value>(?=\S{0,99}[0-9])"
        r"(?=\S{0,99}[A-Za-z])[\w+/=.~-]{16,})(?![\w(\[])",
        "_key",
    ),
    "quoted secret": _named(rf"(?i)(?<![\w.-]){_NAME}[\"'`]?\s*(?:=|:=|:|=>)\s*{_QUOTED}"),
    "password": _named(
        rf"(?i)(?<![\w.-]){_NAME}(?:\s*[:=][ \t]*(?:\r?\n[ \t]+)?|\s+is\s+|\s+)"
        r"(?P<value>(?=\S{0,99}[A-Za-z])(?=\S{0,99}[0-9!#$%^&*?~])"
        rf"{_START}{_BODY}{{7,}}{_END})"
    ),
    "login": _named(
        r"(?<!\w)(?:-u|--user)[= ]+[\"']?[^\s:\"']{1,99}:(?P<value>[^\s\"']{4,})", "-u", "--user"
    ),
    "email address": _named(
        r"(?<![A-Za-z0-9._%+-])(?P<value>[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?!github\.com|users\.noreply)"
        r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})\b",
        "@",
    ),
}
_HINTS = tuple({hint for form in _FORMS.values() for hint in form.hints})
_PLACEHOLDER = re.compile(
    r"(?i)^(?:\[REDACTED\]?|x{4,}|\*+|\.{3,}|none|null|true|false|your[_-]?\w*|example\w*|changeme"
    r"|(?=[\w.]*(?:environ|getenv|config|settings|process\.env))[\w.]+|string|optional\w*|secret|token"
    r"|password|str|self\.\w+"
    r"|\$\w+|\$\(.*\)|\$?\{.*\}|<.*>|%\(\w+\)s|.*[$#]\{[\w.]+\}.*)$"  # what stands for a value
)
_NAMED_KEY = re.compile(rf"(?i)^{_NAME}$")
_MARKS, _MEANT = re.compile(r"\\+([nrt\"'/])"), {'"': '"', "'": "'", "/": "/"}
_VALUE_ENDS = re.compile(r"[,;&|<>(){}\[\]$]")


class Redactor:
    """Replaces secrets, and counts them by kind.

    Thoroughly, a secret that was found by its form or its name is then replaced wherever else its
    document holds it, bare or within other text, and what stands for a value stays.

    Attributes:
        counts: what was replaced, by kind.

    Args:
        thorough: the level; see the module.
        home: replaced by `~`, since it names the user; None leaves paths as they are.
        environment: values of its variables that are named like keys are replaced, too.
    """

    def __init__(
        self,
        *,
        thorough: bool = False,
        home: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.thorough, self.home = thorough, home
        self.counts: Counter[str] = Counter()
        self._learned: set[str] = set()
        for name, value in (environment or {}).items():
            if _KEY_VARIABLE.search(name):
                self._learn(value)

    def learn(self, headers: Mapping[str, str]) -> None:
        """Remember the keys of a request: from here on they are replaced word for word."""
        for name in _KEY_HEADERS:
            self._learn(headers.get(name, "").removeprefix("Bearer ").strip())

    def _learn(self, value: str) -> None:
        if len(value) >= LEAST:
            self._learned.add(value)

    def text(self, text: str) -> str:
        """One text without secrets."""
        return self.clean(text)

    def clean(self, document: Any) -> Any:
        """A JSON document without secrets in any of its texts."""
        repeated: set[str] = set()
        if self.thorough:
            for name, text in _texts(document):
                repeated |= _distinct_secrets(text)
                bare = len(text) >= LEAST and "\n" not in text and " " not in text.strip()
                if bare and _NAMED_KEY.match(name) and not _PLACEHOLDER.match(text):
                    repeated.add(text)
        # Longest first: one key may begin with another.
        learned, again = (sorted(s, key=len, reverse=True) for s in (self._learned, repeated))
        return self._clean(document, learned, again)

    def _clean(self, value: Any, learned: list[str], repeated: list[str]) -> Any:
        if isinstance(value, list):
            return [self._clean(item, learned, repeated) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {
                self._clean(key, learned, repeated): self._clean(item, learned, repeated)
                for key, item in cast("dict[str, Any]", value).items()
            }
        if not isinstance(value, str):
            return value
        text = self._without(value, learned, "known key")
        for kind, form in _possible(text, self.thorough):
            text = form.pattern.sub(lambda match, kind=kind: self._hidden(match, kind), text)
        text = self._without(text, repeated, "repeated secret")
        home = "" if self.home is None else str(self.home)
        return text.replace(home, "~") if len(home) > 1 else text

    def _without(self, text: str, secrets: list[str], kind: str) -> str:
        for secret in secrets:
            if secret in text:
                self.counts[kind] += text.count(secret)
                text = text.replace(secret, REDACTED)
        return text

    def _hidden(self, match: re.Match[str], kind: str) -> str:
        secret = _secret(match)
        if self.thorough and _PLACEHOLDER.match(secret):
            return match.group()
        self.counts[kind] += 1
        return match.group().replace(secret, REDACTED)


def redact(text: str) -> str:
    """Replace API keys, tokens, passwords in URLs and private keys by `[REDACTED]`."""
    return Redactor().text(text)


def find_secrets(text: str) -> list[str]:
    """What :func:`redact` would replace, for lints."""
    return [
        match.group()
        for _, form in _possible(text, thorough=False)
        for match in form.pattern.finditer(text)
    ]


def until_secret(quote: str) -> str:
    """A quote up to the first secret in it, so that it stands in the log and may be shown."""
    ends = [quote.index(secret) for secret, _ in _secrets(quote) if secret in quote]
    return quote[: min(ends)].strip() if ends else quote


def _possible(text: str, thorough: bool) -> list[tuple[str, _Form]]:
    """The kinds that a text can hold, with their forms."""
    if len(text) < LEAST_TEXT:
        return []
    folded = text.lower()
    hints = {hint for hint in _HINTS if hint in folded}
    return [
        (kind, form)
        for kind, form in _FORMS.items()
        if (thorough or not form.thorough) and not hints.isdisjoint(form.hints)
    ]


def _secret(match: re.Match[str]) -> str:
    return match.groupdict().get("value") or match.group()


def _secrets(text: str) -> Iterator[tuple[str, str]]:
    """(secret, kind) of everything in a text that the thorough level replaces."""
    for kind, form in _possible(text, thorough=True):
        for match in form.pattern.finditer(text):
            if not _PLACEHOLDER.match(secret := _secret(match)):
                yield secret, kind


def _distinct_secrets(text: str) -> set[str]:
    """Secrets of a text that are no common words: they are replaced wherever else they stand.

    A text that was written out as JSON or as a string of a program has `\\n` before what began a
    line: it is searched without such marks, too. Whether `abcd1234;ls` is one value or ends at the
    semicolon cannot be told: both are meant.
    """
    secrets: set[str] = set()
    bare = _MARKS.sub(lambda mark: _MEANT.get(mark[1], "\n"), text) if "\\" in text else ""
    for source in filter(None, (text, bare)):
        for secret, kind in _secrets(source):
            if source is bare and "\n" not in secret:
                secrets.add(secret)
            heads = [secret]
            if kind in ("variable", "password"):  # without quotes
                heads.append(_VALUE_ENDS.split(secret, maxsplit=1)[0])
            sure = not _FORMS[kind].thorough or kind in ("variable", "quoted variable")
            for head in heads:
                mixed = re.search(r"[A-Za-z]", head) and re.search(r"[^A-Za-z_.]", head)
                if len(head) >= LEAST and (sure or mixed):
                    secrets.add(head)
    return secrets


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """(name of its field, text) of every text of a JSON value."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item, name)
    elif isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield "", key
            yield from _texts(item, key)
