"""The programming interface has the command line's defaults and errors."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from harness.api import (
    EvalSettings,
    aevaluate,
    compare_runs,
    evaluate,
    evolve,
    plan_evaluation,
    plan_evolution,
)
from harness.api.work import as_keywords, wait
from harness.core import BadInput, Task
from harness.evals import records
from harness.evolve import EvolveSettings
from tests.plain_agents import asks, asks_with_skill, returns_nothing

UNTYPED: Any = evaluate
"""For calls that a type checker refuses."""
UNTYPED_EVOLVE: Any = evolve
ECHO = "cmd:echo yes"
TASKS = [
    {"prompt": "Say <b>yes</b>", "answer": "yes", "check": "em"},
    {"id": "no", "prompt": "Say no", "answer": "no", "check": "em"},
]


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A model that says yes."""
    (tmp_path / "script.json").write_text(json.dumps([{"text": "yes"}]))
    return f"scripted/{tmp_path / 'script.json'}"


def test_evaluate_evolve_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = "simulated/lookup"
    before = evaluate("demo", model=model, limit=40, sandbox="none", out=tmp_path / "before")
    assert before.simulated
    assert before.items == 40
    evolved = evolve(
        tmp_path / "evolved", model=model, suite="demo", create="short-answers",
        analyst="exemplar", gate="none", limit=40, sandbox="none",
    )  # fmt: skip
    assert evolved.simulated
    assert evolved.accepted is None
    assert str(evolved).startswith("SIMULATED model") and "made it\n" in str(evolved)
    after = evaluate(
        "demo", model=model, limit=40, sandbox="none", skill=evolved.skill, out=tmp_path / "after"
    )
    assert after.skill == "short-answers"
    paired = compare_runs(tmp_path / "before", tmp_path / "after")
    assert paired.paired.tasks == 40
    assert set(paired.differs) == {"skill", "skill_name"}


def test_defaults_are_the_command_lines() -> None:
    settings = EvalSettings(suite="demo")
    assert (settings.seed, settings.concurrency, settings.sandbox) == (41, 16, "auto")


def test_errors_carry_exit_codes() -> None:
    with pytest.raises(BadInput) as caught:
        evaluate("no-such-suite")
    assert caught.value.exit_code == 2


def test_tasks_and_a_function_in_a_running_loop(tmp_path: Path, model: str) -> None:
    def shouts(prompt: str, workdir: str, skill: str | None) -> str:
        return asks(prompt, workdir, skill) + excitement

    excitement = ""

    async def notebook() -> None:
        first = await aevaluate(
            tasks=TASKS, agent=shouts, model=model, out=tmp_path / "a", sandbox="none"
        )
        assert (first.passed, first.failed) == (1, 1), first.samples
        assert "no" in {sample.id for sample in first.samples}
        assert first.tokens > 0, "it reached the model through the gateway"
        again = evaluate(tasks=TASKS, agent=shouts, model=model, out=tmp_path / "b", sandbox="none")
        assert compare_runs(first.folder, again.folder).differs == ()

    asyncio.run(notebook())


def test_rows_have_the_names_that_files_have(tmp_path: Path, model: str) -> None:
    rows = [
        {"id": "yes", "question": "Say yes", "expected": "yes", "level": 2.0},
        {"id": "no", "question": "Say no", "expected": "no", "level": float("nan")},
    ]
    pandas: Any = import_module("pandas")
    given: list[Any] = [rows, pandas.DataFrame(rows), pandas.DataFrame(rows).convert_dtypes()]
    for number, tasks in enumerate(given):
        out = tmp_path / f"{number}"
        report = evaluate(tasks, model=model, agent=ECHO, out=out, sandbox="none")
        assert (report.passed, report.failed) == (1, 1)
        written = [json.loads(line) for line in (out / "tasks.jsonl").read_text().splitlines()]
        assert written[0]["meta"] == {"level": 2}
    german = [{"Frage": "Say yes", "answer": "yes"}, Task(id="x", prompt="Yes", answer="yes")]
    plan = plan_evaluation(german, columns={"Frage": "prompt"}, model=model, agent=asks)
    assert plan["tasks"] == 2 and plan["agent"] != plan_evaluation(german[1:], model=model)["agent"]
    (tmp_path / "t.csv").write_text("Frage,answer\nSay yes,yes\n")
    columns = {"Frage": "question"}  # as a column of a file may be called
    assert plan_evaluation(tmp_path / "t.csv", columns=columns, model=model)["tasks"] == 1
    judged = plan_evaluation(german, columns=columns, model=model, check="exact")["judged_by"]
    assert len(judged) == 1 and judged[0].startswith("check exact: the answer")
    with pytest.raises(
        BadInput, match=r"unknown name 'expected': .* answer, answers, check, files, meta"
    ):
        evaluate([{"id": "a", "prompt": "x", "expected": "y"}], model=model, out=tmp_path / "no")
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: UNTYPED(5), "mappings or Tasks in a list, a data frame of pandas; got int"),
        (lambda: UNTYPED(tasks=["x"]), "every task to be a mapping or a Task, got 'x'"),
        (lambda: UNTYPED({"prompt": "x"}), "mappings or Tasks in a list, .*; got dict"),
        (lambda: UNTYPED("demo", dry_run=True), "plan_evaluation.* takes the same arguments"),
        (lambda: UNTYPED_EVOLVE("o", suite="demo", dry_run=True), "plan_evolution"),
        (lambda: UNTYPED_EVOLVE("o", tasks=TASKS), "rows to run are suite=rows$"),
    ],
)
def test_what_is_no_suite_is_refused_in_a_sentence(
    call: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=message) as caught:
        call()
    assert len(str(caught.value)) < 200 and caught.value.__cause__ is None
    assert list(tmp_path.iterdir()) == []


def test_sides_of_a_gate_are_compared_as_on_the_command_line(tmp_path: Path, model: str) -> None:
    sides = [tmp_path / "runs" / name for name in ("gate-before", "gate-after")]
    for side in sides:
        evaluate(TASKS, agent=ECHO, model=model, out=side / "look-01", sandbox="none")
    compared = compare_runs(str(sides[0]), str(sides[1]))
    assert (compared.before.run, compared.paired.tasks) == ("gate-before", 2)
    assert (
        "runs: gate-before -> gate-after, 2 paired tasks (simulated)\npass rate: 50.0% -> 50.0%"
        in f"{compared}"
    )
    assert "<td" in compared._repr_html_()  # pyright: ignore[reportPrivateUsage]  # as below
    scores = compare_runs(str(sides[0] / "look-01"), sides[1], measure="score")
    assert scores.measure == "score"
    (tmp_path / "two.csv").write_text("id,passed,model\na,1,x\na,0,y\n")
    with pytest.raises(BadInput, match="expected two runs, found 4"):
        compare_runs(tmp_path / "two.csv", tmp_path / "two.csv")


@pytest.mark.parametrize("kind", [BadInput, KeyboardInterrupt])
def test_an_error_has_no_frames_of_ours(kind: type[BaseException]) -> None:
    async def work() -> None:
        error = kind("no")
        error.add_note("During task with name 'rollouts'")
        try:
            raise ValueError("inside")
        except ValueError as inner:
            raise error from inner

    with pytest.raises(kind) as caught:
        wait(work())
    text = "".join(traceback.format_exception(caught.value))
    assert "rollouts" not in text and "inside" not in text and "loops.py" not in text


THRESHOLD = 0.5


def near(expected: str, answer: str | None) -> float:
    """A check of a module that the sandbox does not show."""
    return THRESHOLD if answer == expected else 0.0


def takes_another(wrong: str) -> bool:
    """No check: it takes what no check is given."""
    return bool(wrong)


def test_functions_and_files_judge_rows(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, words = tmp_path / "elsewhere", ("yes", "no")
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("check.py").write_text("def label(answer, expected):\n    return answer == expected\n")
    rows = [{"id": word, "prompt": f"Say {word}", "answer": word} for word in words]
    told = import_module("pandas").DataFrame(rows)

    def equal(answer: str, expected: str) -> bool:
        return answer in words and answer == expected

    full = str(Path("check.py").resolve())
    for number, check in enumerate([equal, "check.py:label", f"{full}:label"]):
        out = tmp_path / f"{number}"
        report = evaluate(told, agent=asks, check=check, model=model, out=out)
        assert (report.passed, report.failed, report.invalid) == (1, 1, 0), report.samples
    again = evaluate(told, agent=asks, check=equal, model=model, out=tmp_path / "again")
    assert compare_runs(tmp_path / "0", again.folder).differs == ()
    of_rows = [{**row, "check": near} for row in rows]
    values = {row["id"]: row["value"] for row in evaluate(of_rows, agent=asks, model=model).rows()}
    assert values == {"yes": 0.5, "no": 0.0}
    told.to_csv("rows.csv", index=False)
    shared: Any = {"agent": asks, "model": model}
    Path("suite").mkdir()
    Path("rows.csv").rename("suite/rows.csv")
    absolute = evaluate("suite/rows.csv", check=f"{full}:label", **shared)
    assert (absolute.passed, absolute.failed) == (1, 1), absolute.samples
    with pytest.raises(BadInput, match="check= takes a function for rows"):
        evaluate("suite/rows.csv", check=equal, **shared)
    with pytest.raises(BadInput, match="wrong"):
        evaluate(rows, check=takes_another, out=tmp_path / "no", **shared)


def test_a_changed_function_is_another_agent(tmp_path: Path, model: str) -> None:
    first = evaluate(tasks=TASKS, agent=asks, model=model, out=tmp_path / "a", sandbox="none")

    async def shouts(prompt: str, workdir: str, skill: str | None) -> str:
        return "no"

    second = evaluate(tasks=TASKS, agent=shouts, model=model, out=tmp_path / "b", sandbox="none")
    assert second.passed == 1
    assert set(compare_runs(first.folder, second.folder).differs) == {"agent"}


def test_a_result_is_a_frame_and_a_table(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = evaluate(tasks=TASKS, agent=asks, model=model, out=tmp_path / "<i>", sandbox="none")
    frame, rows = report.to_pandas(), report.rows()
    assert {(row["outcome"], row["answer"]) for row in rows} == {("pass", "yes"), ("fail", "yes")}
    assert set(rows[0]) == set(frame.columns)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BadInput, match=r"rows\(\) needs no pandas.*: pip install pandas"):
        report.to_pandas()
    assert list(frame["outcome"]).count("pass") == 1
    assert {"answer", "reason", "tokens", "cost_usd", "seconds"} <= set(frame.columns)
    assert "passed: 50.0%" in str(report) and "1 passed, 1 failed" in str(report)
    html = report._repr_html_()  # pyright: ignore[reportPrivateUsage]  # the protocol of notebooks
    assert "50.0%" in html and "&lt;i&gt;" in html and "<i>" not in html


def test_the_plan_knows_what_a_function_has_done(tmp_path: Path) -> None:
    def run(prompt: str) -> str:
        return prompt

    rows = [{"id": str(n), "prompt": str(n), "answer": "1"} for n in range(3)]
    done = evaluate(rows, agent=run, model="none", out=tmp_path / "run")
    planned = plan_evaluation(rows, agent=run, model="none", earlier=done.folder)
    assert [step["action"] for step in planned["steps"]] == ["REUSE"] * 3
    with pytest.raises(BadInput, match="other tasks: name another out=, and with earlier="):
        evaluate(rows[:2], agent=run, model="none", out=tmp_path / "run")


def test_a_misspelt_setting_is_the_documented_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="unknown name 'limt': did you mean 'limit'") as caught:
        UNTYPED("demo", limt=4)
    assert caught.value.exit_code == 2
    with pytest.raises(BadInput, match=r"limit: .*integer.*, got 'many'"):
        UNTYPED("demo", limit="many")
    with pytest.raises(BadInput, match="did you mean 'create'"):
        evolve(tmp_path / "out", **{"creat": "x"})  # pyright: ignore[reportArgumentType]
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_begin_says_why(tmp_path: Path, model: str) -> None:
    lock = threading.Lock()

    def holds(prompt: str, workdir: str, skill: str | None) -> str:
        return str(lock)

    with pytest.raises(BadInput, match="build clients inside it"):
        evaluate(tasks=TASKS, agent=holds, model=model, out=tmp_path / "a", sandbox="none")
    with pytest.raises(BadInput, match=r"^select runs tasks: give suite, or tasks SUITE"):
        evolve(tmp_path / "d", trajectories=tmp_path, create="x", select="greedy", analyst="single")
    with pytest.raises(BadInput, match="a suite, or tasks"):
        evaluate("demo", tasks=TASKS)
    with pytest.raises(BadInput, match=r"task 2: no prompt in this row, only 'promt'"):
        evaluate(tasks=[TASKS[0], {"promt": "x"}], out=tmp_path / "a")
    with pytest.raises(BadInput, match="this machine only"):
        evaluate(
            tasks=TASKS, agent=asks, workers=2, model=model, out=tmp_path / "c", sandbox="none"
        )
    evaluate(tasks=TASKS, agent=asks, model=model, out=tmp_path / "b", sandbox="none")
    with pytest.raises(BadInput, match="other tasks"):
        evaluate(tasks=TASKS[:1], agent=asks, model=model, out=tmp_path / "b", sandbox="none")
    assert len((tmp_path / "b" / "tasks.jsonl").read_text().splitlines()) == 2
    with pytest.raises(BadInput, match="was started with other agent "):
        evaluate(resume=tmp_path / "b", agent=ECHO, sandbox="none")
    resumed = evaluate(resume=tmp_path / "b", agent=asks, sandbox="none")
    assert (resumed.passed, resumed.failed) == (1, 1)


@pytest.mark.parametrize(
    ("said", "keywords"),
    [
        ("one attempt (--epochs 4 for 4)", "one attempt (epochs=4 for 4)"),
        ("name another --out, or --trust the suite's", "name another out, or trust the suite's"),
        ("use --out runs/a, or --trust", "use out='runs/a', or trust"),
        ("learn --from RUN, --user and --novel", "learn earlier RUN, users and --novel"),
        ("'cmd:x --limit 5' of `y --limit`", "'cmd:x --limit 5' of `y --limit`"),
        ("--map A=id, in Python columns={...}", "--map A=id, in Python columns={...}"),
    ],
)
def test_messages_name_keywords(said: str, keywords: str) -> None:
    assert as_keywords(said, EvolveSettings) == keywords


def test_attempts_of_a_function_are_taken_over_by_an_evolution(tmp_path: Path, model: str) -> None:
    rows = [{"id": f"t{n}", "prompt": f"Say {n}", "answer": "no"} for n in range(8)]
    given: Any = {"agent": asks_with_skill, "model": model, "sandbox": "none"}
    before = evaluate(rows, **given, out=tmp_path / "before")
    assert "none of the 8 judged attempts passed" in str(before) and "expected 'no'" in str(before)
    arguments: Any = {**given, "suite": rows, "create": "x", "epochs": 1, "earlier": before.folder}
    notes = plan_evolution(**arguments)["notes"]
    train = next(note for note in notes if note.endswith(f"attempts are those of {before.folder}"))
    taken, _, of = train.partition(" of ")
    assert int(taken) == int(of.split()[0]) > 0
    evolved = evolve(tmp_path / "out", **arguments)  # the agent does not mind its skill
    assert evolved.gate.after == 0 and "judged attempts passed" in str(evolved)


def test_an_agent_that_asks_no_model_needs_none(tmp_path: Path) -> None:
    given: Any = {"tasks": TASKS, "sandbox": "none", "model": "none"}
    ran = evaluate(**given, agent="cmd:echo yes", out=tmp_path / "a")
    assert (ran.passed, ran.failed, ran.tokens, ran.model) == (1, 1, 0, "none")
    refused = evaluate(**given, agent=asks, out=tmp_path / "b")
    assert refused.invalid == 2 and "400" in refused.samples[0].reason


def test_a_function_evolves_and_resumes(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"note": row["prompt"], "answer": row["answer"], "check": "em", "id": f"t{number}"}
        for number, row in enumerate(TASKS * 6)
    ]

    ending = ""

    def mine(prompt: str, workdir: str, skill: str | None) -> str:
        return asks(prompt, workdir, skill) + ending

    def again() -> Path:
        evolved = evolve(
            "out", agent=mine, suite=rows, create="short", model=model, gate="none",
            columns={"note": "prompt"}, sandbox="none",
        )  # fmt: skip
        return Path(evolved.skill) / "SKILL.md"

    plan = plan_evolution(
        agent=mine, suite=rows, create="short", model=model, columns={"note": "prompt"},
        sandbox="none",
    )  # fmt: skip
    assert (plan["train_tasks"], plan["analyst"]) == (6, "exemplar")
    assert plan["judged_by"][0].startswith("check em: the answer must be the expected text")
    with pytest.raises(BadInput, match="never looks at a parameter `skill`"):
        plan_evolution(agent=returns_nothing, suite="demo", create="x", model=model)
    text = again().read_text()
    assert again().read_text() == text
    (kept,) = (tmp_path / "out" / "agent").iterdir()
    assert kept.name.startswith("mine-")
    with pytest.raises(BadInput, match=r"takes \(\), expected any of prompt, workdir, skill"):
        evolve("other", agent=lambda: "", suite="demo", create="short", model=model)
    silent = evaluate(tasks=TASKS, agent=returns_nothing, model=model, out="s", sandbox="none")
    assert {sample.reason for sample in silent.samples} == {
        "the agent failed: it returned None, expected the answer"
    }


@pytest.mark.parametrize(("temperature", "attempts"), [(0, 1), (0.7, 4)])
def test_attempts_at_temperature_0_are_not_repeated(
    temperature: float, attempts: int, tmp_path: Path, model: str
) -> None:
    def asks_once(prompt: str, workdir: str, skill: str | None) -> str:
        from urllib.request import Request, urlopen  # no client: each attempt imports it

        messages = [{"role": "user", "content": f"{skill or ''}{prompt}"}]
        body = {"model": "any", "messages": messages, "temperature": temperature}
        headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
        url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
        with urlopen(Request(url, json.dumps(body).encode(), headers)) as replied:
            return json.load(replied)["choices"][0]["message"]["content"]

    rows = [{"id": f"t{n}", "prompt": f"Say {n}", "answer": "yes"} for n in range(2)]
    evolve(
        tmp_path / "out", agent=asks_once, suite=rows, create="short", model=model, gate="none",
        sandbox="none",
    )  # fmt: skip
    items = records(tmp_path / "out" / "runs" / "train")
    assert len(items) == attempts * len({item.task_id for item in items})


def test_a_module_that_evaluates_when_it_is_imported_is_refused_at_once(
    tmp_path: Path, model: str
) -> None:
    (tmp_path / "storm.py").write_text(
        "from harness.api import evaluate\n"
        "def answer(prompt, workdir, skill): return 'yes'\n"
        f"evaluate(tasks={TASKS!r}, agent=answer, model={model!r}, sandbox='none')\n"
    )
    with pytest.raises(BadInput, match="starts a run of its own when it is imported"):
        evaluate(TASKS, agent=f"py:{tmp_path}/storm.py:answer", model=model, out=tmp_path / "o")


def test_an_accepted_skill_is_not_written_over_by_another_evolution(
    tmp_path: Path, model: str
) -> None:
    rows = [{"id": f"t{n}", "prompt": f"Say {n}", "answer": f"It is {n}!"} for n in range(9)]

    def made(examples: int) -> None:
        evolve(
            tmp_path / "out", agent=ECHO + " {skill}", suite=rows, create="short", model=model,
            gate="none", sandbox="none", analyst="answers", examples=examples,
        )  # fmt: skip

    made(2)
    result = tmp_path / "out" / "evolve.json"
    result.write_text(json.dumps({**json.loads(result.read_text()), "accepted": True}))
    text = (tmp_path / "out" / "skill" / "short" / "SKILL.md").read_text()
    with pytest.raises(BadInput, match="holds an accepted skill that was made with other settings"):
        made(1)
    assert (tmp_path / "out" / "skill" / "short" / "SKILL.md").read_text() == text
    made(2)


def test_a_bar_is_drawn_where_it_is_wanted(
    tmp_path: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(tasks=TASKS, agent=asks, model=model, out=tmp_path / "a", sandbox="none")
    assert capsys.readouterr().err == ""
    evaluate(
        tasks=TASKS, agent=asks, model=model, out=tmp_path / "b", sandbox="none", progress=True
    )
    shown = capsys.readouterr().err
    assert "2/2" in shown and "passed: 1" in shown
    assert "?" not in shown and " left" not in shown  # two tasks tell no rate
