"""The judge of planted worlds: it knows every wording of its grammar, and no other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import cycle, product
from random import Random

import pytest

from lab.worlds import (
    Judge,
    Range,
    Sign,
    World,
    attempt,
    hear,
    load_ranges,
    make_world,
    stances,
    tasks,
    visible,
)
from lab.worlds.grammar import Action, Voice, conjugated, finished
from lab.worlds.world import FOLDER

ENTRIES = len(json.loads((FOLDER / "words.json").read_text())["signs"])


@pytest.fixture(scope="module")
def everything() -> World:
    """A world with every sign as a cause."""
    none, every = Range(low=0, high=0), Range(low=ENTRIES, high=ENTRIES)
    ranges = load_ranges() | {"causes": every, "friends": none, "habits": none, "traps": none}
    return make_world(2_000_000, ranges)


def actions(world: World, patterns: tuple[str, ...], sign: Sign) -> list[Action]:
    """All wordings of an action, without determiners."""
    every: list[Action] = []
    for pattern in patterns:
        head, tail = pattern.split("~")
        parts = re.split(r"\[([^][]*)\]", tail)
        choices = [part.split("|") if index % 2 else [part] for index, part in enumerate(parts)]
        for verb, object_, chosen in product(
            head.strip().split("/"), sign.objects, product(*choices)
        ):
            every.append(conjugated(verb, object_, "".join(chosen), world.words.irregular))
    return every


def wordings(world: World, sign: Sign) -> Iterator[tuple[str, bool]]:
    """(lesson, whether it is a remedy): every action of the sign in some frame, and every frame."""
    frames = world.words.lessons
    right, wrong = (actions(world, patterns, sign) for patterns in (sign.right, sign.wrong))
    for good, bad in zip(right, cycle(wrong)):
        for number, kind in enumerate(("ask", "forbid", "instead")):
            frame = frames[kind][hash_of(good.base) % len(frames[kind])]
            first, second = (good, bad) if kind != "forbid" else (bad, good)
            yield frame.format_map(first.fields() | second.fields("not_")), True
            yield frame.format_map(second.fields() | first.fields("not_")), False
            assert number < 3
    for kind, templates in frames.items():
        for frame in templates:
            good, bad = Random(frame).choice(right), Random(frame).choice(wrong)
            first, second = (good, bad) if kind != "forbid" else (bad, good)
            yield frame.format_map(first.fields() | second.fields("not_")), True
            yield frame.format_map(second.fields() | first.fields("not_")), False


def hash_of(text: str) -> int:
    return Random(text).randrange(1000)


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.full)])
def test_every_wording_says_its_sign_and_stance_and_no_other(everything: World, every: int) -> None:
    wrong = [
        (sign.name, remedy, line, meaning)
        for sign in everything.signs
        for number, (line, remedy) in enumerate(wordings(everything, sign), hash_of(sign.name))
        if number % every == 0
        and (meaning := stances(everything, f"- {finished(line)}")) != {sign.name: remedy}
    ]
    assert wrong == []


def test_conditions_asides_and_reasons_change_nothing(everything: World) -> None:
    words, chance = everything.words, Random(7)
    wrong: list[tuple[str, str]] = []
    for sign in everything.signs:
        lines = list(wordings(everything, sign))
        kind = chance.choice(everything.kinds)
        before = (
            *words.prefixes,
            *(text.format(noun=noun) for text in words.by_kind for noun in kind.noun),
            *(text.format(object=sign.objects[0]) for text in words.by_object),
        )
        for prefix in before:
            line, remedy = chance.choice(lines)
            text = finished(
                f"{prefix}{line}{chance.choice(words.suffixes)}{chance.choice(words.asides)}"
            )
            if stances(everything, f"- **{sign.objects[0]}**: {text}") != {sign.name: remedy}:
                wrong.append((sign.name, text))
    assert wrong == []


def test_a_line_may_be_set_in_other_ways(everything: World) -> None:
    """A merge may cut asides, put the condition first, use capitals."""
    for sign in everything.signs:
        good = actions(everything, sign.right, sign)[0]
        bad = actions(everything, sign.wrong, sign)[0]
        tail = good.base.partition(good.object)[2]
        verb = good.base.partition(f" {good.object}")[0]
        lines = [
            (f"- AVOID: {bad.ing}.", True),
            (f"- AVOID {good.ing}.", False),
            (f"* **When totals are asked for**: {good.base} (support 5)", True),
            (f"1. When totals are asked for: never {good.base}", False),
            (f"- {good.base.upper()}", True),
            (f"- Do **not** {bad.base}!", True),
            (f"- {finished(bad.base)} [3 tasks]", False),
            (f"- {good.object.capitalize()}: {verb}{tail}.", True),
            (f"- {good.object.capitalize()}: don't {verb} them{tail}.", False),
        ]
        wrong = [line for line, stance in lines if stances(everything, line) != {sign.name: stance}]
        assert wrong == []


def test_a_world_of_ones_own_may_use_capitals(everything: World) -> None:
    sign = everything.signs[0].model_copy(
        update={"objects": ("VAT rates",), "right": ("Round ~ to [Full Percent]",)}
    )
    world = World.model_validate(everything.model_dump() | {"signs": [sign.model_dump()]})
    assert stances(world, "- Always round the VAT rates to full percent.") == {sign.name: True}


def test_advice_about_nothing_says_nothing(everything: World) -> None:
    voice = Voice(everything.words, Random(1), 0.0)
    lines = [finished(voice.text(text)) for text in everything.words.idle for _ in range(5)]
    lines += [finished(text) for text in everything.words.routine]
    assert [line for line in lines if stances(everything, line)] == []


def remedy(world: World, sign: Sign) -> str:
    """A line that says the remedy of a sign."""
    action = actions(world, sign.right, sign)[0]
    return f"- {finished(action.base)}"


def opposite(world: World, sign: Sign) -> str:
    """A line that says the opposite."""
    action = actions(world, sign.right, sign)[0]
    return f"- Never {action.base}."


def judged(world: World) -> Judge:
    train = [attempt(world, task) for task in tasks(world, 200, "train")]
    return Judge(world, tasks(world, 200, "held-out"), visible(train))


def sure(seed: int, **more: object) -> World:
    """A world whose agent does what it is told and fails for no other reason."""
    changes = {"noise": 0.0, "luck": 0.0, "obeys": 1.0, "distraction": 0.0} | more
    return World.model_validate(json.loads(make_world(seed).model_dump_json()) | changes)


@pytest.mark.parametrize("seed", range(8))
def test_a_skill_with_all_remedies_passes_everything(seed: int) -> None:
    world = sure(seed)
    harmful = [sign for sign in world.signs if sign.harmful]
    skill = "\n".join(remedy(world, sign) for sign in harmful)
    measures = judged(world).measure(skill)
    assert (measures.passed, measures.recall, measures.precision) == (1.0, 1.0, 1.0)
    assert (measures.rules, measures.distinct, measures.harm) == (len(harmful), len(harmful), 0)
    assert judged(world).measure("").passed < 1.0


@pytest.mark.parametrize("seed", range(8))
def test_opposites_hurt_and_a_majority_of_remedies_outvotes_them(seed: int) -> None:
    world = sure(seed)
    judge = judged(world)
    causes = [sign for sign in world.signs if sign.role == "cause"]
    wrong = "\n".join(opposite(world, sign) for sign in causes)
    right = "\n".join(remedy(world, sign) for sign in causes)
    measures = judge.measure(wrong)
    assert measures.passed < judge.measure("").passed
    assert (measures.harm, measures.precision, measures.recall) == (len(causes), 0.0, 0.0)
    three_to_one = judge.measure("\n".join([right, wrong, right, right]))
    assert measures.passed < three_to_one.passed < judge.measure(right).passed
    assert hear(world, f"{right}\n{wrong}").advice == {sign.name: 0.5 for sign in causes}


def test_useless_lines_cost_as_much_as_their_length() -> None:
    world = sure(3, distraction=0.1)
    judge = judged(world)
    useless = "\n".join(["- Keep the code short."] * 400)
    short, long = judge.measure(""), judge.measure(useless)
    assert long.tokens > 2000
    expected = short.passed * (1 - 0.1 * long.tokens / 1000)
    assert long.passed == pytest.approx(expected, abs=0.1)
    assert judged(sure(3)).measure(useless).passed == judged(sure(3)).measure("").passed


def test_what_a_line_is_worth_in_the_measures() -> None:
    worlds = [sure(seed) for seed in range(20)]
    world = next(
        world for world in worlds if {"cause", "friend", "habit"} <= {s.role for s in world.signs}
    )
    first = {sign.role: sign for sign in reversed(world.signs)}
    lines = [
        "- [Further rules](references/further-rules.md)",
        remedy(world, first["cause"]),
        remedy(world, first["cause"]).upper(),
        remedy(world, first["habit"]),
        "- Be careful with the data.",
    ]
    measures = judged(world).measure("# Desk\n\n" + "\n".join(lines))
    assert (measures.rules, measures.distinct, measures.precision) == (4, 3, 0.5)
    assert not measures.friend
    assert judged(world).measure(opposite(world, first["friend"])).friend
