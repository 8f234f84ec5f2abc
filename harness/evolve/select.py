"""The stage that tries sets of lessons on tasks, and keeps the best set."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from harness.core import BadInput, Edit, Usage, Value
from harness.evals import ItemRecord
from harness.evolve.apply import Final, Translated
from harness.evolve.assemble import assemble
from harness.evolve.evolution import Event, Evolution, State, Update, detached
from harness.evolve.merge.by_model import tasks_of
from harness.evolve.selection import CANDIDATES, Members, Trial, best_of, greedy, most_trials, tpe
from harness.evolve.types import Discarded
from harness.skills import apply_patch, validate, write_skill

FOLDER = "selection"


class Selection(Value):
    """What was tried and kept; `candidates` are the lessons by number, best supported first."""

    candidates: tuple[str, ...]
    trials: tuple[Trial, ...]
    kept: tuple[int, ...]

    @property
    def best(self) -> float:
        """Pass rate of the set that is kept, on the tasks that it was chosen on."""
        return max(trial.score for trial in self.trials)


async def select(evolution: Evolution, state: State) -> Update:
    """The edits that enter the skill: all of them, or the set that did best on the trial tasks.

    The trial tasks are among those that the analysts learned from, so their score flatters the
    set; the gate's tasks stay unseen.

    Raises:
        BadInput: if a selection was asked for and there is nothing to run tasks with, or every
            attempt of a trial was invalid.
    """
    options = evolution.options
    translated = evolution.shelf.hold(state["edits"], Translated)
    edits = translated.patch.edits
    if evolution.exemplar or options.select == "all":
        return {"final": evolution.shelf.put(_final(evolution, state, edits, ())), "spent": []}
    strong = [edit for edit in edits if edit.support >= options.min_support]
    ranked = sorted(strong, key=lambda edit: -edit.support)
    cut = CANDIDATES[options.select]
    weak = [edit for edit in edits if edit.support < options.min_support]
    search = _Search(evolution, state, ranked[:cut], weak)
    found = await search.run()
    chosen = [edit for one, edit in enumerate(ranked[:cut]) if one in found.kept]
    beaten = [edit for one, edit in enumerate(ranked[:cut]) if one not in found.kept]
    aside = [_aside(edit, "not in the set that did best on the trial tasks") for edit in beaten]
    untried = f"not among the {cut} best supported lessons, which were tried"
    aside += [_aside(edit, untried) for edit in ranked[cut:]]
    final = _final(evolution, state, [*chosen, *weak], aside)
    return {
        "final": evolution.shelf.put(final),
        "selection": evolution.shelf.put(found),
        "spent": [search.used.model_dump(mode="json")],
    }


class _Search:
    """Runs sets of candidates, each on the same tasks and seeds; `fixed` edits are in all."""

    def __init__(
        self,
        evolution: Evolution,
        state: State,
        candidates: Sequence[Edit],
        fixed: Sequence[Edit],
    ) -> None:
        self.evolution, self.state, self.fixed = evolution, state, tuple(fixed)
        self.candidates = tuple(candidates)
        self.used, self._done = Usage(), 0
        self._most = most_trials(evolution.options.select, len(candidates))

    async def run(self) -> Selection:
        """Every trial of the search that was asked for."""
        options = self.evolution.options
        if options.select == "greedy":
            trials = await greedy(len(self.candidates), self.score)
        else:
            trials = await tpe(len(self.candidates), self.score, random.Random(options.select_seed))
        return Selection(
            candidates=tuple(edit.content for edit in self.candidates),
            trials=tuple(trials),
            kept=best_of(trials).members,
        )

    async def score(self, members: Members) -> float:
        """Pass rate of the valid attempts with these candidates.

        Raises:
            BadInput: if there is nothing to run tasks with, or no attempt was valid.
        """
        if self.evolution.trial is None:
            raise BadInput("--select runs tasks: give --suite, or --tasks SUITE")
        label = "-".join(map(str, sorted(members))) or "none"
        folder = self._skill(members, label)
        items = await detached(self.evolution.trial(folder, label))
        self.used = sum((item.usage for item in items), self.used)
        self._done += 1
        rate = _rate(items)
        self.evolution.progress(
            Event(stage="select", done=self._done, total=self._most, message=f"{rate:.1%} pass")
        )
        return rate

    def _skill(self, members: Members, label: str) -> Path | None:
        """The seed with these candidates, on disk; the seed as it is where nothing is added."""
        edits = [*(self.candidates[one] for one in sorted(members)), *self.fixed]
        if not edits:
            return self.evolution.options.skill
        patch = _final(self.evolution, self.state, edits, ()).patch
        skill = apply_patch(self.evolution.seed, patch).skill
        errors = [str(one) for one in validate(skill) if one.level == "error"]
        if errors:
            raise BadInput(f"the lessons {label} make no valid skill: {errors[0]}")
        folder = self.evolution.options.out / FOLDER / label / skill.name
        write_skill(skill, folder)
        return folder


def _rate(items: Sequence[ItemRecord]) -> float:
    valid = [item for item in items if item.outcome != "invalid"]
    if not valid:
        raise BadInput(f"no valid attempt among {len(items)} of a trial: nothing can be selected")
    return sum(item.outcome == "pass" for item in valid) / len(valid)


def _final(
    evolution: Evolution, state: State, edits: Sequence[Edit], aside: Sequence[Discarded]
) -> Final:
    """These edits where they go in the skill."""
    options, translated = evolution.options, evolution.shelf.hold(state["edits"], Translated)
    placed: tuple[Edit, ...] = tuple(edits)
    dropped: tuple[Discarded, ...] = ()
    if not evolution.exemplar:
        placed, dropped = assemble(
            evolution.seed,
            edits,
            tasks_of(evolution, state),
            min_support=options.min_support,
            max_rules=options.max_rules,
        )
    patch = translated.patch.model_copy(update={"edits": placed})
    return Final(patch=patch, discarded=(*translated.discarded, *aside, *dropped))


def _aside(edit: Edit, reason: str) -> Discarded:
    return Discarded(
        content=edit.content, reason=reason, sources=edit.sources, support=edit.support
    )
