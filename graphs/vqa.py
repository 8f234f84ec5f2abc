"""Questions about images: say what is there, list what to look at, look, reason, answer.

    perceive ──► plan ──► look ──► look … ──► reason ──► answer ──► END
                          │  ▲                 │  ▲
                          └► tool              └► correct

`vqa_text.py` begins with `read` instead, where readers and no model look, and sends no images;
`vqa_verify.py` solves several times and takes the solution whose premises hold.

The checklist is made from the question and a description, without the image; every line of it is
then looked at on its own, with tools where the suite offers some. The last call writes steps that
name what each takes from the image, so that the premises can be verified afterwards
(:mod:`harness.vision.premises`). State holds no images: they are packed from the work folder,
within the limits of the model's profile, whenever a call needs them.
"""

from __future__ import annotations

import re
from typing import Any

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from harness.agents import (
    MOST_FORMAT_ERRORS,
    ReactContext,
    TooManyFormatErrors,
    held,
    on_wire,
    run_calls,
)
from harness.core import render
from harness.vision.agent import VisualState as State
from harness.vision.agent import (
    ask,
    packed_images,
    question_of,
    seen_so_far,
    solving_prompt,
    survey,
)
from harness.vision.images import Packed
from harness.vision.premises import read_solution

# Lines of a checklist, where the turns of the suite allow as many.
MOST_LOOKS = 6
# Rounds of tool calls for one line of the checklist.
MOST_TOOL_ROUNDS = 3
# Calls of an attempt that are no looks: perceive, plan, reason.
OTHER_CALLS = 3
ITEM = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s+(\S.*)$", re.MULTILINE)
SEEN = re.compile(r"^\W*seen\W*?:[\s*_]*(\S.*)$", re.IGNORECASE | re.MULTILINE)


Context = Runtime[ReactContext]
Update = dict[str, Any]


async def perceive(state: State, runtime: Context) -> Update:
    """Describe the images, before a question can lead the eye."""
    context = runtime.context
    packed = await packed_images(context)
    context.tell({"type": "images", "images": [image.facts() for image in packed.images]})
    files = [image.name for image in packed.images if (image.page or 1) == 1]
    prompt = render("vqa_perceive", question=question_of(state), files=files)
    text, _ = await ask(context, prompt, packed, turns=state.get("turns", 0))
    return {"description": text, "turns": 1}


async def read(state: State, runtime: Context) -> Update:
    """Let readers describe the images, for a model that cannot see them."""
    return {"description": await survey(runtime.context), "blind": True}


async def plan(state: State, runtime: Context) -> Update:
    """List what to look at; nothing where the turns allow no look."""
    context = runtime.context
    most = min(MOST_LOOKS, context.max_turns - OTHER_CALLS)
    if most < 1:
        return {"checklist": []}
    prompt = render(
        "vqa_plan", question=question_of(state), description=state.get("description", ""), most=most
    )
    text, _ = await ask(context, prompt, Packed(()), turns=state.get("turns", 0))
    return {"checklist": [item.strip() for item in ITEM.findall(text)][:most], "turns": 1}


async def look(state: State, runtime: Context) -> Update:
    """Look at the next line of the checklist, or ask for a tool."""
    context = runtime.context
    dialogue = state.get("dialogue", [])
    rounds = sum(message["role"] == "assistant" for message in dialogue)
    native = context.protocol != "text" and rounds < MOST_TOOL_ROUNDS
    tools = [tool.schema() for tool in context.tools] if native else []
    prompt = render(
        "vqa_look",
        item=state.get("checklist", [])[len(state.get("seen", []))],
        question=question_of(state),
        seen=seen_so_far(state),
        tools=bool(tools),
        described=state.get("description", "") if state.get("blind") else "",
    )
    packed = await _sent(state, context)
    turns = state.get("turns", 0)
    text, reply = await ask(context, prompt, packed, turns=turns, dialogue=dialogue, tools=tools)
    if tools and reply.tool_calls:
        calls = [on_wire(call) for call in reply.tool_calls]
        turn = {"role": "assistant", "content": reply.text, "tool_calls": calls}
        pending = [held(call) for call in reply.tool_calls]
        return {"dialogue": [*dialogue, turn], "pending": pending, "turns": 1}
    line = SEEN.search(text)
    observation = line[1].strip() if line else " ".join(text.split())[:300] or "not readable"
    return {"seen": [observation], "dialogue": [], "pending": [], "turns": 1}


async def tool(state: State, runtime: Context) -> Update:
    """Run the tools that the look asked for."""
    context = runtime.context
    results = await run_calls(context, state.get("pending", []), context.tools)
    return {"dialogue": [*state.get("dialogue", []), *results], "pending": []}


async def reason(state: State, runtime: Context) -> Update:
    """Solve the question in steps that say what they take from the image."""
    context = runtime.context
    packed, turns = await _sent(state, context), state.get("turns", 0)
    prompt = solving_prompt(state)
    text, _ = await ask(context, prompt, packed, turns=turns, dialogue=state["messages"][1:])
    solution = read_solution(text)
    if solution is None:
        turn = {"role": "assistant", "content": text}
        return {"messages": [turn], "format_errors": state.get("format_errors", 0) + 1, "turns": 1}
    plain = solution.model_dump(mode="json")
    return {"solution": plain, "answer": solution.answer, "format_errors": 0, "turns": 1}


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


async def _sent(state: State, context: ReactContext) -> Packed:
    return Packed(()) if state.get("blind") else await packed_images(context)


def build(first: str = "perceive") -> Any:
    """The graph before compilation, a `StateGraph` over State and ReactContext.

    Args:
        first: `perceive`, or `read` for a model that is sent no images.
    """
    graph: Any = StateGraph(State, context_schema=ReactContext)
    return (
        graph.add_node(first, {"perceive": perceive, "read": read}[first])
        .add_node("plan", plan)
        .add_node("look", look)
        .add_node("tool", tool)
        .add_node("reason", reason)
        .add_node("correct", correct)
        .add_node("answer", answer)
        .add_edge(START, first)
        .add_edge(first, "plan")
        .add_conditional_edges("plan", after_plan, ["look", "reason"])
        .add_conditional_edges("look", after_look, ["tool", "look", "reason"])
        .add_edge("tool", "look")
        .add_conditional_edges("reason", after_reason, ["answer", "correct"])
        .add_edge("correct", "reason")
        .add_edge("answer", END)
    )


graph = build().compile(name="vqa")
