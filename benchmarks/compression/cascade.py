"""The pre-filter of long inputs: what it lets through, and what it saves.

    python -m benchmarks.compression.cascade --shared FOLDER --filtered --times token

On stacks of about 128 K tokens (`benchmarks/compression/stacks.py`): the share of gold sentences
that pass, which bounds the loss, and seconds of CPU time of ranking for one question with it and
without. A part of `compress`, not all of it: `quality.py` and `ruler.py` call the command.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.compression.stacks import Asked, Stack, stacks
from benchmarks.reports import earlier_report, option, read_options, report
from harness.rag.compress import Critic, Query, open_critic
from harness.rag.compress.prefilter import Meaning, passing
from harness.rag.compress.ranking import rank
from harness.rag.retrieve import words


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
        times=option(nargs="*", default=[], choices=["token", "fused"]),
        part=option(type=float, default=1.0, help="of the text, without the filter"),
        out=Path("evals/results/compression_cascade.json"),
    )
    result = earlier_report(options.out)
    every_stack = stacks(options.shared)
    if options.filtered:
        result["gold that passes"] = {}
        for stack in every_stack:
            drawn = random.Random(11).sample(stack.asked, len(stack.asked))[: options.questions]
            result["gold that passes"][stack.name] = passed(stack, drawn)
    for name in options.times:
        seconds = timed(every_stack[-1], every_stack[-1].asked[0], open_critic(name), options.part)
        result.setdefault("CPU seconds", {})[name] = seconds
    report(result, options.out)


if __name__ == "__main__":
    main()
