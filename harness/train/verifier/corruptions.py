"""Words to put in the place of others: from WordNet's files, in the same inflection."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.rag.check.verify.reading import FUNCTION_WORDS, MONTHS
from harness.rag.retrieve import sentence_spans
from harness.train.verifier.features import Labelled, rows_of
from harness.train.verifier.lexicon import read_senses, read_synsets

Relation = Literal["same", "opposite", "sibling"]
_ENDINGS = ("ing", "ed", "s")


@dataclass(frozen=True)
class Replacements:
    """Words by relation: of the most frequent sense, but opposites of any frequent one."""

    tables: dict[Relation, dict[str, list[str]]]

    def pick(self, word: str, relation: Relation, draw: random.Random) -> str | None:
        """Another word in the same inflection; None where there is none."""
        for base, ending in _bases(word.lower()):
            others = self.tables[relation].get(base)
            if others:
                found = _inflected(draw.choice(others), ending)
                return found.capitalize() if word[0].isupper() else found
        return None


def read_replacements(folder: Path) -> Replacements:
    """Replacements from WordNet's database files."""
    synsets = read_synsets(folder)
    first: dict[str, tuple[str, int]] = {}
    tables: dict[Relation, dict[str, list[str]]] = {
        "same": defaultdict(list), "opposite": defaultdict(list), "sibling": defaultdict(list)
    }  # fmt: skip
    children: dict[tuple[str, int], list[str]] = defaultdict(list)
    for one in synsets.values():
        for symbol, target, _, _ in one.pointers:
            if symbol == "@" and one.words[0].isalpha() and one.words[0].islower():
                children[target].append(one.words[0])
    for word, key in read_senses(folder):
        own = synsets[key]
        for symbol, target, left, right in own.pointers:
            if symbol == "!" and left and own.words[left - 1] == word:
                tables["opposite"][word].append(synsets[target].words[right - 1])
        if word in first:
            continue
        first[word] = key
        tables["same"][word] += [one for one in own.words if one != word and one.isalpha()]
        for symbol, target, _, _ in own.pointers:
            if symbol == "@" and len(children[target]) < 40:
                tables["sibling"][word] += [one for one in children[target] if one not in own.words]
    return Replacements(tables)


def _bases(word: str) -> list[tuple[str, str]]:
    found = [(word, "")]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            cut = word.removesuffix(ending)
            found += [(cut, ending), (cut + "e", ending)]
            if cut[-1] == cut[-2]:
                found.append((cut[:-1], ending))
            if cut.endswith("i"):
                found.append((cut[:-1] + "y", ending))
            if ending == "s" and cut.endswith("e"):
                found.append((cut[:-1], ending))
    return found


def _inflected(word: str, ending: str) -> str:
    if not ending:
        return word
    if ending == "s":
        if word.endswith("y") and word[-2:-1] not in "aeiou":
            return word[:-1] + "ies"
        return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")
    if word.endswith("e"):
        return word[:-1] + ending
    if ending == "ed" and word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ied"
    return word + ending


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
    other: Sequence[str]
    words: Replacements
    draw: random.Random


Rule = Callable[[str, Context], str | None]


def _replace(sentence: str, start: int, end: int, new: str) -> str:
    return f"{sentence[:start]}{new}{sentence[end:]}"


def _swap_word(relation: Relation) -> Rule:
    def rule(sentence: str, context: Context) -> str | None:
        found = [
            (one.start(), one.end(), new)
            for one in re.finditer(r"[A-Za-z]{4,}", sentence)
            if (one.start() == 0 or one[0].islower()) and one[0].lower() not in FUNCTION_WORDS
            and (new := context.words.pick(one[0], relation, context.draw))
        ]  # fmt: skip
        return _replace(sentence, *context.draw.choice(found)) if found else None

    return rule


def _swap_match(pattern: re.Pattern[str], *, other: bool) -> Rule:
    """Put a name or number of the same document, or of another one, in the place of one."""

    def rule(sentence: str, context: Context) -> str | None:
        places = [one for one in pattern.finditer(sentence) if one.start() > 0 or one.end() > 12]
        texts = context.other if other else context.same
        pool = sorted({new for text in texts for new in pattern.findall(text)} - {
            one[0] for one in places})  # fmt: skip
        if not places or not pool:
            return None
        one = context.draw.choice(places)
        return _replace(sentence, *one.span(), context.draw.choice(pool))

    return rule


def change_number(sentence: str, context: Context) -> str | None:
    """Another number of the same kind: a year moves by years, another number by a factor."""
    places = list(_NUMBER.finditer(sentence))
    if not places:
        return None
    one = context.draw.choice(places)
    digits = one[0].replace(",", "")
    if _YEAR.fullmatch(one[0]):
        new = str(int(digits) + context.draw.choice([-20, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10]))
    elif "." in digits:
        new = f"{float(digits) * context.draw.choice([0.5, 0.9, 1.1, 2, 10]):.1f}"
    else:
        new = str(max(1, round(int(digits) * context.draw.choice([0.5, 0.8, 1.2, 2, 3]))))
        if new == digits:
            new = str(int(digits) + 1)
    return _replace(sentence, *one.span(), new)


def shift_month(sentence: str, context: Context) -> str | None:
    """Another month."""
    one = _MONTH.search(sentence)
    others = [month for month in MONTHS if not one or month != one[0]]
    return _replace(sentence, *one.span(), context.draw.choice(others)) if one else None


def negate(sentence: str, context: Context) -> str | None:
    """Put in a "not", or take one out."""
    if one := _NEGATED.search(sentence):
        return _replace(sentence, *one.span(), f"{one[1]} ")
    one = _AUXILIARY.search(sentence)
    word = context.draw.choice(["not", "not", "never"])
    return _replace(sentence, *one.span(), f"{one[1]} {word}") if one else None


def exchange(sentence: str, context: Context) -> str | None:
    """Exchange two names of the sentence: who did it to whom."""
    names = [one for one in _NAME.finditer(sentence) if one[0].lower() not in FUNCTION_WORDS]
    if len(names) < 2:
        return None
    first, second = sorted(context.draw.sample(names, 2), key=lambda one: one.start())
    if first[0] == second[0]:
        return None
    middle = sentence[first.end() : second.start()]
    return f"{sentence[: first.start()]}{second[0]}{middle}{first[0]}{sentence[second.end() :]}"


def strengthen(sentence: str, context: Context) -> str | None:
    """Another quantity word, hedge, order or direction."""
    places = [one for one in re.finditer(r"[a-z]+", sentence) if one[0] in _SOME]
    if not places:
        return None
    one = context.draw.choice(places)
    return _replace(sentence, *one.span(), _SOME[one[0]])


def add_unsupported(sentence: str, context: Context) -> str | None:
    """A clause of another document at the end."""
    clauses = [part.strip() for text in context.other for part in re.split(r"[,;]", text)
               if 3 <= len(part.split()) <= 9]  # fmt: skip
    if not clauses:
        return None
    clause = context.draw.choice(clauses).rstrip(".")
    return f"{sentence.rstrip('. ')}, {context.draw.choice(['', 'and ', 'with '])}{clause}."


def splice(sentence: str, context: Context) -> str | None:
    """The beginning of one sentence with the end of another of the same document."""
    others = [one for one in context.same if one != sentence and len(one.split()) > 8]
    words = sentence.split()
    if not others or len(words) < 8:
        return None
    rest = context.draw.choice(others).split()
    return " ".join(words[: len(words) // 2] + rest[len(rest) // 2 :])


def shorten(sentence: str, context: Context) -> str | None:
    """Leave a clause or a bracket out; never the first words, never one with a negation."""
    kept = re.sub(r"\s*\([^)]*\)", "", sentence)
    parts = re.split(r",\s", kept)
    if len(parts) > 2:
        del parts[context.draw.randrange(1, len(parts))]
    found = ", ".join(parts).rstrip(" .") + "."
    return found if found != sentence and len(found.split()) > 5 else None


def truncate(sentence: str, context: Context) -> str | None:
    """Stop before a preposition in the second half."""
    places = [one.start() for one in re.finditer(r",? (?:in|at|on|during|with|by|from) ", sentence)
              if one.start() > len(sentence) // 2]  # fmt: skip
    return sentence[: context.draw.choice(places)] + "." if places else None


KEEPING: tuple[tuple[str, Rule], ...] = (
    ("synonym", _swap_word("same")),
    ("shorten", shorten),
    ("truncate", truncate),
)
CHANGING: tuple[tuple[str, Rule], ...] = (
    ("antonym", _swap_word("opposite")),
    ("sibling", _swap_word("sibling")),
    ("name of the document", _swap_match(_NAME, other=False)),
    ("name of another document", _swap_match(_NAME, other=True)),
    ("number of the document", _swap_match(_NUMBER, other=False)),
    ("number", change_number),
    ("month", shift_month),
    ("negation", negate),
    ("exchange", exchange),
    ("strength", strengthen),
    ("addition", add_unsupported),
    ("splice", splice),
)


TEXTS = ("nq_oracle", "qed")
_WORDS = range(8, 40)


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
    for at, (text, sentences) in enumerate(zip(texts[:documents], split[:documents], strict=True)):
        usable = [one for one in sentences if len(one.split()) in _WORDS]
        if not usable:
            continue
        context = Context(sentences, split[at + 1], words, draw)
        for number in range(per_document):
            claim = _claim(draw.choice(usable), context, changing=number % 2 == 1)
            if claim:
                yield Labelled("generated", claim[1], text, claim[0] == "", ())


def _claim(sentence: str, context: Context, *, changing: bool) -> tuple[str, str] | None:
    """The rule that changed what is said ("" for none), and the claim."""
    text = sentence
    for _ in range(context.draw.choice([0, 1, 1, 2])):
        _, rule = context.draw.choice(KEEPING)
        text = rule(text, context) or text
    if not changing:
        return "", text
    for name, rule in context.draw.sample(CHANGING, len(CHANGING)):
        found = rule(text, context)
        if found and found != text:
            return name, found
    return None
