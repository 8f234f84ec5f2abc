"""Values of the retrieval ablation: a query with its gold, and what each arm made of it."""

from __future__ import annotations

from harness.core import Usage, Value
from harness.rag.evals.retrieval_metrics import Gold


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
