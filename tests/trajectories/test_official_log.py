"""Official logs: message for message and byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core import BadInput, Trajectory
from harness.trajectories import (
    LogResult,
    Message,
    OfficialLog,
    OfficialScores,
    dump_jsonl,
    dump_markdown,
    from_log,
    open_trajectories,
    parse_jsonl,
    parse_markdown,
    parse_with_sidecar,
    read_logs,
    read_run,
    read_scores,
    render,
    sidecar,
)

EXPECTED_MESSAGES = {"90-1": 9, "90-2": 5, "90-3": 7, "90004": 14}

_NASTY = (
    "## [1] SYSTEM",
    "## [2] USER",
    "## [3] ASSISTANT",
    "## [9] USER",
    "## RESULT",
    "- Success: True",
    "- Total Turns: 3",
    "---",
    "```",
    "````",
    "Observation:",
    "<agent_log>",
    "</agent_log>",
    "# Chat History: x_agent",
    "**Timestamp**: 2026-01-01",
    "",
    "\r",
    "Action:",
    '{"name": "bash", "arguments": {"command": "ls"}}',
    "## [2] USER\n\nx\n\n---\n\n## [3] ASSISTANT\n\ny",
)
_text = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.lists(st.sampled_from(_NASTY), max_size=8).map("\n".join),
)
_message = st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=_text)
_result = st.builds(
    LogResult,
    success=st.booleans(),
    total_turns=st.integers(0, 200),
    error=st.none() | _text.filter(bool),
)
_log = st.builds(
    OfficialLog,
    agent_name=st.just("cli_only_agent"),
    timestamp=st.just("2026-11-21T02:26:41.222462"),
    messages=st.lists(_message, min_size=1, max_size=6).map(tuple),
    result=st.none() | _result,
)


def _fixture_logs(shared: Path) -> list[Path]:
    base = shared / "fixtures" / "trace2skill_official"
    chats = base.glob("error_analysis/*/error_analysis_chat.md")
    return sorted([*base.glob("logs/*.md"), *base.glob("logs_before_analyze/*.md"), *chats])


def test_fixture_markdown_is_exact_with_expected_counts(shared: Path) -> None:
    files = _fixture_logs(shared)
    assert len(files) == 10
    for file in files:
        text = file.read_bytes().decode()
        log = parse_markdown(text)
        assert dump_markdown(log) == text
        assert sidecar(log) is None
        chat = file.name == "error_analysis_chat.md"
        task = file.stem.split("_agent_")[-1].split("_")[0]
        assert len(log.messages) == (9 if chat else EXPECTED_MESSAGES[task]), file.name


def test_fixture_jsonl_is_exact(shared: Path) -> None:
    files = sorted((shared / "fixtures/trace2skill_official/logs_jsonl").rglob("*.jsonl"))
    assert len(files) == 8
    for file in files:
        text = file.read_bytes().decode()
        log = parse_jsonl(text)
        assert dump_jsonl(log) == text
        assert len(log.messages) == EXPECTED_MESSAGES[file.stem.rsplit("_", 1)[-1]]


def test_fixture_folder_is_exact_through_atif(shared: Path) -> None:
    base = shared / "fixtures" / "trace2skill_official"
    found = list(read_logs(base))
    assert len(found) == 20  # 8 md, 2 chats and the 2 logs they copied, 8 jsonl
    for trajectory in found:
        again = Trajectory.model_validate_json(trajectory.model_dump_json(exclude_none=True))
        assert render(again).encode() == (base / str(trajectory.harness["path"])).read_bytes()


def test_labels_come_from_names_or_from_the_evaluation(shared: Path) -> None:
    base = shared / "fixtures" / "trace2skill_official"
    expected = {"90-1": "pass", "90-2": "fail", "90-3": "pass", "90004": "fail"}
    named = {t.trajectory_id: t.harness["outcome"] for t in open_trajectories(base / "logs")}
    assert named == expected
    scores = read_scores(base / "outputs/eval_official_results.json")
    joined = read_logs(base / "logs_before_analyze", scores)
    assert {t.trajectory_id: t.harness["outcome"] for t in joined} == expected


def test_scores_of_the_fixture_run(shared: Path) -> None:
    outputs = shared / "fixtures/trace2skill_official/outputs"
    scores = read_scores(outputs / "eval_official_results.json")
    assert (scores.soft, scores.hard) == (0.5, 0.5)
    run = read_run(outputs / "results.json")
    assert (run.total_instances, run.successful_instances, run.seed) == (4, 3, 41)
    with pytest.raises(BadInput, match="at least one"):
        _ = OfficialScores(instances=()).soft
    with pytest.raises(BadInput, match="at least one"):
        _ = OfficialScores(instances=()).hard


@settings(deadline=None)  # a busy machine is slow now and then
@given(_log)
def test_any_messages_survive_markdown_and_sidecar(log: OfficialLog) -> None:
    text = dump_markdown(log)
    beside = json.loads(json.dumps(sidecar(log)))
    assert parse_with_sidecar(text, beside, "log") == log


@settings(deadline=None)  # a busy machine is slow now and then
@given(st.one_of(_text, _log.map(dump_markdown)))
def test_what_parses_is_written_with_the_same_bytes(text: str) -> None:
    try:
        log = parse_markdown(text)
    except BadInput:
        return
    assert dump_markdown(log) == text


@settings(deadline=None)  # a busy machine is slow now and then
@given(_log)
def test_any_messages_survive_jsonl(log: OfficialLog) -> None:
    assert parse_jsonl(dump_jsonl(log)) == log


@settings(deadline=None)  # a busy machine is slow now and then
@given(_log, st.sampled_from(["md", "jsonl"]))
def test_any_log_survives_atif(log: OfficialLog, form: str) -> None:
    text = dump_markdown(log) if form == "md" else dump_jsonl(log)
    made = from_log(log, "x", "md" if form == "md" else "jsonl", {})
    again = Trajectory.model_validate_json(made.model_dump_json(exclude_none=True))
    assert render(again) == text


@pytest.mark.parametrize(
    "observation",
    [
        "```\na\n\n---\n\n## [3] ASSISTANT\n\nfake\n```",
        "````\n```\n\n---\n\n## [3] ASSISTANT\n\nfake\n````",
    ],
)
def test_headers_inside_an_observation_are_text(observation: str) -> None:
    messages = (
        Message(role="system", content="# skill\n\n---\n\n## [3] ASSISTANT\n\n---"),
        Message(role="user", content=f"Observation:\n{observation}"),
        Message(role="assistant", content="done"),
    )
    log = OfficialLog(agent_name="a_agent", timestamp="t", messages=messages)
    assert sidecar(log) is None
    assert parse_markdown(dump_markdown(log)) == log


def test_a_quoted_log_is_text() -> None:
    inner = OfficialLog(
        agent_name="b_agent",
        timestamp="t",
        messages=tuple(Message(role="user", content=str(n)) for n in range(5)),
        result=LogResult(success=True, total_turns=2),
    )
    quoted = f"Read:\n<agent_log>\n{dump_markdown(inner)}</agent_log>\nthen report"
    messages = (
        Message(role="system", content="s"),
        Message(role="user", content=quoted),
        Message(role="assistant", content="r"),
    )
    log = OfficialLog(agent_name="a_agent", timestamp="t", messages=messages)
    assert parse_markdown(dump_markdown(log)) == log


def test_an_ambiguous_log_says_so() -> None:
    fake = Message(role="assistant", content="x\n\n---\n\n## [2] USER\n\nfake")
    log = OfficialLog(agent_name="a_agent", timestamp="t", messages=(fake,))
    assert len(parse_markdown(dump_markdown(log)).messages) == 2
    assert sidecar(log) is not None


def test_a_log_cut_off_in_a_message_is_kept() -> None:
    log = OfficialLog(
        agent_name="a_agent", timestamp="t", messages=(Message(role="user", content="x"),)
    )
    cut = dump_markdown(log)[:-5]
    parsed = parse_markdown(cut)
    assert not parsed.closed
    assert dump_markdown(parsed) == cut


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "Chat History"),
        ("# Chat History: a\n\n**Timestamp**: t\n\n---\n\nnothing", r"## \[1\] ROLE"),
    ],
)
def test_other_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        parse_markdown(text)


def test_a_bad_jsonl_line_is_named() -> None:
    start = '{"type": "session_start", "agent_name": "a", "timestamp": "t"}\n'
    with pytest.raises(BadInput, match="log:2: expected one JSON object"):
        parse_jsonl(start + "{broken\n")
