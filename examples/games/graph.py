"""Adversarial Taboo (SPAG, arXiv 2404.10642): two players with two views.

    attack ──► referee ──► defend ──► referee ──► attack …      five utterances each, at most
                  │                      │
                  └────────► END ◄───────┘

The attacker knows a word, the defender must not learn it. The asymmetry is enforced three times:
the node `defend` takes the part of the state without the word as its input, the referee ends a
game whose attacker utters the word before the defender reads it, and the vault refuses a request
that holds it.
"""

from __future__ import annotations

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from examples.games.taboo import TURNS, Role, Table, Utterance, outcome
from harness.core import render
from harness.synth.types import Unjudged


class Public(TypedDict, total=False):
    """State that both see.

    Attributes:
        said: utterances, as JSON.
    """

    said: list[dict[str, str]]


class State(Public, total=False):
    """Content of a checkpoint.

    Attributes:
        word: that the attacker knows.
        outcome: at the end; `invalid` where a player could not be asked.
    """

    word: str
    outcome: str


Context = Runtime[Table]
Update = dict[str, Any]


async def attack(state: State, runtime: Context) -> Update:
    """Lead the talk towards the word, without uttering it."""
    system = render("taboo_attack", word=state.get("word", ""), left=_left(state))
    return await _utter(state, runtime, "attacker", system)


async def defend(state: Public, runtime: Context) -> Update:
    """Answer, and guess the word when it is clear; this view has no word."""
    return await _utter(state, runtime, "defender", render("taboo_defend", left=_left(state)))


def referee(state: State) -> Update:
    """Decide the game by rule after each utterance."""
    if state.get("outcome"):
        return {}
    game = _game(state)
    result, _ = outcome(game, state.get("word", ""))
    over = result != "tied game" or len(game) >= 2 * TURNS
    return {"outcome": result} if over else {}


def onwards(state: State) -> str:
    """The other player's turn, or the end."""
    if state.get("outcome"):
        return END
    return "defend" if len(state.get("said", [])) % 2 else "attack"


def _game(state: Public) -> list[Utterance]:
    return [Utterance.model_validate(row) for row in state.get("said", [])]


def _left(state: Public) -> int:
    return TURNS - len(state.get("said", [])) // 2


async def _utter(state: Public, runtime: Context, role: Role, system: str) -> Update:
    """Ask a player and record its utterance; the outcome where it could not be asked."""
    try:
        text = await runtime.context.speak(role, system, _game(state))
    except Unjudged as error:
        return {"outcome": f"invalid: {error}"}
    return {"said": [*state.get("said", []), {"role": role, "content": text}]}


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and Table."""
    graph: Any = StateGraph(State, context_schema=Table)
    return (
        graph.add_node("attack", attack)
        .add_node("defend", defend, input_schema=Public)
        .add_node("referee", referee)
        .add_edge(START, "attack")
        .add_edge("attack", "referee")
        .add_edge("defend", "referee")
        .add_conditional_edges("referee", onwards, ["attack", "defend", END])
    )


graph = build().compile(name="taboo")
