"""The token critic: a sentence encoder that reads question and window together, with two heads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

TAGS = ("O", "B", "I", "E")
"""Outside, begin, inside, end of an extract; a single token is its own beginning."""


class TokenCritic(nn.Module):
    """BERT over "question [SEP] window" with a tag for every token and a score for every sentence.

    Sources: two heads on one encoder, QwenLong-CPRS section 2.2; pooling by the mean.
    """

    def __init__(self, encoder: nn.Module, dimension: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.tags = nn.Linear(dimension, len(TAGS))
        self.sentence = nn.Linear(dimension, 1)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pooling: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Logits of tags, shape (batch, tokens, 4), and of sentences, (batch, sentences).

        Args:
            input_ids: shape (batch, tokens), as `attention_mask` and `token_type_ids`.
            pooling: shape (batch, sentences, tokens); rows are weights that sum to one, or zero.
        """
        states = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        )[0]
        pooled = torch.bmm(pooling, states)
        return self.tags(states), self.sentence(pooled).squeeze(-1)


def new_critic(folder: Path, *, frozen: int = 3) -> TokenCritic:
    """The critic before training: the encoder's weights, heads at random.

    Args:
        folder: of the encoder.
        frozen: lowest layers that are not trained, and the embeddings with them.
    """
    from transformers import AutoModel

    encoder: Any = AutoModel.from_pretrained(str(folder), add_pooling_layer=False)
    for part in (encoder.embeddings, *encoder.encoder.layer[:frozen]) if frozen else ():
        for weight in part.parameters():
            weight.requires_grad = False
    return TokenCritic(cast("nn.Module", encoder), int(encoder.config.hidden_size))


def focal_loss(logits: Tensor, wanted: Tensor, *, gamma: float = 2.0) -> Tensor:
    """-(1 - p_t)^gamma log p_t of every item, with p_t unweighted (Lin et al. 2017).

    Args:
        logits: shape (items, classes).
        wanted: class numbers, shape (items,).
    """
    log_p = torch.log_softmax(logits, dim=-1).gather(-1, wanted.unsqueeze(-1)).squeeze(-1)
    return -((1 - log_p.exp()) ** gamma) * log_p


def masked_mean(losses: Tensor, negative: Tensor, *, share: float = 0.5) -> Tensor:
    """Mean of the losses without the easiest `share` of the negatives."""
    easy = losses[negative]
    kept = easy.topk(max(1, round((1 - share) * easy.numel()))).values if easy.numel() else easy
    return torch.cat([losses[~negative], kept]).mean()
