"""Queries against a library, by the command: real client, real graph, scripted or no server."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, Refused, Unreachable
from tests.agents.scripted import native
from tests.models.http_server import Answer, completion, error, serve
from tests.receipts.trigger.conftest import SKILLS, trigger

QUERIES = [
    {"query": "My loaf does not rise.", "expect": "bake-bread"},
    {"query": "How long must dough proof before I bake it?", "expect": "bake-bread"},
    {"query": "Which knot ties two ropes together?", "expect": "tie-knots"},
    {"query": "Sing me a song.", "expect": None},
]
Reader = Callable[[str], str | None]


def librarian(choose: Reader) -> Callable[[dict[str, Any]], Answer]:
    """A server whose model opens the skill that `choose` names for a query."""

    def answer(body: dict[str, Any]) -> Answer:
        name = choose(body["messages"][1]["content"])
        if name is None:
            return completion("I know that without help.")
        return native("read_skill_file", json.dumps({"path": f"{name}/SKILL.md"}))

    return answer


def named_or(other: Reader) -> Reader:
    """The skill that a query names, else what `other` says."""
    return lambda query: next((name for name in SKILLS if name in query), None) or other(query)


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in QUERIES))
    return path


def measured(library: Path, queries: Path, answer: Any, *words: object) -> Any:
    """The report of a run against a server, which must exit with 0."""
    with serve(answer) as served:
        result = trigger(library, "--queries", queries, "--model", "openai/x", "--base-url",
                         served.url, "--out", library.parent / "run", "--json", *words)  # fmt: skip
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_skill_is_tested_among_its_siblings(library: Path, queries: Path) -> None:
    def other(query: str) -> str | None:
        return "tie-knots" if "loaf" in query or "knot" in query else None

    folder = library / "bake-bread"
    report = measured(folder, queries, librarian(named_or(other)), "--library", library)
    (one,) = report["skills"]
    assert one["control"]["hits"] == one["control"]["n"] == 3
    assert (one["recall"]["hits"], one["recall"]["n"]) == (0, 2)
    assert one["recall"]["value"] == 0.0
    assert one["recall"]["ci95"][1] > 0.5
    assert one["precision"]["value"] is None
    assert report["confusion"]["bake-bread"] == {"(none)": 1, "tie-knots": 1}
    assert report["confusion"]["tie-knots"] == {"tie-knots": 1}
    assert report["mode"] == "discovered"
    assert sorted(report["library"]) == sorted(SKILLS)


def test_the_agent_sees_descriptions_and_no_body(library: Path, queries: Path) -> None:
    with serve(librarian(named_or(lambda query: None))) as served:
        trigger(library / "bake-bread", "--library", library, "--queries", queries, "--model",
                "openai/x", "--base-url", served.url, "--out", library.parent / "r")  # fmt: skip
    system = served.bodies[0]["messages"][0]["content"]
    assert all(text in system for text in SKILLS.values())
    assert "First rule" not in system
    # One call a query: what is done with an opened skill is no longer of interest.
    assert len(served.bodies) == 3 + len(QUERIES)


def test_a_reply_that_was_cut_while_thinking_says_nothing(library: Path, queries: Path) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        if "loaf" not in body["messages"][1]["content"]:
            return librarian(named_or(lambda query: "bake-bread"))(body)
        status, headers, content = completion("", reasoning_content="Well, bread")
        return status, headers, content.replace(b'"stop"', b'"length"')

    report = measured(library / "bake-bread", queries, answer, "--library", library)
    recall = report["skills"][0]["recall"]
    assert (recall["hits"], recall["n"], recall["invalid"]) == (1, 1, 1)
    assert "before it said anything" in next(iter(report["reasons"]))


OPENING = ("read_skill_file", {"path": "bake-bread/SKILL.md"})


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ([], "the reply was empty"),
        ([("read_skill_file", {"path": "bake-bread/skills.md"})], "no file 'bake-bread/skills.md'"),
        ([("read_skill_file", {"path": "juggle/SKILL.md"})], "no file 'juggle/SKILL.md'"),
        ([("Skill", {"skill": "bake-bread"})], "no tool 'Skill'"),
        ([("read_skill_file", {"path": "bake-bread/x.md"}), OPENING], None),
        ([("Skill", {"skill": "bake-bread"}), OPENING], None),
    ],
)
def test_what_decides_nothing_is_not_taken_for_not_loaded(
    library: Path, queries: Path, calls: list[tuple[str, dict[str, str]]], reason: str | None
) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        messages = body["messages"]
        if "loaf" not in messages[1]["content"]:
            return librarian(named_or(lambda query: "bake-bread"))(body)
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn < len(calls):
            name, arguments = calls[turn]
            return native(name, json.dumps(arguments))
        return completion("Knead it." if calls else " ")

    report = measured(library / "bake-bread", queries, answer, "--library", library)
    recall = report["skills"][0]["recall"]
    expected = (1, 1, 1) if reason else (2, 2, 0)
    assert (recall["hits"], recall["n"], recall["invalid"]) == expected
    assert reason is None or reason in next(iter(report["reasons"]))


def test_a_silent_control_makes_the_run_invalid(library: Path, queries: Path) -> None:
    with serve(lambda body: completion("I open nothing.")) as served:
        result = trigger(library / "bake-bread", "--library", library, "--queries", queries,
                         "--model", "openai/x", "--base-url", served.url, "--json",
                         "--out", library.parent / "r")  # fmt: skip
    assert isinstance(result.exception, Unreachable)
    assert "positive control failed: 0 of 3" in str(result.exception)
    (one,) = json.loads(result.stdout)["skills"]
    assert one["valid"] is False
    assert [one[name]["value"] for name in ("recall", "precision", "on_none")] == [None] * 3


BROKEN: dict[str, Answer] = {
    "500": error(500),
    "401": error(401),
    "400": error(400),
    "html": (200, {}, b"<html>proxy login</html>"),
    "no choices": (200, {}, b'{"id": "x", "choices": []}'),
    "cut": (200, {"Content-Length": "4000"}, b'{"id": "x", "cho'),
}


@pytest.mark.parametrize(
    ("fault", "agent"),
    [*((fault, "graph:react") for fault in BROKEN), ("500", "choose"), ("html", "choose")],
)
def test_an_error_is_never_zero_percent(
    library: Path, queries: Path, fault: str, agent: str
) -> None:
    with serve(lambda body: BROKEN[fault]) as served:
        result = trigger(library / "bake-bread", "--library", library, "--queries", queries,
                         "--model", "openai/x", "--base-url", served.url, "--agent", agent,
                         "--out", library.parent / "run", "--json")  # fmt: skip
    assert isinstance(result.exception, Unreachable), result.output
    (one,) = json.loads(result.stdout)["skills"]
    assert not one["valid"]
    assert not re.search(r'"value": 0', result.stdout)


def test_single_faults_count_beside_the_figures(library: Path, queries: Path) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        if "loaf" in body["messages"][1]["content"]:
            return error(400, "this query breaks the server")
        return librarian(named_or(lambda query: "bake-bread" if "dough" in query else None))(body)

    report = measured(library / "bake-bread", queries, answer, "--library", library)
    recall = report["skills"][0]["recall"]
    assert (recall["hits"], recall["n"], recall["invalid"], recall["value"]) == (1, 1, 1, 1.0)
    assert report["confusion"]["bake-bread"] == {"(invalid)": 1, "bake-bread": 1}
    assert report["invalid"] == 1


def test_epochs_of_one_query_are_one_cluster(library: Path, queries: Path) -> None:
    answer = librarian(named_or(lambda query: "bake-bread" if "dough" in query else None))
    once = measured(library / "bake-bread", queries, answer, "--library", library)
    again = measured(library / "bake-bread", queries, answer, "--library", library,
                     "--epochs", 8, "--out", library.parent / "more")  # fmt: skip
    first, second = (one["skills"][0]["recall"] for one in (once, again))
    assert (second["hits"], second["n"]) == (8, 16)
    # Eight equal answers say no more about the description than one.
    assert second["ci95"][1] - second["ci95"][0] >= first["ci95"][1] - first["ci95"][0]


def test_the_simulated_librarian_is_blind_where_it_is_told_to_be(library: Path) -> None:
    for blindness, recall in ((0, 1.0), (1, 0.0)):
        result = trigger(library, "--model", f"simulated/librarian?blindness={blindness}",
                         "--out", library.parent / f"run{blindness}", "--json")  # fmt: skip
        assert result.exit_code == 0, result.output
        report = json.loads(result.stdout)
        assert [one["recall"]["value"] for one in report["skills"]] == [recall] * 3
        assert report["queries"] == {"drafted": sum(report["queries"].values())}
        assert report["simulated"] is True


def test_a_finished_run_is_not_paid_for_twice(library: Path, queries: Path) -> None:
    words = ("--library", library, "--queries", queries, "--model", "openai/x", "--json")
    run = library.parent / "run"
    with serve(librarian(named_or(lambda query: None))) as served:
        first = trigger(library / "bake-bread", *words, "--base-url", served.url, "--out", run)
        asked = len(served.bodies)
        again = trigger(library / "bake-bread", *words, "--base-url", served.url, "--resume", run)
        assert len(served.bodies) == asked
    assert json.loads(first.stdout)["confusion"] == json.loads(again.stdout)["confusion"]


def test_thresholds(library: Path) -> None:
    words = (library, "--model", "simulated/librarian?blindness=1", "--min-recall", "50%")
    result = trigger(*words, "--out", library.parent / "run")
    assert isinstance(result.exception, Refused)
    assert "recall 0 %" in str(result.exception)


def test_choosing_takes_names_only(library: Path, queries: Path) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        text = body["messages"][-1]["content"]
        names = [name for name in SKILLS if f"the {name} skill" in text or f"skill {name}" in text]
        names += [name for name in SKILLS if f"called {name}" in text]
        chosen = names[0] if names else "juggle" if "song" in text else "none"
        return completion(json.dumps({"skill": chosen}))

    report = measured(library / "tie-knots", queries, answer, "--library", library, "--agent",
                      "choose")  # fmt: skip
    (one,) = report["skills"]
    assert (one["control"]["hits"], one["on_none"]["invalid"]) == (3, 1)
    assert "juggle" in next(iter(report["reasons"]))


CLIENT = """
import json, pathlib, re, sys
prompt = sys.argv[1]
folder = pathlib.Path(".claude/skills")
for one in sorted(folder.iterdir()):
    if one.name in prompt or ("knot" in prompt and one.name == "tie-knots"):
        call = {"type": "tool_use", "id": "t", "name": "Skill", "input": {"skill": one.name}}
        print(json.dumps({"type": "assistant", "message": {"content": [call]}}))
print(json.dumps({"type": "result", "is_error": "song" in prompt, "result": "done"}))
"""


def test_a_client_finds_the_library_where_it_looks(library: Path, queries: Path) -> None:
    script = library.parent / "client.py"
    script.write_text(CLIENT)
    result = trigger(library / "tie-knots", "--library", library, "--queries", queries, "--json",
                     "--agent", f"cmd:{sys.executable} {script} {{prompt}}",
                     "--model", "simulated/librarian", "--out", library.parent / "run")  # fmt: skip
    assert result.exit_code == 0, result.output
    (one,) = json.loads(result.stdout)["skills"]
    assert one["recall"]["value"] == 1.0
    assert one["on_siblings"]["value"] == 0.0
    assert (one["on_none"]["n"], one["on_none"]["invalid"]) == (0, 1)


@pytest.mark.parametrize(
    "command",
    ["/nowhere/client {prompt}", "false {prompt}", "echo {prompt}", "sh -c 'kill -9 $$' {prompt}"],
)
def test_a_client_that_fails_measures_nothing(library: Path, queries: Path, command: str) -> None:
    result = trigger(library / "tie-knots", "--library", library, "--queries", queries, "--json",
                     "--agent", f"cmd:{command}", "--model", "simulated/librarian",
                     "--out", library.parent / "run")  # fmt: skip
    assert isinstance(result.exception, Unreachable), result.output
    (one,) = json.loads(result.stdout)["skills"]
    assert one["control"]["invalid"] == 3
    assert one["recall"]["value"] is None


FAILING = """
import json, sys
kind, prompt = sys.argv[1:]
if "tie-knots" in prompt or "knot" not in prompt:
    name = "tie-knots" if "tie-knots" in prompt else "none"
    call = {"type": "tool_use", "id": "a", "name": "Skill", "input": {"skill": name}}
    print(json.dumps({"type": "assistant", "message": {"content": [call]}}))
elif kind == "silent":
    print(json.dumps({"type": "result", "result": ""}))
elif kind == "claude":
    call = {"type": "tool_use", "id": "b", "name": "Read", "input": {"p": "tie-knots/no.md"}}
    print(json.dumps({"type": "assistant", "message": {"content": [call]}}))
    result = {"type": "tool_result", "tool_use_id": "b", "is_error": True, "content": "no file"}
    print(json.dumps({"type": "user", "message": {"content": [result]}}))
    print(json.dumps({"type": "result", "result": "Use a bowline."}))
else:
    item = {"type": "command_execution", "id": "i1", "command": "cat tie-knots/no.md"}
    print(json.dumps({"type": "item.started", "item": item}))
    print(json.dumps({"type": "item.completed", "item": {**item, "exit_code": 1}}))
    said = {"type": "agent_message", "id": "i2", "text": "Use a bowline."}
    print(json.dumps({"type": "item.completed", "item": said}))
"""


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("silent", "said nothing"), ("claude", "'tie-knots' failed"), ("codex", "'tie-knots' failed")],
)
def test_a_call_that_failed_and_silence_are_no_answer_of_a_client(
    library: Path, queries: Path, kind: str, reason: str
) -> None:
    script = library.parent / "client.py"
    script.write_text(FAILING)
    result = trigger(library / "tie-knots", "--library", library, "--queries", queries, "--json",
                     "--agent", f"cmd:{sys.executable} {script} {kind} {{prompt}}",
                     "--model", "simulated/librarian", "--out", library.parent / "run")  # fmt: skip
    report = json.loads(result.stdout)
    recall = report["skills"][0]["recall"]
    assert (recall["n"], recall["invalid"]) == (0, 1)
    assert reason in next(iter(report["reasons"]))


def test_a_pattern_reads_other_clients(library: Path, queries: Path) -> None:
    result = trigger(library / "tie-knots", "--library", library, "--queries", queries, "--json",
                     "--agent", "cmd:echo opened {prompt}", "--loaded", r"([a-z]+-[a-z]+)",
                     "--model", "simulated/librarian", "--out", library.parent / "run")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["skills"][0]["control"]["hits"] == 3


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query": "x", "expect": "juggle"}, "no skill 'juggle' at hand"),
        ({"query": "x"}, "expected expect: NAME"),
        ({"query": "", "expect": "tie-knots"}, "query"),
        ({"query": "a rope", "expect": "tie-knots", "control": True}, "must expect a skill and"),
        ({"query": "a rope", "expect": None}, "no query that should load 'tie-knots'"),
    ],
)
def test_bad_queries_cost_no_call(library: Path, row: dict[str, Any], message: str) -> None:
    path = library.parent / "bad.jsonl"
    path.write_text(json.dumps(row) + "\n")
    result = trigger(library / "tie-knots", "--library", library, "--queries", path)
    assert isinstance(result.exception, BadInput)
    assert message in str(result.exception)


def test_keys_of_yaml_that_are_no_text_are_named(library: Path) -> None:
    path = library.parent / "bad.yaml"
    path.write_text("- {query: x, null: y, 1: z}\n")
    result = trigger(library / "tie-knots", "--library", library, "--queries", path)
    assert isinstance(result.exception, BadInput)
    assert "got ['1', 'None', 'query']" in str(result.exception)
