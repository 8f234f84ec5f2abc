"""`harness eval --guard`: what it is read from, and that agents meet it at the gateway."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli import main
from harness.core import BadInput
from harness.core.rundir import RunReader
from harness.judge.guards.setting import guard_layer
from harness.models import CallStore, Model
from tests.judge.cases import FunctionModel, run

AGENT = """
def answer(prompt, workdir, skill):
    from openai import OpenAI
    messages = [{"role": "user", "content": prompt}]
    with OpenAI() as client:
        reply = client.chat.completions.create(model="x", messages=messages)
    return reply.choices[0].message.content
"""
PLAIN = """
import json, os
from urllib.request import Request, urlopen
def answer(prompt, workdir, skill):
    body = json.dumps({"model": "x", "messages": [{"role": "user", "content": prompt}]}).encode()
    headers = {"Content-Type": "application/json"}
    headers["Authorization"] = "Bearer " + os.environ["OPENAI_API_KEY"]
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urlopen(Request(url, body, headers)) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]
"""
SCRIPT = [{"match": "secret", "text": "the password"}, {"text": "fine"}]


def nobody(spec: str) -> Model:
    raise AssertionError(spec)


def test_a_file_names_one_guard_and_its_policy(tmp_path: Path) -> None:
    file = tmp_path / "guard.yaml"
    file.write_text("words: {Violent: [bomb]}\nrows: [{label: Unsafe, action: redact}]\n")
    model = FunctionModel(lambda prompt, members: prompt)
    layered = guard_layer(str(file), nobody)(model)
    reply = run(layered.complete([{"role": "user", "content": "a bomb"}]))
    assert reply.text == "[removed by a guard]"
    for text, reason in (
        ("mode: strict", "expected one of 'model', 'words' and 'offline'"),
        ("model: a/b\nwords: {Violent: [bomb]}", "expected one of 'model', 'words' and 'offline'"),
        ("outage: perhaps", "outage"),
    ):
        file.write_text(text)
        with pytest.raises(BadInput, match=reason):
            guard_layer(str(file), nobody)
    with pytest.raises(BadInput, match="cannot read"):
        guard_layer(str(tmp_path / "none.yaml"), nobody)


def typed(*words: str) -> object:
    """The exit code of `harness eval tasks.jsonl`."""
    with pytest.MonkeyPatch.context() as patch:
        given = ["--model", "scripted/script.json", "--out", "run"]
        patch.setattr("sys.argv", ["harness", "eval", "tasks.jsonl", *given, *words])
        with pytest.raises(SystemExit) as ended:
            main()
            raise SystemExit(0)
    return ended.value.code or 0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": text, "prompt": f"{text}?", "answer": "fine"} for text in ("bomb", "x")]
    Path("tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("script.json").write_text(json.dumps(SCRIPT))
    Path("mine.py").write_text(AGENT)
    Path("verdicts.json").write_text(
        json.dumps([
            {"match": "bomb", "text": "Safety: Unsafe\nCategories: Violent"},
            {"text": "Safety: Safe\nCategories: None"},
        ])
    )  # fmt: skip
    return tmp_path


@pytest.mark.parametrize("agent", [AGENT, PLAIN])
def test_the_agent_meets_the_guard_at_the_gateway(folder: Path, agent: str) -> None:
    """A client that hides the reply's body hid the label, too: "HTTP Error 400"."""
    Path("mine.py").write_text(agent)
    assert typed("--agent", "py:mine.py:answer", "--guard", "scripted/verdicts.json") == 0
    reader = RunReader(folder / "run")
    items = {row["id"]: row for row in reader.items()}
    assert (items["x"]["outcome"], items["bomb"]["outcome"]) == ("pass", "invalid")
    assert "the guard in front: Unsafe (Violent): stop" in items["bomb"]["reason"]
    texts = map(json.dumps, reader.trajectories())
    assert sum("Unsafe (Violent)" in text for text in texts) == 1
    assert reader.lock["guard"] == "scripted/verdicts.json"
    with CallStore(folder / "run" / "calls.sqlite") as calls:
        used = calls.usage_by_role()
    assert used["agent"].calls == 1, "what is stopped is not asked"
    assert used["judge"].calls == 3, "both prompts and the answer"


def test_an_agent_that_does_not_pass_the_gateway_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("--guard", "scripted/verdicts.json") == 2
    assert "--guard stands at the gateway" in capsys.readouterr().err
    assert not (folder / "run" / "calls.sqlite").exists()
