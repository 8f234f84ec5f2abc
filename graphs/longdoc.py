"""Questions about long documents: by compression, retrieval, both, truncation, or page by page.

    gather ──► answer ──► cite ──► END      one context stage chooses what the model reads
      │          ▲ └► act ─┘                 native tools: expand, search, read what was left out
      └──► page ─┘◄┐
             └─────┘                         paging: read, take a note, go on, then answer

The suite's tools decide how a context is made: `context:ARM[:TOKENS]` is a stage
(:mod:`harness.rag.tools.context`), `read` without one is paging, none of both is truncation. State
holds no documents: the context is made again from the work folder where a step needs it.
"""

from __future__ import annotations

import asyncio
from operator import add
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from harness.agents import ReactContext, TurnLimit, held, on_wire, run_calls
from harness.core import digest, render
from harness.rag.ask import cited_verdict
from harness.rag.tasks.reading import bare_question
from harness.rag.tools.documents import read_documents
from harness.rag.tools.passages import attribute, pages_of
from harness.tools import get_tools

# Tools that a model may call beside its context.
LOOKING = ("expand", "search", "read")


class Question(TypedDict):
    """The part of the state that every input has."""

    messages: Annotated[list[dict[str, Any]], add]


class State(Question, total=False):
    """Content of a checkpoint.

    Attributes:
        context: digest of what the stage chose; "" for paging.
        page: pages read so far.
        notes: what was written down about them.
        turns: model calls of the answering part.
        answer: the final answer, with citations behind it.
    """

    context: str
    page: int
    notes: Annotated[list[str], add]
    turns: int
    pending: list[dict[str, Any]]
    answer: str


Context = Runtime[ReactContext]
Update = dict[str, Any]


async def gather(state: State, runtime: Context) -> Update:
    """Let the context stage choose; nothing to do for paging."""
    context = runtime.context
    names = {tool.name for tool in context.tools}
    if "read" in names and "context" not in names:
        return {"context": "", "page": 0}
    text = await _chosen(state, context)
    context.tell({"type": "context", "text": text})
    return {"context": digest(text)}


async def _chosen(state: State, context: ReactContext) -> str:
    """Select context for the question with the suite's stage; the same every time."""
    tools = {tool.name: tool for tool in context.tools}
    stage = tools.get("context") or get_tools(["context:truncate"])[0]
    return await stage.call({"query": _question(state)}, context.bench)


def _question(state: State) -> str:
    """Return the question without the form of the answer, which would lead a search astray."""
    return bare_question(state["messages"][0]["content"])


async def page(state: State, runtime: Context) -> Update:
    """Read one page and note what helps."""
    context = runtime.context
    pages = pages_of(await asyncio.to_thread(read_documents, context.bench.workdir))
    read = state.get("page", 0)
    if read >= context.max_turns - 1:
        raise TurnLimit(f"{len(pages)} pages need more than the {context.max_turns} turns allowed")
    prompt = render(
        "longdoc_page",
        question=_question(state),
        notes=state.get("notes", []),
        page=pages[read].shown,
        number=read + 1,
        pages=len(pages),
    )
    messages = [{"role": "user", "content": prompt}]
    reply = await context.ask(messages)
    note = reply.text.strip()
    empty = note.lower().strip(" .-") in ("", "nothing")
    notes = [] if empty else [f"{pages[read].citation} {note}"]
    return {"page": read + 1, "notes": notes, "pending": [] if read + 1 >= len(pages) else [{}]}


async def answer(state: State, runtime: Context) -> Update:
    """Answer from the context or the notes; or ask for more with a native tool call."""
    context = runtime.context
    turns = state.get("turns", 0)
    if turns + state.get("page", 0) >= context.max_turns:
        raise TurnLimit(f"turn limit of {context.max_turns} reached")
    tools = [tool for tool in context.tools if tool.name in LOOKING]
    native = [tool.schema() for tool in tools] if context.protocol != "text" else []
    notes = "\n".join(state.get("notes", [])) or "[No page held anything of use]"
    prompt = render(
        "longdoc_answer",
        context=await _chosen(state, context) if state.get("context") else notes,
        question=state["messages"][0]["content"],
        protocol="native" if native else "text",
    )
    system = [{"role": "system", "content": context.skill}] if context.skill else []
    messages = [*system, {"role": "user", "content": prompt}, *state["messages"][1:]]
    reply = await context.ask(messages, native or None)
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if not (native and reply.tool_calls):
        return {
            "messages": [message],
            "answer": reply.text.strip(),
            "pending": [],
            "turns": turns + 1,
        }
    message["tool_calls"] = [on_wire(call) for call in reply.tool_calls]
    pending = [held(call) for call in reply.tool_calls]
    return {"messages": [message], "pending": pending, "turns": turns + 1}


async def act(state: State, runtime: Context) -> Update:
    """Run the tools that the reply asked for."""
    context = runtime.context
    looking = [tool for tool in context.tools if tool.name in LOOKING]
    messages = await run_calls(context, state.get("pending", []), looking)
    return {"messages": messages, "pending": []}


async def cite(state: State, runtime: Context) -> Update:
    """Add the citation of a passage that says what the answer says, where it has none; check it."""
    context = runtime.context
    text = state.get("answer", "")
    documents = await asyncio.to_thread(read_documents, context.bench.workdir)
    cited = await asyncio.to_thread(attribute, text, _question(state), documents)
    verdict = await asyncio.to_thread(cited_verdict, _question(state), cited, documents)
    context.tell({"type": "check", "verdict": verdict})
    context.tell({"type": "final", "answer": cited})
    return {"answer": cited}


def after_gathering(state: State) -> str:
    """Paging, or the answer."""
    return "answer" if state.get("context") else "page"


def after_page(state: State) -> str:
    """The next page, or the answer after the last."""
    return "page" if state.get("pending") else "answer"


def after_answering(state: State) -> str:
    """Tools first, then the answer again."""
    return "act" if state.get("pending") else "cite"


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and ReactContext."""
    graph: Any = StateGraph(State, context_schema=ReactContext)
    return (
        graph.add_node("gather", gather)
        .add_node("page", page)
        .add_node("answer", answer)
        .add_node("act", act)
        .add_node("cite", cite)
        .add_edge(START, "gather")
        .add_conditional_edges("gather", after_gathering, ["answer", "page"])
        .add_conditional_edges("page", after_page, ["page", "answer"])
        .add_conditional_edges("answer", after_answering, ["act", "cite"])
        .add_edge("act", "answer")
        .add_edge("cite", END)
    )


graph = build().compile(name="longdoc")
