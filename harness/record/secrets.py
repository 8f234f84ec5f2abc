"""Keys pass through and are never kept: known ones word for word, others by their shape."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from harness.core.redaction import redact

REDACTED = "[REDACTED]"
LEAST = 8
"""Characters of a key that is looked for; shorter ones (`EMPTY`, `none`) are placeholders."""
KEPT_HEADERS = ("content-type", "anthropic-version", "anthropic-beta", "openai-beta")
"""Request headers that are recorded. No other one: keys lie in headers."""
_KEY_HEADERS = ("authorization", "x-api-key", "api-key", "proxy-authorization", "cookie")
_NAMES = re.compile(r"(?i)(api_?key|token|secret|password)$")


class Secrets:
    """What must reach no file: values of variables that are named like keys, keys of requests.

    Args:
        environment: where variables such as `OPENAI_API_KEY` are looked up.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._known: list[str] = []
        self._learn(value for name, value in environment.items() if _NAMES.search(name))

    def learn(self, headers: Mapping[str, str]) -> None:
        """Remember the keys of a request."""
        found = (headers.get(name, "") for name in _KEY_HEADERS)
        self._learn(value.removeprefix("Bearer ").strip() for value in found)

    def clean(self, text: str) -> str:
        """The text without keys."""
        for known in self._known:
            text = text.replace(known, REDACTED)
        return redact(text)

    def clean_json(self, value: Any) -> Any:
        """A JSON value without keys in any of its texts."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, list):
            return [self.clean_json(one) for one in cast("list[Any]", value)]
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            return {self.clean(name): self.clean_json(one) for name, one in items}
        return value

    def _learn(self, values: Iterable[str]) -> None:
        fresh = {value for value in values if len(value) >= LEAST} - set(self._known)
        if fresh:  # longest first: one key may begin with another
            self._known = sorted({*self._known, *fresh}, key=len, reverse=True)
