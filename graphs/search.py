"""Multi-hop question answering over an index: look, note what was found, look again, answer.

    think ──► look ──► note ──► think …     a query or a document; evidence notes with citations
      │  └──► correct ──► think             a reply that cannot be read
      └─────► finish ──► END                the answer with its citations, checked

The model writes plain lines (`Search: …`, `Read: …`, `Answer: …`), so any model can take part.
Notes replace the passages they were taken from, so that the prompt stays short over many hops
(compare IRCoT, Trivedi et al. 2023).
"""

from __future__ import annotations

import asyncio
import re
from operator import add
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from harness.agents import MOST_FORMAT_ERRORS, ReactContext, TooManyFormatErrors
from harness.core import render
from harness.rag.ask import cited_verdict
from harness.rag.tasks.reading import bare_question
from harness.rag.tools.documents import read_documents
from harness.tools import ToolArgumentError, get_tools

# Searches and readings of one attempt, where the turns of the suite allow more.
MOST_LOOKS = 8
LINE = re.compile(r"^\W*(search|read|answer)\W*?:[\s*_]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
ARGUMENT = {"search": "query", "read": "document"}


class Question(TypedDict):
    """The part of the state that every input has."""

    messages: Annotated[list[dict[str, Any]], add]


class State(Question, total=False):
    """Content of a checkpoint.

    Attributes:
        notes: evidence with citations, one entry per look.
        queries: what was looked for.
        pending: tool and its argument, chosen by the last step.
        found: what it returned.
        format_errors: replies in a row that could not be read.
        answer: the final answer.
    """

    notes: Annotated[list[str], add]
    queries: Annotated[list[str], add]
    pending: list[str]
    found: str
    format_errors: int
    answer: str


Context = Runtime[ReactContext]
Update = dict[str, Any]


async def think(state: State, runtime: Context) -> Update:
    """Choose the next look, or answer."""
    context = runtime.context
    queries = state.get("queries", [])
    system = render(
        "search_step",
        skill=context.skill,
        notes=state.get("notes", []),
        queries=queries,
        last=len(queries) >= _most_looks(context),
    )
    messages = [{"role": "system", "content": system}, *state["messages"]]
    reply = await context.ask(messages)
    line = LINE.search(reply.text)
    kind, argument = (line[1].lower(), line[2].strip()) if line else ("", "")
    if kind == "answer":
        return {"answer": argument, "pending": [], "format_errors": 0}
    if not kind or len(queries) >= _most_looks(context):
        message = {"role": "assistant", "content": reply.text}
        count = state.get("format_errors", 0) + 1
        return {"messages": [message], "pending": [], "format_errors": count}
    return {"pending": [kind, argument], "format_errors": 0}


def _most_looks(context: ReactContext) -> int:
    """A look takes two calls, the answer one."""
    return max(1, min(MOST_LOOKS, (context.max_turns - 1) // 2))


async def look(state: State, runtime: Context) -> Update:
    """Search, or read a document."""
    context = runtime.context
    name, argument = state.get("pending", ["search", ""])
    arguments: dict[str, Any] = {ARGUMENT[name]: argument}
    context.tell({"type": "tool", "id": "text", "name": name, "arguments": arguments})
    # The suite's tool of that name, or ours: the graph always needs both.
    offered = {tool.name: tool for tool in context.tools}
    try:
        tool = offered.get(name) or get_tools([name])[0]
        passages = await tool.call(arguments, context.bench)
    except ToolArgumentError as error:
        passages = f"[Error: {error}]"
    context.tell({"type": "observation", "id": "text", "text": passages})
    return {"found": passages, "queries": [argument]}


async def note(state: State, runtime: Context) -> Update:
    """Write down what of the passages helps, with citations."""
    context = runtime.context
    prompt = render(
        "search_note",
        question=bare_question(state["messages"][0]["content"]),
        query=state.get("queries", [""])[-1],
        found=state.get("found", ""),
    )
    messages = [{"role": "user", "content": prompt}]
    reply = await context.ask(messages)
    return {"notes": [reply.text.strip() or "- nothing"], "pending": [], "found": ""}


def correct(state: State, runtime: Context) -> Update:
    """Tell the model that its reply could not be read."""
    text = "Reply with one line that begins with Search:, Read: or Answer:."
    if len(state.get("queries", [])) >= _most_looks(runtime.context):
        text = "You cannot search any more. Reply with one line that begins with Answer:."
    runtime.context.tell({"type": "format_error", "text": text})
    count = state.get("format_errors", 0)
    if count >= MOST_FORMAT_ERRORS:
        raise TooManyFormatErrors(f"{count} replies in a row could not be read")
    return {"messages": [{"role": "user", "content": f"[Format error] {text}"}]}


async def finish(state: State, runtime: Context) -> Update:
    """End with the answer, and say whether the passages that it cites bear it out."""
    context, text = runtime.context, state.get("answer", "")
    documents = await asyncio.to_thread(read_documents, context.bench.workdir)
    question = bare_question(state["messages"][0]["content"])
    verdict = await asyncio.to_thread(cited_verdict, question, text, documents)
    context.tell({"type": "check", "verdict": verdict})
    context.tell({"type": "final", "answer": text})
    return {}


def after_thinking(state: State) -> str:
    """Choose the next node by the reply."""
    if state.get("answer"):
        return "finish"
    return "look" if state.get("pending") else "correct"


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and ReactContext."""
    graph: Any = StateGraph(State, context_schema=ReactContext)
    return (
        graph.add_node("think", think)
        .add_node("look", look)
        .add_node("note", note)
        .add_node("correct", correct)
        .add_node("finish", finish)
        .add_edge(START, "think")
        .add_conditional_edges("think", after_thinking, ["look", "correct", "finish"])
        .add_edge("look", "note")
        .add_edge("note", "think")
        .add_edge("correct", "think")
        .add_edge("finish", END)
    )


graph = build().compile(name="search")
