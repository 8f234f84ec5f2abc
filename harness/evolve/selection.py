"""Selection among candidate edits: greedy and by a tree-structured Parzen estimator.

Trace2Skill (arXiv 2603.25158, section "use all vs select patches", table 6) compares both with
taking everything. Candidates are numbered; a set of them is scored by running tasks with it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from harness.core import BadInput, Edit, Usage, Value
from harness.evolve.evolution import Evolution, detached
from harness.evolve.settings import Select
from harness.evolve.types import Discarded, Draft
from harness.skills import apply_patch, validate, write_skill

Members = frozenset[int]
Score = Callable[[Members], Coroutine[Any, Any, float]]
"""Pass rate with these candidates in the skill, from 0 to 1."""

# The best supported candidates that are selected from (table 6: 5 and at most 15).
CANDIDATES = {"greedy": 5, "tpe": 15}
# gamma: the share of trials that count as good; alpha: the Beta prior of each candidate's presence;
# rho: the probability that a candidate of a proposal is drawn evenly instead.
GOOD, PRIOR, EXPLORE = 0.2, 1.0, 0.1
POOL, PER_ROUND, ROUNDS, RANDOM_STARTS = 500, 8, 4, 5


class Trial(Value):
    """One set of candidates that was run: its members in order, and its score."""

    members: tuple[int, ...]
    score: float


class Selection(Value):
    """Edits tried and kept; `candidates` are the lessons by number, best supported first."""

    candidates: tuple[str, ...]
    trials: tuple[Trial, ...]
    kept: tuple[int, ...]

    @property
    def best(self) -> float:
        """Pass rate of the set that is kept, on the tasks that it was chosen on."""
        return max(trial.score for trial in self.trials)


def most_trials(how: Select, candidates: int) -> int:
    """Sets that are run at most."""
    count = min(candidates, CANDIDATES.get(how, candidates))
    if how == "greedy":
        return 1 + count * (count + 1) // 2
    return min(2**count, 2 + count + RANDOM_STARTS + PER_ROUND * ROUNDS) if how == "tpe" else 0


async def try_edits(
    evolution: Evolution,
    edits: Sequence[Edit],
    draft: Callable[[tuple[Edit, ...]], Draft],
) -> tuple[Selection, tuple[Edit, ...], tuple[Discarded, ...], Usage]:
    """The best set of the best supported edits, with all that have too little support; the others.

    Args:
        evolution: with a `trial` to run tasks by.
        edits: merged edits.
        draft: what enters the skill with some of them.

    Raises:
        BadInput: as :func:`try_sets`.
    """
    options = evolution.options
    weak = tuple(edit for edit in edits if edit.support < options.min_support)
    strong = [edit for edit in edits if edit.support >= options.min_support]
    strong.sort(key=lambda edit: -edit.support)
    cut = CANDIDATES[options.select]
    candidates, untried = strong[:cut], strong[cut:]

    def chosen(members: Members) -> tuple[Edit, ...]:
        return (*(candidates[number] for number in sorted(members)), *weak)

    selection, used = await try_sets(evolution, candidates, lambda members: draft(chosen(members)))
    beaten = [edit for number, edit in enumerate(candidates) if number not in selection.kept]
    rejected = [
        Discarded.of(edit, "not in the set that did best on the trial tasks") for edit in beaten
    ]
    reason = f"not among the {cut} best supported lessons, which were tried"
    rejected += [Discarded.of(edit, reason) for edit in untried]
    return selection, chosen(frozenset(selection.kept)), tuple(rejected), used


async def try_sets(
    evolution: Evolution, candidates: Sequence[Edit], draft: Callable[[Members], Draft]
) -> tuple[Selection, Usage]:
    """Run sets of candidates, each on the same tasks and seeds; the best set is kept.

    Args:
        evolution: with a `trial` to run tasks by.
        candidates: edits, best supported first.
        draft: what enters the skill with some of them.

    Raises:
        BadInput: if there is nothing to run tasks with, or no attempt of a trial was valid.
    """
    options, run = evolution.options, evolution.trial
    most = most_trials(options.select, len(candidates))
    if run is None:
        raise BadInput("--select runs tasks: give --suite, or --tasks SUITE")
    usages: list[Usage] = []

    async def score(members: Members) -> float:
        label = "-".join(map(str, sorted(members))) or "none"
        patch, folder = draft(members).patch, options.skill
        if patch.edits:
            skill = apply_patch(evolution.seed, patch, options.limits).skill
            errors = [str(problem) for problem in validate(skill) if problem.level == "error"]
            if errors:
                raise BadInput(f"the lessons {label} make no valid skill: {errors[0]}")
            folder = options.out / "selection" / label / skill.name
            write_skill(skill, folder)
        items = await detached(run(folder, label))
        usages.append(sum((item.usage for item in items), Usage()))
        passed = [item.outcome == "pass" for item in items if item.outcome != "invalid"]
        if not passed:
            reason = f"no valid attempt among {len(items)} of a trial: nothing can be selected"
            raise BadInput(reason)
        rate = sum(passed) / len(passed)
        evolution.tell("select", f"{rate:.1%} pass", len(usages), most)
        return rate

    if options.select == "greedy":
        trials = await greedy(len(candidates), score)
    else:
        trials = await tpe(len(candidates), score, random.Random(options.select_seed))
    selection = Selection(
        candidates=tuple(edit.content for edit in candidates),
        trials=tuple(trials),
        kept=best_of(trials).members,
    )
    return selection, sum(usages, Usage())


async def greedy(count: int, score: Score) -> list[Trial]:
    """Forward selection: from nothing, the candidate that helps most, until all that is left hurts.

    Returns:
        Every set that was run, in that order.
    """
    best = await _trial(frozenset(), score)
    trials = [best]
    while len(best.members) < count:
        members = frozenset(best.members)
        step = [await _trial(members | {n}, score) for n in range(count) if n not in members]
        trials += step
        # max takes the first of equals: the better supported candidate.
        leader = max(step, key=lambda trial: trial.score)
        if leader.score < best.score:
            break
        best = leader
    return trials


async def tpe(count: int, score: Score, rng: random.Random) -> list[Trial]:
    """Bergstra et al. (2011) over inclusion bits, each with a density of its own.

    It starts from the empty set, each candidate alone, some random sets and all; then every round
    runs the sets of a random pool that the good trials make most likely against the others.

    Returns:
        Every set that was run, in that order; a set is run once.
    """
    start: list[Members] = [frozenset(), *(frozenset({n}) for n in range(count))]
    start += [_drawn([0.5] * count, rng) for _ in range(RANDOM_STARTS)]
    start.append(frozenset(range(count)))
    trials = [await _trial(members, score) for members in dict.fromkeys(start)]
    for _ in range(ROUNDS):
        proposals = _proposals(count, trials, rng)
        if not proposals:
            break
        trials += [await _trial(members, score) for members in proposals]
    return trials


def best_of(trials: Sequence[Trial]) -> Trial:
    """The trial with the best score; of equals the one with most candidates, then the first.

    A candidate that did no harm has evidence of its own: trajectories of several tasks.
    """
    return max(trials, key=lambda trial: (trial.score, len(trial.members)))


async def _trial(members: Members, score: Score) -> Trial:
    return Trial(members=tuple(sorted(members)), score=await score(members))


def _proposals(count: int, trials: Sequence[Trial], rng: random.Random) -> list[Members]:
    """Sets that were not run, those with the best ratio of the two densities first."""
    ranked = sorted(trials, key=lambda trial: -trial.score)
    cut = max(1, math.ceil(GOOD * len(ranked)))
    # For each candidate, how likely it is a member: the mean of its Beta posterior.
    good, bad = (
        [
            (sum(n in trial.members for trial in part) + PRIOR) / (len(part) + 2 * PRIOR)
            for n in range(count)
        ]
        for part in (ranked[:cut], ranked[cut:])
    )

    def ratio(members: Members) -> float:
        """Logarithm of the density of good trials over that of the others."""
        return sum(
            math.log(high / low) if n in members else math.log((1 - high) / (1 - low))
            for n, (high, low) in enumerate(zip(good, bad, strict=True))
        )

    mixed = [(1 - EXPLORE) * chance + EXPLORE * 0.5 for chance in good]
    pool = dict.fromkeys(_drawn(mixed, rng) for _ in range(POOL))
    tried = {frozenset(trial.members) for trial in trials}
    fresh = [members for members in pool if members not in tried]
    return sorted(fresh, key=lambda members: -ratio(members))[:PER_ROUND]


def _drawn(chances: Sequence[float], rng: random.Random) -> Members:
    return frozenset(n for n, chance in enumerate(chances) if rng.random() < chance)
