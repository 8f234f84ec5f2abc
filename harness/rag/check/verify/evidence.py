"""Sentences as the checker reads them, and which sentences of a document speak of a claim.

Stems are the key of everything lexical here. Which words mean the same, the opposite or the more
general thing is looked up in a packaged table of stems, made from WordNet 3.1 by
`lab.training.lexicon`; its licence lies beside it. Everything is counted within one document, so
that no other document changes what is found in it.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.rag.check.numbers import BASE_FORMS, Mention
from harness.rag.check.numbers import read as read_values
from harness.rag.retrieve import (
    bundled_model,
    is_short,
    load_minilm,
    load_model,
    sentence_spans,
    terms,
)

Vectors = NDArray[np.float32]
Sizes = dict[tuple[object, ...], Mention]

_LEXICAL = 0.5
_K1, _B = 1.5, 0.75  # Robertson & Zaragoza 2009, as everywhere in the harness
# Sentences of a document that a claim's words choose; only these need vectors.
_CANDIDATES = 32
# Word pieces of a sentence that are read; what lies behind them has no vector.
_LONGEST = 128
_BATCH = 32

LEXICON = Path(__file__).parent.parent / "weights" / "lexicon.json.gz"
WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|\d+(?:[.,:/]\d+)*|[%$\u20ac\u00a3]")
"""A word, a number with its separators, or a sign that gives a number its meaning."""


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Stem of one word, in lower case; a number or sign stays as it is."""
    lower = word.lower().replace("\u2019", "'").removesuffix("'s")
    lower = BASE_FORMS.get(lower, lower)
    stemmed = terms(lower) if lower.isalpha() else []
    return stemmed[0] if len(stemmed) == 1 else lower


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


FUNCTION_WORDS = _words(
    """a an the and or but if of in on at by for with from to into onto than then that this these
    those it its it's is are was were be been being am do does did done has have had having he she
    they him their her hers them theirs his we us our you your i me my who whom whose which what
    when where how why as so such there here also too very just about over under after before
    during between through up down out off again can could may might must shall should will would
    not no nor own same s t re ve ll d 's each both any all some most more less other another
    while because until although though however"""
)
NEGATIONS = _words(
    """not no never none nobody nothing neither nor without cannot can't won't don't doesn't didn't
    isn't aren't wasn't weren't hasn't haven't hadn't couldn't wouldn't shouldn't hardly rarely
    barely fail fails failed refuse refuses refused deny denies denied unable lack lacks lacked
    stop stops stopped prevent prevents prevented avoid avoids"""
)
RISING = _stems(
    """more higher increase increased rise rose risen up above over exceed exceeded greater larger
    grow grew growth gain gained better best most improve after later win won maximum upper add
    added strong stronger positive"""
)
FALLING = _stems(
    """less lower decrease decreased fall fell fallen down below under smaller fewer shrink drop
    dropped decline declined loss lost worse worst least worsen before earlier lose minimum reduce
    reduced weak weaker negative"""
)
ABSOLUTES = _words("all every each only always never entirely none solely must any")
HEDGES = _words(
    """may might could possibly perhaps about around approximately nearly almost some often
    sometimes usually likely reportedly allegedly expected planned would should can"""
)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
CALENDAR = frozenset(map(str.lower, MONTHS)) | _words(
    "monday tuesday wednesday thursday friday saturday sunday"
)
_COUNTS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
NUMBER_WORDS = {word: str(number) for number, word in enumerate(_COUNTS.split(), start=2)}


@dataclass(frozen=True)
class Reading:
    """A sentence as words.

    Attributes:
        words: verbatim, in order.
        stems: of the words.
    """

    words: tuple[str, ...]
    stems: tuple[str, ...]

    @cached_property
    def content(self) -> tuple[int, ...]:
        """Places of the words that carry the statement: no function words, no signs."""
        return tuple(
            place
            for place, word in enumerate(self.words)
            if word.lower() not in FUNCTION_WORDS and word[0].isalnum()
        )

    @cached_property
    def content_stems(self) -> tuple[str, ...]:
        """Stems of those words, in order."""
        return tuple(self.stems[place] for place in self.content)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Numbers in digits, separators of thousands removed; small number words too."""
        return tuple(
            re.sub(r",(?=\d{3})", "", word).strip(".,:/")
            if re.search(r"\d", word)
            else NUMBER_WORDS[word.lower()]
            for word in self.words
            if re.search(r"\d", word) or word.lower() in NUMBER_WORDS
        )

    @cached_property
    def names(self) -> tuple[int, ...]:
        """Places of words in capitals; of the first word only where it has a capital inside."""
        return tuple(
            place
            for place in self.content
            if any(letter.isupper() for letter in self.words[place][1 if place == 0 else 0 :])
        )

    @cached_property
    def dates(self) -> tuple[int, ...]:
        """Places of months, days of the week and years."""
        return tuple(
            place
            for place, word in enumerate(self.words)
            if word.lower() in CALENDAR or re.fullmatch(r"1[5-9]\d\d|20\d\d", word)
        )

    def count(self, kind: frozenset[str]) -> int:
        """Words of a kind; contractions with "n't" count as negations."""
        return sum(word.lower().replace("\u2019", "'") in kind for word in self.words)

    @property
    def direction(self) -> int:
        """1 where more words rise than fall, -1 where more fall, else 0."""
        rising = sum((word in RISING) - (word in FALLING) for word in self.stems)
        return (rising > 0) - (rising < 0)


@lru_cache(maxsize=1 << 12)
def read(text: str) -> Reading:
    """The words of a sentence; those of the last few thousand texts are kept."""
    words = tuple(WORD.findall(text))
    return Reading(words, tuple(map(stem, words)))


@cache
def _lexicon() -> dict[str, dict[str, frozenset[str]]]:
    stored: dict[str, dict[str, list[str]]] = json.loads(gzip.decompress(LEXICON.read_bytes()))
    return {
        relation: {word: frozenset(stems) for word, stems in table.items()}
        for relation, table in stored.items()
    }


def related(word: str, relation: Literal["same", "opposite", "wider"]) -> frozenset[str]:
    """Stems with a common meaning (derived words included), an opposite one (of adjectives also
    by way of the nearest opposed pair), or a more general one, one step up."""
    return _lexicon()[relation].get(word, frozenset())


class Sentence(NamedTuple):
    """One sentence of a document, with what is read of it."""

    start: int
    end: int
    text: str
    reading: Reading


@dataclass(frozen=True)
class States:
    """Vectors of one sentence.

    Attributes:
        sentence: mean of its tokens' vectors, of length one; shape (384,).
        tokens: in context, of length one each, without the two marks at the ends; (n, 384).
        pieces: the word pieces, as text; n of them.
    """

    sentence: Vectors
    tokens: NDArray[np.float16]
    pieces: tuple[str, ...]


class Source:
    """One document, read once and asked often; vectors of its sentences are made when needed.

    Args:
        text: with at least one visible character.
    """

    def __init__(self, text: str) -> None:
        self.sentences = tuple(
            Sentence(a, b, text[a:b], read(text[a:b])) for a, b in sentence_spans(text)
        )
        self.states: dict[int, States] = {}
        self._text = text
        lengths = np.array([len(each.reading.stems) for each in self.sentences], np.float32)
        norms = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean())))
        places: dict[str, dict[int, int]] = defaultdict(dict)
        for place, sentence in enumerate(self.sentences):
            for stem, count in Counter(sentence.reading.stems).items():
                places[stem][place] = count
        self._postings: dict[str, tuple[NDArray[np.int64], Vectors]] = {}
        for stem, counted in places.items():  # places of a stem, and its share of their scores
            where = np.array(list(counted))
            counts = np.array(list(counted.values()), np.float32)
            idf = np.log(1 + (len(self.sentences) - len(counts) + 0.5) / (len(counts) + 0.5))
            share = (idf * counts / (counts + norms[where])).astype(np.float32)
            self._postings[stem] = where, share

    def __contains__(self, stem: str) -> bool:
        return stem in self._postings

    @cached_property
    def values(self) -> Sizes:
        """Values anywhere in the document, without sign and bound, by what makes them the same."""
        sizes: Sizes = {}
        for size in (mention.size for mention in read_values(self._text)):
            sizes.setdefault(size.key, size)
        return sizes

    @cached_property
    def related(self) -> frozenset[str]:
        """Stems with a meaning in common with a word of the document, or more general."""
        meanings = (related(stem, "same") | related(stem, "wider") for stem in self._postings)
        return frozenset[str]().union(*meanings)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Neighbouring stems anywhere in the document."""
        return frozenset(pair for each in self.sentences for pair in pairwise(each.reading.stems))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers anywhere in the document."""
        return frozenset(number for each in self.sentences for number in each.reading.numbers)

    def places(self, stem: str) -> frozenset[int]:
        """Sentences that hold a stem."""
        return frozenset(self._postings[stem][0].tolist()) if stem in self else frozenset()

    def bm25(self, claim: Reading) -> Vectors:
        """BM25 of every sentence (Lucene's formula; Kamphuis et al. 2020)."""
        scores = np.zeros(len(self.sentences), np.float32)
        for stem in sorted(self._postings.keys() & claim.content_stems):
            places, shares = self._postings[stem]
            scores[places] += shares
        return scores

    def candidates(self, claim: Reading) -> list[int]:
        """Sentences whose vectors are compared with the claim's: the best ones by BM25."""
        return np.argsort(-self.bm25(claim), kind="stable")[:_CANDIDATES].tolist()

    def best(self, claim: Reading, vector: Vectors, k: int) -> list[int]:
        """The k sentences that speak most of the claim, best first.

        The sum of BM25, divided by its largest value, and the cosine of the vectors.
        """
        lexical = self.bm25(claim)
        scale = _LEXICAL / max(1e-6, float(lexical.max()))
        chosen = self.candidates(claim)
        fill([(self, chosen)])
        scores = {
            place: float(self.states[place].sentence @ vector + scale * lexical[place])
            for place in chosen
        }
        return sorted(chosen, key=lambda place: -scores[place])[:k]


def fill(needs: Iterable[tuple[Source, Iterable[int]]]) -> None:
    """Make the missing vectors of sentences, all at once.

    Raises:
        BadInput: if the packages of the encoder are not installed.
    """
    missing = list(
        dict.fromkeys(
            (source, place)
            for source, places in needs
            for place in places
            if place not in source.states
        )
    )
    states = encode_states([source.sentences[place].text for source, place in missing])
    for (source, place), state in zip(missing, states, strict=True):
        source.states[place] = state


def encode_states(texts: Sequence[str]) -> list[States]:
    """States of texts, in their order, from one pass of the packaged encoder.

    Raises:
        BadInput: if the encoder's packages are not installed.
    """
    if is_short(texts):
        return [_states(*read) for read in load_minilm(bundled_model()).states(texts, _LONGEST)]
    return _torch_states(texts)


def _states(vectors: Vectors, pieces: tuple[str, ...]) -> States:
    """States of one text, whose first and last piece are marks."""
    tokens = _unit(vectors[1:-1]).astype(np.float16)
    return States(_unit(vectors.mean(axis=0)), tokens, pieces[1:-1])


def _unit(vectors: Vectors) -> Vectors:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _torch_states(texts: Sequence[str]) -> list[States]:
    """States of many texts; those of like length go together."""
    model: Any = load_model("SentenceTransformer", str(bundled_model()))
    import torch

    tokenizer, network = model.tokenizer, model[0].auto_model
    states: dict[int, States] = {}
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    for first in range(0, len(order), _BATCH):
        batch = order[first : first + _BATCH]
        encoded = tokenizer(
            [texts[number] for number in batch],
            padding=True, truncation=True, max_length=_LONGEST, return_tensors="pt",
        )  # fmt: skip
        with torch.inference_mode():
            hidden = network(**encoded).last_hidden_state.numpy()
        lengths = encoded["attention_mask"].sum(1).tolist()
        for number, ids, vectors, length in zip(
            batch, encoded["input_ids"].tolist(), hidden, lengths, strict=True
        ):
            pieces = tokenizer.convert_ids_to_tokens(ids[:length])
            states[number] = _states(vectors[:length], tuple(pieces))
    return [states[number] for number in range(len(texts))]
