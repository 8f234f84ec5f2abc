"""Analysts of a world: one record for each run, right or wrong at a given rate."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from harness.evolve import AnalystRecord, MemoryItem
from harness.evolve.types import MAX_ITEMS
from lab.worlds.grammar import Voice, finished
from lab.worlds.runs import Attempt, Shown, sentence_of
from lab.worlds.world import Kind, Sign, World

IDLE_SHARE = 0.5
"""Of the invented lessons, those about nothing; the others are about a sign that was not seen."""
PART = 6
"""Words of a quote that is a part of its sentence."""
TITLE = 4


class Belief(NamedTuple):
    """Conclusion that an analyst draws from a run.

    Attributes:
        quote: what it points to.
        sign: what its lesson is about; None for a lesson about nothing.
        right: whether the lesson asks for the right action; else for the wrong one.
    """

    quote: str
    sign: Sign | None
    right: bool = True


def analyse(world: World, run: Attempt, error: float) -> AnalystRecord:
    """Write an analyst's record of an attempt.

    An analyst sees one run. Of a failure it knows what struck, unless it errs, but it also blames
    behaviours that look wrong and did no harm (`tempted`) and recommends what was done rightly
    (`advised`). Of a success it cannot tell what mattered, and praises what it sees (`praised`).

    Args:
        world: with the multiples of the error rate.
        run: the attempt.
        error: rate of errors: causes missed, mixed up or turned into their opposite, lessons
            invented.
    """
    name = run.task.task.id
    chance = Random(f"analyst {world.seed} {name} {error} {[shown.sign for shown in run.shown]}")
    voice = Voice(world.words, chance, world.steepness)
    beliefs: list[Belief] = []
    for shown in sorted(run.shown, key=lambda shown: not shown.struck):
        sign, right = world.by_name[shown.sign], shown.right or not run.passed
        likely = 1.0 if shown.struck else world.advised if shown.right else world.tempted
        if run.passed:
            likely = world.praised / len(run.shown)
        if chance.random() < likely and chance.random() >= error * world.missed:
            if chance.random() < error * world.mixed:
                sign = chance.choice(world.signs)
            if chance.random() < error * world.opposite:
                right = not right
            beliefs.append(Belief(_quoted(world, voice, shown), sign, right))
    if chance.random() < error * world.invented:
        quote = chance.choice(run.lines)
        idle = chance.random() < IDLE_SHARE
        sign = None if idle else chance.choice(world.signs)
        beliefs.insert(0, Belief(quote, sign, chance.random() < 0.5))
    if chance.random() < world.chatter or not beliefs:
        beliefs.append(Belief(chance.choice(run.lines), None))
    kind = next(kind for kind in world.kinds if kind.name == run.task.kind)
    items = [_item(world, voice, belief, kind) for belief in beliefs[:MAX_ITEMS]]
    return AnalystRecord(
        kind="success" if run.passed else "error",
        trajectory_id=f"run-{name}",
        task_id=name,
        summary=f"The run shows: {beliefs[0].quote}",
        items=tuple(items),
    )


def _item(world: World, voice: Voice, belief: Belief, kind: Kind) -> MemoryItem:
    """A belief in words."""
    words, chance, sign = world.words, voice.chance, belief.sign
    if sign is None:
        lesson = finished(voice.text(voice.pick(words.idle)))
        return MemoryItem(title=_words(lesson), lesson=lesson, evidence=(belief.quote,))
    good, bad = (sign.right, sign.wrong) if belief.right else (sign.wrong, sign.right)
    way = chance.random()
    order = voice.action(good, sign.objects) if way < 0.75 else None
    ban = voice.action(bad, sign.objects) if way >= 0.5 else None
    body = voice.lesson(order, ban)
    # Who sees one run knows its kind, and not whether other kinds would have failed, too.
    condition = voice.pick(words.by_kind).format(noun=voice.pick(kind.noun))
    if sign.present < 1:
        condition = voice.pick(words.by_object).format(object=voice.pick(sign.objects))
    prefix = condition if chance.random() < world.conditional else ""
    if not prefix and chance.random() < 0.2:
        prefix = voice.pick(words.prefixes)
    suffix = voice.pick(words.suffixes) if chance.random() < 0.2 else ""
    aside = voice.pick(words.asides) if chance.random() < 0.15 else ""
    lesson = finished(f"{prefix}{body}{suffix}{aside}")
    action = order or ban
    assert action is not None, "a lesson is about some action"
    title = voice.pick(words.titles).format(object=action.object, words=_words(lesson))
    scope = condition.strip(" ,") if chance.random() < 0.5 else "every task of this kind"
    return MemoryItem(
        title=f"{title[0].upper()}{title[1:]}",
        lesson=lesson,
        generalization=scope,
        evidence=(belief.quote,),
    )


def _quoted(world: World, voice: Voice, shown: Shown) -> str:
    """Quote a sentence as the analyst does: all of it, a part, or the same in other words."""
    if voice.chance.random() < world.loose:
        return sentence_of(voice, world.by_name[shown.sign], wrong=not shown.right)
    words = shown.quote.split()
    if len(words) > PART and voice.chance.random() < 0.2:
        return " ".join(words[-PART:])
    return shown.quote


def _words(text: str) -> str:
    return " ".join(text.split()[:TITLE]).rstrip(".,;:")
