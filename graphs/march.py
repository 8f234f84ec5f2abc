"""MARCH: Solver, Proposer and Checker, of which the last never sees what the first wrote.

    solve ──► propose ──► blind ──► check ──► judge ──► END
      │          ▲ │                  │ ▲
      └ given ───┘ └► (again)         └─┘ windows and votes

The asymmetry is enforced three times: the nodes `propose` and `check` take their own part of the
state as input (a Proposer gets no documents, a Checker no response), a request to a Checker is a
type with questions and documents alone, and a vault compares what is sent with the response
(arXiv 2603.24579, section 3; leaks by wording are our addition).
"""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from harness.core import render
from harness.rag.check.blind import (
    MarchContext,
    ask_windows,
    blinded,
    judge_all,
    pairs_format,
    proposed,
    read_pairs,
    settled,
    solve_passages,
)
from harness.rag.check.types import Claim, Finding


class ProposerInput(TypedDict, total=False):
    """All that a Proposer gets."""

    asked: str
    response: str


class CheckerInput(TypedDict):
    """All that a Checker gets: questions, one list for each request."""

    questions: list[list[str]]


class State(ProposerInput, total=False):
    """Content of a checkpoint.

    Attributes:
        claims: all claims, as JSON.
        groups: positions of the claims of each request.
        questions: of each request.
        answers: for each request, window and sample, what was said to each question.
        reworded: questions that leaked and were replaced.
        settled: claim's place -> finding of the numeric engine, where it is mixed in.
        report: the report, as JSON.
    """

    claims: list[dict[str, Any]]
    groups: list[list[int]]
    questions: list[list[str]]
    answers: list[list[list[list[list[str] | None]]]]
    reworded: int
    settled: dict[str, dict[str, Any]]
    report: dict[str, Any]


Context = Runtime[MarchContext]
Update = dict[str, Any]


async def solve(state: State, runtime: Context) -> Update:
    """Answer from the documents, unless there is an answer to check."""
    if state.get("response"):
        return {}
    context = runtime.context
    prompt = render(
        "march_solve", asked=state.get("asked", ""), passages=solve_passages(context.documents)
    )
    messages = [{"role": "user", "content": prompt}]
    reply = await context.solver.complete(messages, sampling=context.sampling)
    context.tell({"type": "reply", "role": "solver", "messages": messages, "reply": reply})
    return {"response": reply.text.strip()}


async def propose(state: ProposerInput, runtime: Context) -> Update:
    """Take the response apart; an unreadable reply is asked for once more, then rules do it."""
    context = runtime.context
    question, response = state.get("asked", ""), state.get("response", "")
    prompt = render("march_propose", asked=question, response=response)
    messages = [{"role": "user", "content": prompt}]
    pairs = read_pairs("")
    for seed in (0, 1):
        sampling = context.sampling.model_copy(update={"seed": seed})
        reply = await context.proposer.complete(
            messages, sampling=sampling, response_format=pairs_format(context.proposer)
        )
        event = {"type": "reply", "role": "proposer", "messages": messages, "reply": reply}
        context.tell({**event, "again": seed > 0})
        pairs = read_pairs(reply.text)
        if pairs:
            break
    return {"claims": [claim.model_dump() for claim in proposed(response, question, pairs)]}


def blind(state: State, runtime: Context) -> Update:
    """Replace questions that leak, and divide them so that none answers another.

    Where engine and models are mixed, values that the engine is sure of are not asked for.
    """
    claims = [Claim.model_validate(claim) for claim in state.get("claims", [])]
    findings = settled(runtime.context, claims)
    index_of = {id(claim): index for index, claim in enumerate(claims)}
    open_claims = [claim for index, claim in enumerate(claims) if index not in findings]
    requests = blinded(open_claims, state.get("response", ""))
    runtime.context.vault.seal(
        state.get("response", ""), [list(group.values) for group in requests.groups]
    )
    return {
        "groups": [[index_of[id(claim)] for claim in group.claims] for group in requests.groups],
        "questions": [list(group.questions) for group in requests.groups],
        "reworded": requests.reworded,
        "settled": {str(n): finding.model_dump(mode="json") for n, finding in findings.items()},
    }


async def check(state: CheckerInput, runtime: Context) -> Update:
    """Ask every request over every window, `votes` times."""
    requests = [
        ask_windows(runtime.context, number, questions)
        for number, questions in enumerate(state["questions"])
    ]
    return {"answers": list(await asyncio.gather(*requests))}


def judge(state: State, runtime: Context) -> Update:
    """Compare claimed and found values, count votes, apply the policy."""
    claims = [Claim.model_validate(claim) for claim in state.get("claims", [])]
    settled_claims = state.get("settled", {})
    findings = {int(n): Finding.model_validate(value) for n, value in settled_claims.items()}
    report = judge_all(
        runtime.context, state.get("response", ""), claims, state.get("groups", []),
        state.get("answers", []), state.get("reworded", 0), findings,
    )  # fmt: skip
    runtime.context.tell({"type": "report", "report": report})
    return {"report": report.model_dump(mode="json")}


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and MarchContext."""
    graph: Any = StateGraph(State, context_schema=MarchContext)
    return (
        graph.add_node("solve", solve)
        .add_node("propose", propose, input_schema=ProposerInput)
        .add_node("blind", blind)
        .add_node("check", check, input_schema=CheckerInput)
        .add_node("judge", judge)
        .add_edge(START, "solve")
        .add_edge("solve", "propose")
        .add_edge("propose", "blind")
        .add_edge("blind", "check")
        .add_edge("check", "judge")
        .add_edge("judge", END)
    )


graph = build().compile(name="march")
