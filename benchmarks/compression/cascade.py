"""The cascade: what the pre-filter lets through, what it costs in the end, and what it saves.

    python -m benchmarks.compression.cascade --shared FOLDER --filtered --ranked 60 --times token

On stacks of about 128 K tokens (`benchmarks/compression/stacks.py`): the share of gold sentences
that pass, which bounds the loss; how many of the others the default would have kept without the
pre-filter; the share that the shipped default ranks within 1, 5 and 10 % of
the tokens with and without the pre-filter (differences paired, 10,000 bootstrap samples of
questions); and seconds of CPU time of one question with and without it, the default and the token
critic alone. Vectors of sentences and ranked questions are kept in `--cache`; the times use none.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compression.memory import remembering
from benchmarks.compression.stacks import Asked, Stack, stacks
from benchmarks.reports import Journal, earlier_report, option, read_options, report
from harness.rag.compress import Critic, Query, open_critic
from harness.rag.compress.critics.fused import FusedCritic
from harness.rag.compress.prefilter import Meaning, passing
from harness.rag.compress.ranking import rank
from harness.rag.retrieve import open_encoder, words
from harness.stats import ratio_interval

SHARES = (0.01, 0.05, 0.1)


def passed(stack: Stack, queries: Sequence[Asked]) -> dict[str, Any]:
    """Gold sentences that the pre-filter lets through, with word vectors and by words alone."""
    tokens = [words(f"{unit.heading} {unit.text}") for unit in stack.pool.units]
    result: dict[str, Any] = {"tokens": sum(stack.pool.tokens), "questions": len(queries)}
    arms = {"words, paragraphs, vectors": Meaning(stack.pool.units), "without vectors": None}
    for name, meaning in arms.items():
        hits = total = 0
        for query in queries:
            read = set(passing(stack.pool, Query("", query.query), tokens, meaning))
            hits, total = hits + sum(unit in read for unit in query.gold), total + len(query.gold)
        result[name] = [hits, total, round(100 * hits / total, 1)]
    return result


def lost(stack: Stack, queries: Sequence[Asked], critic: Critic) -> dict[str, Any]:
    """Of the gold sentences that the pre-filter stops, those that the critic would have kept."""
    tokens = [words(f"{unit.heading} {unit.text}") for unit in stack.pool.units]
    meaning, stopped, retained = Meaning(stack.pool.units), 0, [0] * len(SHARES)
    for query in queries:
        read = set(passing(stack.pool, Query("", query.query), tokens, meaning))
        gold = [unit for unit in query.gold if unit not in read]
        if gold:
            selections = within(stack, critic, Asked(query.query, tuple(gold)), cascade=False)
            stopped += len(gold)
            retained = [a + b for a, b in zip(retained, selections, strict=True)]
    shares = {f"{share:.0%}": count for share, count in zip(SHARES, retained, strict=True)}
    return {
        "questions": len(queries), "gold": sum(len(query.gold) for query in queries),
        "stopped": stopped, "of these kept without the pre-filter": shares,
    }  # fmt: skip


def within(stack: Stack, critic: Critic, query: Asked, *, cascade: bool) -> list[int]:
    """Gold sentences among the best of the ranking, for each of :data:`SHARES`."""
    pool, total = stack.pool, sum(stack.pool.tokens)
    ranked = rank(pool, Query("", query.query), critic, int(0.1 * total), cascade=cascade)
    order = np.asarray(ranked.order)
    spent = np.cumsum(np.asarray(pool.tokens)[order])
    selections = [set(order[spent <= share * total].tolist()) for share in SHARES]
    return [sum(unit in some for unit in query.gold) for some in selections]


def ranked_rows(
    stack: Stack, queries: Sequence[Asked], critic: Critic, journal: Journal, seconds: float
) -> list[dict[str, Any]]:
    """Rows of questions ranked both ways, those of earlier runs from the journal."""
    started, rows = time.monotonic(), list[dict[str, Any]]()
    for query in queries:
        key = f"{stack.name}|{query.query}"
        if key not in journal.rows and time.monotonic() - started > seconds:
            break
        ways = {
            arm: partial(within, stack, critic, query, cascade=arm == "with")
            for arm in ("with", "without")
        }
        row = journal.result(key, lambda ways=ways: {arm: way() for arm, way in ways.items()})
        rows.append(row | {"gold": len(query.gold)})
    return rows


def differences(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Recall with and without the pre-filter, and the difference with its interval, points."""
    gold = np.asarray([row["gold"] for row in rows])
    by_arm = {arm: np.asarray([row[arm] for row in rows]) for arm in ("with", "without")}
    result: dict[str, Any] = {"questions": len(rows), "gold": int(gold.sum())}
    for column, share in enumerate(SHARES):
        lost = (by_arm["with"] - by_arm["without"])[:, column]
        low, high = ratio_interval(list(zip(lost.tolist(), gold.tolist(), strict=True))) or (0, 0)
        result[f"{share:.0%}"] = {
            **{arm: round(100 * by_arm[arm][:, column].sum() / gold.sum(), 1) for arm in by_arm},
            "difference": round(100 * lost.sum() / gold.sum(), 1),
            "interval": [round(100 * low, 1), round(100 * high, 1)],
        }
    return result


def timed(stack: Stack, asked_query: Asked, critic: Critic, part: float) -> dict[str, float]:
    """Seconds of CPU time of one question with the pre-filter, and of the critic without it.

    The critic's time is that of its windows: a part of the document, scaled, stands for all.
    """
    query, units = Query("", asked_query.query), stack.pool.units
    critic.score(Query("", "a text"), units[:40])  # imports and first calls
    started = time.process_time()
    rank(stack.pool, query, critic, 1310)
    seconds = {"with": time.process_time() - started}
    started = time.process_time()
    critic.score(query, units[: round(part * len(units))])
    read = sum(stack.pool.tokens[: round(part * len(units))]) / sum(stack.pool.tokens)
    seconds["without"] = (time.process_time() - started) / read
    seconds["ratio"] = seconds["with"] / seconds["without"]
    return {name: round(value, 3) for name, value in seconds.items()} | {"measured part": part}


def main() -> None:
    """Measure what is asked for; parts that are not keep what the report says of them."""
    options = read_options(
        __doc__,
        shared=Path,
        questions=option(type=int, default=300, help="per stack"),
        filtered=option(action="store_true", help="what passes the pre-filter"),
        ranked=option(type=int, default=0, help="ranked both ways, per stack"),
        lost=option(action="store_true", help="what is stopped and would be kept"),
        stacks=option(nargs="*", help="names of those that are ranked or lost"),
        seconds=option(type=float, default=float("inf"), help="of ranking"),
        times=option(nargs="*", default=[], choices=["token", "fused"]),
        part=option(type=float, default=1.0, help="of the text, without the filter"),
        cache=Path("/dev/shm/cascade"),
        out=Path("evals/results/compression_cascade.json"),
    )
    options.cache.mkdir(parents=True, exist_ok=True)
    result = earlier_report(options.out)
    every_stack = stacks(options.shared)
    sampled = {
        stack.name: random.Random(11).sample(stack.asked, len(stack.asked))[: options.questions]
        for stack in every_stack
    }
    if options.filtered:
        result["gold that passes"] = {
            stack.name: passed(stack, sampled[stack.name]) for stack in every_stack
        }
        report(result, options.out)
    critic = FusedCritic(encoder=remembering(open_encoder("encoder"), options.cache))
    journal = Journal(options.cache / "ranked.jsonl")
    chosen = [stack for stack in every_stack if stack.name in (options.stacks or sampled)]
    if options.lost:
        for stack in chosen:
            result.setdefault("lost", {})[stack.name] = lost(stack, sampled[stack.name], critic)
            report(result, options.out)
    if options.ranked:
        for stack in chosen:
            queries = sampled[stack.name][: options.ranked]
            rows = ranked_rows(stack, queries, critic, journal, options.seconds)
            result.setdefault("ranked", {})[stack.name] = differences(rows)
            report(result, options.out)
    for name in options.times:
        seconds = timed(every_stack[-1], every_stack[-1].asked[0], open_critic(name), options.part)
        result.setdefault("CPU seconds", {})[name] = seconds
    report(result, options.out)


if __name__ == "__main__":
    main()
