"""Secrets never reach a log, a trajectory or a report."""

from __future__ import annotations

import re

_PATTERNS = (
    re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    re.compile(r"\bxox[baprs]-[A-Za-z0-9-]{10,}"),
    re.compile(r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}=*"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----"),
)


def redact(text: str) -> str:
    """Replace API keys, bearer tokens and private keys by `[REDACTED]`."""
    for pattern in _PATTERNS:
        text = pattern.sub("[REDACTED]", text)
    return text


def find_secrets(text: str) -> list[str]:
    """What :func:`redact` would replace, for lints."""
    return [match.group(0) for pattern in _PATTERNS for match in pattern.finditer(text)]
