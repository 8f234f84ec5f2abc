"""The wording that a group of lessons is kept in: central, short, and free of the benchmark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.evolve.merge.lessons import Lesson

MIN_WORDS, MAX_WORDS, TITLE_WORDS = 3, 36, 6
_ASIDE = re.compile(r"\s*\((?:e\.g\.|i\.e\.|like|such as|for example)[^()]*(?:\([^()]*\)[^()]*)*\)")
# Traces of one particular task or benchmark: paths, judging, numbers, cells.
_RESIDUES = (
    re.compile(r"(?:^|[\s`'\"(])(?:/[\w.-]+){2,}|[A-Za-z]:\\|\b\w+_path\b"
               r"|\b[\w-]+\.(?:xlsx|xlsm|xls|csv)\b"),
    re.compile(r"\b(?:test cases?|(?:test )?evaluation criteria|verification tests?|evaluators?"
               r"|graders?)\b", re.IGNORECASE),
    re.compile(r"\b\d+-\d+\b|\b\d{3,}\b"),
    re.compile(r"\$?[A-Z]{1,3}\$?\d+(?::\$?[A-Z]{1,3}\$?\d+)?"),
)  # fmt: skip
_DANGLING = re.compile(r"(?:[:,]|\b(?:either by|as follows|such as))\.?$", re.IGNORECASE)
_PADDING = re.compile(
    r"\s+(?:Patterns?|Protocols?|Strategy|Strategies|Best Practices?|Guidelines?|Workflows?"
    r"|Considerations?|Awareness|First)$"
)
# Wordings that tell an agent nothing to do.
_VAGUE = re.compile(
    r"\b(?:may (?:require|need|not)|require careful|be aware|be cautious|does not guarantee)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^(?:Issue|Rule|Lesson|Note|Example|Generalization)$", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_](?:[\w.]*\w)")
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


def residue(text: str, terms: frozenset[str] = frozenset()) -> str:
    """The first trace of one particular task or benchmark in a text, or ""."""
    folded = text.casefold()
    for term in sorted(terms):
        if re.search(rf"(?<!\w){re.escape(term)}(?!\w)", folded):
            return term
    return next((match[0].strip() for trace in _RESIDUES if (match := trace.search(text))), "")


def compact(lesson: Lesson) -> Lesson:
    """The lesson without asides, padding in its title, and with a full stop."""
    text = re.sub(r"\s+", " ", _ASIDE.sub("", lesson.text)).strip(" -")
    text = re.sub(r"\s+([.,;:])", r"\1", text)
    if text and text[0].islower() and not text.startswith(("pd.", "wb.", "ws.", "openpyxl")):
        text = text[0].upper() + text[1:]
    if text and text[-1] not in ".!?`:":
        text += "."
    # Whole sentences up to the limit; the first one always.
    first, *later = re.split(r"(?<=[.!?])\s+(?=[A-Z`])", text)
    text = first
    for sentence in later:
        if len(f"{text} {sentence}".split()) > MAX_WORDS:
            break
        text = f"{text} {sentence}"
    title = lesson.title
    while _PADDING.search(title) and len(title.split()) > 2:
        title = _PADDING.sub("", title)
    return lesson.model_copy(update={"title": "" if _LABEL.match(title) else title, "text": text})


def best_wording(
    lessons: Sequence[Lesson], central: Sequence[int], terms: frozenset[str]
) -> Lesson | None:
    """The most central lesson that can stand in a skill once compacted, or None if none can.

    Among the central third, one with a short title that says what to do is preferred.

    Args:
        lessons: all lessons.
        central: indices of a group, most central first.
        terms: words of the benchmark.
    """
    usable = [
        lesson
        for lesson in (compact(lessons[index]) for index in central)
        if MIN_WORDS <= len(lesson.text.split()) <= MAX_WORDS + 8
        and not _DANGLING.search(lesson.text.rstrip())
        and lesson.text.count("`") % 2 == 0
        and not residue(f"{lesson.title} {lesson.text}", terms)
    ]
    near = usable[: max(3, len(usable) // 3)]
    clear = [lesson for lesson in near if lesson.title and not _VAGUE.search(lesson.text)]
    short = [lesson for lesson in clear if len(lesson.title.split()) <= TITLE_WORDS]
    return (short or clear or near or [None])[0]
