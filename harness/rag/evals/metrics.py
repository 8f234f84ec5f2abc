"""Measures of a ranking against its gold passages, and the values of the ablation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.core import Usage, Value
from harness.rag.retrieve import Hit


class Gold(Value):
    """The stretch that answers a query.

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
        """Return True if the hit shows it: at least half of the passage, or the document."""
        if hit.doc != self.doc and not hit.doc.endswith((f"#{self.doc}", f"/{self.doc}")):
            return False
        if self.start is None or self.end is None:
            return True
        shared = min(self.end, hit.end) - max(self.start, hit.start)
        return shared > 0 and 2 * shared >= self.end - self.start


class Measures(Value):
    """Measures of one ranking, each from 0 to 1.

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
        hits = sorted({hit.doc: hit for hit in reversed(hits)}.values(), key=hits.index)
    missing = list(gold)
    gains: list[float] = []
    for hit in hits[:k]:
        matched = [item for item in missing if item.found_in(hit)]
        missing = [item for item in missing if item not in matched]
        gains.append(sum(item.relevance for item in matched))
    best = sorted((item.relevance for item in gold), reverse=True)[:k]
    first = next((rank for rank, gain in enumerate(gains, start=1) if gain > 0), None)
    return Measures(
        recall=(len(gold) - len(missing)) / len(gold) if gold else 0.0,
        ndcg=_discounted(gains) / _discounted(best) if any(best) else 0.0,
        reciprocal_rank=1 / first if first else 0.0,
    )


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


class Case(Value):
    """A query with what answers it; one line of a cases file.

    Attributes:
        query: as a user would put it.
        gold: at least one item.
        id: of the query.
        answers: accepted answers, for the answer score of an arm.
    """

    query: str
    gold: tuple[Gold, ...]
    id: str = ""
    answers: tuple[str, ...] = ()


class ArmReport(Value):
    """One way to search.

    Attributes:
        arm: its name.
        recall: mean share of the gold among the first k.
        recall_ci95: interval of that mean, bootstrap over queries.
        ndcg: mean.
        ndcg_ci95: interval of that mean.
        mrr: mean reciprocal rank.
        ndcg_lift: mean difference to the baseline on the same queries.
        ndcg_lift_ci95: interval of that difference; the lift is real where it leaves 0 out.
        recall_lift: the same of recall.
        recall_lift_ci95: interval of that difference.
        tokens: mean tokens of the first k hits.
        p50_ms: median time of a query, alone, one after another.
        p95_ms: 95th percentile.
        failed: queries that raised an error; they count in no mean.
        error: the first of them.
    """

    arm: str
    recall: float
    recall_ci95: tuple[float, float]
    ndcg: float
    ndcg_ci95: tuple[float, float]
    mrr: float
    ndcg_lift: float
    ndcg_lift_ci95: tuple[float, float]
    recall_lift: float
    recall_lift_ci95: tuple[float, float]
    tokens: float
    p50_ms: float
    p95_ms: float
    failed: int = 0
    error: str = ""


class AnswerReport(Value):
    """Answers from one arm's passages; every case that has accepted answers is asked once.

    Attributes:
        arm: its name.
        cases: answered ones; the means are over these.
        em: share of exact matches.
        holds: share of replies that hold an accepted answer, word by word.
        f1: mean token F1.
        f1_ci95: interval of that mean, bootstrap over cases.
        f1_lift: mean difference of F1 to the baseline, on the cases that both answered.
        f1_lift_ci95: interval of that difference.
        usage: tokens, calls and money of this arm; a reply from the cache costs nothing.
        invalid: cases without a reply; they count in no mean.
    """

    arm: str
    cases: int
    em: float
    holds: float
    f1: float
    f1_ci95: tuple[float, float]
    f1_lift: float
    f1_lift_ci95: tuple[float, float]
    usage: Usage
    invalid: int = 0


class Ablation(Value):
    """The table.

    Attributes:
        queries: how many.
        k: results that count.
        baseline: arm that the lifts are taken against.
        tokenizer: that `tokens` were counted with.
        arms: best nDCG first.
        answers: what a model made of the passages, best F1 first, where it was asked.
    """

    queries: int
    k: int
    baseline: str
    tokenizer: str
    arms: tuple[ArmReport, ...]
    answers: tuple[AnswerReport, ...] = ()
