"""The headings that rules are filed under: the skill's own, a topic, or a phase of the work.

A topic is a noun that many titles share (in a spreadsheet skill, "formula"); the phases are those
that any agent goes through. English words; rules in other languages go under one heading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.similarity import tfidf_similarities
from harness.evolve.stems import content_words

PHASES: dict[str, str] = {
    "Look before you change": "inspect explore discover examine discovery inspection existence"
    " exist structure dimensions assume header preview list locate detect detection identify"
    " understand before mapping search assumption",
    "Stay in scope and preserve the rest": "preserve preservation overwrite original source copy"
    " backup scope boundary boundaries range specified in-place merged retain untouched protect"
    " protection clear stale safety directory separate separation delete deletion",
    "Handle types, gaps and text": "type types none null empty blank string numeric isinstance"
    " date convert conversion coerce normalize case whitespace mixed missing nan regex substring"
    " try except fallback error defensive tolerance",
    "Build it robustly": "dynamic hardcode hardcoded programmatically iterate loop reference"
    " template reverse library openpyxl pandas index offset helper buffer memory style format"
    " object attribute api",
    "Check before you finish": "verify verification validate validation after saving reload re-read"
    " confirm compare count log report summary output completion coverage expected post-save"
    " evaluate result",
}  # fmt: skip
FALLBACK = "Other rules"
TOPIC_SHARE = (0.15, 0.45)
GUIDE = "How to use this skill"
"""Heading of the section that a new skill begins with."""
EXISTING_SIMILARITY = 0.12
_GENERIC_WORDS = (
    "pattern validate validation verify verification output cell handl handle access check target"
    " type data string preservation preserve dynamic safe operation result execution before after"
    " construction multi aware reference source range row column sheet workbook sheets"
)
_GENERIC = frozenset(_GENERIC_WORDS.split())


def file_under(rules: Sequence[Lesson], existing: Mapping[str, str] | None = None) -> list[str]:
    """A heading for every rule.

    Args:
        rules: the rules, best supported first.
        existing: headings of the skill -> text of their sections; used where they fit.
    """
    topics = _topics(rules)
    own = _own_sections(rules, existing or {})
    same = _own_phases(existing or {})
    found: list[str] = []
    for index, rule in enumerate(rules):
        heading = own.get(index) or _topic_of(rule, topics) or _phase(rule)
        found.append(same.get(heading, heading))
    return found


def _own_phases(existing: Mapping[str, str]) -> dict[str, str]:
    """Phase -> the skill's own heading for it: one that begins with the same word."""
    return {
        phase: name
        for phase in PHASES
        for name in reversed(list(existing))
        if name.casefold().split()[:1] == phase.casefold().split()[:1]
    }


def order(headings: Sequence[str]) -> list[str]:
    """Distinct headings: phases in the order of the work, topics between building and checking."""
    phases = list(PHASES)
    distinct = list(dict.fromkeys(headings))

    def place(heading: str) -> tuple[float, int]:
        if heading in PHASES:
            return float(phases.index(heading)), 0
        return (99.0 if heading == FALLBACK else len(phases) - 1.5), distinct.index(heading)

    return sorted(distinct, key=place)


def _own_sections(rules: Sequence[Lesson], existing: Mapping[str, str]) -> dict[int, str]:
    names = [name for name, text in existing.items() if text.strip()]
    if not names or not rules:
        return {}
    texts = [rule.wording for rule in rules] + [f"{name}. {existing[name]}" for name in names]
    scores = tfidf_similarities(texts)[: len(rules), len(rules) :]
    best = scores.argmax(axis=1)
    return {
        i: names[int(best[i])]
        for i in range(len(rules))
        if scores[i, int(best[i])] >= EXISTING_SIMILARITY
    }


def _topics(rules: Sequence[Lesson]) -> dict[str, str]:
    """Stem -> heading of nouns that a fair share of the titles hold."""
    low, high = TOPIC_SHARE
    counts = Counter(stem for rule in rules for stem in set(content_words(rule.title)))
    phase_words = {stem for words in PHASES.values() for stem in content_words(words)}
    chosen = [
        stem
        for stem, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if low * len(rules) <= count <= high * len(rules)
        and count > 2
        and stem not in _GENERIC | phase_words
    ]
    return {stem: _plural(stem, rules) for stem in chosen[:3]}


def _plural(stem: str, rules: Sequence[Lesson]) -> str:
    words = [word for rule in rules for word in re.findall(r"[A-Za-z]+", rule.title)]
    same = [word.lower() for word in words if content_words(word) == (stem,)]
    noun = max(sorted(set(same)), key=same.count)
    return (noun if noun.endswith("s") else f"{noun}s").capitalize()


def _topic_of(rule: Lesson, topics: Mapping[str, str]) -> str:
    words = content_words(rule.title)
    return next((heading for stem, heading in topics.items() if stem in words), "")


def _phase(rule: Lesson) -> str:
    title, text = set(content_words(rule.title)), set(content_words(rule.text))
    scores = {
        heading: 2 * len(stems & title) + len(stems & text)
        for heading, words in PHASES.items()
        for stems in (set(content_words(words)),)
    }
    best = max(scores, key=lambda heading: scores[heading])
    return best if scores[best] else FALLBACK
