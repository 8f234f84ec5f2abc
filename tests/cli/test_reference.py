"""docs/reference/commands.md is the help text of every command, python.md that of every function of
`harness.api`, suite.md and suite.schema.json are the fields of a suite; they cannot drift.

After a change: HARNESS_UPDATE_DOCS=1 pytest tests/cli/test_reference.py
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import harness.api
from harness.api.keywords import EvalKeywords, EvolveKeywords
from harness.api.work import as_keywords
from harness.cli import cli
from harness.core import Option, Value
from harness.evals import EvalSettings
from harness.evals.suite import Suite
from harness.evolve import EvolveSettings
from harness.models import SampleLimits, Sampling
from harness.tasks import JudgeSettings
from tests.test_api_keywords import spelled

pytestmark = pytest.mark.wing(
    "rag", "debug", "record", "receipts", "vision", "engines", "learn", "fleet", "train", "judge"
)

HEAD = "# Commands\n\nThe help text of every command, kept equal to the program by a test.\n"
BAR = r"\|"
PYTHON_HEAD = """# Python

The functions of `harness.api`, kept equal to the program by a test; the
[guide](../guide.md#use-it) shows them at work. A `Suite` is a path, the name of a suite, or rows:
mappings, `Task`s or a data frame of pandas. `Models` are a spec or several. Where an event loop is
running, as in an async program, `await` the twin of a function. This example asks no model:

```python
>>> from harness.api import compare_runs, evaluate
>>> rows = [{"id": word, "question": f"Say {word}", "expected": word} for word in ("yes", "no")]
>>> same = {"model": "none", "sandbox": "none"}
>>> before = evaluate(rows, agent="cmd:echo maybe", out="runs/maybe", **same)
>>> after = evaluate(rows, agent="cmd:echo yes", out="runs/yes", **same)
>>> sorted((row["id"], row["outcome"], row["answer"]) for row in after.rows())
[('no', 'fail', 'yes'), ('yes', 'pass', 'yes')]
>>> compare_runs(before.folder, after.folder).paired.fixed
('yes',)

```
"""

SUITE_HEAD = """# suite.yaml

The keys of a suite, kept equal to the program by a test. A key that is none of these is refused,
with the one that was probably meant. `harness eval FOLDER --dry-run` reads a suite with its tasks
and its checks, says what it would run, and calls no model. An editor that knows YAML schemas
completes and checks the file with
[suite.schema.json](suite.schema.json):

```yaml
# yaml-language-server: $schema=suite.schema.json
name: tickets
tasks: tickets.csv?ticket=prompt&label=answer
agent: py:agent.py:triage
limits: {seconds: 60}
```

The columns of a task file are on the page of [tasks and checks](../concepts/tasks.md).
"""


def sections(command: click.Command, name: str, parent: click.Context | None) -> list[str]:
    # click caches a command's help option with the settings of its first context: use these.
    settings: dict[str, Any] = {
        **command.context_settings,
        "max_content_width": 90,
        "terminal_width": 90,
    }
    context = click.Context(command, info_name=name, parent=parent, **settings)
    found = [f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            loaded = command.get_command(context, child)
            assert loaded is not None
            found += sections(loaded, child, context)
    return found


def documented(name: str) -> str:
    """A function with its signature, or a class with what it has."""
    value: Any = getattr(harness.api, name)
    lines = [f"## {name}\n"]
    if name[0].isupper():
        names: list[str] = [*value.model_fields, *vars(value)]
        members = (f"`{member}`" for member in names if not member.startswith(("_", "model_")))
        lines += [f"Members: {', '.join(members)}.\n", "```text"]
    else:
        if f"a{name}" in dir(harness.api):
            lines.append(f"Its twin is `a{name}`.\n")
        signature = re.sub(r"(?<=: |> )'([^']*)'", r"\1", str(inspect.signature(value)))
        parameters = re.sub(r", (?=\*|\w+:)", ",\n    ", signature).replace("(", "(\n    ", 1)
        lines += [f"```text\n{name}{parameters}\n"]
    docstring = re.sub(r":\w+:`~?([\w.]+)`", r"`\1`", inspect.getdoc(value) or "")
    return "\n".join([*lines, docstring, "```\n"])


def settings_table(title: str, settings: type[Value], keywords: type) -> str:
    """The keywords that are fields of settings, with the help of their options."""
    rows = [f"## {title}\n", "| keyword | type | default | meaning |", "|---|---|---|---|"]
    for name, kind in keywords.__annotations__.items():
        field = settings.model_fields[name]
        meaning = "".join(mark.help for mark in field.metadata if isinstance(mark, Option))
        meaning = as_keywords(meaning, settings).replace("<", "&lt;")
        cells = [f"`{name}`", f"`{kind.__forward_arg__}`", f"`{field.default!r}`", meaning]
        rows.append(f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |")
    return "\n".join(rows) + "\n"


def python_page() -> str:
    """The functions, their settings, and what they return."""
    public = dir(harness.api)
    functions = [name for name in public if name[0].islower() and name[1:] not in public]
    classes = [getattr(harness.api, name) for name in public if name[0].isupper()]
    bases = {EvalSettings, EvolveSettings, *(base for kind in classes for base in kind.__bases__)}
    return "\n".join(
        [
            PYTHON_HEAD,
            *map(documented, functions),
            settings_table("Settings of evaluate and plan_evaluation", EvalSettings, EvalKeywords),
            settings_table("Settings of evolve and plan_evolution", EvolveSettings, EvolveKeywords),
            *(documented(kind.__name__) for kind in classes if kind not in bases),
        ]
    )


def keys(title: str, kind: type[Value]) -> str:
    """The keys of a part of a suite, each with what the docstring of its class says of it."""
    text = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2]
    meanings = dict(re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE))
    lines = [f"## {title}\n", "| key | type | default | meaning |", "|---|---|---|---|"]
    for name, field in kind.model_fields.items():
        shown = re.sub(r"\w+(?:\.\w+)+\.", "", spelled(field.annotation))
        plain = field.default if isinstance(field.default, str | int | float) else None
        default = "required" if field.is_required() else f"`{plain}`" if plain else ""
        meaning = re.sub(r":\w+:`~?([\w.]+)`", r"`\1`", " ".join(meanings.get(name, "").split()))
        lines.append(f"| `{name}` | {shown.replace('|', BAR)} | {default} | {meaning} |")
    return "\n".join(lines) + "\n"


def suite_page() -> str:
    """The keys of a suite and of its parts."""
    parts = {"sampling": Sampling, "limits": SampleLimits, "judge": JudgeSettings}
    tables = [keys("Suite", Suite), *(keys(f"`{name}:`", kind) for name, kind in parts.items())]
    return "\n".join([SUITE_HEAD, *tables])


def check(path: Path, expected: str) -> None:
    if os.environ.get("HARNESS_UPDATE_DOCS"):
        path.write_text(expected, encoding="utf-8")
    assert path.read_text("utf-8") == expected


def test_the_reference_is_the_help_text(repository: Path) -> None:
    # In a process of its own: a test that ran a subcommand alone has left its settings in click.
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.test_reference"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    )
    check(repository / "docs" / "reference" / "commands.md", done.stdout)


def test_the_reference_of_python_is_its_docstrings(repository: Path) -> None:
    check(repository / "docs" / "reference" / "python.md", python_page())


def test_the_reference_of_a_suite_is_its_model(repository: Path) -> None:
    folder = repository / "docs" / "reference"
    page = suite_page()
    assert "|  |\n" not in page, "every key is explained"
    check(folder / "suite.md", page)
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Suite.model_json_schema(),
    }
    check(folder / "suite.schema.json", json.dumps(schema, indent=2) + "\n")


if __name__ == "__main__":
    sys.stdout.write("\n".join([HEAD, *sections(cli, "harness", None)]))
