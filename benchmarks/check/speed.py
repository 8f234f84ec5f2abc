"""Claims a second of `check` without a language model, on a document of 20 pages; and its memory.

    python -m benchmarks.check.speed --out evals/results/check_speed.json

The document is generated (500 words a page, a fixed vocabulary, figures and names), the answer is
sentences of it with another verb; `harness.api.check` gets both, and a small document before the
clock starts, so that word tables are loaded. The load of the machine stands beside the result, and
processor seconds, which it changes less.
"""

from __future__ import annotations

import os
import random
import resource
import time
from pathlib import Path

from benchmarks.reports import Options, Result, benchmark, option
from harness.api import check
from harness.rag.retrieve import Document

WHO = "Arlen Bexley Corin Dovrin Elmsea Farrow Gransk Hollin Istren Jorvik Kelso Lundby".split()  # noqa: SIM905
DID = "opened closed bought sold repaired measured visited funded moved tested".split()  # noqa: SIM905
WHAT = "bridge mill harbour station archive reservoir quarry library furnace ferry".split()  # noqa: SIM905
HOW = "after a long dispute|with help from the council|against the advice of its engineers".split(  # noqa: SIM905
    "|"
)


def pages(draw: random.Random, count: int) -> list[str]:
    """Sentences of about twenty words, 25 a page."""
    return [
        f"In {draw.randrange(1900, 2020)} {draw.choice(WHO)} {draw.choice(DID)} the "
        f"{draw.choice(WHAT)} of {draw.choice(WHO)} {draw.choice(HOW)}, at a cost of "
        f"{draw.randrange(2, 900)} thousand crowns, number {number}."
        for number in range(25 * count)
    ]


def changed(sentence: str, draw: random.Random) -> str:
    """A sentence with another verb."""
    words = sentence.split()
    words[3] = draw.choice(DID)
    return " ".join(words)


@benchmark(out=option(type=Path), sentences=200)
def main(options: Options) -> Result:
    """Measure and write the result."""
    draw = random.Random(0)
    sentences = pages(draw, 20)
    document = Document("report", " ".join(sentences))
    before = Document("before", " ".join(pages(random.Random(1), 3)))
    check(before.text[:2000], before)
    answer = " ".join(changed(draw.choice(sentences), draw) for _ in range(options.sentences))
    wall, processor = time.perf_counter(), time.process_time()
    claims = len(check(answer, document).claims)
    seconds = time.process_time() - processor
    return {
        "command": "python -m benchmarks.check.speed --out evals/results/check_speed.json",
        "words": len(document.text.split()),
        "sentences": options.sentences,
        "claims": claims,
        "wall_s": round(time.perf_counter() - wall, 2),
        "cpu_s": round(seconds, 2),
        "claims_per_core_second": round(claims / seconds, 1),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "load_average": round(os.getloadavg()[0], 1),
    }
