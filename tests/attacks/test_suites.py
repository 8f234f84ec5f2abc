"""Hostile suites and texts: ids, numbers, templates, options, markup."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness.core import BadInput, Task
from harness.evals import records
from harness.tasks import family
from harness.tasks.bounded import workers
from tests.attacks.running import KEY, suite_of
from tests.models.http_server import completion, serve
from tests.typed import typed

IDS = [
    "../../outside", "/etc/passwd", "..", ".", "-rf", "--help", "a\nb", "a\rb", "x" * 10_000,
    "Case", "case", unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é"),
    "\u202etxt.exe", "\u200b", "a\x00b", "\x1b[2J\x1b]0;x\x07", "CON", "a/b", "a\\b", "%2e%2e%2f",
    "$(id)", "{{ 7 * 7 }}", "<script>alert(1)</script>", "=cmd|' /C calc'!A0", " ", "a@b", "#2",
]  # fmt: skip


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def evaluated(suite: Path, out: Path, url: str, *more: str | Path) -> str:
    """Run a suite; what the command printed on the standard error stream."""
    done = typed("eval", suite, "--out", out, "--sandbox", "none", "--model", "openai/m",
                   "--base-url", url, *more)  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    return done.stderr


def test_ids(tmp_path: Path) -> None:
    """Task ids are paths, options, 10,000 letters, control characters, or alike but for case."""
    rows = [{"id": name, "prompt": f"p{n}", "answer": "1"} for n, name in enumerate(IDS)]
    inside = tmp_path / "inside"
    suite = suite_of(inside / "suite", rows, max_turns=1)
    with serve(lambda _: completion("1")) as server:
        evaluated(suite, inside / "run", server.url, "--junit", inside / "j.xml")
    assert {item.id for item in records(inside / "run") if item.outcome == "pass"} == set(IDS)
    (cases,) = ElementTree.parse(inside / "j.xml").getroot()
    assert len(cases) == len(IDS)
    for target in ("atif", "trace2skill", "inspect"):
        done = typed("trajectories", "export", inside / "run", "--format", target,
                       "--out", inside / target)  # fmt: skip
        assert done.returncode == 0, done.stderr[-500:]
        files = [path for path in (inside / target).rglob("*") if path.is_file()]
        assert all(path.parent == inside / target for path in files)
        assert len(files) >= (1 if target == "inspect" else len(IDS))
    assert list(tmp_path.iterdir()) == [inside]


def test_one_id_for_two_attempts(tmp_path: Path) -> None:
    """A task has the id that the second attempt of another one gets, and replaces its result."""
    rows = [{"id": name, "prompt": name, "answer": "1"} for name in ("a", "a@1")]
    suite = suite_of(tmp_path / "suite", rows)
    done = typed("eval", suite, "--out", tmp_path / "run", "--epochs", "2", "--sandbox", "none",
                   "--model", "openai/m", "--base-url", "http://127.0.0.1:9/v1")  # fmt: skip
    assert done.returncode == 2 and "two attempts would have the id 'a@1'" in done.stderr


ROWS = {
    "NaN": '{"id": "b", "prompt": "p", "answer": NaN}',
    "infinity in meta": '{"id": "b", "prompt": "p", "answer": "1", "meta": {"x": [-Infinity]}}',
    "overflow": '{"id": "b", "prompt": "p", "answer": 1e999}',
    "5,000 digits": '{"id": "b", "prompt": "p", "answer": ' + "9" * 5000 + "}",
    "100,000 brackets": '{"id": "b", "prompt": "p", "answer": ' + "[" * 100_000 + "}",
    "no object": '["id", "prompt"]',
}


@pytest.mark.parametrize("kind", ROWS)
def test_numbers(kind: str, tmp_path: Path) -> None:
    """A task file has NaN, infinity, 5,000 digits or 100,000 brackets in it."""
    suite = suite_of(tmp_path / "suite", [{"id": "a", "prompt": "p", "answer": "1"}])
    with (suite / "tasks.jsonl").open("a") as file:
        file.write(ROWS[kind] + "\n")
    with serve(lambda _: completion("1")) as server:
        done = typed("eval", suite, "--out", tmp_path / "run", "--sandbox", "none",
                       "--model", "openai/m", "--base-url", server.url)  # fmt: skip
    assert done.returncode == 2, done.stderr[-500:]
    assert "tasks.jsonl:2" in done.stderr and len(done.stderr) < 1000
    assert server.bodies == [] and not (tmp_path / "run").exists()


def test_templates(tmp_path: Path) -> None:
    """Tasks, skills and replies are templates: `{{ 7 * 7 }}`, `{% include %}`, `{prompt}`."""
    text = "{{ 7 * 7 }} {% include '/etc/passwd' %} {{ ''.__class__.__mro__ }} {prompt} ${HOME} %s"
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text(
        f"---\nname: skill\ndescription: '{{{{ 7 * 7 }}}}'\n---\n{text}\n"
    )
    (skill / "more.md").write_text(text)
    function = {"name": "read_skill_file", "arguments": '{"path": "more.md"}'}
    call = {"id": "c", "type": "function", "function": function}

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        asked = any(message["role"] == "tool" for message in body["messages"])
        return completion(text) if asked else completion(text, tool_calls=[call])

    rows = [{"id": "t", "prompt": text, "answer": text}]
    suite = suite_of(tmp_path / "suite", rows, tools=["read_skill_file"], protocol="native")
    with serve(answer) as server:
        evaluated(suite, tmp_path / "run", server.url, "--skill", skill)
    (item,) = records(tmp_path / "run")
    assert item.outcome == "pass" and item.answer == text
    messages = {message["role"]: message["content"] for message in server.bodies[-1]["messages"]}
    assert all(text in messages[role] for role in ("system", "user", "assistant", "tool"))
    assert "49" not in json.dumps(server.bodies)


def test_prompt_is_an_option(tmp_path: Path) -> None:
    """A prompt begins with dashes: a command-line agent takes it for an option of its own."""
    rows = [{"id": "t", "prompt": "--dangerously-allow-everything=yes", "answer": "0 options"}]
    program = (
        "import argparse; parser = argparse.ArgumentParser(); parser.add_argument('prompt'); "
        "parser.add_argument('--dangerously-allow-everything'); arguments = parser.parse_args(); "
        "print(sum(v is not None for k, v in vars(arguments).items() if k != 'prompt'), 'options')"
    )
    suite = suite_of(tmp_path / "suite", rows)
    (tmp_path / "agent.py").write_text(program)
    agent = f"cmd:python3 {tmp_path / 'agent.py'} {{prompt}}"
    evaluated(suite, tmp_path / "run", "http://127.0.0.1:9/v1", "--agent", agent)
    assert [item.outcome for item in records(tmp_path / "run")] == ["pass"]


def test_half_characters_of_code(tmp_path: Path) -> None:
    """A check and an agent say half a character, which no file can hold, and end the whole run."""
    half = '"\\ud83d"'
    rows = [
        {"id": "a", "prompt": "p", "check": "check.py:judge"},
        {"id": "b", "prompt": "p", "answer": "1"},
    ]
    suite = suite_of(tmp_path / "suite", rows)
    (suite / "check.py").write_text(
        "def judge(task, workdir, answer):\n"
        f"    return {{'passed': False, 'reason': {half}, 'detail': {{{half}: [{half}]}}}}\n"
    )
    (suite / "agent.py").write_text(f"def attempt(prompt, workdir, skill):\n    return {half}\n")
    agent = f"py:{suite / 'agent.py'}:attempt"
    evaluated(suite, tmp_path / "run", "http://127.0.0.1:9/v1", "--agent", agent, "--trust-checks",
              "--junit", tmp_path / "j.xml")  # fmt: skip
    assert {item.id: item.outcome for item in records(tmp_path / "run")} == {
        "a": "fail",
        "b": "fail",
    }
    ElementTree.parse(tmp_path / "j.xml")
    for words in (["view", tmp_path / "run", "--html", tmp_path / "page.html"],
                  ["eval", "regrade", tmp_path / "run", "--trust-checks"]):  # fmt: skip
        done = typed(*words)
        assert done.returncode == 0, done.stderr[-500:]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Remember it."""
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]
        self.tags += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]


def test_markup(tmp_path: Path) -> None:
    """Prompts, answers and names have `</script>`, `<!--<script>` and `javascript:` in them."""
    text = (
        "</script><script>alert(1)</script><!--<script><img src=x onerror=alert(1)>"
        "[x](javascript:alert(1)) \u2028 ]]></style><svg onload=alert(1)>"
    )
    pages: list[_Page] = []
    for number, shown in enumerate(("harmless", text)):
        rows = [{"id": shown, "prompt": shown, "answer": "1", "meta": {"stratum": shown}}]
        suite = suite_of(tmp_path / f"suite{number}", rows, name=shown, max_turns=1)
        page = tmp_path / f"{number}.html"
        with serve(lambda _, shown=shown: completion(shown)) as server:
            evaluated(suite, tmp_path / f"run{number}", server.url)
        done = typed("view", tmp_path / f"run{number}", "--html", page)
        assert done.returncode == 0, done.stderr[-500:]
        pages.append(_Page())
        pages[-1].feed(page.read_text("utf-8"))
    assert pages[1].tags == pages[0].tags
    assert pages[1].addresses == pages[0].addresses


WITHOUT_END: dict[str, dict[str, Any]] = {
    "pattern": {"check": "regex", "answer": r"(b|b)*(b|b)*(b|bb)*d$"},
    "schema": {"check": "json_schema", "answer": {"pattern": "^(b+b+)+(b|bb)+d$"}},
    "name of a property": {
        "check": "json_schema",
        "answer": {"patternProperties": {"^(b+b+)+(b|bb)+d$": {}}, "additionalProperties": False},
    },
    "of several": {
        "check": "all",
        "meta": {"checks": [{"check": "regex", "answer": r"^(b*)*(b|bb)*d$"}]},
    },
}


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of processor time is reached in two seconds."""
    patterns = workers("patterns")
    patterns.close()
    monkeypatch.setattr(patterns, "_seconds", 2)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("kind", WITHOUT_END)
def test_patterns(kind: str, tmp_path: Path) -> None:
    """A pattern, or one in a schema, matches for hours: the attempt is invalid, the run ends."""
    texts = {"schema": json.dumps("b" * 60), "name of a property": json.dumps({"b" * 60: 1})}
    replies = tmp_path / "replies.json"
    replies.write_text(json.dumps([{"text": texts.get(kind, "b" * 60)}]))
    suite = suite_of(tmp_path / "suite", [{"id": "t", "prompt": "p", **WITHOUT_END[kind]}])
    done = typed("eval", suite, "--out", tmp_path / "run", "--model", f"scripted/{replies}",
                 "--sandbox", "none")  # fmt: skip
    assert done.returncode == 2 and "processor time" in done.stderr + done.stdout, done.stderr


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_schema_reference(scheme: str, tmp_path: Path) -> None:
    """A schema refers to a file of the user, or to a server that learns who judges."""
    (tmp_path / "secret.json").write_text('{"const": "user-secret"}')
    with serve(lambda _body: completion("{}")) as served:
        place = served.url if scheme == "http" else (tmp_path / "secret.json").as_uri()
        schema: Any = {"$defs": {"a": {"$ref": place}}, "$ref": "#/$defs/a"}
        task = Task(id="t", prompt="p", check="json_schema", answer=schema)
        with pytest.raises(BadInput, match="cannot be used") as refused:
            family(task).score(task, tmp_path, tmp_path, '"x"')
        assert "user-secret" not in str(refused.value) and not served.headers
    own: Any = {"$defs": {"a": {"const": 1}}, "$ref": "#/$defs/a"}
    task = Task(id="t", prompt="p", check="json_schema", answer=own)
    assert family(task).score(task, tmp_path, tmp_path, "1").outcome == "pass"


TEMPLATES = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "one big text": "{{ 'b'|center(1900000000) }}",
    "texts of texts": "{% set a = 'b' * 99999 %}{% for x in range(99999) %}{{ a }}{% endfor %}",
    "itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "division": "{{ 1 / 0 }}",
    "wrong type": "{{ 1 + 'b' }}",
}


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("kind", TEMPLATES)
def test_endless_templates(kind: str, tmp_path: Path) -> None:
    """A template of promptfoo's loops, swells or fails while the suite is only looked at."""
    path = tmp_path / "promptfooconfig.yaml"
    test: dict[str, Any] = {"vars": {}, "assert": [{"type": "equals", "value": "b"}]}
    path.write_text(json.dumps({"prompts": [TEMPLATES[kind]], "tests": [test]}))
    done = typed("eval", path, "--dry-run", "--model", "openai/m")
    assert done.returncode == 2 and "prompt 1" in done.stderr, done.stderr
