"""Import and export of every format, as a user meets them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput, Trajectory
from harness.core.rundir import RunReader, RunWriter
from harness.trajectories import (
    EXPORTS,
    Format,
    TrajectoryStore,
    collect_stats,
    detect_format,
    export_trajectories,
    find_trajectory,
    from_openai,
    import_trajectories,
    open_trajectories,
    to_openai,
)
from harness.trajectories.formats import table

CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "bash", "arguments": '{"command": "ls"}'},
}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
    {"role": "assistant", "content": "one file", "reasoning_content": "easy"},
]


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_official_folder_goes_through_a_store_unchanged(shared: Path, tmp_path: Path) -> None:
    source = shared / "fixtures/trace2skill_official/logs"
    report = import_trajectories(source, tmp_path / "store")
    assert (report.source_format, report.imported, report.secrets) == ("trace2skill", 4, 0)
    export_trajectories(tmp_path / "store", tmp_path / "out", "trace2skill")
    written = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    assert written == {p.name: p.read_bytes() for p in source.iterdir()}


def test_official_folder_through_atif_files(shared: Path, tmp_path: Path) -> None:
    source = shared / "fixtures/trace2skill_official/logs_jsonl"
    export_trajectories(source, tmp_path / "atif", "atif")
    assert detect_format(tmp_path / "atif") == "atif"
    export_trajectories(tmp_path / "atif", tmp_path / "out", "trace2skill")
    for file in source.rglob("*.jsonl"):
        assert (tmp_path / "out" / file.relative_to(source)).read_bytes() == file.read_bytes()


def test_recorded_conversations(shared: Path, tmp_path: Path) -> None:
    source = shared / "data/dev/spreadsheet_trajectories_qwen35_122b.jsonl"
    assert import_trajectories(source, tmp_path / "s").imported == 113
    store = TrajectoryStore(tmp_path / "s")
    stats = collect_stats(store)
    assert stats.outcomes == {"pass": 52, "fail": 61}
    assert stats.tool_calls.keys() == {"python"}
    first = store.get("17-35")
    assert first.agent.model_name == "qwen3.5-122b-a10b"
    assert first.harness["outcome"] == "pass"
    task = first.harness["task"]
    assert isinstance(task, dict)
    assert task["answer_sheet"] == "FILTER 5b"
    assert task["instruction_type"] == "Sheet-Level Manipulation"
    row = json.loads(source.read_text("utf-8").splitlines()[0])
    said: list[object] = []
    for step in first.steps:
        said.append(step.message)
        said += [result.content for result in step.observation.results] if step.observation else []
    assert said == row["trajectory"]["conversation"]
    assert "_replay" not in json.dumps(first.model_dump(mode="json"))


def test_openai_rows_come_back(tmp_path: Path) -> None:
    row = {"id": "x", "messages": CHAT, "task_id": "t", "outcome": "fail", "seed": 7}
    source = _write(tmp_path / "in.jsonl", [row])
    made = next(open_trajectories(source))
    assert [step.source for step in made.steps] == ["system", "user", "agent", "agent"]
    assert made.steps[2].observation is not None
    assert made.steps[2].observation.results[0].source_call_id == "c1"
    export_trajectories(source, tmp_path / "out", "openai")
    assert json.loads((tmp_path / "out/openai.jsonl").read_text("utf-8")) == row


def test_openai_arguments_that_are_no_object_come_back() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{broken"}}
    row: dict[str, Any] = {
        "id": "x",
        "messages": [{"role": "assistant", "content": "", "tool_calls": [call]}],
    }
    assert to_openai(from_openai(row, "here", "x")) == row


def test_sharegpt_rows_come_back(tmp_path: Path) -> None:
    turns = [
        {"from": "system", "value": "s"},
        {"from": "human", "value": "q"},
        {"from": "function_call", "value": "{}"},
        {"from": "observation", "value": "o"},
        {"from": "gpt", "value": "a"},
    ]
    source = _write(tmp_path / "in.jsonl", [{"id": "x", "conversations": turns}])
    assert detect_format(source) == "sharegpt"
    export_trajectories(source, tmp_path / "out", "sharegpt")
    row = json.loads((tmp_path / "out/sharegpt.jsonl").read_text("utf-8"))
    assert row == {"id": "x", "conversations": turns}


def _calls(step: Any) -> list[tuple[str, Any]]:
    return [(call.function_name, call.arguments) for call in step.tool_calls or ()]


def _results(step: Any) -> list[tuple[str, str]]:
    """(name of the call, text) of the results that found their call."""
    names = {call.tool_call_id: call.function_name for call in step.tool_calls or ()}
    results = step.observation.results if step.observation else ()
    return [(names[result.source_call_id], result.content) for result in results]


def test_calls_of_sharegpt_find_their_results_and_every_column_comes_back(tmp_path: Path) -> None:
    tide = {"name": "tide", "arguments": {"port": "Brest"}}
    wind = {"name": "wind", "arguments": {"port": "Brest", "unit": "kn"}}
    tools = [{"name": "tide"}, {"name": "wind"}]
    row = {
        "id": "x",
        "system": "You know harbours.",
        "tools": json.dumps(tools),
        "source_file": "a.json",
        "conversations": [
            {"from": "human", "value": "Can I leave Brest?"},
            {"from": "function_call", "value": json.dumps(tide)},
            {"from": "function_call", "value": json.dumps(wind)},
            {"from": "observation", "value": "high at noon"},
            {"from": "observation", "value": "8 kn", "weight": 0},
            {"from": "gpt", "value": "At noon.", "weight": 1},
        ],
    }
    source = _write(tmp_path / "in.jsonl", [row])
    system, user, agent, reply = next(open_trajectories(source)).steps
    assert (system.source, system.message) == ("system", "You know harbours.")
    assert (user.message, agent.message, reply.message) == ("Can I leave Brest?", "", "At noon.")
    assert _calls(agent) == [("tide", tide["arguments"]), ("wind", wind["arguments"])]
    assert _results(agent) == [("tide", "high at noon"), ("wind", "8 kn")]
    assert list(next(open_trajectories(source)).agent.tool_definitions or ()) == tools
    import_trajectories(source, tmp_path / "store")
    export_trajectories(tmp_path / "store", tmp_path / "out", "sharegpt")
    assert json.loads((tmp_path / "out/sharegpt.jsonl").read_text("utf-8")) == row


def test_roles_under_conversations_are_read_as_messages(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    row = {"id": "x", "system": "s", "conversations": turns, "lang": "en"}
    made = next(open_trajectories(_write(tmp_path / "in.jsonl", [row])))
    assert [step.message for step in made.steps] == ["s", "q", "a"]
    assert made.harness["openai"] == {"lang": "en"}


@pytest.mark.parametrize("legacy", [False, True])
def test_calls_of_openai_keep_their_arguments_and_results(legacy: bool, tmp_path: Path) -> None:
    arguments = {"port": "Brest", "days": 2}
    asked: dict[str, Any] = {"role": "assistant", "content": None}
    told: dict[str, Any] = {"role": "tool", "tool_call_id": "c9", "content": "high at noon"}
    if legacy:
        asked["function_call"] = {"name": "tide", "arguments": json.dumps(arguments)}
        told = {"role": "function", "name": "tide", "content": "high at noon"}
    else:
        call = {
            "id": "c9",
            "type": "function",
            "function": {"name": "tide", "arguments": arguments},
        }
        asked["tool_calls"] = [call]
    end = {"role": "assistant", "content": "At noon.", "reasoning": "high water", "name": "pilot"}
    row = {"id": "x", "messages": [{"role": "user", "content": "q"}, asked, told, end]}
    path = tmp_path / "in.json"
    path.write_text(json.dumps([row]))
    (made,) = open_trajectories(path)
    _, agent, reply = made.steps
    assert (_calls(agent), _results(agent)) == ([("tide", arguments)], [("tide", "high at noon")])
    assert reply.reasoning_content == "high water"
    assert to_openai(made) == row


def test_further_columns_of_replies_are_kept(tmp_path: Path) -> None:
    row = {"task": "t", "reply": "r", "author": "Ann"}
    made = next(open_trajectories(_write(tmp_path / "in.jsonl", [row])))
    assert made.harness["replies"] == {"author": "Ann"}


def test_secrets_are_replaced_counted_and_can_be_kept(tmp_path: Path) -> None:
    secret = "sk-" + "a1" * 12
    rows = [{"messages": [{"role": "user", "content": f"key {secret}"}]}]
    source = _write(tmp_path / "in.jsonl", rows)
    report = import_trajectories(source, tmp_path / "clean")
    assert (report.redacted, report.secrets) == (1, 1)
    found = next(open_trajectories(tmp_path / "clean"))
    assert found.steps[0].message == "key [REDACTED]"
    assert found.harness["redactions"] == 1
    assert export_trajectories(tmp_path / "clean", tmp_path / "o", "openai").redacted == 1
    import_trajectories(source, tmp_path / "raw", redact=False)
    assert next(open_trajectories(tmp_path / "raw")).steps[0].message == f"key {secret}"


def test_ids_that_are_taken_get_a_suffix(tmp_path: Path) -> None:
    rows = [{"id": "x", "messages": [{"role": "user", "content": str(n)}]} for n in range(3)]
    source = _write(tmp_path / "in.jsonl", rows)
    assert import_trajectories(source, tmp_path / "s").renamed == 2
    assert TrajectoryStore(tmp_path / "s").ids == ["x", "x#2", "x#3"]


def test_importing_twice_adds_nothing(tmp_path: Path) -> None:
    rows = [{"id": "x", "messages": [{"role": "user", "content": str(n)}]} for n in range(3)]
    source = _write(tmp_path / "in.jsonl", rows)
    import_trajectories(source, tmp_path / "s")
    again = import_trajectories(source, tmp_path / "s")
    assert (again.imported, again.present) == (0, 3)
    assert len(TrajectoryStore(tmp_path / "s")) == 3


def test_a_bad_record_writes_nothing(tmp_path: Path) -> None:
    source = _write(tmp_path / "in.jsonl", [{"messages": CHAT}, {"messages": []}])
    with pytest.raises(BadInput, match=r"in\.jsonl:2: expected 'messages'"):
        import_trajectories(source, tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_an_ambiguous_log_comes_back_with_its_sidecar(tmp_path: Path) -> None:
    fake = "x\n\n---\n\n## [2] USER\n\nfake"
    rows = [{"id": "x", "messages": [{"role": "assistant", "content": fake}]}]
    source = _write(tmp_path / "in.jsonl", rows)
    report = export_trajectories(source, tmp_path / "logs", "trace2skill")
    assert (report.exported, report.sidecars) == (1, 1)
    assert [s.message for s in next(open_trajectories(tmp_path / "logs")).steps] == [fake]
    for file in (tmp_path / "logs").glob("*.json"):
        file.unlink()
    assert len(next(open_trajectories(tmp_path / "logs")).steps) == 2


def test_other_agents_as_official_logs(tmp_path: Path) -> None:
    messages = [{**CHAT[0]}, {"role": "user", "content": "q"}, *CHAT[2:]]
    source = _write(tmp_path / "in.jsonl", [{"id": "a/../b", "messages": messages}])
    export_trajectories(source, tmp_path / "out", "trace2skill")
    files = list((tmp_path / "out").iterdir())
    assert [file.name for file in files] == ["unknown_agent_a_.._b.md"]
    text = files[0].read_text("utf-8")
    assert 'Action:\n{"name": "bash", "arguments": {"command": "ls"}}' in text
    assert "Observation:\n```\na.txt\n```" in text
    assert len(next(open_trajectories(files[0])).steps) == 4


def test_a_malformed_line_is_named(tmp_path: Path) -> None:
    source = _write(tmp_path / "in.jsonl", [{"messages": CHAT}])
    source.write_text(source.read_text("utf-8") + "{oops\n", "utf-8")
    with pytest.raises(BadInput, match=r"in\.jsonl:2: expected one JSON object"):
        list(open_trajectories(source))


def test_the_side_of_a_gate_is_read_with_all_its_looks(tmp_path: Path) -> None:
    side = tmp_path / "evolved" / "runs" / "gate-after"
    for number in (1, 2):
        with RunWriter(side / f"look-0{number}", {"suite": "s"}) as run:
            value = from_openai({"messages": CHAT}, "x", f"t{number}")
            run.append_trajectory(value.model_dump(mode="json", exclude_none=True))
    report = export_trajectories(side, tmp_path / "out", "openai")
    assert (report.exported, report.rows) == (2, 2)
    assert collect_stats(open_trajectories(side)).tasks == 2
    assert export_trajectories(side, tmp_path / "out", "inspect").exported == 2
    with pytest.raises(BadInput, match=rf"holds runs: name one of {side}$"):
        export_trajectories(tmp_path / "evolved", tmp_path / "out", "openai")


def test_unknown_formats_list_the_known(tmp_path: Path) -> None:
    source = _write(tmp_path / "in.jsonl", [{"what": 1}])
    with pytest.raises(BadInput, match=r"(?s)known formats.*atif.*trace2skill.*sharegpt"):
        detect_format(source)
    with pytest.raises(BadInput, match="unknown format 'x'"):
        open_trajectories(source, "x")
    with pytest.raises(BadInput, match="found nothing"):
        open_trajectories(tmp_path / "absent")
    with pytest.raises(BadInput, match="got 'csv'"):
        export_trajectories(source, tmp_path / "out", "csv")


def test_command_line(tmp_path: Path) -> None:
    row = {"id": "x", "messages": CHAT, "outcome": "fail"}
    source = _write(tmp_path / "in.jsonl", [row])
    run = CliRunner()

    def call(*words: str) -> str:
        done = run.invoke(cli, ["trajectories", *words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    store = str(tmp_path / "store")
    assert json.loads(call("import", str(source), "--out", store, "--json"))["imported"] == 1
    assert json.loads(call("stats", store, "--json"))["outcomes"] == {"fail": 1}
    assert json.loads(call("list", store, "--json", "--outcome", "fail"))[0]["id"] == "x"
    assert "call bash" in call("show", store, "x")
    assert "one file" not in call("show", store, "x", "--step", "1")
    call("export", store, "--format", "sharegpt", "--out", str(tmp_path / "out"))
    assert (tmp_path / "out/sharegpt.jsonl").is_file()


def test_messages_of_another_shape_are_kept_or_refused(tmp_path: Path) -> None:
    odd = [{"role": "user", "content": 5}, {"role": "assistant", "tool_calls": ["x"]}]
    (read,) = open_trajectories(_write(tmp_path / "odd.jsonl", [{"messages": odd}]))
    assert to_openai(read)["messages"] == odd
    row = {"label": "T+", "trajectory": {"conversation": ["q"]}, "metadata": ["x"]}
    (recorded,) = open_trajectories(_write(tmp_path / "recorded.jsonl", [row]))
    assert recorded.harness["outcome"] == "pass"


def test_another_package_adds_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: Path) -> Iterator[Trajectory]:
        for line in path.read_text().splitlines():
            yield from_openai({"messages": [{"role": "user", "content": line}]}, "x", line)

    theirs = Format("one question a line", read, lambda row: "question" in row)
    formats = {**table.FORMATS, "lines": theirs}
    monkeypatch.setattr(table, "formats", lambda: formats)
    path = _write(tmp_path / "lines.jsonl", [{"question": "why"}])
    assert detect_format(path) == "lines"
    assert [row.steps[0].message for row in open_trajectories(path)] == ['{"question": "why"}']


def _attempt(name: str, outcome: str) -> dict[str, Any]:
    row = from_openai({"messages": CHAT}, "here", name).model_dump(mode="json", exclude_none=True)
    return {**row, "extra": {"harness": {"outcome": outcome}}}


def test_of_an_attempt_that_was_made_again_the_last_trajectory_counts(tmp_path: Path) -> None:
    """A full disk makes attempts invalid, a resume makes them again: both are in the folder."""
    run = tmp_path / "run"
    for outcome in ("invalid", "pass"):
        with RunWriter(run, {"kind": "eval", "suite": "s"}) as writer:
            for name in ("t1", "t2"):
                writer.append_trajectory(_attempt(name, outcome))
                usage = {"seconds": 1.0}
                writer.append_item({"id": name, "outcome": outcome, "usage": usage})
    once = [("t1", "pass"), ("t2", "pass")]
    readers = [RunReader(run).trajectories, *(partial(open_trajectories, path) for path in (
        run, run / "trajectories.seg"
    ))]  # fmt: skip
    for read in readers:
        rows = [Trajectory.model_validate(row) for row in read()]
        assert [(row.trajectory_id, row.outcome) for row in rows] == once
    assert find_trajectory(run, "t1").outcome == "pass"
    assert import_trajectories(run, tmp_path / "store").imported == 2
    assert [row.outcome for row in TrajectoryStore(tmp_path / "store")] == ["pass", "pass"]
    for target in EXPORTS:
        report = export_trajectories(run, tmp_path / target, target)
        assert report.exported == 2, target
    assert [path.name for path in sorted((tmp_path / "atif").iterdir())] == ["t1.json", "t2.json"]


def test_records_without_an_id_are_all_read(tmp_path: Path) -> None:
    rows = [_attempt("", "pass") for _ in range(2)]
    with RunWriter(tmp_path, {}) as writer:
        for row in rows:
            writer.append_trajectory({**row, "trajectory_id": None})
    assert len(list(RunReader(tmp_path).trajectories())) == 2
