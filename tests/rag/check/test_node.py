"""The checker within a user's own LangGraph graph."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs

from harness.core import BadInput
from harness.rag.check.node import check_node, outcome
from harness.rag.retrieve import Document
from tests.models.http_server import serve
from tests.rag.check.pump import NOTES, WRONG, quoting


class State(TypedDict, total=False):
    question: str
    documents: list[str]
    answer: str
    check: dict[str, Any]
    tries: int


def answer(state: State) -> dict[str, Any]:
    """A model that is wrong once."""
    tries = state.get("tries", 0) + 1
    return {"answer": WRONG if tries == 1 else WRONG.replace("420", "320"), "tries": tries}


def graph() -> Any:
    """Answer, check, answer again where it fails: the example of docs/concepts/checking.md."""
    made: Any = StateGraph(State)
    made.add_node("answer", answer)
    made.add_node("check", check_node(verifier="rules"))
    made.add_edge(START, "answer")
    made.add_edge("answer", "check")
    again = {"PASS": END, "REVIEW": END, "INVALID": END, "FAIL": "answer"}
    made.add_conditional_edges("check", outcome(), again)
    return made.compile()


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_a_graph_answers_until_it_passes(how: str) -> None:
    given = {"question": "How much?", "documents": [NOTES]}
    done = graph().invoke(given) if how == "invoke" else asyncio.run(graph().ainvoke(given))
    assert done["check"]["verdict"] == "PASS"
    assert done["tries"] == 2
    assert json.loads(json.dumps(done["check"])) == done["check"]


def test_nothing_to_check_is_invalid_never_a_pass() -> None:
    node = check_node(verifier="rules")
    for state in ({}, {"answer": WRONG}, {"answer": " ", "documents": [NOTES]},
                  {"answer": WRONG, "documents": ["  "]}):  # fmt: skip
        assert node(state)["check"]["verdict"] == "INVALID"


def test_messages_and_documents_of_langchain_are_read() -> None:
    node = check_node(answer="messages", documents="context", into="report", verifier="rules")
    pieces = [
        SimpleNamespace(page_content=part, metadata={"source": "notes.md"})
        for part in NOTES.split(". ")
    ]
    message = SimpleNamespace(content=WRONG)
    for said in ([message], [{"role": "assistant", "content": WRONG}], WRONG):
        found = node({"messages": said, "context": pieces})["report"]
        assert found["verdict"] == "FAIL"
        assert {quote["doc"] for one in found["claims"] for quote in one["evidence"]} == {
            "notes.md#2"
        }
    assert node({"messages": WRONG, "context": Document("n", NOTES)})["report"]["verdict"] == "FAIL"
    assert node({"messages": WRONG, "context": [{"text": NOTES}]})["report"]["verdict"] == "FAIL"
    with pytest.raises(BadInput, match="documents"):
        node({"messages": WRONG, "context": [7]})


def test_blindly_with_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")

    with serve(quoting) as served:
        node = check_node(models=("openai/x",), base_url=served.url)
        found = node({"answer": WRONG, "documents": [NOTES]})["check"]
    assert found["verdict"] == "FAIL"
    assert found["calls"]["checker"] >= 1
