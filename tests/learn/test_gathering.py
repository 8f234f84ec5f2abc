"""Discovery and choice of logs, and what is written before anything is sent."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.core.redaction import Redactor
from harness.learn import (
    REVIEW,
    Gathered,
    LearnSettings,
    Outcome,
    Rebuilt,
    gather,
    recipients,
    session_files,
)
from harness.learn.gathering import Read, write_sessions
from harness.learn.session_logs import Spans, since_time
from harness.trajectories import dump, open_trajectories
from tests.learn.cases import ASK, DONE, EDIT, GREEN
from tests.learn.clients import Event, write_claude, write_codex

GOOD: tuple[Event, ...] = (ASK, EDIT, GREEN, DONE)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """One session of each client, and a helper's log that is no session."""
    home = tmp_path / "home"
    write_claude(home / ".claude", "c1", GOOD)
    write_codex(home / ".codex", "x1", GOOD, cwd="/home/ada/other")
    helper = next(home.rglob("c1.jsonl")).with_name("agent-77.jsonl")
    helper.write_text("")
    return home


def taken(home: Path, **settings: Any) -> Gathered:
    out = home.parent / f"out{len(list(home.parent.iterdir()))}"
    return gather(LearnSettings(out=out, **settings), environment={"HOME": str(home)})


def ids(found: Gathered) -> set[str]:
    return {one.id for one in found.sessions}


def test_the_folders_of_both_clients_are_looked_into(home: Path, tmp_path: Path) -> None:
    found = session_files((), "all", {"HOME": str(home)})
    assert {file.name.rpartition("-")[2] for file in found} == {"c1.jsonl", "x1.jsonl"}
    moved = {"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    assert [file.name for file in session_files((), "all", moved)] == ["c1.jsonl"]
    with pytest.raises(BadInput, match=r"no sessions found in .*projects"):
        session_files((), "all", {"HOME": str(tmp_path / "empty")})
    with pytest.raises(BadInput, match="found nothing at"):
        session_files((tmp_path / "absent",))


def test_filters(home: Path) -> None:
    assert ids(taken(home)) == {"c1", "x1"}
    assert ids(taken(home, client="codex")) == {"x1"}
    assert ids(taken(home, project=Path("/home/ada/calc"))) == {"c1"}
    assert ids(taken(home, project=Path("/home/ada"))) == {"c1", "x1"}
    os.utime(next(home.rglob("*x1.jsonl")), (time.time() + 60, time.time() + 60))
    assert ids(taken(home, limit=1)) == {"x1"}
    assert ids(taken(home, since="2026-02-01")) == {"c1", "x1"}
    assert ids(taken(home, since="2026-04-01")) == set()
    old = next(home.rglob("c1.jsonl"))
    long_ago = time.time() - 400 * 86400
    os.utime(old, (long_ago, long_ago))
    assert "c1" not in ids(taken(home, since="300d"))


def test_without_tasks_no_sandbox_is_looked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def select(name: str) -> None:
        pytest.fail(f"{name!r} was tried")

    monkeypatch.setattr("harness.learn.learning.select", select)
    assert taken(home, rebuild=False).tasks == ()


def test_times() -> None:
    now = datetime(2026, 3, 10, tzinfo=UTC)
    assert since_time("3d", now) == now - timedelta(days=3)
    assert since_time("2026-03-01T00:00:00Z") == datetime(2026, 3, 1, tzinfo=UTC)
    with pytest.raises(BadInput, match="an age such as 30d"):
        since_time("recently")


@pytest.mark.parametrize(
    ("damage", "line"),
    [(b'{"type": "us\n', 2), (b"\x00\x00\x00\n", 2), (b'"text"\n', 2)],
)
def test_a_damaged_log_is_skipped_with_its_line(home: Path, damage: bytes, line: int) -> None:
    path = next(home.rglob("c1.jsonl"))
    first, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(first + b"\n" + damage + rest)
    found = taken(home)
    assert ids(found) == {"x1"}
    (skipped,) = found.skipped
    assert (skipped.file, skipped.line) == (str(path), line)
    assert "damaged, skipped" in str(skipped)


def test_a_log_that_is_being_written_is_read(home: Path) -> None:
    path = next(home.rglob("c1.jsonl"))
    with path.open("ab") as handle:
        handle.write(b'{"type": "user", "mess')
    assert Spans(path).damaged == 0
    assert ids(taken(home)) == {"c1", "x1"}


def test_a_copy_that_goes_on_stands_for_both(home: Path, tmp_path: Path) -> None:
    path = next(home.rglob("c1.jsonl"))
    whole = write_claude(tmp_path / "other", "c1", (*GOOD, ("user", "Perfect, thanks!")))
    longer = path.with_name("c2.jsonl")
    longer.write_text(whole.read_text().replace('"sessionId": "c1"', '"sessionId": "c2"'))
    os.utime(longer, (time.time() - 60, time.time() - 60))  # read behind the one it goes on with
    found = taken(home)
    (row,) = [one for one in found.sessions if one.client == "claude-code"]
    (skipped,) = found.skipped
    assert "the same session" in skipped.reason
    assert (Path(row.file), Path(skipped.file)) == (longer, path)


def test_what_was_shown_is_what_is_sent(home: Path, tmp_path: Path) -> None:
    settings = LearnSettings(out=tmp_path / "out")
    first = gather(settings, environment={"HOME": str(home)})
    write_claude(home / ".claude", "later", GOOD)
    again = gather(settings, environment={"HOME": str(home)})
    assert again == first
    more = gather(LearnSettings(out=tmp_path / "out", limit=99), environment={"HOME": str(home)})
    assert "later" in ids(more)
    split = gather(
        LearnSettings(out=tmp_path / "out", limit=99, seed=7), environment={"HOME": str(home)}
    )
    assert split.key != more.key  # the seed decides which tasks are held out


def test_a_log_of_many_sessions_keeps_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    talk = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "Done"}]
    path.write_text("".join(json.dumps({"messages": talk}) + "\n" for _ in range(5)))
    found = gather(LearnSettings(out=tmp_path / "out", paths=(path,), limit=3))
    assert len(found.sessions) == 3
    assert [(one.file, "--limit" in one.reason) for one in found.skipped] == [(str(path), True)]


def test_sessions_without_a_name_get_one_each(tmp_path: Path) -> None:
    (read,) = open_trajectories(write_claude(tmp_path, "c1", GOOD))
    bare = read.model_copy(update={"trajectory_id": None, "session_id": None})
    store = tmp_path / "bare.jsonl"
    store.write_text(2 * (json.dumps(dump(bare)) + "\n"))
    reads = [
        Read(
            file=store, trajectory=bare, outcome=Outcome(verdict="pass", reason="so"), task="t",
            key=key, log="",
        )
        for key in "ab"
    ]  # fmt: skip
    rows, _ = write_sessions(reads, (), set(), tmp_path / "out", Redactor(thorough=True))
    assert [row.id for row in rows] == ["bare", "bare#2"]


def test_a_folder_of_other_things_is_left_alone(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "mine"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    with pytest.raises(BadInput, match="holds other files"):
        gather(LearnSettings(out=other), environment={"HOME": str(home)})
    assert (other / "letter.txt").read_text() == "dear"


def test_unknown_sessions_are_neither_written_nor_sent(home: Path) -> None:
    write_claude(home / ".claude", "open", (ASK, EDIT, DONE))
    found = taken(home)
    row = next(one for one in found.sessions if one.id == "open")
    assert (row.teaches, row.why_not) == (False, "its outcome is unknown")
    assert len(list(Path(found.sent).iterdir())) == 2


def test_every_model_that_gets_anything_is_named(tmp_path: Path) -> None:
    found = Gathered(key="k", sessions=())
    models = ("openai/a", "merger=vllm/b", "agent=local/c")

    def told(found: Gathered, environment: dict[str, str], **more: Any) -> list[str]:
        settings = LearnSettings(out=tmp_path, models=models, **more)
        return [line.partition(": ")[0] for line in recipients(settings, found, environment)]

    official = "the analysts' model openai/a at https://api.openai.com/v1"
    assert told(found, {}) == [official]
    assert told(found, {"OPENAI_BASE_URL": "http://x/v1"}) == [
        "the analysts' model openai/a at http://x/v1"
    ]
    merging = told(found, {"VLLM_BASE_URL": "http://me:secret123@y"}, merge="model")
    assert merging == [official, "the merger's model vllm/b at http://y"]
    assert told(found, {}, analyst="exemplar", merge="model") == []
    tasks = tuple(
        Rebuilt(session=f"s{n}", task=f"t{n}", held_out=n < 2, repository="shop") for n in range(4)
    )
    gated = found.model_copy(update={"gate": "gate.yaml", "tasks": tasks})
    settings = LearnSettings(out=tmp_path, models=models, analyst="exemplar", agent="cmd:claude")
    own, command = recipients(settings, gated, {})
    assert own.startswith("the agent's model local/c (on this machine): prompts and files of shop ")
    assert "2 tasks" in own
    assert str(tmp_path / "suite") in own
    assert command.startswith("the agent cmd:claude, wherever it sends them")
    assert told(gated, {}, base_url="http://z/v1")[-1] == "the agent's model local/c at http://z/v1"


def test_a_slash_command_of_the_users_own_is_the_prompt(tmp_path: Path) -> None:
    before: tuple[Event, ...] = (("slash", "model", ""), ("user", "<local-command-stdout>ok"))
    text = "Mend the discount of issue 42."
    own: tuple[Event, ...] = (("slash", "mend", "42"), ("meta", text), EDIT, GREEN)
    praise: Event = ("user", "looks good, thanks")
    path = write_claude(tmp_path, "c1", (*before, *own, DONE, praise))
    found = gather(LearnSettings(out=tmp_path / "out", paths=(path,), rebuild=False))
    (row,) = found.sessions
    assert (row.prompt, row.outcome.verdict) == (text, "pass")
    bare = write_claude(tmp_path, "c2", (("slash", "mend", "42"), EDIT, GREEN, DONE, praise))
    found = gather(LearnSettings(out=tmp_path / "other", paths=(bare,), rebuild=False))
    assert [row.prompt for row in found.sessions] == ["/mend 42"]


def _with_meta(path: Path, **facts: Any) -> Path:
    first, _, rest = path.read_text().partition("\n")
    row = json.loads(first)
    row["payload"] |= facts
    path.write_text(f"{json.dumps(row)}\n{rest}")
    return path


def test_a_log_of_a_sub_agent_is_no_session(tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "x0"}}}
    _with_meta(write_codex(tmp_path, "x1", GOOD), source=source)
    found = gather(LearnSettings(out=tmp_path / "out", paths=(tmp_path,), rebuild=False))
    assert (found.sessions, [skip.reason for skip in found.skipped]) == (
        (),
        ["a sub-agent's own log"],
    )


@pytest.mark.parametrize(
    ("original", "more", "teaching"),
    [
        (True, (("user", "explain it"), DONE), {"x1"}),
        (True, (("user", "and the tax?"), EDIT, GREEN), {"x1", "x2"}),
        (False, (("user", "and the tax?"), EDIT, GREEN), set[str]()),
    ],
)
def test_a_fork_counts_once(
    original: bool, more: tuple[Event, ...], teaching: set[str], tmp_path: Path
) -> None:
    if original:
        write_codex(tmp_path, "x1", GOOD)
    _with_meta(write_codex(tmp_path, "x2", (*GOOD, *more)), forked_from_id="x1")
    found = gather(LearnSettings(out=tmp_path / "out", paths=(tmp_path,), rebuild=False))
    assert ids(found) == teaching
    assert len(found.sessions) + len(found.skipped) == 1 + original


def test_the_page_says_why_outcomes_are_unknown_and_whose_sessions_go(home: Path) -> None:
    write_claude(home / ".claude", "open", (ASK, EDIT, DONE))
    settings = LearnSettings(out=home / "out", models=("openai/a",))
    found = gather(settings, environment={"HOME": str(home)})
    page = (settings.out / REVIEW).read_text()
    assert "its outcome is unknown; nothing behind the last edit says how it went" in page
    assert "2 sessions of /home/ada/calc, /home/ada/other, about" in page
    assert {file.stem for file in Path(found.sent).iterdir()} == {"claude-code-c1", "codex-x1"}
    for row in found.sessions:
        assert f"{row.outcome.verdict} {row.name}: " in page
        assert f"  {row.file} of {row.project}; " in page


def test_events_of_unknown_types_are_counted_and_shown(tmp_path: Path) -> None:
    path = write_codex(tmp_path / ".codex", "s1", (ASK, EDIT, GREEN))
    rows = [
        {"type": "event_msg", "payload": {"type": "holo_call"}},
        {"type": "response_item", "payload": {"type": "holo_item"}},
        {"type": "holo_line", "payload": {"x": 1}},
    ]
    with path.open("a") as handle:
        handle.writelines(json.dumps(row) + "\n" for row in 3 * rows)
    settings = LearnSettings(out=tmp_path / "out", rebuild=False)
    gathered = gather(settings, environment={"HOME": str(tmp_path)})
    page = (settings.out / REVIEW).read_text()
    for name in ("event: holo_call", "unknown item: holo_item", "unknown line: holo_line"):
        assert f"events passed over: 3 x {name}\n" in page
    assert gathered.outcomes == {"pass": 1, "fail": 0, "unknown": 0}
