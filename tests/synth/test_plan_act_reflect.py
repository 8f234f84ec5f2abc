"""Mobile-Agent-v2 on a scripted phone: wrong taps, no-ops, history, memory, kills, step cap."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from examples.screens import plan_act_reflect
from examples.screens.environments import Agent, read_action, read_mark, remembered
from examples.screens.phone import Phone, Screen
from harness.checkpoints import open_saver
from lab.worlds.models import FunctionModel
from tests.synth.cases import acts, run

SCREENS = {
    "home": Screen("Home", {"Notes": "notes", "Mail": "mail", "Clock": "home"}),
    "notes": Screen("Code 4711", {"New": "editor"}),
    "mail": Screen("Inbox", {"Write": "editor"}),
    "editor": Screen("Editor: {typed}", {"Save": "saved"}, keyboard=True),
    "saved": Screen("Saved: {typed}"),
}
SCRIPT = [
    "Tap (Mail)",
    "Tap (Clock)",
    "Tap (Notes)",
    "Tap (New)",
    "Type (4711)",
    "Tap (Save)",
    "Stop",
]
KEEP = ("Code 4711", "The code is 4711; None of the others matters.")


def phone() -> Phone:
    return Phone(SCREENS)


def plays(script: list[str], steps: int = 20) -> tuple[dict[str, Any], Agent]:
    sees = FunctionModel(acts(script, wrong="Inbox", keep=KEEP))
    planner = FunctionModel(lambda m, s: "done so far")  # pyright: ignore[reportUnknownLambdaType]  # a model of one line
    agent = Agent(phone(), sees, planner, steps)
    graph = plan_act_reflect.graph
    config: Any = {"recursion_limit": 300}
    return run(graph.ainvoke({"instruction": "Save the code"}, config, context=agent)), agent


def test_a_wrong_tap_is_taken_back_and_a_no_op_flagged() -> None:
    end, agent = plays(SCRIPT)
    assert end["end"] == "stopped"
    assert end["screen"].startswith("Saved: 4711")
    assert end["history"] == [f"do {step}" for step in SCRIPT[2:-1]]  # neither Mail nor Clock
    assert isinstance(agent.environment, Phone)
    done = [action.name for action in agent.environment.log]
    assert done == ["Tap", "Back", "Tap", "Tap", "Tap", "Type", "Tap"]
    assert isinstance(agent.sees, FunctionModel)
    decisions = [text for text in agent.sees.prompts if "Reply with three lines" in text]
    assert "led to a wrong page, and was taken back" in decisions[1]
    assert "changed nothing" in decisions[2]
    assert "last step failed" not in decisions[3]
    assert all("- Back:" in text for text in decisions)  # what is carried out is offered
    assert ["- Type:" in text for text in decisions] == [False] * 4 + [True, True, False]


def test_the_planner_runs_after_successes_only_and_sees_no_screen() -> None:
    _, agent = plays(SCRIPT)
    assert isinstance(agent.plans, FunctionModel)
    assert len(agent.plans.prompts) == 4
    assert not any("Editor" in text or "<screen>" in text for text in agent.plans.prompts)


def test_memory_is_kept_once() -> None:
    end, _ = plays([*SCRIPT[2:4], "Back", *SCRIPT[3:]])
    assert end["memory"] == ["The code is 4711; None of the others matters."]


def test_what_is_not_offered_is_not_done() -> None:
    end, agent = plays(["Fly (away)", "Type (x)", "Tap (Notes)", "Stop"])
    assert isinstance(agent.environment, Phone)
    assert [action.name for action in agent.environment.log] == ["Tap"]
    assert end["history"] == ["do Tap (Notes)"]


def test_the_step_cap() -> None:
    end, agent = plays(["Tap (Clock)"] * 9, steps=4)
    assert end["end"] == "step limit: 4"
    assert isinstance(agent.environment, Phone)
    assert len(agent.environment.log) == 4


@pytest.mark.parametrize("node", ["decide", "remember", "act", "reflect", "plan"])
def test_a_killed_loop_goes_on_in_the_same_place(tmp_path: Path, node: str) -> None:
    whole, _ = plays(SCRIPT)
    module: Any = plan_act_reflect
    model = FunctionModel(acts(SCRIPT, wrong="Inbox", keep=KEEP))
    planner = FunctionModel(lambda m, s: "done so far")  # pyright: ignore[reportUnknownLambdaType]  # a model of one line

    async def play() -> dict[str, Any]:
        config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 300}
        async with open_saver(tmp_path / "c.sqlite") as saver:
            graph = module.build().compile(checkpointer=saver, interrupt_after=[node])
            given: Any = {"instruction": "Save the code"}
            while True:  # each time in a phone that was switched on anew
                agent = Agent(phone(), model, planner)
                end = await graph.ainvoke(given, config, context=agent)
                given = None
                if not (await graph.aget_state(config)).next:
                    return end

    end = asyncio.run(play())
    del end["world"], whole["world"]
    assert {**end, "__interrupt__": None} == {**whole, "__interrupt__": None}


def test_marks_are_lines_and_not_letters_in_a_text() -> None:
    assert read_mark("A wrong page.\nResult: B") == "B"
    assert read_mark("A") == "unread"
    assert read_mark("Result: A\nResult: B") == "unread"
    assert read_mark("**Result: c**") == "C"
    assert read_mark("Result: A page") == "unread"


def test_actions_are_read_strictly() -> None:
    action, _ = read_action("Thought: x\nAction: tap (a (b))\n", ["Tap", "Back"])
    assert action is not None
    assert (action.name, action.argument, action.operation) == ("Tap", "a (b)", "Tap a (b)")
    assert "expected one line" in read_action("Tap it", ["Tap"])[1]
    assert "expected one line" in read_action("Action: Tap (a)\nAction: Back", ["Tap", "Back"])[1]
    assert "cannot be done now" in read_action("Action: Type (x)", ["Tap"])[1]


def test_none_is_nothing_and_a_text_with_it_is_something() -> None:
    assert remembered(["a"], "None.") == ["a"]
    assert remembered(["a"], "None of them is open") == ["a", "None of them is open"]
    assert remembered(["The code."], "the  code") == ["The code."]
