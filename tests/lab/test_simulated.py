"""The simulator: answers by rule, planted failures, remedies, both protocols, end to end."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from harness.core import BadInput, render
from harness.models import CallStore, Message, Sampling, open_model
from lab.simulator import load_profile, respond
from lab.simulator.lookup import look_up

ORDERS = """order,customer,item,amount,status
1,Teal Harbour,desk lamp,40,paid
2,Marrow & Finch,oak table,910.5,open
3,Blue Quay,chair,55,paid
"""
NOTE = "The chairs go to Aldermere. They arrive on Thursday. Ada Lovelen signed the order in 1994."
PROMPT = "Answer the question from the text.\n\n{0}\n\nQuestion: {1}"
LESSONS = [mode.lesson for mode in load_profile("lookup").modes if mode.lesson]


@pytest.mark.parametrize(
    ("question", "material", "answer"),
    [
        ("Which customer placed the largest order by amount?", ORDERS, "Marrow & Finch"),
        ("How many orders are marked paid?", ORDERS, "2"),
        ("Which item did Teal Harbour buy?", ORDERS, "desk lamp"),
        ("What is the total amount of the paid orders?", ORDERS, "95"),
        ("On which day of the week do the chairs arrive?", NOTE, "Thursday"),
        ("Who signed the order?", NOTE, "Ada Lovelen"),
        ("In which year was the order signed?", NOTE, "1994"),
    ],
)
def test_answers_are_found_by_rule(question: str, material: str, answer: str) -> None:
    assert look_up(question, material) == answer


def body(task: str, skill: str = "", **extra: Any) -> dict[str, Any]:
    """A chat request with a skill in the system prompt."""
    system = f"You answer questions.\n{skill}"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": task}]
    return {"model": "lookup", "messages": messages} | extra


def answers(skill: str) -> list[str]:
    """Replies to 200 tasks."""
    profile = load_profile("lookup")
    tasks = [
        PROMPT.format(f"name,amount\nRed{n},{n}\nBlue{n},{n + 7}", f"What is the amount of Red{n}?")
        for n in range(1, 201)
    ]
    replies = [respond(profile, body(task, skill)) for task in tasks]
    return [reply["choices"][0]["message"]["content"] for reply in replies]


def exact(replies: list[str]) -> float:
    """Share of replies that are the bare right answer after the label."""
    right = [f"Final answer: {n}" == text for n, text in enumerate(replies, start=1)]
    return sum(right) / len(right)


def test_each_remedy_switches_its_failure_off_and_idle_lines_do_not() -> None:
    bare = exact(answers(""))
    assert 0.2 < bare < 0.6
    assert abs(exact(answers("- Read the task twice before you start.")) - bare) < 0.05
    lifts = [exact(answers(f"- {lesson}")) - bare for lesson in LESSONS]
    assert lifts[0] > 0.1
    assert lifts[2] > 0.05
    everything = exact(answers("\n".join(f"- {lesson}" for lesson in LESSONS)))
    assert everything > 0.92
    harmed = [*LESSONS, "Explain your answer."]
    assert exact(answers("\n".join(harmed))) < everything - 0.3
    assert exact(answers("Explain the reasoning behind the answer.")) < bare - 0.1


def test_replies_are_a_function_of_request_and_seed() -> None:
    profile = load_profile("lookup")
    asked = body(PROMPT.format(NOTE, "Who signed the order?"))
    assert respond(profile, asked) == respond(profile, asked)
    seeds = {json.dumps(respond(profile, asked | {"seed": seed})["choices"]) for seed in range(99)}
    assert len(seeds) == 2  # the answer, and the slip that noise makes of it


def test_stop_and_max_tokens_are_honoured() -> None:
    asked = body(PROMPT.format(NOTE, "Who signed the order?"), max_tokens=2)
    reply = respond(load_profile("lookup"), asked)
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"]["completion_tokens"] <= 2
    asked = body(PROMPT.format(NOTE, "Who signed the order?"), stop=["Ada"])
    assert "Ada" not in respond(load_profile("lookup"), asked)["choices"][0]["message"]["content"]


def test_files_are_read_with_a_tool_natively_and_in_text() -> None:
    profile = load_profile("lookup")
    task = "Which item in orders.csv did Teal Harbour buy?"
    tool: dict[str, Any] = {"type": "function", "function": {"name": "bash", "parameters": {}}}
    native = respond(profile, body(task, tools=[tool]))["choices"][0]
    assert native["finish_reason"] == "tool_calls"
    call = native["message"]["tool_calls"][0]["function"]
    assert (call["name"], json.loads(call["arguments"])) == ("bash", {"command": "cat orders.csv"})
    skill = "Use bash.\nAction: a JSON object\n" + "\n".join(LESSONS)
    text = respond(profile, body(task, skill))["choices"][0]["message"]["content"]
    action = json.loads(text.partition("Action:\n")[2])
    assert action == {"name": "bash", "arguments": {"command": "cat orders.csv"}}
    asked = body(task, skill)
    asked["messages"] += [
        {"role": "assistant", "content": text},
        {"role": "user", "content": f"Observation:\n{ORDERS}"},
    ]
    answer = respond(profile, asked)["choices"][0]["message"]["content"]
    assert answer == "Final answer: desk lamp"


def test_a_workbook_is_edited_by_script(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Orders"
    for row in (["Region", "Amount"], ["North", 10], ["South", 20], ["North", 5]):
        sheet.append(row)
    book.create_sheet("Result")
    book.save(tmp_path / "input.xlsx")
    task = (
        "Open input.xlsx. Write the sum of Amount in sheet Orders for the region North to "
        "Result!B2 and save it as output.xlsx."
    )
    lessons = "\n".join(mode.lesson for mode in load_profile("ledger").modes)
    tool: dict[str, Any] = {"type": "function", "function": {"name": "python", "parameters": {}}}
    profile = load_profile("ledger").model_copy(update={"noise": 0.0})
    asked = body(task, lessons, tools=[tool])
    for _ in range(2):
        message = respond(profile, asked)["choices"][0]["message"]
        code = json.loads(message["tool_calls"][0]["function"]["arguments"])["code"]
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        result = {"role": "tool", "tool_call_id": "x", "content": done.stdout}
        asked["messages"] += [message, result]
    assert respond(profile, asked)["choices"][0]["finish_reason"] == "stop"
    written = openpyxl.load_workbook(tmp_path / "output.xlsx")
    assert written["Result"]["B2"].value == 15


def test_the_analyst_proposes_what_the_log_shows_and_the_merger_counts() -> None:
    profile = load_profile("lookup")
    ask = 'Reply with a JSON patch: {"edits": [...]}.\n## Skill\ntext\nLog: '
    log = f"{ask}Final answer: The answer to the question is 4 units."
    reply = respond(profile, body(log))["choices"][0]["message"]["content"]
    patch = json.loads(reply)
    assert [edit["content"] for edit in patch["edits"]] == [f"- {text}" for text in LESSONS[:2]]
    merge = "Merge the edits of these patches into one JSON patch.\n" + f"{reply}\n" * 3
    merged = json.loads(respond(profile, body(merge))["choices"][0]["message"]["content"])
    assert len(merged["edits"]) == 2


def test_it_answers_the_prompts_of_the_evolution_loop() -> None:
    profile = load_profile("lookup")

    def reply(prompt: str) -> dict[str, Any]:
        message = respond(profile, body(prompt))["choices"][0]["message"]
        return json.loads(message["content"])

    transcript = "Question\nFinal answer: The answer to the question is 4 units."
    prompt = render(
        "analyst_error",
        task="How many?",
        transcript=transcript,
        skill="",
        max_items=3,
        right="",
        documents="",
    )
    record = reply(prompt)
    assert [item["lesson"] for item in record["memory_items"]] == LESSONS[:2]
    assert all(quote in transcript for quote in record["evidence"])
    prompt = render("patch_map", record=json.dumps({"items": record["memory_items"]}), skill="## A")
    edits = reply(prompt)["edits"]
    assert [(edit["op"], edit["target_section"]) for edit in edits] == [
        ("append_to_section", "## A")
    ] * 2
    rows = [{"id": f"e{n}", "support": n + 1, "edit": json.dumps(edits[n % 2])} for n in range(4)]
    merged = reply(render("patch_merge", edits=rows))["edits"]
    assert [edit["from"] for edit in merged] == [["e1", "e3"], ["e0", "e2"]]
    prompt = render("analyst_success", task="x", transcript="fine", skill="", max_items=3)
    assert reply(prompt)["evidence"] == ["fine"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "profile"),
        (
            '{"name": "x", "modes": [{"name": "m", "defect": "unit", "prevalence": 2}]}',
            "prevalence",
        ),
        (
            '{"name": "x", "modes": [{"name": "m", "defect": "unit", "prevalence": 1, '
            '"trigger": "("}]}',
            "no regular expression",
        ),
    ],
)
def test_a_malformed_profile_is_bad_input(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=says):
        open_model(f"simulated/{path}")


def test_through_the_client_it_is_labelled_and_quick(tmp_path: Path) -> None:
    async def run(calls: CallStore) -> float:
        model = open_model("simulated/lookup", calls=calls, concurrency=64)
        assert model.simulated
        sampling = Sampling(temperature=0.7, seed=3)
        started = time.monotonic()
        tasks: list[list[Message]] = [
            [{"role": "user", "content": PROMPT.format(NOTE, f"Who signed order {n}?")}]
            for n in range(300)
        ]
        replies = await asyncio.gather(*(model.complete(task, sampling=sampling) for task in tasks))
        assert {reply.model for reply in replies} == {"simulated-lookup"}
        assert all(reply.usage.cost_usd == 0.0 for reply in replies)
        return len(tasks) / (time.monotonic() - started)

    with CallStore(tmp_path / "calls.sqlite") as calls:
        rate = asyncio.run(run(calls))
    print(f"{rate:.0f} calls/s")
    assert rate > 50
    replay = open_model(f"replay/{tmp_path / 'calls.sqlite'}")
    assert replay.simulated


def test_a_complaint_goes_to_the_role_that_was_asked() -> None:
    """40 % of the calls of benchmarks/evolution/scale.py were answered by the agent."""
    profile = load_profile("lookup")
    log = "[1] USER\nHow many boxes?\n\n[2] AGENT\n7 units"
    prompt = render(
        "analyst_error",
        task="How many boxes?",
        transcript=log,
        skill="",
        max_items=3,
        right="",
        documents="",
    )
    asked = body(prompt)
    first = respond(profile, asked)["choices"][0]["message"]["content"]
    assert json.loads(first)["evidence"] == ["[2] AGENT\n7 units"]
    asked["messages"] += [
        {"role": "assistant", "content": first},
        {"role": "user", "content": "That could not be used: no evidence."},
    ]
    again = respond(profile, asked)["choices"][0]["message"]["content"]
    assert json.loads(again)["memory_items"] == json.loads(first)["memory_items"]
