"""LLMLingua-2's method, re-implemented: a classifier that does not see the question drops words.

Pan et al. 2024 (arXiv 2403.12968, section 4): an encoder that reads in both directions gives every
word a probability that it is kept, and the most probable ones that fit the rate stay, in their
order. The published weights learned what GPT-4 left of meeting transcripts; they cannot be had
offline, nor can such transcripts be made. Here the encoder is all-MiniLM-L6-v2, and the labels come
from the training questions: a word is kept if the question or its answer uses it. So this is the
method and not the published model.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from harness.compress.tokens import open_tokenizer
from harness.compress.training.examples import Example, read_examples
from harness.retrieve.encoder import bundled_model
from harness.retrieve.tokens import terms

SOURCES = ("nq_oracle", "qed")
PASSAGES, BATCH, WINDOW = 600, 12, 160
"""Passages that are trained on, those of an update, and words that are read at once."""
RATE, HEAD_RATE, FROZEN = 1e-4, 1e-3, 3
POSITIVE = 3.0
"""Weight of a kept word in the loss: few are."""


class WordPruner:
    """Drops words by the probability that they are kept.

    Args:
        data: folder of the training extracts.
        weights: file that the trained classifier is kept in.
        seed: of the passages and their order.
    """

    name = "LLMLingua-2's method"

    def __init__(self, data: Path, weights: Path, seed: int) -> None:
        tokenizers: Any = import_module("tokenizers")
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(
            str(bundled_model() / "tokenizer.json")
        )
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._counts = open_tokenizer("minilm").counts
        self._known: dict[str, list[float]] = {}
        torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]  # torch's own stub
        self._model = _Classifier()
        if weights.exists():
            self._model.load_state_dict(torch.load(weights, weights_only=True))
        else:
            self._train(read_examples(data), seed)
            weights.parent.mkdir(parents=True, exist_ok=True)
            torch.save(self._model.state_dict(), weights)

    def compress(self, text: str, budget: float) -> str:
        """The most probable words that fit into `budget` of the tokens, in their order."""
        words = text.split()
        if text not in self._known:
            self._known[text] = self._probabilities(words)
        chances = self._known[text]
        sizes = self._counts(words)
        room, kept = budget * sum(sizes), set[int]()
        for at in sorted(range(len(words)), key=lambda place: -chances[place]):
            if sizes[at] <= room:
                kept.add(at)
                room -= sizes[at]
        return " ".join(words[at] for at in sorted(kept))

    def _train(self, examples: Sequence[Example], seed: int) -> None:
        rng = random.Random(seed)
        own = [one for one in examples if one.passage.source in SOURCES and one.answers]
        drawn = rng.sample(own, min(PASSAGES, len(own)))
        optimiser: Any = torch.optim.AdamW(
            [
                {"params": [p for p in self._model.body.parameters() if p.requires_grad]},
                {"params": self._model.head.parameters(), "lr": HEAD_RATE},
            ],
            lr=RATE,
        )
        for start in range(0, len(drawn), BATCH):
            part = drawn[start : start + BATCH]
            texts = [" ".join(one.passage.sentences).split()[:WINDOW] for one in part]
            wanted = [_kept(words, one) for words, one in zip(texts, part, strict=True)]
            logits, members = self._logits(texts)
            target = torch.cat([torch.tensor(one) for one in wanted])
            loss: Any = nn.functional.binary_cross_entropy_with_logits(
                torch.cat([row @ logits[at] for at, row in enumerate(members)]), target,
                pos_weight=torch.tensor(POSITIVE),
            )  # fmt: skip
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()

    def _probabilities(self, words: Sequence[str]) -> list[float]:
        """Of every word: the mean over its tokens."""
        found: list[float] = []
        with torch.inference_mode():
            for start in range(0, len(words), WINDOW):
                logits, members = self._logits([list(words[start : start + WINDOW])])
                found += [float(one) for one in members[0] @ logits[0].sigmoid()]
        return found

    def _logits(self, texts: Sequence[Sequence[str]]) -> tuple[Tensor, list[Tensor]]:
        """Logits, shape (texts, tokens), and for each text the means (words, tokens)."""
        encoded: list[Any] = [
            self._tokenizer.encode(list(words), is_pretokenized=True) for words in texts
        ]
        longest = max(len(one.ids) for one in encoded)
        ids, mask = (torch.zeros((len(texts), longest), dtype=torch.long) for _ in range(2))
        members: list[Tensor] = []
        for at, (words, one) in enumerate(zip(texts, encoded, strict=True)):
            ids[at, : len(one.ids)], mask[at, : len(one.ids)] = torch.tensor(one.ids), 1
            member = torch.zeros((len(words), longest))
            for place, word in enumerate(one.word_ids):
                if word is not None:
                    member[word, place] = 1
            members.append(member / member.sum(-1, keepdim=True).clamp(min=1))
        return self._model(ids, mask), members


class _Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        transformers: Any = import_module("transformers")
        transformers.utils.logging.disable_progress_bar()
        self.body: Any = transformers.AutoModel.from_pretrained(
            str(bundled_model()), add_pooling_layer=False
        )
        for part in (self.body.embeddings, *self.body.encoder.layer[:FROZEN]):
            for weight in part.parameters():
                weight.requires_grad = False
        self.head = nn.Linear(int(self.body.config.hidden_size), 1)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        states: Tensor = self.body(input_ids=ids, attention_mask=mask)[0]
        return self.head(states).squeeze(-1)


def _kept(words: Sequence[str], example: Example) -> list[float]:
    """1 for words that the question or an answer uses."""
    used = set(terms(" ".join([example.query, *example.answers])))
    return [float(bool(used & set(terms(word)))) for word in words]
