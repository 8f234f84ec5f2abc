"""The one-call answerer, for small models: a question in, a short answer out.

    answer ──► END

The worked examples of the skill are played as turns before the task, after one exchange that
shows the form of a reply to a model that has no skill yet.
"""

from __future__ import annotations

from dataclasses import replace
from operator import add
from typing import Annotated, Any, NotRequired, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from harness.agents import ReactContext, read_answer, split_examples

FORM = (
    {
        "role": "user",
        "content": "Text: Milo has three dogs.\nQuestion: How many dogs does Milo have?\nAnswer:",
    },
    {"role": "assistant", "content": "three"},
)
"""One exchange in every conversation, with a skill and without."""


class State(TypedDict):
    """Content of a checkpoint."""

    messages: Annotated[list[dict[str, Any]], add]
    answer: NotRequired[str]


async def answer(state: State, runtime: Runtime[ReactContext]) -> dict[str, Any]:
    """Ask the model once."""
    context = runtime.context
    plain = replace(context, tools=(), output_file="")  # one call can use no tool
    system, examples = split_examples(plain.system_prompt())
    messages = [{"role": "system", "content": system}, *FORM, *examples, *state["messages"]]
    reply = await plain.ask(messages, form=plain.reply_format)
    message = {"role": "assistant", "content": reply.text}
    typed = plain.protocol == "json" and plain.answer_schema is not None
    return {
        "messages": [message],
        "answer": read_answer(reply.text) if typed else reply.text.strip(),
    }


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and ReactContext."""
    graph: Any = StateGraph(State, context_schema=ReactContext)
    return graph.add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END)


graph = build().compile(name="answer")
