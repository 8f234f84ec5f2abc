"""The commands of `examples/README.md`, word by word, with a server that plays the model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core import assets
from harness.trajectories import open_trajectories
from tests.docs.commands import Line, page_lines
from tests.record.provider import Answer, Provider, Said, Seen, provide
from tests.record.speaking import speaking

LINES = list(page_lines(assets.root() / "examples" / "README.md"))
ORDERS = ("3 desk lamps", "12 notebooks", "2 office chairs")
CLAUDE = """
import sys, anthropic
assert sys.argv[1] == "-p"
with anthropic.Anthropic().messages.stream(
    model="m", max_tokens=99, messages=[{"role": "user", "content": sys.argv[2]}]
) as stream:
    print("".join(stream.text_stream))
"""
CODEX = """
import sys, openai
assert sys.argv[1:3] == ["exec", "-c"]
client = openai.OpenAI(base_url=sys.argv[3].removeprefix("openai_base_url="))
question = [{"role": "user", "content": sys.argv[4]}]
with client.responses.stream(model="m", input=question) as stream:
    print(stream.get_final_response().output_text)
"""


def model(seen: Seen) -> Said:
    """Looks the price up where there is a tool, then multiplies."""
    text = json.dumps(seen.body)
    [(number, item)] = [key.split(" ", 1) for key in ORDERS if key in text]
    if "tools" not in seen.body:
        return Said("57")
    results = [row for row in seen.body["messages"] if row["role"] == "tool"]
    if not results:
        return Said(calls=[("price", {"item": item})])
    return Said(f"{int(number) * float(results[-1]['content']):g}")


def answer(provider: Provider, seen: Seen) -> Answer:
    seen.path = seen.path.partition("?")[0]
    return speaking(model)(provider, seen)


@pytest.fixture
def stranger(tmp_path: Path) -> dict[str, str]:
    """The environment of someone with our programs, the clients and keys."""
    for name, program in (("claude", CLAUDE), ("codex", CODEX)):
        (tmp_path / name).write_text(f"#!{sys.executable}\n{program}")
        (tmp_path / name).chmod(0o755)
    path = [str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]]
    keys = {"OPENAI_API_KEY": "sk-of-the-user", "ANTHROPIC_API_KEY": "sk-of-the-user"}
    return {**os.environ, **keys, "PATH": os.pathsep.join(path), "LANGSMITH_TRACING": "false"}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.text)
def test_an_example_runs_as_it_is_written(
    line: Line, stranger: dict[str, str], tmp_path: Path, repository: Path
) -> None:
    (tmp_path / "examples").symlink_to(repository / "examples")
    with provide(answer) as provider:
        urls = {"OPENAI_BASE_URL": f"{provider.url}/v1", "ANTHROPIC_BASE_URL": provider.url}
        done = subprocess.run(
            line.text, shell=True, cwd=tmp_path, env=stranger | urls, capture_output=True,
            text=True, check=False, timeout=240,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [run] = (tmp_path / "runs").iterdir()
    if " record " in line.text:
        assert done.stdout.splitlines()[0] == "57"
        [trajectory] = open_trajectories(run / "trajectories")
        assert trajectory.steps[-1].message == "57"
    else:
        assert "passed 3  failed 0  invalid 0" in done.stdout
        assert len(provider.seen) == 6


def test_examples_are_listed_and_short(repository: Path) -> None:
    page = (repository / "examples" / "README.md").read_text()
    files = list((repository / "examples").glob("*.py"))
    assert [path.name for path in files if f"]({path.name})" not in page] == []
    assert [path.name for path in files if len(path.read_text().splitlines()) > 40] == []
    assert len(files) >= 4
