"""Rules that keep what a sentence says, rules that change it, and claims made by them.

A rule takes a sentence and the sentences of its document and of another one, and gives a changed
sentence, or None where it does not apply. Both kinds are mixed on the same sentences, so that
"was changed" tells nothing about "is supported".
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.rag.check.verify import FUNCTION_WORDS, MONTHS
from harness.rag.retrieve import sentence_spans
from harness.train.verifier.features import Labelled, rows_of
from harness.train.verifier.wordnet import Relation, Replacements

TEXTS = ("nq_oracle", "qed")
_WORDS = range(8, 40)
_NAME = re.compile(r"\b[A-Z][\w'-]+(?:\s+(?:of\s+|the\s+)?[A-Z][\w'-]+)*")
_NUMBER = re.compile(r"\b\d[\d,]*(?:\.\d+)?\b")
_YEAR = re.compile(r"\b(1[5-9]\d\d|20[0-2]\d)\b")
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
_AUXILIARY = re.compile(r"\b(is|was|are|were|has|have|had|can|could|will|would|may|must|should)\b")
_NEGATED = re.compile(r"\b(is|was|are|were|has|have|had|can|could|will|would|did|does|do) ?not ")
_SOME = {"some": "all", "many": "all", "most": "all", "often": "always", "several": "all",
         "usually": "always", "may": "will", "might": "will", "could": "will", "all": "few",
         "always": "rarely", "first": "last", "before": "after", "after": "before",
         "more": "less", "largest": "smallest", "highest": "lowest", "increased": "decreased",
         "only": "also", "over": "under", "early": "late", "won": "lost"}  # fmt: skip


@dataclass(frozen=True)
class Context:
    """What a rule may draw on."""

    same: Sequence[str]
    foreign: Sequence[str]
    words: Replacements
    draw: random.Random


Rule = Callable[[str, Context], str | None]


def _replaced(sentence: str, match: re.Match[str], new: str) -> str:
    return f"{sentence[: match.start()]}{new}{sentence[match.end() :]}"


def _swap_word(relation: Relation) -> Rule:
    def rule(sentence: str, context: Context) -> str | None:
        swaps = [
            (word, new)
            for word in re.finditer(r"[A-Za-z]{4,}", sentence)
            if (word.start() == 0 or word[0].islower()) and word[0].lower() not in FUNCTION_WORDS
            and (new := context.words.pick(word[0], relation, context.draw))
        ]  # fmt: skip
        return _replaced(sentence, *context.draw.choice(swaps)) if swaps else None

    return rule


def _swap_match(pattern: re.Pattern[str], *, elsewhere: bool) -> Rule:
    """Put a name or number of the same document, or of another one, in the place of one."""

    def rule(sentence: str, context: Context) -> str | None:
        places = [place for place in pattern.finditer(sentence)
                  if place.start() > 0 or place.end() > 12]  # fmt: skip
        texts = context.foreign if elsewhere else context.same
        pool = sorted({new for text in texts for new in pattern.findall(text)} - {
            place[0] for place in places})  # fmt: skip
        if not places or not pool:
            return None
        place = context.draw.choice(places)
        return _replaced(sentence, place, context.draw.choice(pool))

    return rule


def change_number(sentence: str, context: Context) -> str | None:
    """Another number of the same kind: a year moves by years, another number by a factor."""
    places = list(_NUMBER.finditer(sentence))
    if not places:
        return None
    number = context.draw.choice(places)
    digits = number[0].replace(",", "")
    if _YEAR.fullmatch(number[0]):
        new = str(int(digits) + context.draw.choice([-20, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10]))
    elif "." in digits:
        new = f"{float(digits) * context.draw.choice([0.5, 0.9, 1.1, 2, 10]):.1f}"
    else:
        new = str(max(1, round(int(digits) * context.draw.choice([0.5, 0.8, 1.2, 2, 3]))))
        if new == digits:
            new = str(int(digits) + 1)
    return _replaced(sentence, number, new)


def shift_month(sentence: str, context: Context) -> str | None:
    """Another month."""
    place = _MONTH.search(sentence)
    months = [month for month in MONTHS if not place or month != place[0]]
    return _replaced(sentence, place, context.draw.choice(months)) if place else None


def negate(sentence: str, context: Context) -> str | None:
    """Put in a "not", or take one out."""
    if negated := _NEGATED.search(sentence):
        return _replaced(sentence, negated, f"{negated[1]} ")
    verb = _AUXILIARY.search(sentence)
    word = context.draw.choice(["not", "not", "never"])
    return _replaced(sentence, verb, f"{verb[1]} {word}") if verb else None


def exchange(sentence: str, context: Context) -> str | None:
    """Exchange two names of the sentence: who did it to whom."""
    names = [name for name in _NAME.finditer(sentence) if name[0].lower() not in FUNCTION_WORDS]
    if len(names) < 2:
        return None
    first, second = sorted(context.draw.sample(names, 2), key=lambda name: name.start())
    if first[0] == second[0]:
        return None
    middle = sentence[first.end() : second.start()]
    return f"{sentence[: first.start()]}{second[0]}{middle}{first[0]}{sentence[second.end() :]}"


def strengthen(sentence: str, context: Context) -> str | None:
    """Another quantity word, hedge, order or direction."""
    places = [word for word in re.finditer(r"[a-z]+", sentence) if word[0] in _SOME]
    if not places:
        return None
    word = context.draw.choice(places)
    return _replaced(sentence, word, _SOME[word[0]])


def add_unsupported(sentence: str, context: Context) -> str | None:
    """A clause of another document at the end."""
    clauses = [part.strip() for text in context.foreign for part in re.split(r"[,;]", text)
               if 3 <= len(part.split()) <= 9]  # fmt: skip
    if not clauses:
        return None
    clause = context.draw.choice(clauses).rstrip(".")
    return f"{sentence.rstrip('. ')}, {context.draw.choice(['', 'and ', 'with '])}{clause}."


def splice(sentence: str, context: Context) -> str | None:
    """The beginning of one sentence with the end of another of the same document."""
    sentences = [text for text in context.same if text != sentence and len(text.split()) > 8]
    words = sentence.split()
    if not sentences or len(words) < 8:
        return None
    tail = context.draw.choice(sentences).split()
    return " ".join(words[: len(words) // 2] + tail[len(tail) // 2 :])


def shorten(sentence: str, context: Context) -> str | None:
    """Leave a clause or a bracket out; never the first words, never one with a negation."""
    parts = re.split(r",\s", re.sub(r"\s*\([^)]*\)", "", sentence))
    if len(parts) > 2:
        del parts[context.draw.randrange(1, len(parts))]
    shorter = ", ".join(parts).rstrip(" .") + "."
    return shorter if shorter != sentence and len(shorter.split()) > 5 else None


def truncate(sentence: str, context: Context) -> str | None:
    """Stop before a preposition in the second half."""
    words = re.finditer(r",? (?:in|at|on|during|with|by|from) ", sentence)
    places = [word.start() for word in words if word.start() > len(sentence) // 2]
    return sentence[: context.draw.choice(places)] + "." if places else None


KEEPING: tuple[tuple[str, Rule], ...] = (
    ("synonym", _swap_word("same")),
    ("shorten", shorten),
    ("truncate", truncate),
)
CHANGING: tuple[tuple[str, Rule], ...] = (
    ("antonym", _swap_word("opposite")),
    ("sibling", _swap_word("sibling")),
    ("name of the document", _swap_match(_NAME, elsewhere=False)),
    ("name of another document", _swap_match(_NAME, elsewhere=True)),
    ("number of the document", _swap_match(_NUMBER, elsewhere=False)),
    ("number", change_number),
    ("month", shift_month),
    ("negation", negate),
    ("exchange", exchange),
    ("strength", strengthen),
    ("addition", add_unsupported),
    ("splice", splice),
)


def generated(
    folder: Path, words: Replacements, documents: int, per_document: int, seed: int
) -> Iterator[Labelled]:
    """Claims about the texts; half of them changed by a rule that changes what is said.

    Args:
        folder: `compression/train`.
        words: replacements.
        documents: how many texts.
        per_document: claims on each, an even number.
        seed: of every choice.
    """
    draw = random.Random(seed)
    texts = sorted({row["context"] for name in TEXTS for row in rows_of(folder / f"{name}.jsonl")})
    draw.shuffle(texts)
    split = [[text[a:b] for a, b in sentence_spans(text)] for text in texts[: documents + 1]]
    for number, text in enumerate(texts[:documents]):
        usable = [sentence for sentence in split[number] if len(sentence.split()) in _WORDS]
        if not usable:
            continue
        context = Context(split[number], split[number + 1], words, draw)
        for turn in range(per_document):
            changing = turn % 2 == 1
            claim = draw.choice(usable)
            for _ in range(draw.choice([0, 1, 1, 2])):  # in other words
                _, rule = draw.choice(KEEPING)
                claim = rule(claim, context) or claim
            rules = draw.sample(CHANGING, len(CHANGING)) if changing else []
            changes = (rule(claim, context) for _, rule in rules)
            changed = next((new for new in changes if new and new != claim), None)
            if changed or not changing:
                yield Labelled("generated", changed or claim, text, not changing, ())
