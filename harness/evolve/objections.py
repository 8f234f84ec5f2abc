"""Evidence for and against each rule of a finished skill: for `skill explain`.

A reader who doubts a rule needs what the merge saw: every wording that it was made from, lessons
that say the opposite, and the runs that show what the rule blames and passed all the same (or what
it praises and failed). Without a model: polarity is read from negations, and a run shows a rule's
sign if it holds what the rule's evidence quotes, or the code that a paraphrase was located by.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from harness.core import Edit, digest
from harness.evolve.analysts.location import Location
from harness.evolve.analysts.transcript import step_texts
from harness.evolve.artifacts import ArtifactStore, Run
from harness.evolve.merge.contradictions import disagreement, sides
from harness.evolve.merge.evidence import pattern
from harness.evolve.merge.wording import content_words
from harness.evolve.rules import ClaimResult, Rule
from harness.evolve.types import AnalystRecord
from harness.skills import Contrast, Objection, RuleEvidence, Trial

# Runs of either outcome that signs are looked up in; objections and signs of one rule.
SAMPLE, OBJECTIONS, SIGNS = 200, 5, 3
# Lessons that objections are looked for among.
LESSONS = 3000
# Characters of a sign; a shorter one stands everywhere. Of a shown passage.
SHORTEST, SHOWN = 8, 160
# Words of content that a clause and its denial share, and their share of the shorter clause.
SHARED_WORDS, SHARED_PART = 2, 0.6
# Texts that share so many of their words, with one polarity, say the same.
SAME = 0.6
# Words that a lesson must share which the rule was not made from: there are many of them.
ELSEWHERE = 3
# Lessons from which on a word is common that so large a share of them hold: alone it is no matter.
MANY_LESSONS, COMMON = 50, 0.1
# What opposite sides on a matter count, in words.
TAKES_SIDES = 5
_CLAUSE = re.compile(
    r"[.;:,](?=\s|$)|[()\u2014]|\b(?:but|because|since|so that|which|while|and then)\b"
)
_LETTERS = re.compile(r"[a-z]{4,}")
_CHOICE = re.compile(r"\b(?:instead|rather than|in place of|over)\b", re.IGNORECASE)
_INSTEAD = re.compile(r"\b(?:instead of|rather than|in place of|without)\b", re.IGNORECASE)
_NOT = re.compile(
    r"\b(?:not(?! (?:just|only|merely)\b)|never|no|(?<!to )avoid|cannot|can't|don't|doesn't|isn't"
    r"|aren't|won't|without|refrain)\b",
    re.IGNORECASE,
)


def denies(rule: str, lesson: str, common: frozenset[str] = frozenset()) -> int:
    """Measure how strongly a lesson denies a rule; 0 where it does not.

    Either both take sides on a matter (:mod:`harness.evolve.merge.contradictions`), or a clause of
    the lesson has the words of a clause of the rule, two at least and most of the shorter one,
    with the opposite polarity. The number is that of the words.

    Args:
        rule: its text.
        lesson: that may deny it.
        common: words that many lessons hold; these alone are no matter.
    """
    strongest = TAKES_SIDES if disagreement(sides(rule), sides(lesson)) else 0
    shared, shorter = len(_words(rule) & _words(lesson)), min(map(len, map(_words, (rule, lesson))))
    if shared < SHARED_WORDS:
        return strongest
    if _polarity(rule) == _polarity(lesson) and shared >= SAME * shorter:
        return 0
    for refused, words in _clauses(rule):
        for also_refused, opposite in _clauses(lesson):
            shared = words & opposite
            least = max(SHARED_WORDS, SHARED_PART * min(len(words), len(opposite)))
            if refused != also_refused and len(shared) >= least and shared - common:
                strongest = max(strongest, len(shared))
    return strongest


@lru_cache(maxsize=8192)
def _polarity(text: str) -> tuple[bool, bool]:
    """Return two flags: a text negates, and it takes one of two."""
    return _NOT.search(text) is not None, _CHOICE.search(text) is not None


@lru_cache(maxsize=8192)
def _words(text: str) -> frozenset[str]:
    """The words of content of all clauses."""
    return frozenset[str]().union(*(words for _, words in _clauses(text)))


@lru_cache(maxsize=8192)
def _clauses(text: str) -> list[tuple[bool, frozenset[str]]]:
    """(whether it is negated, its words of content) of every clause."""
    clauses: list[tuple[bool, frozenset[str]]] = []
    for clause in _CLAUSE.split(text):
        demanded, *refused = _INSTEAD.split(clause, maxsplit=1)
        parts = [(_NOT.search(demanded) is not None, demanded)]
        parts += [(not parts[0][0], part) for part in refused]
        for negated, part in parts:
            # "evaluate" and "evaluated" are one word.
            words = frozenset(word.rstrip("e") for word in content_words(_NOT.sub(" ", part)))
            if words:
                clauses.append((negated, words))
    return clauses


@dataclass(frozen=True)
class Ground:
    """Material of an evolution to judge its rules by.

    Attributes:
        records: of the analysts.
        places: of each record, where each of its quotes stands.
        runs: trajectories, with their outcomes.
        store: that holds them.
        rules: what the merge wrote down of its rules; none of a merge by a model.
        claims: of lessons about code, after their programs have run.
    """

    records: Sequence[AnalystRecord]
    places: Sequence[Sequence[Location]]
    runs: Sequence[Run]
    store: ArtifactStore
    rules: Sequence[Rule] = ()
    claims: Sequence[ClaimResult] = ()


def rule_evidence(edits: Iterable[Edit], ground: Ground) -> list[RuleEvidence]:
    """Return the evidence for and against the rules among the edits of a skill, in order."""
    merged = {rule.content: rule for rule in ground.rules}
    rules = [edit for edit in edits if edit.sources and edit.op != "create"]
    wordings = [_wordings(edit, merged.get(edit.content), ground.records) for edit in rules]
    lessons = [
        (record.trajectory_id, item.line) for record in ground.records for item in record.items
    ][:LESSONS]
    locations: dict[str, list[Location]] = defaultdict(list)
    for record, located in zip(ground.records, ground.places, strict=True):
        locations[record.trajectory_id] += located
    common = common_words([text for _, text in lessons])
    signs = [_signs(edit, merged.get(edit.content), locations) for edit in rules]
    runs_of = runs_that_show({sign for group in signs for sign in group}, ground)
    outcomes = {run.id: run.outcome for run in ground.runs}
    sampled = Counter(run.outcome for run in sample(ground.runs))
    evidence: list[RuleEvidence] = []
    for edit, wordings_of_rule, group in zip(rules, wordings, signs, strict=True):
        against = _denials(edit, wordings_of_rule, lessons, common)
        rule = merged.get(edit.content)
        contrast, runs = _contrast(edit, group, runs_of, outcomes, sampled, rule)
        evidence.append(
            RuleEvidence(
                content=edit.content,
                wordings=wordings_of_rule,
                quotes=quotes_of(rule),
                against=(*against, *runs),
                contrast=contrast,
                claims=trials_of(edit, wordings_of_rule, ground.claims),
            )
        )
    return evidence


def _wordings(
    edit: Edit, rule: Rule | None, records: Sequence[AnalystRecord]
) -> dict[str, tuple[str, ...]]:
    """Trajectory id -> the lessons that a rule was made from.

    Where the merge did not write them down, the lesson of each record that is most like the rule.
    """
    wordings: dict[str, list[str]] = {source: [] for source in edit.sources}
    for member in rule.members if rule is not None else ():
        for source in member.sources:
            wordings.setdefault(source, []).append(member.wording)
    words = set(content_words(edit.content))
    unwritten = {source for source, texts in wordings.items() if not texts}
    for record in (record for record in records if record.trajectory_id in unwritten):
        likeness = [len(words & set(content_words(item.line))) for item in record.items]
        if max(likeness, default=0) >= SHARED_WORDS:
            nearest = record.items[likeness.index(max(likeness))]
            wordings[record.trajectory_id].append(nearest.line)
    return {source: tuple(dict.fromkeys(texts)) for source, texts in wordings.items() if texts}


def quotes_of(rule: Rule | None) -> dict[str, tuple[str, ...]]:
    """Trajectory id -> what the lessons of a rule quote from it, or from one that says the same."""
    quotes: dict[str, dict[str, None]] = defaultdict(dict)
    for member in rule.members if rule is not None else ():
        for source in member.sources:
            quotes[source] |= dict.fromkeys(member.quotes)
    return {source: tuple(texts) for source, texts in quotes.items() if texts}


def common_words(lessons: Sequence[str]) -> frozenset[str]:
    """Words that many lessons hold; none where there are few lessons."""
    if len(lessons) < MANY_LESSONS:
        return frozenset()
    counts = Counter(word for text in lessons for word in _words(text))
    return frozenset(word for word, n in counts.items() if n >= COMMON * len(lessons))


def _denials(
    edit: Edit,
    wordings: Mapping[str, Sequence[str]],
    lessons: Sequence[tuple[str, str]],
    common: frozenset[str],
) -> list[Objection]:
    """Lessons that deny a rule: its own wordings first, then those that deny most of it."""
    merged = {(source, text) for source, texts in wordings.items() for text in texts}
    strengths = {
        (source, text): denies(edit.content, text, common)
        for source, text in dict.fromkeys([*sorted(merged), *lessons])
    }
    denying = [
        pair
        for pair, strength in strengths.items()
        if strength >= (SHARED_WORDS if pair in merged else ELSEWHERE)
    ]
    denying.sort(key=lambda pair: (pair not in merged, -strengths[pair], pair))
    return [
        Objection(kind="lesson", text=text, trajectory_id=source, merged=(source, text) in merged)
        for source, text in denying[:OBJECTIONS]
    ]


def trials_of(
    edit: Edit, wordings: Mapping[str, Sequence[str]], claims: Sequence[ClaimResult]
) -> tuple[Trial, ...]:
    """The programs that checked what a rule, or a lesson that it was made from, says of code."""
    texts = {text for group in wordings.values() for text in group}
    trials: dict[tuple[str, str], Trial] = {}
    for result in claims:
        same = any(result.content.endswith(text) for text in texts)
        if set(result.sources) & set(edit.sources) and same:
            claim = result.claim
            stated = claim.subject if claim.asserted else f"not so: {claim.subject}"
            trials[stated, claim.program] = Trial(
                claim=stated, verdict=result.verdict, program=claim.program, output=result.printed
            )
    return tuple(trials.values())


def _signs(
    edit: Edit, rule: Rule | None, locations: Mapping[str, Sequence[Location]]
) -> tuple[str, ...]:
    """List the signs of a rule's evidence, without what belongs to one task; the most quoted first.

    Where the lessons have no quotes of their own, of those of their records the parts that stand
    in the run and have a word in common with the rule.
    """
    if rule is not None and rule.signs:
        return rule.signs[:SIGNS]
    words = set(_LETTERS.findall(edit.content.casefold()))
    counts = Counter(
        sign
        for source in edit.sources
        for sign in {pattern(location.fragment) for location in locations.get(source, ())}
        if len(sign) >= SHORTEST and words & set(_LETTERS.findall(sign))
    )
    return tuple(sorted(counts, key=lambda sign: (-counts[sign], -len(sign), sign))[:SIGNS])


def runs_that_show(signs: set[str], ground: Ground) -> dict[str, dict[str, int]]:
    """Sign -> the runs whose agent shows it, and the step where it first does; of a sample."""
    steps_by_sign: dict[str, dict[str, int]] = {sign: {} for sign in signs}
    for run in sample(ground.runs) if signs else ():
        (trajectory,) = ground.store.load([run])
        texts = [
            pattern(text) if step.source == "agent" else ""
            for step, text in zip(trajectory.steps, step_texts(trajectory), strict=True)
        ]
        joined = "\n".join(texts)
        for sign in signs:
            if sign in joined:
                steps = (number for number, text in enumerate(texts, 1) if sign in text)
                steps_by_sign[sign][run.id] = next(steps, 1)
    return steps_by_sign


def sample(runs: Sequence[Run]) -> list[Run]:
    """One run a task and outcome, at most :data:`SAMPLE` that failed and as many that passed."""
    by_task = {(run.outcome, run.task_id): run for run in runs}
    ordered = sorted(by_task.values(), key=lambda run: digest(run.id))
    return [
        run
        for outcome in ("fail", "pass")
        for run in [run for run in ordered if run.outcome == outcome][:SAMPLE]
    ]


def _contrast(
    edit: Edit,
    signs: Sequence[str],
    runs_of: Mapping[str, Mapping[str, int]],
    outcomes: Mapping[str, str],
    sampled: Mapping[str, int],
    rule: Rule | None,
) -> tuple[Contrast | None, list[Objection]]:
    """Count a rule's signs in failed and passed runs, and list the runs that speak against it.

    Against a rule from failures speak passed runs that show its sign, against one from successes
    failed ones. Its own sources do not count.
    """
    holding: dict[str, tuple[str, int]] = {}
    signs = [sign for sign in signs if len(runs_of[sign]) > 1]  # one run alone is no comparison
    for sign in signs:
        for run, step in runs_of[sign].items():
            holding.setdefault(run, (sign, step))
    if not holding:
        return None, []
    failed = sum(outcomes.get(source) == "fail" for source in edit.sources)
    blames = 2 * failed > len(edit.sources) if rule is None else not rule.praise
    contrary = "pass" if blames else "fail"
    against = [
        Objection(kind="run", text=sign[:SHOWN], trajectory_id=run, step=step, outcome=contrary)
        for run, (sign, step) in sorted(holding.items())
        if outcomes[run] == contrary and run not in edit.sources
    ]
    if rule is not None and rule.outcome.standing != "not measured":
        # As the merge measured it: among the runs to which the rule applies.
        fields = rule.outcome.model_dump(include=set(Contrast.model_fields))
        return Contrast(signs=tuple(signs), **fields), against[:OBJECTIONS]
    contrast = Contrast(
        signs=tuple(signs),
        failed=sum(outcomes[run] == "fail" for run in holding),
        of_failed=sampled["fail"],
        passed=sum(outcomes[run] == "pass" for run in holding),
        of_passed=sampled["pass"],
    )
    return contrast, against[:OBJECTIONS]
