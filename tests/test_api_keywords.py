"""The keyword arguments of the interface are the fields of the settings; they cannot drift.

After a change: HARNESS_UPDATE_DOCS=1 pytest tests/test_api_keywords.py
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

HEAD = '''"""Keyword arguments of the programming interface: the fields of its settings, typed.

Made from the settings classes by `tests/test_api_keywords.py`, which holds them equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict
'''


def spelled(kind: Any) -> str:
    """A type as a caller may give it: a path may be text, a tuple any sequence."""
    if kind is None or kind is type(None):
        return "None"
    if kind is Path:
        return "Path | str"
    origin, parts = get_origin(kind), get_args(kind)
    if origin is None:
        return kind.__name__
    name = getattr(origin, "__name__", str(origin))
    if name == "Literal":
        return f"Literal[{', '.join(sorted(map(repr, parts)))}]"
    if name == "Annotated":
        return spelled(parts[0])
    if name == "tuple":
        return f"Sequence[{spelled(parts[0])}]"
    if name == "dict":
        return f"Mapping[{', '.join(map(spelled, parts))}]"
    return " | ".join(dict.fromkeys(word for part in parts for word in spelled(part).split(" | ")))


SHARED = "RunKeywords"


def rows_of(settings: type[BaseModel], *without: str) -> list[str]:
    """Lines of the fields of settings."""
    as_given = {"check": ("str", "str | Callable[..., Any]")}
    return [
        f"    {field}: {spelled(info.annotation).replace(*as_given.get(field, ('', '')))}"
        for field, info in settings.model_fields.items()
        if field not in without
    ]


def declared(name: str, doc: str, rows: list[str], base: str = "TypedDict") -> str:
    """The class of keyword arguments with these rows."""
    head = f'\n\nclass {name}({base}, total=False):\n    """{doc}"""\n\n'
    return head + "\n".join(rows) + "\n"


def fields_of(text: str) -> dict[str, dict[str, str]]:
    """The annotated names of every class."""
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    return {
        node.name: {
            ast.unparse(row.target): ast.unparse(row.annotation)
            for row in node.body
            if isinstance(row, ast.AnnAssign)
        }
        for node in classes
    }


def check(path: Path, expected: str) -> None:
    if os.environ.get("HARNESS_UPDATE_DOCS"):
        path.write_text(expected, encoding="utf-8")
    assert fields_of(path.read_text("utf-8")) == fields_of(expected)


def test_those_of_the_spine(repository: Path) -> None:
    from harness.evals import EvalSettings
    from harness.evolve import EvolveSettings

    evals = rows_of(EvalSettings, "suite", "agent", "models")
    evolves = rows_of(EvolveSettings, "out", "models", "agent", "suite")
    shared = [row for row in evals if row in evolves]
    head = HEAD.replace("import Mapping", "import Callable, Mapping")
    check(
        repository / "harness" / "api" / "keywords.py",
        head.replace("import Literal", "import Any, Literal")
        + declared(SHARED, "Settings of both.", shared)
        + declared(
            "EvalKeywords", "Settings of an eval.",
            [row for row in evals if row not in shared], SHARED,
        )
        + declared(
            "EvolveKeywords", "Settings of an evolution.",
            [row for row in evolves if row not in shared], SHARED,
        ),
    )  # fmt: skip


@pytest.mark.wing("rag")
def test_those_of_answering(repository: Path) -> None:
    from harness.rag.ask import AskSettings

    head = HEAD.replace("of the programming interface", "of `ask`")
    head += "\nfrom harness.models import Sampling\nfrom harness.rag.retrieve import ParseOptions\n"
    check(
        repository / "harness" / "rag" / "keywords.py",
        head
        + declared(
            "AskKeywords", "Settings of an answer.",
            rows_of(AskSettings, "question", "paths", "index", "model"),
        ),
    )  # fmt: skip
