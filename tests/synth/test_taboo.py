"""Adversarial Taboo: golden vectors, forms of a word, and 1,000 games without a leak."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.games import graph as taboo
from examples.games.taboo import (
    Table,
    Utterance,
    WordLeaked,
    forms,
    guess_of,
    holds,
    outcome,
    rewards,
)
from harness.core import Unreachable
from harness.models import Message, Sampling
from lab.worlds.models import FunctionModel
from tests.synth.cases import down, run

Rows = list[tuple[list[Utterance], str]]
WORDS = ("dog", "run", "bake", "pony", "bus", "river")


def said(*contents: str) -> list[Utterance]:
    return [
        Utterance(role="defender" if n % 2 else "attacker", content=text)
        for n, text in enumerate(contents)
    ]


@pytest.mark.shared
def test_golden_spag(shared: Path) -> None:
    golden = json.loads((shared / "golden/spag.json").read_text())
    games = {
        name: [Utterance(role=row["role"], content=row["content"]) for row in rows]
        for name, rows in golden["games"].items()
    }
    for name, expected in golden["outcome"].items():
        assert outcome(games[name], "dog") == tuple(expected), name
    names = list(games)
    rows = rewards([(games[name], "dog") for name in names])
    shown = [
        {"target": games[names[row.game]][row.turn].content, "reward": round(row.reward, 6),
         "role": row.role, "weight": row.weight}
        for row in rows
    ]  # fmt: skip
    expected = [{k: v for k, v in row.items() if k != "query"} for row in golden["rewards"]]
    assert shown == expected


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("Dogs are nice", "dog", True), ('a "dog"!', "dog", True), ("d-o-g", "dog", True),
        ("D. O. G.", "dog", True), ("do\u200bg", "dog", True), ("dógs", "dog", True),
        ("hotdog and dogma", "dog", False), ("the dogging", "dog", True),
        ("running", "run", True), ("runt", "run", False), ("baking, baked", "bake", True),
        ("ponies", "pony", True), ("buses", "bus", True), ("business", "bus", False),
        ("", "dog", False), ("rivers", "river", True), ("driver", "river", False),
    ],
)  # fmt: skip
def test_forms_of_a_word(text: str, word: str, expected: bool) -> None:
    assert holds(text, word) is expected


@given(st.sampled_from(WORDS), st.text(max_size=20))
def test_a_text_with_the_word_holds_it(word: str, other: str) -> None:
    for form in forms(word):
        assert holds(f"x {form.upper()}, {other}", word)


def test_one_guess_decides() -> None:
    assert guess_of("Well, I know the word! It's a pony.") is not None
    assert guess_of("I know it") is None
    for text, expected in (
        ("I know the word! It is the pony.", "defender wins"),
        ("I know the word! It is ponies", "defender wins"),
        ("I know the word! It is pony or dog", "attacker wins"),  # one guess only
        ("I know the word! It is", "attacker wins"),
        ("Is it a pony?", "attacker wins"),
        ("Hm.", "tied game"),
    ):
        assert outcome(said("What do you ride?", text), "pony")[0] == expected, text
    assert outcome(said("I know the word! It is dog"), "pony")[0] == "attacker breaks the rules"


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["win", "lose", "tie"])), max_size=20))
def test_rewards_sum_to_one_and_roles_weigh_alike(plans: list[tuple[int, str]]) -> None:
    games: Rows = []
    for length, end in plans:
        last = {"win": "I know the word! It is dog", "lose": "my dog", "tie": "hm"}[end]
        games.append((said(*["a", "b"] * length, "a", last), "dog"))
    rows = rewards(games)
    for number, (_, end) in enumerate(plans):
        mine = [row for row in rows if row.game == number]
        assert sum(row.reward for row in mine) == pytest.approx(0 if end == "tie" else 1)
        assert [row.reward for row in mine] == sorted(row.reward for row in mine)
    roles = {row.role for row in rows}
    won = {row.game for row in rows}
    for role in roles:
        weights = {row.game: row.weight for row in rows if row.role == role}
        assert sum(weights.values()) == pytest.approx(len(won) / 2)


def play(word: str, attacker: Any, defender: Any) -> tuple[dict[str, Any], FunctionModel]:
    models = FunctionModel(attacker), FunctionModel(defender)
    graph = taboo.graph
    return run(graph.ainvoke({"word": word}, context=Table(*models, sealed=word))), models[1]


@pytest.mark.parametrize("games", [100, pytest.param(1000, marks=pytest.mark.full)])
def test_no_defender_prompt_holds_the_word_and_every_outcome_occurs(games: int) -> None:
    results: set[str] = set()
    for number in range(games):
        rng = Random(number)
        word = rng.choice(WORDS)

        def attack(
            messages: list[Message], sampling: Sampling | None, word: str = word, rng: Random = rng
        ) -> str:
            assert any(word in row["content"] for row in messages)
            leak = rng.choice([*sorted(forms(word)), "-".join(word), f'"{word}"', word.upper()])
            return f"Think of {leak}." if rng.random() < 0.15 else "What is it that you like?"

        def defend(
            messages: list[Message], sampling: Sampling | None, word: str = word, rng: Random = rng
        ) -> str:
            return rng.choice(
                ["Hm.", "I do not know.", f"I like my {word}.", f"I know the word! It is {word}",
                 "I know the word! It is moon", "Tell me more."]
            )  # fmt: skip

        end, defender = play(word, attack, defend)
        results.add(end["outcome"])
        texts = [row["content"] for messages in defender.requests for row in messages]
        assert not any(holds(text, word) or word in text.lower().split() for text in texts)
        assert len(end["said"]) <= 10
    assert results == {
        "defender wins", "attacker wins", "attacker breaks the rules", "tied game",
    }  # fmt: skip


def asks(messages: list[Message], sampling: Sampling | None) -> str:
    return "What barks?"


def mumbles(messages: list[Message], sampling: Sampling | None) -> str:
    return "Hm."


def test_the_views_differ_and_an_outage_is_no_outcome() -> None:
    end, defender = play("dog", asks, mumbles)
    assert end["outcome"] == "tied game"
    assert [row["role"] for row in defender.requests[1]] == ["system", "user", "assistant", "user"]
    end, _ = play("dog", asks, down)
    assert end["outcome"].startswith("invalid: Unreachable")
    assert Unreachable.exit_code == 4


def test_the_vault_refuses_a_request_that_holds_the_word() -> None:
    table = Table(FunctionModel(down), FunctionModel(down), sealed="dog")
    with pytest.raises(WordLeaked):
        run(table.speak("defender", "rules", said("Look at the dogs.")))
