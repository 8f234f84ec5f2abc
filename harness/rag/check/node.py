"""The checker as a node of anybody's LangGraph graph, and the edge behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

from harness.core import BadInput
from harness.rag.check.checking import check, no_verdict, open_verifier
from harness.rag.check.types import Outcome, PolicyName, Verifier
from harness.rag.retrieve import Document

Node = Callable[[Mapping[str, Any]], dict[str, Any]]


def check_node(
    *,
    answer: str = "answer",
    documents: str = "documents",
    question: str = "question",
    into: str = "check",
    policy: PolicyName = "zero-tolerance",
    verifier: str | Verifier = "auto",
    models: Sequence[str] = (),
    votes: int = 1,
    base_url: str | None = None,
) -> Node:
    """A node that checks the answer in a graph's state and puts the report beside it.

    It only reads and adds plain JSON, works under `invoke` and `ainvoke`, and never raises for
    what a model wrote: no answer or no document gives `INVALID`, never a pass.

    Args:
        answer: key of the answer: a text, or messages, of which the last is checked.
        documents: key of what it rests on: texts, documents, or LangChain documents.
        question: key of what was asked; may be absent.
        into: key that gets the report (`check --json`), a dict.
        policy: how verdicts become an outcome.
        verifier: for a check without models.
        models: `[ROLE=]SPEC`: check blindly with models.
        votes: samples of the Checker.
        base_url: endpoint of `openai/` and `vllm/` models.

    Example:
        >>> node = check_node(verifier="rules")
        >>> state = {"answer": "It weighs 5 kg.", "documents": ["The pump weighs 7 kg."]}
        >>> node(state)["check"]["verdict"]
        'FAIL'
    """
    judge = open_verifier(verifier) if isinstance(verifier, str) and not models else verifier

    def node(state: Mapping[str, Any]) -> dict[str, Any]:
        text, query = _text(state.get(answer)), _text(state.get(question))
        sources = state.get(documents)
        if not isinstance(sources, list | tuple):
            sources = [] if sources is None else [sources]
        passages = [
            _document(value, n) for n, value in enumerate(cast("Sequence[Any]", sources), 1)
        ]
        if not text.strip() or not any(passage.text.strip() for passage in passages):
            missing = "answer" if not text.strip() else "document"
            report = no_verdict(f"the state holds no {missing}", policy)
        elif models:
            from harness.rag.check.blind import CheckSettings, check_blind

            settings = CheckSettings(policy=policy, votes=votes, base_url=base_url)
            report = check_blind(text, passages, models, settings, question=query)
        else:
            report = check(text, passages, question=query, policy=policy, verifier=judge)
        return {into: report.model_dump(mode="json")}

    return node


def outcome(into: str = "check") -> Callable[[Mapping[str, Any]], str]:
    """For `add_conditional_edges` behind the node: PASS, FAIL, REVIEW or INVALID."""

    def decide(state: Mapping[str, Any]) -> Literal["PASS", "FAIL", "REVIEW", "INVALID"]:
        return Outcome(state[into]["verdict"]).value

    return decide


def _text(value: Any) -> str:
    """A text, the content of a message, or that of the last message."""
    if isinstance(value, list | tuple):
        messages = cast("Sequence[Any]", value)
        return _text(messages[-1]) if messages else ""
    if isinstance(value, Mapping):
        return _text(cast("Mapping[str, Any]", value).get("content"))
    content = getattr(value, "content", value)
    return "" if content is None else str(content)


def _document(value: Any, number: int) -> Document:
    """A document of ours, of LangChain (`page_content`), a mapping with `text`, or a text.

    Documents of one source are numbered apart: a source may be in the state in many pieces.

    Raises:
        BadInput: for anything else.
    """
    if isinstance(value, Document):
        return value
    if isinstance(value, str):
        return Document(f"text-{number}", value)
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        text, source = fields.get("text", fields.get("page_content")), fields.get("source")
    else:
        text = getattr(value, "page_content", None)
        source = getattr(value, "metadata", {}).get("source")
    if not isinstance(text, str):
        raise BadInput(f"documents: expected texts or documents, got {value!r:.80}")
    return Document(f"{source}#{number}" if source else f"text-{number}", text)
