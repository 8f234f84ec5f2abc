"""The wording that a rule gets: a source's own words, short, the condition first.

A rule is read in the middle of work. So it is one sentence where it can be, of at most 30 words,
with the condition before the action. What is done to a source's words keeps their meaning: asides
and trailing reasons go, a closing condition moves to the front, a capital and a full stop come. No
word is ever joined to the next, and code stays as it is. A wording that a model wrote must pass
:func:`fault` or the sources' own words take its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from harness.evolve.merge.lessons import REFUSAL, Lesson

MIN_WORDS, MAX_WORDS = 3, 30
# Share of the content words of a rewrite that its sources must hold.
SHARED = 0.7
_ASIDE = re.compile(
    r"\s*\((?:e\.g\.|i\.e\.|like|such as|for example)[\s,][^()]*(?:\([^()]*\)[^()]*)*\)(?!\w)"
)
# A closing clause that gives the reason: a rule that is too long stands without it.
_REASON = re.compile(
    r"(?:,|;|\s[\u2013\u2014-])\s+(?:because|since|so that|as (?:this|it|they|these)|otherwise"
    r"|ensuring|preventing|avoiding|making|allowing|which|to (?:avoid|prevent|ensure|enable)"
    r"|this (?:ensures|prevents|avoids))\b[^.]*\.?$",
    re.IGNORECASE,
)
# An action that ends with its condition. Left alone is what may bind the condition to a part of the
# action only (a conjunction, a subordinate clause, a purpose), no condition ("check if"), and
# what speaks of something that only the action names.
_CUES = "when|if|while|once|unless"
_CLAIMING = (
    "check|checks|verify|ensure|validate|determine|confirm|test|see|know|decide|remember|note|make"
    "|assume"
)
_BINDING = (
    "and|or|then|that|which|who|whether|how|what|where|so|because|to|only|than|as"
    f"|until|before|after|{_CLAIMING}|{_CUES}"
)
_POINTING = "it|they|them|its|their|this|these|and|or|but|until|before|after"
_CLOSING = re.compile(
    rf"^(?P<action>(?!Excel|Pandas|Openpyxl|Python|(?i:{_CLAIMING})\b)[A-Z][a-z]+ "
    rf"(?:(?!\b(?:{_BINDING})\b)[^,;:.()\u2014])+?) "
    rf"(?P<condition>(?:(?:{_CUES})\s+(?!(?:not|needed|necessary|possible|{_POINTING})\b)\w+"
    rf"|(?:before|after)\s+\w+ing)\b(?:(?!\b(?:{_POINTING}|{_CUES})\b)[^,;:()\u2014])*?)\.$"
)
_CONDITION = re.compile(
    r"^(?:when|if|before|after|while|once|unless|for|where|in|on|during|as soon as)\b",
    re.IGNORECASE,
)
# Statements: they say how something is, and leave the reader to find out what to do.
_STATEMENT = re.compile(
    r"^(?:the|a|an|this|these|those|some|most|many|it|they|there)\b"
    r"|^(?:[^\s,;:]+\s+){1,9}?(?:is|are|was|were|may|might|can|could|will|does|often|should|requires?|needs?)\b",
    re.IGNORECASE,
)
# Traces of one particular task or benchmark: paths, judging, numbers, cells.
_RESIDUES = (
    re.compile(r"(?:^|[\s`'\"(])(?:/[\w.-]+){2,}|[A-Za-z]:\\|\b\w+_path\b"
               r"|\b[\w-]+\.(?:xlsx|xlsm|xls|csv)\b"),
    re.compile(r"\b(?:test cases?|(?:test )?evaluation criteria|(?:task|test) evaluations?"
               r"|verification tests?|answer (?:positions?|keys?)|evaluators?|graders?)\b",
               re.IGNORECASE),
    re.compile(r"\b\d+-\d+\b|\b\d{3,}\b"),
    re.compile(r"\$?[A-Z]{1,3}\$?\d+(?::\$?[A-Z]{1,3}\$?\d+)?"),
)  # fmt: skip
_DANGLING = re.compile(r"(?:[:,]|\b(?:either by|as follows|such as))\.?$", re.IGNORECASE)
_PADDING = re.compile(
    r"\s+(?:Patterns?|Protocols?|Strategy|Strategies|Best Practices?|Guidelines?|Workflows?"
    r"|Considerations?|Awareness|First)$"
)
# Wordings that tell an agent nothing to do: that care is needed, or that something depends.
_VAGUE = re.compile(
    r"\b(?:may (?:require|need|not)|requir\w+ (?:careful|special)|be aware|be cautious"
    r"|does not guarantee|depends on|consider whether)\b",
    re.IGNORECASE,
)
# Claims of more than the few runs behind a wording can bear; "only this holds data" is one of all
# that is not shown.
_SWEEPING = re.compile(
    r"\b(?:exclusively|entirely|for (?:all|any|every)|in (?:all|any) cases?"
    r"|only (?:[\w-]+ ){1,6}(?:contains?|holds?|has|have))\b"
)
# What says why: a reader who knows the reason sees when a rule is meant.
_WHY = re.compile(
    r"\b(?:because|since|so that|otherwise|ensuring|preventing|avoiding"
    r"|(?:to|which|this|these) (?:avoid|prevent|ensure)s?)\b",
    re.IGNORECASE,
)
# A sentence that asks for something more, not one that says why.
_MORE = re.compile(r"[.!?]\s+(?!This (?:ensures|prevents|avoids)\b)[A-Z`]")
_PART = re.compile(r"(?<=[.!?;:])\s+|\s*\u2014\s*")
_FIRST = re.compile(
    r"^(?:when|if|for|in|where|while|during|after|before|once)\b[^,]*,\s*", re.IGNORECASE
)
_LABEL = re.compile(r"^(?:Issue|Rule|Lesson|Note|Example|Generalization)$", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_](?:[\w.]*\w)")
# What must be copied to the letter: code, names with a mark inside, numbers.
_LITERAL = re.compile(r"`[^`]+`|\b\w+(?:[._]\w+)+\b|\b[a-z]+[A-Z]\w*|\b\d[\d.,]*\b")
_FILLER_WORDS = (
    "a an the and or of in on at with from is are be it its their this any all each only ever just"
    " have has do does not use using used prefer rely choose employ always never must should"
    " assume apply check attempt try verify ensure one both into over non your you them"
)
_FILLER = frozenset(_FILLER_WORDS.split())
_SYNONYMS = {
    "attribute": "property", "method": "property", "fresh": "new", "instantiate": "create",
    "recreate": "create", "build": "create", "worksheet": "sheet", "hardcode": "hardcod",
}  # fmt: skip


def content_words(text: str) -> tuple[str, ...]:
    """Stemmed English words that carry meaning, in order, without repetition."""
    stems = (stem(word.lower()) for word in _WORD.findall(text) if word.lower() not in _FILLER)
    return tuple(dict.fromkeys(word for word in stems if word not in _FILLER))


def stem(word: str) -> str:
    """A word without its ending, and one word for a few that mean the same."""
    word = _SYNONYMS.get(word, word)
    for ending in ("ies", "ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    return _SYNONYMS.get(word, word)


def numbers_and_codes(text: str) -> list[str]:
    """Numbers, and what looks like cells, that may belong to one task."""
    return [match[0] for trace in _RESIDUES[2:] for match in trace.finditer(text)]


def residue(
    text: str, terms: frozenset[str] = frozenset(), general: frozenset[str] = frozenset()
) -> str:
    """The first trace of one particular task or benchmark in a text, or "".

    Args:
        text: of a lesson.
        terms: words of the benchmark.
        general: numbers and codes that are no trace: instructions name them, or several tasks do.
    """
    folded = text.casefold()
    for term in sorted(terms):
        if re.search(rf"(?<!\w){re.escape(term)}(?!\w)", folded):
            return term
    traces = (match[0].strip() for trace in _RESIDUES for match in trace.finditer(text))
    return next((trace for trace in traces if trace not in general), "")


def compact(lesson: Lesson) -> Lesson:
    """The lesson in whole sentences of at most 30 words, without asides, the condition first.

    Its words are the source's, in the source's order but for a condition that moves to the front.
    """
    text = " ".join(outside_code(lesson.text, lambda part: _ASIDE.sub("", part)).split())
    # Only where the mark ends a clause: " .value" is a word of its own.
    text = re.sub(r"\s+([.,;:])(?=\s|$)", r"\1", text).strip(" -")
    if text and text[0].islower() and not text.startswith(("pd.", "wb.", "ws.", "openpyxl")):
        text = text[0].upper() + text[1:]
    # Whole sentences up to the limit; the first one always.
    first, *later = re.split(r"(?<=[.!?])\s+(?=[A-Z`])", text)
    if len(first.split()) > MAX_WORDS:
        first = _REASON.sub("", first)
    text = first
    for sentence in later:
        if len(f"{text} {sentence}".split()) > MAX_WORDS:
            break
        text = f"{text} {sentence}"
    if text and text[-1] not in ".!?`:":
        text += "."
    title = lesson.title
    while _PADDING.search(title) and len(title.split()) > 2:
        title = _PADDING.sub("", title)
    title = "" if _LABEL.match(title) else title
    return lesson.model_copy(update={"title": title, "text": condition_first(text)})


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """A text whose parts outside of code spans are changed."""
    parts = re.split(r"(`+[^`]+`+)", text)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))


def condition_first(text: str) -> str:
    """A text whose first sentence has its closing condition in front, if its meaning stays."""
    sentence, mark, later = text.partition(". ")
    match = _CLOSING.match(sentence.rstrip(".") + ".")
    if match is None or _STATEMENT.match(sentence) or match["action"].count("`") % 2:
        return text
    action, condition = match["action"], match["condition"]
    if len(action.split()) < 2 or len(condition.split()) < 2:
        return text
    first = f"{condition[0].upper()}{condition[1:]}, {action[0].lower()}{action[1:]}"
    return f"{first}{mark or '.'}{later}"


def refuses(text: str) -> bool:
    """Return True if the main clause of a rule forbids something."""
    return REFUSAL.search(text.partition(". ")[0]) is not None


def says_something(text: str) -> bool:
    """Return True if a text is a rule: not a heading, nor a sentence that stops in the middle."""
    words = re.findall(r"[^\W\d_]{4,}", outside_code(text, lambda part: part))
    heading = len(text.split()) <= 6 and all(word[0].isupper() for word in words)
    return (
        MIN_WORDS <= len(text.split()) <= MAX_WORDS
        and (not heading or len(words) < 2)
        and not _DANGLING.search(text.rstrip())
        and text.count("`") % 2 == 0
    )


def vague(text: str) -> bool:
    """Return whether a text only says that care is needed, and no part tells what to do."""
    parts = [_FIRST.sub("", part) for part in _PART.split(text)]
    wary = [part for part in parts if _VAGUE.search(part)]
    return bool(wary) and all(part in wary or _STATEMENT.match(part) for part in parts)


def specific(text: str) -> bool:
    """Return whether a rule says when it applies, or names to the letter what it is about."""
    return _CONDITION.match(text) is not None or _LITERAL.search(text) is not None


def best_wording(
    lessons: Sequence[Lesson],
    central: Sequence[int],
    terms: frozenset[str],
    general: frozenset[str] = frozenset(),
) -> Lesson | None:
    """The most central lesson that can stand in a skill once compacted, or None if none can.

    Among the central third, one is preferred that says what to do, when and why, and no more.

    Args:
        lessons: all lessons.
        central: indices of a group, most central first.
        terms: words of the benchmark.
        general: as for :func:`residue`.
    """
    candidates = [
        lesson
        for lesson in (compact(lessons[index]) for index in central)
        if says_something(lesson.text)
        and not vague(lesson.text)
        and not residue(f"{lesson.title} {lesson.text}", terms, general)
    ]

    def unfit(lesson: Lesson) -> tuple[int, int]:
        """Rate how far a wording is from what its reader needs; of equals, how little it says."""
        text = lesson.text
        idle = bool(_VAGUE.search(text)) or bool(_STATEMENT.match(text))
        several = text.count(";") + len(_MORE.findall(text))
        missing = (_CONDITION.match(text) is None) + (_WHY.search(text) is None)
        far = 4 * (idle + bool(_SWEEPING.search(text))) + 2 * missing + min(several, 2)
        return far, -len(content_words(text))

    return min(candidates[: max(3, len(candidates) // 3)], key=unfit, default=None)


def fault(text: str, wordings: Iterable[str], vocabulary: frozenset[str]) -> str:
    """Return why a wording that a model wrote may not stand for its sources, or "".

    Checked are the meaning (no code, name or number that no source has; the same polarity as the
    source that is most alike; most of its words from the sources) and the spelling (no word that
    nobody used).

    Args:
        text: the rewrite.
        wordings: of its sources.
        vocabulary: stems of the words of all lessons at hand.
    """
    sources = list(wordings)
    bare, joined = set(_WORD.findall(text)), " ".join(sources)
    foreign = [name for name in _LITERAL.findall(text) if name.strip("`") not in joined]
    if foreign:
        return f"no source has {foreign[0]!r}"
    unknown = sorted(word for word in bare if stem(word.lower()) not in vocabulary | _FILLER)
    if unknown:
        return f"a word that no source or lesson has: {unknown[0]!r}"
    words = set(content_words(text))
    shares = [len(words & set(content_words(source))) for source in sources]
    shared = words & set(content_words(joined))
    if not sources or len(shared) < SHARED * len(words):
        return "it says something that its sources do not"
    if refuses(text) != refuses(sources[shares.index(max(shares))]):
        return "it forbids what its source demands, or the reverse"
    return ""
