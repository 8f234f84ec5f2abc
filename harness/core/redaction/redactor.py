"""Replaces secrets in texts and documents, and says where they stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote_plus

if TYPE_CHECKING:
    from harness.core.redaction.form import Form, FormTable, Span

REDACTED = "[REDACTED]"
LEAST_TEXT = 6
"""Characters of a text that is searched."""
LEAST = 8
"""Characters of a secret that is searched for word for word; shorter ones (`EMPTY`, `none`) are
placeholders."""
HEAD = 4
FEW = 32
"""Secrets that are looked for one by one; more of them by their first `HEAD` characters."""
_KEY_HEADERS = (
    "authorization", "x-api-key", "api-key", "proxy-authorization", "cookie", "x-goog-api-key",
    "x-auth-token", "ocp-apim-subscription-key",
)  # fmt: skip
_KEY_PARAMETER = re.compile(
    r"(?i)(?:(?:api|access|auth|client|private|refresh|id|subscription|session|security|account)"
    r"[_-]?)?(?:key|token|secret|password|passwd|pwd|sig|signature|auth|credential)"
    r"|(?:aws|oss)accesskeyid|x-(?:amz|goog)-(?:signature|credential|security-token)"
)
"""Names of a query's parameters whose values are keys; `page_token` is none."""
_KEY_VARIABLE = re.compile(r"(?i)(api_?key|token|secret|password)$")
_PLACEHOLDER = re.compile(
    r"(?i)^(?:\[REDACTED\]?|x{4,}|\*+|\.{3,}|(?:\\u[0-9a-f]{4})+|none|null|true|false|your[_-]?\w*|example\w*"
    r"|(?=[\w.]*(?:environ|getenv|config|settings|process\.env))[\w.]+!?|string|optional\w*|secret|token"
    r"|str|self\.\w+|pass(?:word)?\d{0,3}|change[_-]?me\d{0,3}|postgres|root|admin|guest|user|test"
    r"|redacted|replace[_-]?me|change[_-]?(?:it|me[\w-]*)|(?:op|vault|ssm|secret)://.*|@@\w+:.*|[•●…]+"
    r"|passwort|contraseña|HTTP/[\d.]+\"?|[\w-]{0,20}(?:\.{3,}|(?:[/-]?(?:x{3,}|0{4,}))+)"
    r"|(?-i:[a-z_]\w*(?:::\w+)+\(?)|(?s:-{5}BEGIN.{0,40}-{5}(?:\\n|\s)*\.{3}(?:\\n|\s)*-{5}END.*)"
    r"|[a-z]+\?|\*\w+|\$[\w-]+\$|(?:[a-z]{2,6}-){1,3}|[\w$]{1,2}\}=\w+\(.*|(?:(?P<same>[A-Z])(?P=same){2,}/?)+"
    r"|include|omit|same-origin|[\w/+]*EXAMPLE(?:KEY)?|(?:[a-z]{2,10}_|[TB]0+/)*[x0*.]{6,}"
    r"|(?:[a-z]{1,20}[_-]){0,5}(?:your|test|fake|dummy|sample|placeholder|example|needed|here)"
    r"(?:[_-][a-z]{1,20}){0,5}\d{0,3}|~?(?-i:/[a-z][\w.-]{0,30}){2,}"
    r"|\$\w+|\$\(.*\)|\$?\{.*\}|<.*>|%\(\w+\)s|.*[$#]\{[\w.]+\}.*"  # what stands for a value
    r"|\[[a-z][a-z _-]{2,30}\]?|!\w+|%\w+%|__\w+__|#[0-9a-f]{3,8}"
    r"|\(?(?:sensitive|hidden|filtered|masked|removed|omitted|scrubbed|encrypted)\)?"
    r"|(?:change|replace|insert|put|set|enter|generate|add|paste|fill|provide|get|create)[_-]"
    r"(?:me|this|it|in|your|an?|with|one|by|from|the|here|random|strong)(?:[_-][a-z]+)*\d{0,3}"
    r"|(?!.*(?:my|our|super|top|very)[_-]?)(?:[a-z]{1,20}[_-]){0,4}[a-z]{0,20}?(?:password|passphrase"
    r"|secret|(?:api|access|private)[_-]?key|token|credential)s?"  # the name again
    r"|kennwort|wachtwoord|senha|hasło|lösenord|heslo|parola|пароль|密码|パスワード|비밀번호"
    r"|[\^~=<>v]{0,2}\d+(?:\.[\dx*]+){1,3}(?:[-+][\w.+]+)?|(?:workspace|npm|file|link|arn):.*"
    r"|[^\]\s]*\]\(.*|(?:[\w.-]+/)*[\w.-]+\.(?:md|rst|html?|txt|pem|crt|jks|p12|ya?ml|json|py|rb|sh"
    r"|[jt]sx?)(?:#[\w-]*)?|(?:required|set|entered|retry|returned|invalid|wrong|incorrect|changed"
    r"|expired|missing|updated|saved|accepted|reset|mismatch|empty|correct)[!?]+"
    r"|(?-i:[A-Za-z_][\w.]*\(\)|[a-z_]\w*(?:\.\w+)*[?!]\.\w[\w.?!]*\(?))$"
)
_MARKS = re.compile(r"(?<!\\)\\++(?:([nrt\"'/])|u([0-9a-fA-F]{4}))")
_MEANT = {"n": "\n", "r": "\n", "t": "\t"}
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
            value = headers.get(name, "").strip()
            self._learn(value if name == "cookie" else value.rpartition(" ")[2])

    def _learn(self, value: str) -> None:
        if len(value) >= LEAST:
            self._learned.add(value)

    def text(self, text: str) -> str:
        """One text without secrets."""
        return self.clean(text)

    def query(self, query: str) -> str:
        """The query of a URL without its keys; from here on they are replaced word for word."""
        parts: list[str] = []
        for part in query.split("&"):
            name, equals, value = part.partition("=")
            if value and _KEY_PARAMETER.fullmatch(name):
                self._learn(value)
                self._learn(unquote_plus(value))
                value = REDACTED
            parts.append(f"{name}{equals}{value}")
        return self.text("&".join(parts))

    def content(self, content: bytes) -> bytes:
        """Bytes of any encoding without the secrets that stand in them as ASCII."""
        return self.text(content.decode("latin-1")).encode("latin-1")

    def clean(self, document: Any) -> Any:
        """A JSON document without secrets in any of its texts."""
        repeated: set[str] = set()
        harmless: set[str] = set()
        if self.thorough:
            for name, text in _texts(document):
                secrets = list(_secrets(text))
                if not secrets:
                    harmless.add(text)
                repeated |= _distinct_secrets(text, secrets)
                bare = len(text) >= LEAST and "\n" not in text and " " not in text.strip()
                if bare and _named()[0].match(name) and not _PLACEHOLDER.match(text):
                    repeated.add(text)
        learned, again = _Words(self._learned), _Words(repeated)
        home = "" if self.home is None else str(self.home)

        def cleaned(value: Any) -> Any:
            if isinstance(value, list):
                return [cleaned(item) for item in cast("list[Any]", value)]
            if isinstance(value, dict):
                fields = cast("dict[str, Any]", value).items()
                return {cleaned(key): cleaned(item) for key, item in fields}
            if not isinstance(value, str):
                return value
            text = self._without(value, learned.spans(value), "known key")
            for form in () if value in harmless else _possible(text, self.thorough):
                text = self._without(text, form.find(text), form.kind)
            text = self._without(text, again.spans(text), "repeated secret")
            return text.replace(home, "~") if len(home) > 1 else text

        return cleaned(document)

    def _without(self, text: str, spans: Iterable[Span], kind: str) -> str:
        pieces: list[str] = []
        copied = 0
        for start, end in spans:
            if self.thorough and _PLACEHOLDER.match(text[start:end]):
                continue
            pieces += (text[copied:start], REDACTED)
            copied = end
        if not pieces:
            return text
        self.counts[kind] += len(pieces) // 2
        return "".join((*pieces, text[copied:]))


class _Words:
    """Finds secrets word for word, in time that does not grow with how many there are.

    Args:
        secrets: those with fewer than `HEAD` characters are left out.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        # Longest first: one key may begin with another.
        self._secrets = sorted((s for s in secrets if len(s) >= HEAD), key=len, reverse=True)
        self._set = frozenset(self._secrets)
        self._lengths: dict[str, dict[int, None]] = {}  # by first characters, longest first
        for secret in self._secrets:
            self._lengths.setdefault(secret[:HEAD], {})[len(secret)] = None

    def spans(self, text: str) -> Iterator[Span]:
        """Return their spans in order, none within another."""
        if len(self._secrets) <= FEW and not any(secret in text for secret in self._secrets):
            return
        position, last = 0, len(text) - HEAD
        while position <= last:
            for length in self._lengths.get(text[position : position + HEAD], ()):
                if text[position : position + length] in self._set:
                    yield position, position + length
                    position += length
                    break
            else:
                position += 1


def redact(text: str) -> str:
    """Replace API keys, tokens, passwords in URLs, private keys and the like by `[REDACTED]`."""
    return Redactor().text(text)


def find_secrets(text: str) -> list[int]:
    """Return the start of everything that :func:`redact` would replace, in order, for lints."""
    return sorted(start for form in _possible(text, thorough=False) for start, _ in form.find(text))


def until_secret(quote: str) -> str:
    """A quote up to the first secret in it, so that it stands in the log and may be shown."""
    starts = [start for start, _, _ in _secrets(quote)]
    return quote[: min(starts)].strip() if starts else quote


def _possible(text: str, thorough: bool) -> list[Form]:
    return [] if len(text) < LEAST_TEXT else _table(thorough).possible(text)


@cache
def _table(thorough: bool) -> FormTable:
    """Built when it is first needed: many commands redact nothing."""
    from harness.core.redaction.form import FormTable
    from harness.core.redaction.names import NAMED
    from harness.core.redaction.tokens import TOKENS

    return FormTable((*TOKENS, *NAMED) if thorough else TOKENS)


@cache
def _named() -> tuple[re.Pattern[str], frozenset[str]]:
    """Names of secrets; and kinds whose value may be a common word.

    The latter are replaced elsewhere only if they look like no word.
    """
    from harness.core.redaction.names import NAME, NAMED

    kinds = frozenset(form.kind for form in NAMED) - {"variable", "quoted variable"}
    return re.compile(rf"(?i)^{NAME}$"), kinds


def _secrets(text: str) -> Iterator[tuple[int, str, str]]:
    """(start, secret, kind) of everything in a text that the thorough level replaces."""
    for form in _possible(text, thorough=True):
        for start, end in form.find(text):
            if not _PLACEHOLDER.match(secret := text[start:end]):
                yield start, secret, form.kind


def _distinct_secrets(text: str, secrets: list[tuple[int, str, str]]) -> set[str]:
    """Secrets of a text that are no common words: they are replaced wherever else they stand.

    A text that was written out as JSON or as a string of a program has `\\n` before what began a
    line: it is searched without such marks, too. Whether `abcd1234;ls` is one value or ends at the
    semicolon cannot be told: both are meant.
    """
    distinct: set[str] = set()
    if "\\" in text:
        bare = _MARKS.sub(
            lambda mark: chr(int(mark[2], 16)) if mark[2] else _MEANT.get(mark[1], mark[1]), text
        )
        more = [row for row in _secrets(bare) if bare != text]
        distinct |= {secret for _, secret, _ in more if "\n" not in secret}
        secrets = secrets + more
    for _, secret, kind in secrets:
        heads = [secret]
        if kind in ("variable", "password"):  # without quotes
            heads.append(_VALUE_ENDS.split(secret, maxsplit=1)[0])
        for head in heads:
            mixed = re.search(r"[A-Za-z]", head) and re.search(r"[^A-Za-z_.]", head)
            if len(head) >= LEAST and (mixed or kind not in _named()[1]):
                distinct.add(head)
    return distinct


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
