"""Rules that an agent cannot follow both, although both apply.

A sentence takes a side on a matter: which of two opposites it wants (a formula or its value, a
fresh workbook or the given one), whether it wants a function or warns of it, what it says that code
does (the subject of a claim), or what it tells to do at all (the clause behind a cue such as
"always" or "never"). Two rules contradict each other if they take opposite sides on one matter and
their conditions do not keep them apart. Sides are read from words: rules that oppose each other in
the wording of no known matter are not found.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

from harness.core import Value, read_yaml
from harness.evolve.merge.claims import behaviour_claims
from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.wording import content_words
from harness.evolve.types import Conflict

_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\s*\u2014\s*")
# What comes first in a sentence: a condition, a purpose, or a moment.
_LEADING = re.compile(
    r"^(?P<word>[Ww]hen|[Ii]f|[Ff]or|[Tt]o|[Ii]n|[Ww]here|[Ww]hile|[Dd]uring|[Aa]fter|[Bb]efore|[Oo]nce)\b"
    r"(?P<text>[^,]*),\s*"
)
_TRAILING = re.compile(
    r",?\s\b(?P<word>when|if|unless|where|while|after|before|once|until)\b"
    r"(?P<text>.*?)(?=, | and consider\b| and use\b|$)"
)
# One of two that are offered ("references or values") is not demanded.
_OFFERED = re.compile(r"\bor (?:\w+ )?$")
_RELATIVE = re.compile(r",?\s\bwhich\b[^,;.]*")
# Words of a moment: what follows does not say when a rule applies.
_MOMENTS = ("after", "before", "once", "until")
_DEMANDED = re.compile(r"\b(?:request|requir|ask|need|instruct|specif|necessary)\w*", re.IGNORECASE)
# A word of refusal with what belongs to it, or a word of approval: the last one before a phrase
# says which it is.
_CUE = re.compile(
    r"(?P<no>\b(?:never|avoid\w*|(?:do|does|must|should|may|might) not|don't"
    r"|not(?! (?:just|only|merely)\b)|instead of|rather than|without|refrain from|beware of"
    r"|cautious (?:when|with|of))\b"
    r"(?:\W+(?:just|only|to|use|using|rely|relying|on|assum\w+|simply|ever|be|the|a|any)\b)*)"
    r"|(?P<over>\bover\b)"
    r"|(?P<yes>(?<!\bor )\b(?:always|uses?|using|prefer|choose|select|employ|instead|must|should"
    r"|with|via|consider)\b)",
    re.I,
)
_CLAUSE = re.compile(r"(?:^|[,;]|\band|\bbut)\s*$")
# "Libraries do not ..." is no refusal.
_FACT = re.compile(r"\w\s+(?:do|does) not\b[^,;]*$", re.I)
_WARNING = re.compile(
    r"\b(?:may|might|will|do|does|can) ?not\b.{0,20}\b(?:evaluate|work|calculate)\b", re.I
)
_CHECKING = re.compile(
    r"\b(?:verif|validat|check|confirm|inspect|compar|print|report|display|show|detect|test|understand|decid"
    r"|distinguish|whether|read)\w*\b|\blog(?:s|ged|ging)?\b",
    re.I,
)
# Verbs that begin an instruction; a statement of fact wants nothing.
_VERBS = (
    "use write create implement apply prefer run extract iterate set calculate compute define load"
    " combine filter handle delete remove maintain preserve retain keep assign convert construct"
    " clear build add reserve process save overwrite sort reorder rewrite embed replicate treat"
    " parse generate enforce restrict limit constrain unmerge copy start begin find locate search"
    " match select choose reference format instantiate replace store place wrap include exclude"
    " skip return raise insert make modify edit change update initialize rebuild recreate reset"
    " leverage employ rely collect reconstruct respect identify determine derive loop fill"
    " populate consider anchor leave append merge expand extend put take open read let"
)
_INSTRUCTION = re.compile(
    r"^\W*(?:(?:for|in|to|on|at|within|across)\b[^,]*,\s*)?"
    r"(?:(?:only|first|then|also|instead|explicitly|programmatically|directly|either"
    r"|\w+ly)\W+)*"
    rf"(?:never|always|avoid\w*|do not|don't|refrain|{'|'.join(_VERBS.split())})\b"
    r"|\b(?:must|should)\b",
    re.I,
)
_GENERIC = frozenset(
    content_words(
        "cell cells row rows column columns sheet sheets workbook data value values formula"
        " formulas index indices iterate loop file range reference references spreadsheet"
        " excel operation target output"
    )
)


class Matter(Value):
    """Two opposites: see `matters.yaml`.

    Attributes:
        name: as conflicts give it.
        first: pattern of one end.
        second: pattern of the other; "" where the matter is the first end, yes or no.
        shared: content words that two sentences must have in common.
        outright: whether one of the two must refuse an end.
    """

    name: str
    first: str
    second: str = ""
    shared: int = 0
    outright: bool = False


@cache
def _matters() -> list[tuple[Matter, re.Pattern[str], re.Pattern[str]]]:
    data: Any = read_yaml(Path(__file__).with_name("matters.yaml"))
    matters = [Matter.model_validate(row) for row in data["matters"]]
    return [
        (
            matter,
            re.compile(rf"\b(?:{matter.first})", re.IGNORECASE),
            re.compile(rf"\b(?:{matter.second or '(?!)'})", re.IGNORECASE),
        )
        for matter in matters
    ]


# A function of a sheet, a name with dots, a call, or a keyword argument.
_FUNCTION = re.compile(
    r"(?<=[\s`'(])\.[a-z_]\w+|\b(?!TRUE|FALSE|NULL)[A-Z]{4,}\b|\b(?!e\.g|i\.e)[a-z]\w*(?:\.\w+)+|\b[a-z_]+=\w+"
)
# A directive, and what ends it: a condition or a reason.
_DIRECTIVE = re.compile(
    r"(?:(?P<no>\b(?:never|avoid|refrain from)\b|(?:^|, ?|\band )(?:do not|don't)\b)"
    r"|\b(?P<yes>always|prefer|use|must|instantiate|create)\b)\s+(?P<what>[^.;:(]+(?:\.\w[^.;:(]*)*)",
    re.I,
)
_STOP = re.compile(
    r",|\b(?:unless|except|instead|rather|when|if|before|after|while|for|to|because|as|until|since"
    r"|by|so|which|that|even|without|over|in order)\b",
    re.I,
)
# A contradiction is settled, not withheld, where one side has so many times the tasks.
STRONGER = 3
# Share of the words of the shorter clause that both must hold.
OVERLAP = 0.8


class Side(NamedTuple):
    """The side that a sentence takes in one matter.

    Attributes:
        matter: sides of one matter can be compared.
        side: which one, such as "yes" or "no".
        condition: content words of when it applies; none if it always does.
        words: content words of the sentence, those of the matter left out.
        shared: how many of them an opposite side must have, too.
        share: the part of the shorter that must be shared.
        refuses: whether the sentence refuses the other side; None where that does not matter.
    """

    matter: str
    side: str
    condition: frozenset[str]
    words: frozenset[str]
    shared: int = 0
    share: float = 0.0
    refuses: bool | None = None


class Contradiction(Value):
    """Two sets of lessons that disagree.

    Attributes:
        one: indices of the lessons on the first side.
        two: indices of those that say the opposite.
        about: the matter that they disagree on.
    """

    one: tuple[int, ...]
    two: tuple[int, ...]
    about: str


def settle(
    rules: Sequence[Lesson], support: Sequence[int]
) -> tuple[dict[int, str], list[Conflict]]:
    """Rules to withhold, with the reason, so that all others can be followed together.

    Of two rules that contradict each other the one with :data:`STRONGER` times the support of the
    other stays, otherwise neither does. The best supported are settled first; what is withheld
    then withholds nothing.

    Args:
        rules: with the sources of all lessons that they were made from.
        support: of each, in distinct tasks.
    """
    pairs = {
        (min(first, second), max(first, second)): pair.about
        for pair in contradictions(rules)
        for first, second in product(pair.one, pair.two)
    }
    withheld: dict[int, str] = {}
    conflicts: list[Conflict] = []
    for pair in sorted(pairs, key=lambda pair: (-max(support[n] for n in pair), pair)):
        strong, weak = sorted(pair, key=lambda number: (-support[number], number))
        if strong in withheld or weak in withheld:
            continue
        settled = support[strong] >= STRONGER * support[weak]
        losers = {weak: strong} if settled else {weak: strong, strong: weak}
        for loser, rival in losers.items():
            withheld[loser] = f"contradicts {rules[rival].wording!r} ({pairs[pair]})"
        conflicts.append(
            Conflict(
                kept=rules[strong].wording if settled else "",
                withheld=tuple(rules[number].wording for number in sorted(losers)),
                about=pairs[pair],
                sources=tuple(sorted({*rules[strong].sources, *rules[weak].sources})),
            )
        )
    return withheld, conflicts


def contradictions(lessons: Sequence[Lesson]) -> list[Contradiction]:
    """Contradicting lessons of different trajectories.

    Lessons that take the same sides are compared once, and only with those that take a side in
    the same matter.
    """
    alike: dict[frozenset[Side], list[int]] = defaultdict(list)
    for index, lesson in enumerate(lessons):
        if positions := sides(lesson.text):
            alike[positions].append(index)
    distinct = list(alike)
    holders: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, positions in enumerate(distinct):
        for matter, side in sorted({(stance.matter, stance.side) for stance in positions}):
            holders[matter][side].append(number)
    pairs: dict[tuple[int, int], str] = {}
    for matter in sorted(holders):
        for indexes, opposite in combinations(holders[matter].values(), 2):
            for first, second in product(indexes, opposite):
                pair = (min(first, second), max(first, second))
                if pair not in pairs and (about := disagreement(distinct[first], distinct[second])):
                    pairs[pair] = about
    grouped = [
        Contradiction(one=tuple(alike[distinct[a]]), two=tuple(alike[distinct[b]]), about=about)
        for (a, b), about in pairs.items()
    ]
    several = (
        pair
        for pair in grouped
        if len({lessons[index].sources for index in (*pair.one, *pair.two)}) > 1
    )
    return sorted(several, key=lambda pair: (pair.one, pair.two))


def disagreement(first: frozenset[Side], second: frozenset[Side]) -> str:
    """The matter that two lessons take opposite sides on, "" if there is none.

    A lesson that takes both sides itself weighs them, and is on neither.
    """
    for side, opposite in product(_decided(first), _decided(second)):
        if side.matter != opposite.matter or side.side == opposite.side:
            continue
        apart = side.condition and opposite.condition and not side.condition & opposite.condition
        common = len(side.words & opposite.words)
        share = side.share * min(len(side.words), len(opposite.words))
        mild = side.refuses is False and opposite.refuses is False
        if not (apart or mild) and common >= max(side.shared, opposite.shared, share):
            return side.matter
    return ""


def _decided(positions: frozenset[Side]) -> list[Side]:
    stands = {(side.matter, side.side) for side in positions}
    count = Counter(matter for matter, _ in stands)
    return [side for side in sorted(positions, key=str) if count[side.matter] == 1]


@cache
def sides(text: str) -> frozenset[Side]:
    """All sides that the text of a lesson takes."""
    none = frozenset[str]()
    positions: list[Side] = []
    for sentence in _SENTENCE.split(text):
        for claim in behaviour_claims(sentence):
            # Claims that differ in a number alone cannot both be true.
            number = re.search(r"\b\d+$", claim.subject) if claim.asserted else None
            matter = claim.subject[: number.start()] if number else claim.subject
            stand = number[0] if number else _yes(claim.asserted)
            positions.append(Side(f"whether {matter}", stand, none, none))
        positions += _sides_of(sentence)
    return frozenset(positions)


def facts(text: str) -> frozenset[tuple[str, bool]]:
    """Extract what a text states of code and whether it says that it is so; none from advice."""
    sentences = _SENTENCE.split(text)
    if any(_INSTRUCTION.search(sentence) for sentence in sentences):
        return frozenset()
    claims = (claim for sentence in sentences for claim in behaviour_claims(sentence))
    return frozenset((claim.subject, claim.asserted) for claim in claims)


def _sides_of(sentence: str) -> Iterator[Side]:
    main, condition = sentence, list[str]()
    for pattern in (_LEADING, _TRAILING):
        if (clause := pattern.search(main)) is not None:
            word = clause["word"].lower()
            if word == "unless":  # what is asked for is not what any other condition says
                condition += ["unless asked"] if _DEMANDED.search(clause["text"]) else []
            elif word not in _MOMENTS:
                condition += content_words(clause["text"])
            main = main[: clause.start()] + main[clause.end() :]
    main = _RELATIVE.sub("", main)
    instructs = _INSTRUCTION.search(main) or _WARNING.search(main)
    if not instructs or "fallback" in main.lower():
        return
    when = frozenset(condition) - _GENERIC
    words = frozenset(content_words(main)) - _GENERIC
    for matter, first, second in _matters():
        for end, pattern in ((True, first), (False, second)):
            for match in pattern.finditer(main):
                demanded = _wanted(main, match.start(), default=True if matter.second else None)
                if demanded is not None and not (
                    demanded and _OFFERED.search(main[: match.start()])
                ):
                    ends = frozenset(content_words(match[0]))
                    # An end may be worded as a refusal itself: "without overwriting".
                    refusal = not demanded or any(cue["no"] for cue in _CUE.finditer(match[0]))
                    refuses = refusal if matter.outright else None
                    yield Side(
                        matter.name, _yes(end == demanded), when, words - ends, matter.shared,
                        refuses=refuses,
                    )  # fmt: skip
    for match in _FUNCTION.finditer(main):
        demanded = _wanted(main, match.start(), default=None)
        example = main.rfind("(", 0, match.start()) > main.rfind(")", 0, match.start())
        if demanded is not None and not (demanded and example):
            yield Side(f"{match[0]} or not", _yes(demanded), when, frozenset())
    for cue in _DIRECTIVE.finditer(main):
        clause = content_words(_STOP.split(cue["what"], maxsplit=1)[0])
        if not clause:
            continue
        if (cue["yes"] or "").lower() in ("instantiate", "create"):
            clause = ("create", *clause)
        # A lone word ("pandas") says little: all of both sentences must be alike.
        lone = len(clause) == 1
        compared = frozenset(content_words(main) if lone else clause)
        stand, fewest = _yes(cue["no"] is None), 1 if lone else 2
        yield Side(clause[0], stand, when, compared, fewest, OVERLAP)


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def _wanted(text: str, position: int, default: bool | None = True) -> bool | None:
    """Return whether a sentence wants the thing at a place; None where it only looks at it."""
    before = re.sub(r"\([^()]*\)", "", text[:position])  # a refusal in brackets ends there
    cues = [cue for cue in _CUE.finditer(before) if not cue["over"] or "prefer" in before.lower()]
    if "whether" in before.lower():
        return None
    # A check goes on until a new clause wants or refuses what comes next.
    clause = [cue.start() for cue in cues if cue["yes"] or _CLAUSE.search(before[: cue.start()])]
    if _CHECKING.search(before[clause[-1] if clause else 0 :]):
        return None
    if _WARNING.search(text[position:]):
        return False
    if cues and _FACT.search(before[: cues[-1].start()] + cues[-1][0]):
        return None
    return bool(cues[-1]["yes"]) if cues else default
