"""Questions about images: say what is there, list what to look at, look, reason, answer.

    perceive ──► plan ──► look ──► look … ──► reason ──► answer ──► END
                          │  ▲                 │  ▲
                          └► tool              └► correct

The checklist is made from the question and a description, without the image; every line of it is
then looked at on its own, with tools where the suite offers some. The last call writes steps that
name what each takes from the image, so that the premises can be verified afterwards
(:mod:`harness.check.premises`). State holds no images: they are packed from the work folder, within
the limits of the model's profile, whenever a call needs them.
"""

from __future__ import annotations

import asyncio
import re
from operator import add
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from harness.agents.calling import run_calls
from harness.agents.limits import TooManyFormatErrors, TurnLimit
from harness.agents.react import MOST_FORMAT_ERRORS, ReactContext
from harness.check.premises import read_solution
from harness.core.prompts import render
from harness.models.types import ModelCall, Reply
from harness.models.vision import split_thinking, vision_profile
from harness.tools.images import Packed, image_files, pack_files

MOST_LOOKS = 6
"""Lines of a checklist, where the turns of the suite allow as many."""
MOST_TOOL_ROUNDS = 3
"""Rounds of tool calls for one line of the checklist."""
OTHER_CALLS = 3
"""Calls of an attempt that are no looks: perceive, plan, reason."""
ITEM = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s+(\S.*)$", re.MULTILINE)
SEEN = re.compile(r"^\W*seen\W*?:[\s*_]*(\S.*)$", re.IGNORECASE | re.MULTILINE)


class Question(TypedDict):
    """The part of the state that every input has."""

    messages: Annotated[list[dict[str, Any]], add]


class State(Question, total=False):
    """What a checkpoint holds.

    Attributes:
        description: what the image shows.
        checklist: what to look at.
        seen: what was seen, one observation a line of the checklist.
        dialogue: tool calls and results of the line that is looked at.
        pending: tool calls to run.
        turns: model calls so far.
        format_errors: replies in a row that could not be read.
        solution: steps and answer, as JSON.
        answer: the final answer.
    """

    description: str
    checklist: list[str]
    seen: Annotated[list[str], add]
    dialogue: list[dict[str, Any]]
    pending: list[dict[str, Any]]
    turns: Annotated[int, add]
    format_errors: int
    solution: dict[str, Any]
    answer: str


Context = Runtime[ReactContext]
Update = dict[str, Any]


async def perceive(state: State, runtime: Context) -> Update:
    """Describe the images, before a question can lead the eye."""
    context = runtime.context
    packed = await _packed(context)
    context.tell({"type": "images", "images": [image.facts() for image in packed.images]})
    files = [image.name for image in packed.images if (image.page or 1) == 1]
    prompt = render("vqa_perceive", question=_question(state), files=files)
    said, _ = await _ask(state, context, prompt, packed)
    return {"description": said, "turns": 1}


async def plan(state: State, runtime: Context) -> Update:
    """List what to look at; nothing where the turns allow no look."""
    context = runtime.context
    most = min(MOST_LOOKS, context.max_turns - OTHER_CALLS)
    if most < 1:
        return {"checklist": []}
    prompt = render(
        "vqa_plan", question=_question(state), description=state.get("description", ""), most=most
    )
    said, _ = await _ask(state, context, prompt, Packed(()))
    return {"checklist": [item.strip() for item in ITEM.findall(said)][:most], "turns": 1}


async def look(state: State, runtime: Context) -> Update:
    """Look at the next line of the checklist, or ask for a tool."""
    context = runtime.context
    dialogue = state.get("dialogue", [])
    rounds = sum(message["role"] == "assistant" for message in dialogue)
    native = context.protocol == "native" and rounds < MOST_TOOL_ROUNDS
    tools = [tool.schema() for tool in context.tools] if native else []
    prompt = render(
        "vqa_look",
        item=state.get("checklist", [])[len(state.get("seen", []))],
        question=_question(state),
        seen=_seen(state),
        tools=bool(tools),
    )
    packed = await _packed(context)
    said, reply = await _ask(state, context, prompt, packed, dialogue, tools)
    if tools and reply.tool_calls:
        calls = [_wire(call) for call in reply.tool_calls]
        turn = {"role": "assistant", "content": reply.text, "tool_calls": calls}
        pending = [_held(call) for call in reply.tool_calls]
        return {"dialogue": [*dialogue, turn], "pending": pending, "turns": 1}
    found = SEEN.search(said)
    observation = found[1].strip() if found else " ".join(said.split())[:300] or "not readable"
    return {"seen": [observation], "dialogue": [], "pending": [], "turns": 1}


async def tool(state: State, runtime: Context) -> Update:
    """Run the tools that the look asked for."""
    context = runtime.context
    results = await run_calls(context, state.get("pending", []), context.tools)
    return {"dialogue": [*state.get("dialogue", []), *results], "pending": []}


async def reason(state: State, runtime: Context) -> Update:
    """Solve the question in steps that say what they take from the image."""
    context = runtime.context
    prompt = render(
        "vqa_reason",
        question=_question(state),
        description=state.get("description", ""),
        seen=_seen(state),
    )
    said, _ = await _ask(state, context, prompt, await _packed(context), state["messages"][1:])
    solution = read_solution(said)
    if solution is None:
        turn = {"role": "assistant", "content": said}
        return {"messages": [turn], "format_errors": state.get("format_errors", 0) + 1, "turns": 1}
    held = solution.model_dump(mode="json")
    return {"solution": held, "answer": solution.answer, "format_errors": 0, "turns": 1}


def correct(state: State, runtime: Context) -> Update:
    """Tell the model that its solution could not be read."""
    text = 'Reply with one JSON object that has a list "steps" and a text "answer", nothing else.'
    runtime.context.tell({"type": "format_error", "text": text})
    count = state.get("format_errors", 0)
    if count >= MOST_FORMAT_ERRORS:
        raise TooManyFormatErrors(f"{count} replies in a row could not be read")
    # A format error takes no turn away.
    return {"messages": [{"role": "user", "content": f"[Format error] {text}"}], "turns": -1}


def answer(state: State, runtime: Context) -> Update:
    """End with the answer."""
    event = {"type": "final", "answer": state.get("answer"), "solution": state.get("solution")}
    runtime.context.tell(event)
    return {}


def after_plan(state: State) -> str:
    """Look while the checklist has open lines."""
    return "look" if len(state.get("seen", [])) < len(state.get("checklist", [])) else "reason"


def after_look(state: State) -> str:
    """Tools first, then the next line, then the solution."""
    return "tool" if state.get("pending") else after_plan(state)


def after_reason(state: State) -> str:
    """A solution that can be read ends the attempt."""
    return "answer" if state.get("solution") else "correct"


def _question(state: State) -> str:
    return state["messages"][0]["content"]


def _seen(state: State) -> list[tuple[str, str]]:
    """The checklist with what was seen; lines that were not looked at are left out."""
    return list(zip(state.get("checklist", []), state.get("seen", []), strict=False))


async def _packed(context: ReactContext) -> Packed:
    """The images of the work folder, within the limits of the model's profile."""
    workdir = context.bench.workdir
    files = image_files(workdir)
    if not files:
        return Packed(())
    names = [path.relative_to(workdir).as_posix() for path in files]
    limits = vision_profile(context.model.spec).images
    return await asyncio.to_thread(pack_files, files, limits, names)


async def _ask(
    state: State,
    context: ReactContext,
    prompt: str,
    packed: Packed,
    dialogue: list[dict[str, Any]] | None = None,
    tools: list[dict[str, Any]] | None = None,
) -> tuple[str, Reply]:
    """One call: images, then the prompt, then what was said since; the text without reasoning."""
    if state.get("turns", 0) >= context.max_turns:
        raise TurnLimit(f"turn limit of {context.max_turns} reached")
    content = [*packed.parts(), {"type": "text", "text": prompt}] if packed.images else prompt
    system = [{"role": "system", "content": context.skill}] if context.skill else []
    messages = [*system, {"role": "user", "content": content}, *(dialogue or [])]
    reply = await context.model.complete(messages, tools=tools or None, sampling=context.sampling)
    context.tell({"type": "reply", "text": reply.text, "reply": reply})
    thinking = vision_profile(context.model.spec).thinking
    return split_thinking(reply.text, thinking)[1], reply


def _wire(call: ModelCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _held(call: ModelCall) -> dict[str, Any]:
    """A tool call as the state holds it."""
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and ReactContext."""
    graph: Any = StateGraph(State, context_schema=ReactContext)
    graph.add_node("perceive", perceive)
    graph.add_node("plan", plan)
    graph.add_node("look", look)
    graph.add_node("tool", tool)
    graph.add_node("reason", reason)
    graph.add_node("correct", correct)
    graph.add_node("answer", answer)
    graph.add_edge(START, "perceive")
    graph.add_edge("perceive", "plan")
    graph.add_conditional_edges("plan", after_plan, ["look", "reason"])
    graph.add_conditional_edges("look", after_look, ["tool", "look", "reason"])
    graph.add_edge("tool", "look")
    graph.add_conditional_edges("reason", after_reason, ["answer", "correct"])
    graph.add_edge("correct", "reason")
    graph.add_edge("answer", END)
    return graph


graph = build().compile(name="vqa")
