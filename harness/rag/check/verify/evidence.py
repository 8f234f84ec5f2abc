"""A document as sentences with their vectors, and which of them speak of a claim.

Everything is counted within one document, so that no other document changes what is found in it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.rag.check.numbers import Mention, Quantity
from harness.rag.check.numbers import read as read_values
from harness.rag.check.verify.reading import Reading, pairs, read, related
from harness.rag.retrieve import bundled_model, is_short, load_minilm, load_model, sentence_spans

Vectors = NDArray[np.float32]
Sizes = dict[tuple[object, ...], Mention]

_LEXICAL = 0.5
_K1, _B = 1.5, 0.75  # Robertson & Zaragoza 2009, as everywhere in the harness
# Sentences of a document that a claim's words choose; only these need vectors.
_CANDIDATES = 32
# Word pieces of a sentence that are read; what lies behind them has no vector.
_LONGEST = 128
_BATCH = 32


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
        for size in map(size_of, read_values(self._text)):
            sizes.setdefault(key_of(size), size)
        return sizes

    @cached_property
    def related(self) -> frozenset[str]:
        """Stems with a meaning in common with a word of the document, or more general."""
        meanings = (related(stem, "same") | related(stem, "wider") for stem in self._postings)
        return frozenset[str]().union(*meanings)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Neighbouring stems anywhere in the document."""
        return frozenset(pair for each in self.sentences for pair in pairs(each.reading.stems))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers anywhere in the document."""
        return frozenset(number for each in self.sentences for number in each.reading.numbers)

    def places(self, stem: str) -> frozenset[int]:
        """Sentences that hold a stem."""
        return frozenset(self._postings[stem][0].tolist()) if stem in self else frozenset()

    def bm25(self, stems: Sequence[str]) -> Vectors:
        """BM25 of every sentence (Lucene's formula; Kamphuis et al. 2020)."""
        scores = np.zeros(len(self.sentences), np.float32)
        for stem in sorted(set(stems)):
            if stem in self:
                places, shares = self._postings[stem]
                scores[places] += shares
        return scores

    def candidates(self, claim: Reading) -> list[int]:
        """Sentences whose vectors are compared with the claim's: the best ones by BM25."""
        scores = self.bm25([claim.stems[place] for place in claim.content])
        return np.argsort(-scores, kind="stable")[:_CANDIDATES].tolist()

    def best(self, claim: Reading, vector: Vectors, k: int) -> list[int]:
        """The k sentences that speak most of the claim, best first.

        The sum of BM25, divided by its largest value, and the cosine of the vectors.
        """
        lexical = self.bm25([claim.stems[place] for place in claim.content])
        scale = _LEXICAL / max(1e-6, float(lexical.max()))
        chosen = self.candidates(claim)
        fill([(self, chosen)])
        scores = {
            place: float(self.states[place].sentence @ vector + scale * lexical[place])
            for place in chosen
        }
        return sorted(chosen, key=lambda place: -scores[place])[:k]


def size_of(mention: Mention) -> Mention:
    """A value without sign and bound: "reduced to below 5" and "under 5" are the same number."""
    if not isinstance(mention, Quantity):
        return mention
    high = mention.high
    ends = sorted((abs(mention.value), abs(high))) if high is not None else [abs(mention.value)]
    sizes = (size_of(each) for each in mention.alternatives)
    return replace(
        mention,
        value=ends[0],
        high=ends[1] if high is not None else None,
        bound="",
        signed=False,
        alternatives=tuple(size for size in sizes if isinstance(size, Quantity)),
    )


def key_of(size: Mention) -> tuple[object, ...]:
    """What makes two sizes the same."""
    return (size.value, size.high, size.unit) if isinstance(size, Quantity) else (size.text,)


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
        return [
            States(_unit(hidden.mean(axis=0)), _unit(hidden[1:-1]).astype(np.float16), pieces[1:-1])
            for hidden, pieces in load_minilm(bundled_model()).states(texts, _LONGEST)
        ]
    model: Any = load_model("SentenceTransformer", str(bundled_model()))
    states: dict[int, States] = {}
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    for first in range(0, len(order), _BATCH):
        batch = order[first : first + _BATCH]
        states |= zip(batch, _encode(model, [texts[number] for number in batch]), strict=True)
    return [states[number] for number in range(len(texts))]


def _unit(vectors: Vectors) -> Vectors:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _encode(model: Any, texts: list[str]) -> list[States]:
    import torch

    tokenizer, network = model.tokenizer, model[0].auto_model
    encoded = tokenizer(
        texts, padding=True, truncation=True, max_length=_LONGEST, return_tensors="pt"
    )
    with torch.inference_mode():
        hidden = network(**encoded).last_hidden_state
    mask = encoded["attention_mask"].unsqueeze(-1).float()
    means = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1).numpy()
    tokens = torch.nn.functional.normalize(hidden, dim=-1).numpy().astype(np.float16)
    lengths = encoded["attention_mask"].sum(1).tolist()
    return [
        States(
            means[row],
            tokens[row, 1 : length - 1].copy(),
            tuple(tokenizer.convert_ids_to_tokens(encoded["input_ids"][row, 1 : length - 1])),
        )
        for row, length in enumerate(lengths)
    ]
