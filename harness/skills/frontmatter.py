"""The frontmatter of SKILL.md: read leniently, written strictly.

Strict means what every known client accepts: block YAML, double-quoted values, no `---` inside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from harness.core.errors import BadInput
from harness.skills.types import Frontmatter

KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_LINE = re.compile(r"^([A-Za-z][\w-]*):[ \t]*(.*)$")


def split_header(text: str) -> tuple[str, str]:
    """(header with both `---` lines, body); the header is "" if there is none."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return "", text
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            cut = sum(len(one) + 1 for one in lines[: index + 1])
            header, body = text[:cut], text[cut:]
            return (header if header.endswith("\n") else header + "\n"), body
    return "", text


def parse_header(header: str) -> tuple[dict[str, str | dict[str, str]], str]:
    """(values, complaint): complaint is "" if it was proper YAML.

    Text that is no YAML (such as an unquoted colon in the description) is read line by line as
    Gemini CLI does, and complained about.
    """
    inner = "\n".join(header.split("\n")[1:-2])
    import yaml

    try:
        # BaseLoader reads every scalar as text: `version: 1.0` stays "1.0".
        loaded: Any = yaml.load(inner, Loader=yaml.BaseLoader)  # BaseLoader is safe
    except yaml.YAMLError as error:
        reason = getattr(error, "problem", None) or "unreadable"
        return _by_line(inner), f"no valid YAML ({reason}); read line by line instead"
    if loaded is None or loaded == "":
        return {}, "the frontmatter is empty"
    if not isinstance(loaded, dict):
        return _by_line(inner), "expected a YAML mapping; read line by line instead"
    return _as_text(cast(dict[Any, Any], loaded))


def _as_text(loaded: dict[Any, Any]) -> tuple[dict[str, str | dict[str, str]], str]:
    values: dict[str, str | dict[str, str]] = {}
    complaint = ""
    for key, value in loaded.items():
        if isinstance(value, dict):
            pairs = cast(dict[Any, Any], value)
            values[str(key)] = {str(k): _scalar(v) for k, v in pairs.items()}
            if any(isinstance(v, dict | list) for v in pairs.values()):
                complaint = f"{key!r} is nested: clients expect a map of text"
        elif isinstance(value, list):
            values[str(key)] = " ".join(_scalar(one) for one in cast(list[Any], value))
            complaint = f"{key!r} is a list: clients expect one space-separated string"
        else:
            values[str(key)] = str(value)
    return values, complaint


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _by_line(inner: str) -> dict[str, str | dict[str, str]]:
    values: dict[str, str | dict[str, str]] = {}
    last = ""
    for line in inner.split("\n"):
        match = _LINE.match(line)
        if match:
            last = match.group(1)
            values[last] = match.group(2).strip().strip("\"'").lstrip(">|-").strip()
        elif last and line[:1] in " \t" and isinstance(value := values[last], str):
            values[last] = f"{value} {line.strip()}".strip()
    return values


def render_header(values: Frontmatter) -> str:
    """The strict form of the frontmatter, with both `---` lines.

    Raises:
        BadInput: if a value holds what some client cannot read (`---`, control characters).
    """
    lines = ["---"]
    for key in sorted(values, key=lambda one: (KEYS.index(one) if one in KEYS else 99, one)):
        value = values[key]
        if isinstance(value, Mapping):
            if value:
                lines.append(f"{_key(key)}:")
                lines += [f"  {_key(k)}: {_quoted(k, v)}" for k, v in sorted(value.items())]
        else:
            lines.append(f"{_key(key)}: {_quoted(key, value)}")
    return "\n".join([*lines, "---", ""])


def _key(key: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][\w./-]*", key) or "---" in key:
        raise BadInput(f"expected a plain key in the frontmatter, got {key!r}")
    return key


def _quoted(key: str, value: str) -> str:
    flat = re.sub(r"\s*\n\s*", " ", value).strip()
    if "---" in flat:
        raise BadInput(f"{key!r} holds '---', which some clients take for the end: reword it")
    if any(not char.isprintable() for char in flat):
        raise BadInput(f"{key!r} holds control characters: remove them")
    return json.dumps(flat, ensure_ascii=False)
