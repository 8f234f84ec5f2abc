"""Whether a ranking found what it should have found."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.core import Value
from harness.rag.retrieve import Hit


class Gold(Value):
    """What answers a query.

    Attributes:
        doc: id of the document; its last part after `/` or `#` is enough.
        start: first character of the passage; None if the whole document counts.
        end: character after the last.
        relevance: gain in nDCG; 1 for a plain yes.
    """

    doc: str
    start: int | None = None
    end: int | None = None
    relevance: float = 1.0

    def found_in(self, hit: Hit) -> bool:
        """Whether the hit shows it: at least half of the passage, or the document."""
        if hit.doc != self.doc and not hit.doc.endswith((f"#{self.doc}", f"/{self.doc}")):
            return False
        if self.start is None or self.end is None:
            return True
        shared = min(self.end, hit.end) - max(self.start, hit.start)
        return shared > 0 and 2 * shared >= self.end - self.start


class Measures(Value):
    """Of one ranking, each from 0 to 1.

    Attributes:
        recall: share of the gold items found among the first k.
        ndcg: discounted gain of the first k over that of the best order (Järvelin & Kekäläinen
            2002, gain = relevance).
        reciprocal_rank: 1 / rank of the first hit that shows gold, 0 if none of the k does.
    """

    recall: float
    ndcg: float
    reciprocal_rank: float


def measure(hits: Sequence[Hit], gold: Sequence[Gold], k: int) -> Measures:
    """Measures of the first `k` hits; a gold item counts once, at the first hit that shows it.

    Where gold items are whole documents, only the best hit of a document takes a rank.
    """
    if all(item.start is None for item in gold):
        hits = list({hit.doc: hit for hit in reversed(hits)}.values())[::-1]
    left = list(gold)
    gains: list[float] = []
    for hit in hits[:k]:
        shown = [item for item in left if item.found_in(hit)]
        left = [item for item in left if item not in shown]
        gains.append(sum(item.relevance for item in shown))
    best = sorted((item.relevance for item in gold), reverse=True)[:k]
    first = next((rank for rank, gain in enumerate(gains, start=1) if gain > 0), None)
    return Measures(
        recall=(len(gold) - len(left)) / len(gold) if gold else 0.0,
        ndcg=_discounted(gains) / _discounted(best) if any(best) else 0.0,
        reciprocal_rank=1 / first if first else 0.0,
    )


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
