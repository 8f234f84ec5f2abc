"""Secrets never reach a log, a trajectory or a report."""

from __future__ import annotations

import re

REDACTED = "[REDACTED]"


def _form(pattern: str) -> re.Pattern[str]:
    """A pattern whose word starts (`\\b`) are found behind a written-out line end or tab too.

    A log within a log holds `\\n` before what began a line: to `\\b`, its `n` is one word with it.
    """
    return re.compile(pattern.replace(r"\b", r"(?:\b|(?<=\\[nrt]))"))


SECRETS: dict[str, re.Pattern[str]] = {
    "API key": _form(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"),
    "GitHub token": _form(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    "AWS key id": _form(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "Slack token": _form(
        r"\bxox[abeprs]-[A-Za-z0-9-]{10,}|\bhooks\.slack\.com/services/[A-Za-z0-9/]{20,}"
    ),
    "bearer token": _form(
        r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}=*"
        r"|\bauthorization[\"']?\s*[:=]\s*[\"']?basic\s+[A-Za-z0-9+/]{8,}=*"
    ),
    # A key that was cut off has no end mark: its lines are taken as far as they go.
    "private key": _form(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
        r"(?:[\s\S]{0,20000}?-----END [A-Z ]*PRIVATE KEY-----|(?:\\n|\s|[A-Za-z0-9+/=]){24,})"
    ),
    "Google API key": _form(r"\bAIza[0-9A-Za-z_-]{35}"),
    "JSON web token": _form(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    "Stripe key": _form(
        r"\b(?:(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{20,})"
    ),
    "service token": _form(
        r"\b(?:glpat-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{30,}"
        r"|pypi-[A-Za-z0-9_-]{40,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
        r"|dop_v1_[a-f0-9]{40,}|lin_api_[A-Za-z0-9]{30,}|ya29\.[A-Za-z0-9_-]{20,})"
    ),
    # Neither a variable nor what an earlier redaction has left.
    "password in a URL": _form(
        r"(?<=://)[^\s/:@\"'<>{}$]*:(?P<value>(?!\[REDACTED\]@|\$\w)[^\s/@\"'<>{}]{3,})(?=@)"
    ),
}
"""Kind -> form. Forms that nothing else has: a match is a secret in any text."""


def redact(text: str) -> str:
    """Replace API keys, tokens, passwords in URLs and private keys by `[REDACTED]`."""
    for pattern in SECRETS.values():
        text = pattern.sub(_hidden, text)
    return text


def _hidden(match: re.Match[str]) -> str:
    value = match.groupdict().get("value")
    return REDACTED if value is None else match.group().replace(value, REDACTED)


def find_secrets(text: str) -> list[str]:
    """What :func:`redact` would replace, for lints."""
    return [match.group(0) for pattern in SECRETS.values() for match in pattern.finditer(text)]
