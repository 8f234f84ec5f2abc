"""The part of a rule's signs in failed runs, judged by the runs themselves, without a model.

Analysts see one run each. What their lessons quote and what they ask for can be looked up in all
runs, those that passed too. A behaviour that passed runs show as often is a habit; one whose
failures the other rules explain is a *spurious correlate*, which only comes along with a cause; and
advice that failed runs followed more often than passed ones is the opposite of what helps. The
same decision may be right for one input and wrong for another: a rule is left out only if the
failures that taught it have another explanation, or nearly every run shows what it rests on.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from harness.core import Edit, Patch, Trajectory, digest
from harness.evolve.analysts.transcript import step_texts
from harness.evolve.artifacts import ArtifactStore, Run
from harness.evolve.merge.answers import Answer, Answers
from harness.evolve.merge.evidence import Citations, Saying, quoted, saying
from harness.evolve.merge.lessons import of_edit
from harness.evolve.rules import Outcome, Rule
from harness.evolve.types import AnalystRecord, Discarded, Draft
from harness.stats import explain_failures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]

# Failed and passed runs that quotes are looked up in: tasks of either kind, and characters of one
# run (head and tail).
SAMPLE, LONGEST = 400, 60_000
# Passed runs, and failed ones, that a comparison needs; runs that a line must be common to before
# it counts as an instruction.
FEWEST, MANY = 2, 5
# Share of the runs of either outcome that show a habit.
ALL = 0.8
# Share of a quote's words, weighted by their rarity, that a line which shows it holds; and of the
# words of a line, that advice which it follows or breaks holds.
SHOWN, DONE = 0.95, 0.85
# Log likelihood (nats) that a rule adds to the others to be worth a line.
GAIN = 1.5
# Log likelihood of a power of one half, against none, below which a rule is harmless.
HARMLESS = -1.0
# Standard errors by which a word of the tasks marks a condition, and by which all of them do.
MARK, CONDITION = 1.5, 2.0
# Standard errors by which passed runs show praise more often than failed ones.
SAFE = 2.5
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n")


@dataclass
class Contrast:
    """Differences between failed and passed runs, line by line.

    Attributes:
        runs: ids; one run per task and outcome, :data:`SAMPLE` at most of either outcome, chosen
            by digest.
        failed: whether each failed.
        prompts: content words of their tasks.
        lines: line -> numbers of the runs that hold it, instructions left out.
        instructions: sentences of system prompts, and those that every run was shown, with what
            they say: they tell no run from another.
        answers: of all runs, of an agent that chooses among a few.
    """

    runs: Sequence[str]
    failed: Bools
    prompts: Sequence[frozenset[str]]
    lines: Mapping[Saying, Sequence[int]]
    instructions: Mapping[str, Saying]
    answers: Answers = field(default_factory=Answers)

    @classmethod
    def where_quoted(
        cls, records: Iterable[AnalystRecord], runs: Iterable[Run], store: ArtifactStore
    ) -> Contrast | None:
        """The contrast of the runs; None, and no run is read, where no lesson quotes its run."""
        quoted = any(item.evidence for record in records for item in record.items)
        return cls.of(runs, store) if quoted else None

    @classmethod
    def of(cls, runs: Iterable[Run], store: ArtifactStore) -> Contrast:
        """The contrast of an evolution's runs."""
        import numpy as np

        by_task = {(run.outcome, run.task_id): run for run in runs}
        runs_in_order = sorted(by_task.values(), key=lambda run: digest(run.id))
        samples = {
            outcome: [run for run in runs_in_order if run.outcome == outcome][:SAMPLE]
            for outcome in ("fail", "pass")
        }
        sample = samples["fail"] + samples["pass"]
        replies: list[Answer] = []
        lines: dict[Saying, list[int]] = defaultdict(list)
        seen_in: Counter[str] = Counter()
        instructions: dict[str, Saying] = {}
        for number, run in enumerate(sample):
            trajectory = store.get(run.digest, Trajectory)
            written, observed = dict[str, Saying](), dict[str, Saying]()
            for step, text in zip(trajectory.steps, step_texts(trajectory), strict=True):
                sayings = {"system": instructions, "agent": written}.get(step.source, observed)
                sayings.update(_sayings(text))
            seen_in.update(observed.keys() - written.keys())
            for line in {*written.values(), *observed.values()}:
                lines[line].append(number)
            replies.append(Answer.of(trajectory, LONGEST))
        if len(sample) >= MANY:
            common = (text for text, count in seen_in.items() if count == len(sample))
            instructions |= {text: saying(text) for text in common}
        failed = np.arange(len(sample)) < len(samples["fail"])
        for line in instructions.values():
            lines.pop(line, None)
        prompts = [reply.ticket for reply in replies]
        answers = Answers.of(replies)
        if answers.labels:
            loaded = {run.id for run in sample}
            unread = store.load(run for run in runs_in_order if run.id not in loaded)
            answers = Answers.of([*replies, *(Answer.of(run, LONGEST) for run in unread)])
        return cls([run.id for run in sample], failed, prompts, lines, instructions, answers)

    @property
    def comparable(self) -> bool:
        """Return whether there are enough runs of either outcome."""
        return min(self.failed.sum(), (~self.failed).sum()) >= FEWEST

    def instructs(self, text: str) -> bool:
        """Return whether every sentence of a text stands in the instructions."""
        sentences = _sayings(text).values()
        return bool(sentences) and all(
            any(sentence <= line for line in self.instructions.values()) for sentence in sentences
        )

    def upheld(
        self, patches: Iterable[Patch], citations: Citations
    ) -> tuple[tuple[Patch, ...], tuple[Discarded, ...]]:
        """The patches without lessons that the answers of their own runs refute; and those.

        Args:
            patches: whose lessons are judged.
            citations: what lessons quote.
        """
        sound: list[Patch] = []
        refuted: list[Discarded] = []
        for patch in patches:
            judged = [(edit, self._objection(edit, citations)) for edit in patch.edits]
            edits = tuple(edit for edit, reason in judged if not reason)
            refuted += [Discarded.of(edit, reason) for edit, reason in judged if reason]
            sound.append(patch.model_copy(update={"edits": edits}))
        return tuple(sound), tuple(refuted)

    def _objection(self, edit: Edit, citations: Citations) -> str:
        """The first objection of the answers to a lesson of an edit, or ""."""
        reasons = (
            self.answers.objection(
                lesson, [text for text in quoted(lesson, citations) if not self.instructs(text)]
            )
            for lesson in of_edit(edit)
        )
        return next(filter(None, reasons), "")

    def holding(
        self, texts: Sequence[Saying], least: float, *, by_line: bool = False
    ) -> tuple[Bools, Bools]:
        """Mark the runs that have a line with a text's words [texts, runs]: plain, and denying.

        Args:
            texts: to look up.
            least: share of the words, weighted by rarity, that are in both.
            by_line: whether the share is that of the line's words, not of the text's.
        """
        import numpy as np

        sparse: Any = import_module("scipy.sparse")
        lines = list(self.lines)
        vocabulary = {
            word: n for n, word in enumerate(sorted({w for t in texts for w in t} - {"not"}))
        }
        counts = Counter(word for line in lines for word in line)
        rarity = {word: float(np.log(1 + len(lines) / count)) for word, count in counts.items()}

        def matrix(rows: Sequence[Saying], weighted: bool) -> Any:
            """Rows by words; weighted, a row's shares add up to at most 1."""
            entries: list[tuple[int, int, float]] = []
            for number, words in enumerate(rows):
                total = sum(rarity.get(word, 5.0) for word in words if word != "not") or 1.0
                entries += [
                    (number, vocabulary[word], rarity.get(word, 5.0) / total if weighted else 1.0)
                    for word in words
                    if word in vocabulary
                ]
            row, column, value = zip(*entries, strict=True) if entries else ((), (), ())
            return sparse.csr_matrix((value, (row, column)), shape=(len(rows), len(vocabulary)))

        shares = matrix(texts, not by_line) @ matrix(lines, by_line).T
        shares.data = shares.data >= least - 1e-9
        shares.eliminate_zeros()
        numbers = [(n, run) for n, line in enumerate(lines) for run in self.lines[line]]
        row, column = zip(*numbers, strict=True)
        denies = np.array(["not" in line for line in lines])
        columns: list[Bools] = []
        for side in (~denies, denies):
            by_run = sparse.csr_matrix(
                (side[list(row)].astype(float), (row, column)), shape=(len(lines), len(self.runs))
            )
            columns.append((shares.astype(float) @ by_run).toarray() > 0)
        return columns[0], columns[1]


def weighed(draft: Draft, rules: Sequence[Rule], contrast: Contrast | None) -> Draft:
    """A draft without the rules that make no difference, and with what all of them rest on.

    Args:
        draft: merged rules.
        rules: what they rest on.
        contrast: the runs; None where no rule quotes any.
    """
    rested = {rule.content: rule for rule in rules}
    stated = [
        (edit, rested[content])
        for edit in draft.patch.edits
        for content in (lesson.for_readers() for lesson in of_edit(edit))
        if content in rested
    ]
    judged = outcomes([rule for _, rule in stated], contrast)
    idle = [
        Discarded.of(edit, f"what it rests on explains no failure ({outcome})")
        for (edit, _), outcome in zip(stated, judged, strict=True)
        if outcome.idle
    ]
    contents = {row.content for row in idle}
    edits = tuple(edit for edit in draft.patch.edits if edit.content not in contents)
    pairs = zip(stated, judged, strict=True)
    return Draft(
        patch=draft.patch.model_copy(update={"edits": edits}),
        discarded=(*draft.discarded, *idle),
        rules=tuple(rule.model_copy(update={"outcome": outcome}) for (_, rule), outcome in pairs),
    )


def outcomes(rules: Sequence[Rule], contrast: Contrast | None) -> list[Outcome]:
    """Count what rules rest on in failed and in passed runs.

    Args:
        rules: the best supported first.
        contrast: the runs.
    """
    import numpy as np

    signs = list(dict.fromkeys(sign for rule in rules for sign in rule.signs))
    if contrast is None or not contrast.comparable or not signs:
        return [Outcome()] * len(rules)
    failed, number_of = contrast.failed, {name: n for n, name in enumerate(contrast.runs)}
    sayings = [saying(sign) for sign in signs]
    plain, denying = contrast.holding(sayings, SHOWN)
    denies = np.array(["not" in words for words in sayings])
    shows = dict(zip(signs, np.where(denies[:, None], denying, plain), strict=True))
    if answers := contrast.answers.of_runs:
        confused = np.array([answers[run].confusion for run in contrast.runs])
        shows |= {sign: confused == sign for sign in set(signs).intersection(confused)}
    counted = Counter(word for prompt in contrast.prompts for word in prompt)
    least = max(FEWEST, len(failed) // 50)
    # Where answers tell what went wrong, tasks that fail alike would make a condition of any habit.
    often = () if answers else counted.items()
    words = sorted(word for word, n in often if least <= n <= len(failed) - least)
    tasks = np.array([[word in prompt for word in words] for prompt in contrast.prompts])
    # A quote that passed runs show as often is no sign of a failure.
    ordinary = {
        sign: column[~failed].sum() >= FEWEST and column[~failed].mean() >= column[failed].mean()
        for sign, column in shows.items()
    }
    marking = {sign for sign, column in shows.items() if column[~failed].sum() < FEWEST}
    seen = np.zeros((len(failed), len(rules)), dtype=np.bool_)
    applies, taught, marked = (np.ones_like(seen), np.zeros_like(seen), np.zeros_like(seen))
    for number, rule in enumerate(rules):
        idle = sum(len(m.sources) for m in rule.members if all(ordinary[q] for q in m.quotes))
        total = sum(len(m.sources) for m in rule.members)
        habit = rule.praise or 2 * idle > total
        for sign in rule.signs:
            if habit or not ordinary[sign]:
                seen[:, number] |= shows[sign]
        for member in rule.members:
            # A failed run that teaches a cause shows it; praise is not confirmed by its own runs.
            if rule.praise or any(habit or not ordinary[sign] for sign in member.quotes):
                sources_in = [number_of[name] for name in member.sources if name in number_of]
                seen[sources_in, number] = not rule.praise
        if not rule.praise:
            applies[:, number] = _applies(seen[:, number], failed, tasks)
            sources = {name for member in rule.members for name in member.sources}
            taught[[number_of[name] for name in sources if name in number_of], number] = True
            for sign in marking.intersection(rule.signs):
                marked[:, number] |= shows[sign]
    seen &= applies
    blames = np.array([not rule.praise for rule in rules])
    selected, beside = explain_failures(seen & blames, failed, GAIN, len(rules))
    taught &= failed[:, None]
    by_others = np.zeros_like(taught)
    for number in range(len(rules)):
        other_causes = [cause for cause, *_ in selected if cause != number]
        by_others[:, number] = (taught | marked)[:, other_causes].any(axis=1)
    # Failures that taught a rule and no other one explains.
    unexplained_own = (taught & ~by_others).sum(axis=0)
    judged: list[Outcome] = []
    for number, (rule, column, where, harm) in enumerate(
        zip(rules, seen.T, applies.T, beside, strict=True)
    ):
        counts = [int((column & failed).sum()), int((where & failed).sum())]
        counts += [int((column & ~failed).sum()), int((where & ~failed).sum())]
        standing = "unclear" if column.any() else "not measured"
        often = counts[2] * counts[1] >= counts[0] * counts[3]
        if rule.praise and rule.quoted:
            out = [counts[3] - counts[2], counts[1] - counts[0]]
            sure = _z_score(counts[2], counts[0], *out) >= SAFE
            standing = "safeguard" if sure else "habit"
        elif rule.quoted and not rule.signs:
            standing = "habit"
        elif (
            not rule.praise
            and (harm < HARMLESS or marking.isdisjoint(rule.signs))
            and 2 * unexplained_own[number] < taught[:, number].sum()
        ):
            standing = "habit" if often and column.any() else "spurious correlate"
        elif any(min(shows[s][failed].mean(), shows[s][~failed].mean()) >= ALL for s in rule.signs):
            standing = "habit"
        names = ("failed", "of_failed", "passed", "of_passed")
        fields = dict(zip(names, counts, strict=True))
        judged.append(Outcome.model_validate({"standing": standing, **fields}))
    unexplained = failed.copy()
    for rank, (number, power, gain, _) in enumerate(selected, start=1):
        update = {
            "standing": "cause", "power": power, "gain": gain, "order": rank,
            "alone": int((seen[:, number] & unexplained).sum()),
        }  # fmt: skip
        judged[number] = judged[number].model_copy(update=update)
        unexplained &= ~seen[:, number]
    return judged


def _sayings(text: str) -> dict[str, Saying]:
    """Sentence -> what it says; of a long text those of its head and its tail."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
    parts = {part: saying(part) for part in _SENTENCE.split(text)}
    return {part: words for part, words in parts.items() if len(words - {"not"}) > 1}


def _applies(shows: Bools, failed: Bools, tasks: Bools) -> Bools:
    """Runs to which a rule applies: all, or those whose tasks hold one of some words.

    A behaviour does harm where its condition holds and none elsewhere. A word of the tasks marks
    the condition if runs that show the behaviour fail more often with it than without, and
    more often than runs that do not show it.

    Args:
        shows: runs that show it.
        failed: how they ended.
        tasks: which words their tasks hold [runs, words].
    """
    import numpy as np

    def counts(which: Bools) -> Any:
        return which.astype(float) @ tasks

    f, p = counts(shows & failed), counts(shows & ~failed)
    f_out, p_out = (shows & failed).sum() - f, (shows & ~failed).sum() - p
    f_not, p_not = counts(~shows & failed), counts(~shows & ~failed)

    marks = (_z_score(f, p, f_out, p_out) >= MARK) & (_z_score(f, p, f_not, p_not) >= 1.0)
    where: Bools = np.asarray(tasks[:, marks].any(axis=1), dtype=np.bool_)
    inside, outside = shows & where, shows & ~where
    sure = _z_score(
        (inside & failed).sum(), (inside & ~failed).sum(),
        (outside & failed).sum(), (outside & ~failed).sum(),
    )  # fmt: skip
    return where if float(sure) >= CONDITION else np.ones_like(shows)


def _z_score(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the z-score of the log odds ratio of a : b against c : d."""
    import numpy as np

    a, b, c, d = a + 0.5, b + 0.5, c + 0.5, d + 0.5
    return np.log(a * d / (b * c)) / np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
