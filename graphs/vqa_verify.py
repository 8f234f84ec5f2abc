"""Questions about images, solved several times; the solution whose premises hold is taken (EVPV).

    perceive ──► plan ──► look … ──► solve ──► extract ──► verify ──► choose ──► END
                                       │
                                       └► reason ⇄ correct, if no solution could be read

The candidates share description and checklist, the steps that come before in `vqa.py`. An
extractor that sees no candidate writes down what the image shows, every premise of every candidate
is audited against that, a judge scores the steps, and the scores of steps that rest on the image
are multiplied by the reliability of the premises before they are compared
(:mod:`harness.vision.premises`). Calls of the verification use up no turn; budgets count them.
"""

from __future__ import annotations

import asyncio
from operator import add
from typing import Annotated, Any

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from harness.agents import ReactContext
from harness.core import assets
from harness.vision.agent import VisualState, ask, packed_images, question_of, solving_prompt
from harness.vision.premises import (
    Constraints,
    Solution,
    Verified,
    best_of,
    extract_constraints,
    read_solution,
    solution_score,
    verify,
)

# Solutions of a question, where the turns of the suite allow as many.
CANDIDATES = 4
# Of all candidates but the first: greedy ones would be equal.
LEAST_TEMPERATURE = 0.7
AGGREGATOR = "geometric_mean"

_vqa = assets.load_module(assets.find("graphs/vqa.py"))
Context = Runtime[ReactContext]
Update = dict[str, Any]


class State(VisualState, total=False):
    """Content of a checkpoint, beyond the state of `vqa.py`.

    Attributes:
        candidates: solutions, as JSON.
        constraints: what the image shows, as JSON; None if it could not be read.
        verdicts: one a candidate, as JSON.
    """

    candidates: Annotated[list[dict[str, Any]], add]
    constraints: dict[str, Any] | None
    verdicts: list[dict[str, Any]]


async def solve(state: State, runtime: Context) -> Update:
    """Solve the question several times; what cannot be read is dropped."""
    context, turns = runtime.context, state.get("turns", 0)
    packed, prompt = await packed_images(context), solving_prompt(state)
    count = max(1, min(CANDIDATES, context.max_turns - turns))
    warm = max(LEAST_TEMPERATURE, context.sampling.temperature or 0.0)
    seed = context.sampling.seed or 0
    solutions: list[dict[str, Any]] = []
    for number in range(count):
        varied = {"temperature": warm, "seed": seed + number}
        sampling = context.sampling.model_copy(update=varied if number else {})
        text, _ = await ask(context, prompt, packed, turns=turns + number, sampling=sampling)
        if (solution := read_solution(text)) is not None:
            solutions.append(solution.model_dump(mode="json"))
    return {"candidates": solutions, "turns": count}


async def extract(state: State, runtime: Context) -> Update:
    """Write down what the image shows, without a solution in sight."""
    context = runtime.context
    parts = (await packed_images(context)).parts()
    question = question_of(state)
    constraints = await extract_constraints(context.model, parts, question, context.sampling)
    return {"constraints": None if constraints is None else constraints.model_dump(mode="json")}


async def check(state: State, runtime: Context) -> Update:
    """Audit the premises of every candidate, and judge its steps."""
    held = state.get("constraints")
    if held is None:
        reason = "the constraints could not be read"
        invalid = [Verified(solution=solution, invalid=reason) for solution in _candidates(state)]
        return {"verdicts": [verdict.model_dump(mode="json") for verdict in invalid]}
    context, constraints = runtime.context, Constraints.model_validate(held)
    parts = (await packed_images(context)).parts()
    question = question_of(state)
    verdicts = await asyncio.gather(
        *(
            verify(context.model, parts, question, solution, constraints=constraints,
                   sampling=context.sampling)
            for solution in _candidates(state)
        )
    )  # fmt: skip
    return {"verdicts": [verdict.model_dump(mode="json") for verdict in verdicts]}


def choose(state: State, runtime: Context) -> Update:
    """Take the candidate with the best gated score; the first, where none could be verified."""
    verdicts = [Verified.model_validate(verdict) for verdict in state.get("verdicts", [])]
    best = best_of(verdicts, AGGREGATOR)
    solution = _candidates(state)[best or 0]
    candidates = [
        {
            "answer": verdict.solution.answer,
            "reliability": verdict.reliability,
            "score": solution_score(verdict, AGGREGATOR),
            "invalid": verdict.invalid,
        }
        for verdict in verdicts
    ]
    runtime.context.tell({"type": "chosen", "candidates": candidates, "chosen": best})
    return {"solution": solution.model_dump(mode="json"), "answer": solution.answer}


def after_solve(state: State) -> str:
    """One readable candidate is enough to go on."""
    return "extract" if state.get("candidates") else "reason"


def to_candidates(state: State) -> Update:
    """A solution that was only readable after correction is the one candidate."""
    return {"candidates": [state.get("solution", {})]}


def _candidates(state: State) -> list[Solution]:
    return [Solution.model_validate(solution) for solution in state.get("candidates", [])]


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and ReactContext."""
    graph: Any = StateGraph(State, context_schema=ReactContext)
    for name in ("perceive", "plan", "look", "tool", "reason", "correct", "answer"):
        graph.add_node(name, getattr(_vqa, name))
    graph.add_node("solve", solve)
    graph.add_node("keep", to_candidates)
    graph.add_node("extract", extract)
    graph.add_node("verify", check)
    graph.add_node("choose", choose)
    graph.add_edge(START, "perceive")
    graph.add_edge("perceive", "plan")
    targets = {"look": "look", "reason": "solve", "tool": "tool"}
    graph.add_conditional_edges("plan", _vqa.after_plan, targets)
    graph.add_conditional_edges("look", _vqa.after_look, targets)
    graph.add_edge("tool", "look")
    graph.add_conditional_edges("solve", after_solve, ["extract", "reason"])
    graph.add_conditional_edges(
        "reason", _vqa.after_reason, {"answer": "keep", "correct": "correct"}
    )
    graph.add_edge("correct", "reason")
    graph.add_edge("keep", "extract")
    graph.add_edge("extract", "verify")
    graph.add_edge("verify", "choose")
    graph.add_edge("choose", "answer")
    graph.add_edge("answer", END)
    return graph


graph = build().compile(name="vqa_verify")
