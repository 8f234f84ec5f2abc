"""Plan, act, reflect: an agent that works on screens, after Mobile-Agent-v2 (arXiv 2406.01014).

    perceive ──► decide ──► remember ──► act ──► reflect ──► plan ──► perceive …
       ▲            │                               │
       │            └─► END (Stop, or step cap)     ├─ B: wrong page, Back, flagged
       └────────────────────────────────────────────┴─ C: no change, flagged

Environments: a document viewer and a workbook (`this folder`), or your own. Only actions
that did what was intended enter the history and lead to planning. The planner sees text alone: the
instruction, the history and its own last progress. State holds JSON, the environment's own state
included, so that a killed loop goes on where it was.
"""

from __future__ import annotations

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from examples.screens.environments import (
    BACK,
    STOP,
    Action,
    Agent,
    read_action,
    read_mark,
    remembered,
)
from harness.core import render


class State(TypedDict, total=False):
    """Content of a checkpoint.

    Attributes:
        instruction: what is to be done.
        world: state of the environment.
        left: its state before the action.
        screen: as it is now.
        before: as it was before the action.
        action: chosen last, as JSON; empty if it could not be read.
        history: operations that did what was intended.
        progress: what the planner says is done.
        memory: contents of screens that matter later.
        error: what went wrong in the last step; "" if nothing did.
        steps: actions so far.
        end: why it ended.
    """

    instruction: str
    world: Any
    left: Any
    screen: str
    before: str
    action: dict[str, Any]
    history: list[str]
    progress: str
    memory: list[str]
    error: str
    steps: int
    end: str


Context = Runtime[Agent]
Update = dict[str, Any]


def perceive(state: State, runtime: Context) -> Update:
    """Look at the screen; a loop that is resumed finds the environment as the state says."""
    environment = runtime.context.environment
    if "world" in state:
        environment.restore(state["world"])
    return {"screen": environment.observe(), "world": environment.save()}


async def decide(state: State, runtime: Context) -> Update:
    """Choose one of the offered actions."""
    context, steps = runtime.context, state.get("steps", 0)
    if steps >= context.steps:
        return {"end": f"step limit: {steps}"}
    context.environment.restore(state.get("world"))
    offered = context.environment.actions
    prompt = render(
        "act_decide", instruction=state.get("instruction", ""), screen=state.get("screen", ""),
        history=state.get("history", []), progress=state.get("progress", ""),
        memory=state.get("memory", []), error=state.get("error", ""), actions=offered,
    )  # fmt: skip
    action, fault = read_action(await context.look(prompt, state.get("world")), [*offered])
    if action is None:
        return {"action": {}, "error": fault, "steps": steps + 1}
    if action.name == STOP:
        return {"action": action.model_dump(), "end": "stopped"}
    return {"action": action.model_dump(), "steps": steps + 1}


async def remember(state: State, runtime: Context) -> Update:
    """Keep what the screen shows and later steps need."""
    prompt = render(
        "act_remember", instruction=state.get("instruction", ""), screen=state.get("screen", ""),
        memory=state.get("memory", []),
    )  # fmt: skip
    reply = await runtime.context.look(prompt, state.get("world"))
    return {"memory": remembered(state.get("memory", []), reply)}


def act(state: State, runtime: Context) -> Update:
    """Carry out the action, from the state that it was chosen in."""
    environment = runtime.context.environment
    environment.restore(state.get("world"))
    update: Update = {"before": environment.observe(), "left": environment.save()}
    environment.act(Action.model_validate(state.get("action")))
    return {**update, "screen": environment.observe(), "world": environment.save()}


async def reflect(state: State, runtime: Context) -> Update:
    """Compare the screens: A as intended, B a wrong page, C no change. What is unread is no A."""
    context, action = runtime.context, Action.model_validate(state.get("action"))
    before, screen = state.get("before", ""), state.get("screen", "")
    prompt = render(
        "act_reflect", instruction=state.get("instruction", ""), before=before, after=screen,
        operation=action.operation,
    )  # fmt: skip
    mark = read_mark(await context.look(prompt, state.get("left"), state.get("world")))
    if before == screen:
        mark = "C"  # nothing changed, whatever is said: there is nothing to take back either
    if mark == "A":
        return {"history": [*state.get("history", []), action.operation], "error": ""}
    if mark == "B":
        context.environment.restore(state.get("world"))
        context.environment.act(Action(name=BACK))
        error = f"{action.operation!r} led to a wrong page, and was taken back"
        return {"error": error, "world": context.environment.save()}
    why = "changed nothing" if mark == "C" else "had an effect that could not be judged"
    return {"error": f"{action.operation!r} {why}"}


async def plan(state: State, runtime: Context) -> Update:
    """Say what is done so far, from the history alone."""
    prompt = render(
        "act_plan", instruction=state.get("instruction", ""), history=state.get("history", []),
        progress=state.get("progress", ""),
    )  # fmt: skip
    return {"progress": await runtime.context.ask(runtime.context.plans, prompt)}


def decided(state: State) -> str:
    """The end, another look after a reply that is no action, or on."""
    if state.get("end"):
        return END
    return "remember" if state.get("action") else "perceive"


def reflected(state: State) -> str:
    """Planning after a success; otherwise another try."""
    return "perceive" if state.get("error") else "plan"


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and Agent."""
    graph: Any = StateGraph(State, context_schema=Agent)
    return (
        graph.add_node("perceive", perceive)
        .add_node("decide", decide)
        .add_node("remember", remember)
        .add_node("act", act)
        .add_node("reflect", reflect)
        .add_node("plan", plan)
        .add_edge(START, "perceive")
        .add_edge("perceive", "decide")
        .add_conditional_edges("decide", decided, ["remember", "perceive", END])
        .add_edge("remember", "act")
        .add_edge("act", "reflect")
        .add_conditional_edges("reflect", reflected, ["plan", "perceive"])
        .add_edge("plan", "perceive")
    )


graph = build().compile(name="plan_act_reflect")
