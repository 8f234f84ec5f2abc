"""Praise of what every run does: no lesson, however many analysts give it.

Where lessons quote their run, what they quote is looked up in the others
(:mod:`harness.evolve.merge.outcomes`). Many quote nothing, or all of a record in one place. Then
what an agent writes is compared with what the lessons of a rule say: a line shows what a lesson
praises if nearly all of the line is made of words of the lesson, such as "examine the structure of
the workbook" for one that wants the structure of workbooks examined and more.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from harness.core import Trajectory
from harness.evolve.analysts.transcript import step_texts
from harness.evolve.artifacts import ArtifactStore, Run
from harness.evolve.merge.evidence import Saying, saying
from harness.evolve.merge.lessons import of_edit
from harness.evolve.objections import sample
from harness.evolve.rules import Outcome, Rule
from harness.evolve.types import Discarded, Draft

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Share of runs of either outcome that show a habit, and the runs of either that it takes to tell.
ALL, FEWEST = 0.8, 5
# Share of a line's words, by rarity, that stand in a lesson which it shows; words of a line.
MADE_OF, SHORTEST = 0.8, 3
# Rules that are compared, the best supported, and lessons of each; lines at one time.
RULES, LESSONS, BLOCK = 100, 20, 500
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n")
# Names of code are read word by word.
_JOINT = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


def without_habits(draft: Draft, runs: Sequence[Run], store: ArtifactStore) -> Draft:
    """A draft without unmeasured praise of what nearly all runs do, passed or failed.

    Args:
        draft: rules, with what they rest on.
        runs: of the evolution; one a task and outcome is read.
        store: that holds them.
    """
    open_rules = [
        rule for rule in draft.rules
        if rule.praise and not rule.quoted and rule.outcome.standing == "not measured"
    ][:RULES]  # fmt: skip
    sampled = sample(runs) if open_rules else []
    failed = [run.outcome == "fail" for run in sampled]
    if min(sum(failed), len(failed) - sum(failed)) < FEWEST:
        return draft
    shown = runs_that_follow(open_rules, [store.get(run.digest, Trajectory) for run in sampled])
    habits: dict[str, Outcome] = {}
    for rule, column in zip(open_rules, shown.T, strict=True):
        count, of = Counter(zip(failed, column, strict=True)), Counter(failed)
        if min(count[True, True] / of[True], count[False, True] / of[False]) >= ALL:
            habits[rule.content] = Outcome(
                standing="habit", failed=count[True, True], of_failed=of[True],
                passed=count[False, True], of_passed=of[False],
            )  # fmt: skip
    idle = {
        id(edit): Discarded.of(edit, f"every run does it ({habits[lesson.for_readers()]})")
        for edit in draft.patch.edits
        for lesson in of_edit(edit)
        if lesson.for_readers() in habits
    }
    edits = tuple(edit for edit in draft.patch.edits if id(edit) not in idle)
    judged = ((rule, habits.get(rule.content, rule.outcome)) for rule in draft.rules)
    return Draft(
        patch=draft.patch.model_copy(update={"edits": edits}),
        discarded=(*draft.discarded, *idle.values()),
        rules=tuple(rule.model_copy(update={"outcome": outcome}) for rule, outcome in judged),
    )


def runs_that_follow(
    rules: Sequence[Rule], trajectories: Sequence[Trajectory]
) -> NDArray[np.bool_]:
    """Mark the runs with a line that shows what a lesson of a rule says [runs, rules]."""
    import numpy as np

    sparse: Any = import_module("scipy.sparse")
    holders: dict[Saying, set[int]] = defaultdict(set)
    for number, trajectory in enumerate(trajectories):
        for line in written(trajectory):
            holders[line].add(number)
    # The less central half says more than the rule: what it adds may be what every run does.
    wordings = [
        (place, words(member.wording))
        for place, rule in enumerate(rules)
        for member in rule.members[: min(LESSONS, -(-len(rule.members) // 2))]
    ]
    counts = Counter(word for line in holders for word in line)
    column = {word: number for number, word in enumerate(counts)}
    rarity = np.log(1 + len(holders) / np.array(list(counts.values()), dtype=np.float64))
    cells = [(column[w], n) for n, (_, lesson) in enumerate(wordings) for w in lesson & set(column)]
    places = tuple(zip(*cells, strict=True)) or ((), ())
    lessons = sparse.csr_matrix((np.ones(len(cells)), places), (len(column), len(wordings)))
    of_rule = np.zeros((len(wordings), len(rules)), dtype=np.float32)
    of_rule[range(len(wordings)), [place for place, _ in wordings]] = 1
    shown = np.zeros((len(trajectories), len(rules)), dtype=np.bool_)
    lines = list(holders)
    for start in range(0, len(lines), BLOCK):
        block = lines[start : start + BLOCK]
        cells = [(row, column[word]) for row, line in enumerate(block) for word in line]
        rows, columns = map(list, zip(*cells, strict=True))
        weights = sparse.csr_matrix((rarity[columns], (rows, columns)), (len(block), len(column)))
        share = (weights @ lessons).toarray() / np.asarray(weights.sum(axis=1))
        for row, hits in zip(*np.nonzero((share >= MADE_OF) @ of_rule), strict=True):
            shown[list(holders[block[row]]), hits] = True
    return shown


def written(trajectory: Trajectory) -> set[Saying]:
    """Return what the agent wrote, by the lines."""
    texts = zip(trajectory.steps, step_texts(trajectory), strict=True)
    own = (text for step, text in texts if step.source == "agent")
    lines = {words(line) for text in own for line in _SENTENCE.split(text)}
    return {line for line in lines if len(line) >= SHORTEST}


def words(text: str) -> Saying:
    """Stems of a text, whether it denies something or not."""
    return saying(_JOINT.sub(" ", text)) - {"not"}
