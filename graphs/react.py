"""The ReAct agent: think, act, observe (Yao et al. 2023; rollouts of Trace2Skill section 1.1).

    think ──► act ──► think …         the tools, and what they returned put before the model
      │  ├─► correct ──► think        a reply that cannot be read; uses up no turn
      │  └─► finish ──► END           is the output file there? back to think once if it is not
      └────► END                      the answer, where no output file is asked for

State is JSON only. Model, tools and skill come through the runtime context. Acting and observing
are one node: a step of LangGraph takes about 1 ms of processor time, whatever the node does.
"""

from __future__ import annotations

from operator import add
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from harness.agents import (
    CUT,
    MOST_CUT,
    MOST_FORMAT_ERRORS,
    STOP,
    Action,
    Final,
    FormatError,
    ReactContext,
    ReplyCut,
    TooManyFormatErrors,
    TurnLimit,
    fenced,
    on_wire,
    read_action,
    read_answer,
    read_arguments,
    read_text_reply,
    run_calls,
)

SHOWN_OF_CUT = 200
# Characters of a cut reply that stay in the conversation.


class Conversation(TypedDict):
    """The part of the state that every input has."""

    messages: Annotated[list[dict[str, Any]], add]


class State(Conversation, total=False):
    """Content of a checkpoint."""

    turns: int
    format_errors: int
    pending: list[dict[str, Any]]
    error: str
    cut: bool
    answer: str | None
    settled: bool
    reminded: bool


Context = Runtime[ReactContext]
Update = dict[str, Any]
"""What a node changes of the state."""


async def think(state: State, runtime: Context) -> Update:
    """Call the model and read its reply."""
    context = runtime.context
    if state.get("turns", 0) >= context.max_turns:
        raise TurnLimit(f"turn limit of {context.max_turns} reached")
    messages = [{"role": "system", "content": context.system_prompt()}, *state["messages"]]
    sampling = context.sampling
    if context.tools and context.protocol == "text":
        sampling = sampling.model_copy(update={"stop": (*(sampling.stop or ()), STOP)})
    native = [tool.schema() for tool in context.tools] if context.protocol == "native" else []
    reply = await context.ask(messages, native or None, sampling, context.reply_format)
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.tool_calls:
        message["tool_calls"] = [on_wire(call) for call in reply.tool_calls]
    try:
        step: list[Action] | Final = Final(reply.text.strip())
        if context.protocol == "json" and not context.tools:
            step = Final(read_answer(reply.text) if context.answer_schema else reply.text.strip())
        elif context.tools and context.protocol in ("text", "json"):
            read_reply = read_text_reply if context.protocol == "text" else read_action
            action = read_reply(reply.text)
            step = action if isinstance(action, Final) else [action]
        elif context.tools and reply.tool_calls:
            step = [
                Action(call.id, call.name, read_arguments(call.name, call.arguments))
                for call in reply.tool_calls
            ]
    except FormatError as error:
        cut = reply.finish_reason == "length"
        if cut and context.protocol == "json":  # half a program would crowd out what matters
            message["content"] = f"{reply.text[:SHOWN_OF_CUT]}…"
            return {"messages": [message], "error": CUT, "cut": cut}
        return {"messages": [message], "error": str(error), "cut": cut}
    read: Update = {
        "messages": [message],
        "turns": state.get("turns", 0) + 1,
        "format_errors": 0,
        "error": "",
        "cut": False,
    }
    if isinstance(step, Final):
        settled = not context.output_file
        if settled:
            context.tell({"type": "final", "answer": step.answer})
        return {**read, "answer": step.answer, "pending": [], "settled": settled}
    return {**read, "pending": [vars(action) for action in step]}


async def act(state: State, runtime: Context) -> Update:
    """Run the tools that the reply asked for, and put what they returned before the model."""
    context = runtime.context
    observed = await run_calls(context, state.get("pending", []), context.tools)
    if context.protocol != "native":
        text = "\n\n".join(fenced(message["content"]) for message in observed)
        observed = [{"role": "user", "content": text}]
    return {"messages": observed, "pending": []}


async def correct(state: State, runtime: Context) -> Update:
    """Tell the model why its reply could not be read."""
    count, error = state.get("format_errors", 0) + 1, state.get("error", "")
    cut = error == CUT
    runtime.context.tell({"type": "cut" if cut else "format_error", "text": error})
    if cut and count >= MOST_CUT:
        raise ReplyCut(f"length: {count} replies in a row were cut at their limit of tokens")
    if count >= MOST_FORMAT_ERRORS:
        last = "; the last was cut at its limit of tokens (length)" if state.get("cut") else ""
        raise TooManyFormatErrors(f"{count} replies in a row could not be read{last}")
    reminder = [{"role": "user", "content": error if cut else f"[Format error] {error}"}]
    answered = [
        {"role": "tool", "tool_call_id": call["id"], "content": "[Not run: format error]"}
        for call in state["messages"][-1].get("tool_calls", [])
    ]
    return {"messages": [*answered, *reminder], "format_errors": count, "error": ""}


async def finish(state: State, runtime: Context) -> Update:
    """End, or say once that the output file is missing."""
    context = runtime.context
    output = context.output_file
    if output and not state.get("reminded") and not (context.bench.workdir / output).is_file():
        context.tell({"type": "reminder", "text": output})
        text = f"[System check] The file `{output}` does not exist yet. Write it, then finish."
        return {
            "messages": [{"role": "user", "content": text}],
            "reminded": True,
            "answer": None,
        }
    context.tell({"type": "final", "answer": state.get("answer")})
    return {}


def after_thinking(state: State) -> str:
    """Choose the next node by the reply."""
    if state.get("error"):
        return "correct"
    if state.get("pending"):
        return "act"
    return END if state.get("settled") else "finish"


def after_finishing(state: State) -> str:
    """Back once when the output file was missing, else the end."""
    return "think" if state.get("answer") is None else END


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and ReactContext."""
    graph: Any = StateGraph(State, context_schema=ReactContext)
    return (
        graph.add_node("think", think)
        .add_node("act", act)
        .add_node("correct", correct)
        .add_node("finish", finish)
        .add_edge(START, "think")
        .add_conditional_edges("think", after_thinking, ["act", "correct", "finish", END])
        .add_edge("act", "think")
        .add_edge("correct", "think")
        .add_conditional_edges("finish", after_finishing, ["think", END])
    )


graph = build().compile(name="react")
