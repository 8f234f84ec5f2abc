"""Kinds of tasks by execution: tasks that one program passes once values of its own are exchanged.

A passing program is tried on other train tasks with files of the same sort. In place of what its
task chose it gets values of the other task; tasks whose checks accept the outcome are of its kind.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from harness.evolve.scripts.candidates import Candidates, Scored, best_first
from harness.evolve.scripts.templates import (
    Argument,
    Template,
    constants_in,
    structure_of,
    template_of,
)
from harness.evolve.scripts.train_tasks import TrainTask
from harness.evolve.scripts.trials import Trial, Trials

# Combinations of values that a program is tried with at a task, from round to round; tasks that it
# is tried at after the first, those whose prompts share most rare words with its own task's.
ROUNDS, NEAREST = (5, 20, 60), 12


@dataclass(frozen=True)
class Kind:
    """A program and the tasks that it passes.

    Attributes:
        template: the program with holes.
        proofs: task id -> values of the holes, its own task's first.
    """

    template: Template
    proofs: Mapping[str, Mapping[str, Argument]]

    @property
    def varied_values(self) -> list[str]:
        """Values of the holes in which the tasks differ, as texts."""
        columns = (
            [str(proof[h.name]) for proof in self.proofs.values()] for h in self.template.holes
        )
        return [value for column in columns if len({*column}) > 1 for value in column]


async def kinds_of(
    programs: Sequence[tuple[str, ast.Module]], tasks: Mapping[str, TrainTask], trials: Trials
) -> list[Kind]:
    """Return programs with the tasks that they pass, those that pass most first.

    Args:
        programs: (task id, program) of passing attempts.
        tasks: the train tasks.
        trials: runs programs.
    """
    search = _Search(programs, tasks, trials)
    waiting: list[tuple[str, ast.Module]] = sorted(
        programs, key=lambda program: (len(ast.dump(program[1])), program[0])
    )
    while waiting:
        # One program for each sort of files at a time: it may solve the tasks of the others.
        begun = {search.files_of(task): (task, tree) for task, tree in reversed(waiting)}
        await search.extend([search.template(task, tree) for task, tree in begun.values()])
        waiting = [
            (task, tree)
            for task, tree in waiting
            if task not in search.solved
            and all(tree is not begun_tree for _, begun_tree in begun.values())
        ]
    kinds: list[Kind] = []
    for kind in sorted(search.kinds, key=lambda kind: -len(kind.proofs)):
        if len(kind.proofs) > 1 and all(kind.proofs.keys().isdisjoint(k.proofs) for k in kinds):
            kinds.append(await without_chance(kind, trials))
    return kinds


async def without_chance(kind: Kind, trials: Trials) -> Kind:
    """A kind whose equal numbers are told apart: one that need not change is no parameter.

    Two numbers that no task tells apart may be one value, or agree by chance. If all tasks pass,
    too, with the second as its own task has it, then it is part of the program.
    """
    proofs = {task: dict(values) for task, values in kind.proofs.items()}
    columns = set[str]()
    for hole in kind.template.holes:
        column = repr([values[hole.name] for values in proofs.values()])
        if hole.sort == "number" and column in columns:
            changed = {task: {**values, hole.name: hole.value} for task, values in proofs.items()}
            again = [t for t in changed if changed[t] != proofs[t]]
            runs = [Trial(task, kind.template.code, changed[task]) for task in again]
            if runs and all(await trials.passed(runs)):
                proofs = changed
        columns.add(column)
    return replace(kind, proofs=proofs)


class _Search:
    """The state of a search: kinds so far, and programs of each task.

    Attributes:
        kinds: every program that was tried, with the tasks that it passes.
    """

    def __init__(
        self,
        programs: Sequence[tuple[str, ast.Module]],
        tasks: Mapping[str, TrainTask],
        trials: Trials,
    ) -> None:
        self._tasks, self._trials, self._candidates = tasks, trials, Candidates(tasks.values())
        self._structures: dict[str, list[tuple[str, list[ast.Constant]]]] = defaultdict(list)
        for task, tree in programs:
            self._structures[structure_of(tree)].append((task, constants_in(tree)))
        self.kinds: list[Kind] = []

    @property
    def solved(self) -> set[str]:
        """Tasks that the program of another task passes, and these."""
        return {task for kind in self.kinds if len(kind.proofs) > 1 for task in kind.proofs}

    def files_of(self, task_id: str) -> tuple[object, ...]:
        """The sort of a task's files: suffixes, and names of columns of tables."""
        task = self._tasks[task_id]
        return task.suffixes, task.fields if task.is_table else None

    def template(self, task_id: str, tree: ast.Module) -> Template:
        """A program with holes, also where programs of the same structure differ."""
        task, constants, varied = self._tasks[task_id], constants_in(tree), set[int]()
        for _, peers in self._structures[structure_of(tree)]:
            pairs = zip(constants, peers, strict=True)
            varied |= {n for n, (mine, peer) in enumerate(pairs) if mine.value != peer.value}
        alike = [t.fields for t in self._tasks.values() if t.suffixes == task.suffixes]
        # A document's keys are its content: only a table has columns.
        own_fields = task.fields - task.fields.intersection(*alike)
        return template_of(tree, task, varied, own_fields if task.is_table else frozenset())

    async def extend(self, templates: Sequence[Template]) -> None:
        """Try programs on all unsolved tasks that they may be for, the likeliest values first."""
        solved, tasks = self.solved, self._tasks
        proofs: list[dict[str, Mapping[str, Argument]]] = []
        waiting: dict[tuple[int, str], Iterator[tuple[Argument, ...]]] = {}
        for n, template in enumerate(templates):
            source = template.source
            proofs.append({source.id: {hole.name: hole.value for hole in template.holes}})
            for task in tasks.values():
                if task.id == source.id or task.suffixes != source.suffixes or task.id in solved:
                    continue
                columns = self._columns(template, task)
                if fits(template, task, columns):
                    waiting[n, task.id] = best_first(columns)
        for count in ROUNDS:
            solved = {task for proof in proofs if len(proof) > 1 for task in proof}
            for n, template in enumerate(templates if count > ROUNDS[0] else ()):
                far = [tasks[task] for m, task in waiting if m == n and task not in solved]
                far.sort(key=partial(self._candidates.distance, template.source))
                for task in far[NEAREST:]:
                    del waiting[n, task.id]
            runs = [
                (
                    n,
                    Trial(
                        task,
                        templates[n].code,
                        dict(zip(proofs[n][templates[n].source.id], values, strict=True)),
                    ),
                )
                for (n, task), combinations in waiting.items()
                if task not in solved
                for values in islice(combinations, count)
            ]
            verdicts = await self._trials.passed([trial for _, trial in runs])
            for (n, trial), passed in zip(runs, verdicts, strict=True):
                if passed and trial.task not in proofs[n]:
                    proofs[n][trial.task] = trial.values
                    del waiting[n, trial.task]
        self.kinds += map(Kind, templates, proofs)

    def _columns(self, template: Template, task: TrainTask) -> list[list[Scored]]:
        """Candidates for each hole of a program at a task."""
        programs = [
            [constant.value for constant in constants]
            for solved, constants in self._structures[template.structure]
            if solved == task.id
        ]
        columns: list[list[Scored]] = []
        for hole in template.holes:
            values = [
                program[index] for program in programs for index in hole.indexes if index >= 0
            ]
            scalars = [value for value in values if isinstance(value, str | int | float)]
            columns.append(self._candidates.ranked(hole, template.source, task, scalars))
        return columns


def fits(template: Template, task: TrainTask, columns: Sequence[Sequence[Scored]]) -> bool:
    """Return True if a task has the fields that a program reads, or others in their place."""
    holes = template.holes
    if task.is_table:
        matched = [
            column for hole, column in zip(holes, columns, strict=True) if hole.sort == "column"
        ]
        return template.fields <= task.fields and all(matched)
    fields = template.fields | {str(hole.value) for hole in holes if hole.sort == "column"}
    return 2 * len(fields & task.fields) >= len(fields)
