"""Claims a second without a language model against a document of 20 pages, and its memory.

    python -m benchmarks.check.speed --out evals/results/check_speed.json

The document is generated (500 words a page, a fixed vocabulary, figures and names), the claims are
its sentences with a word or a figure changed. Index: reading the whole document, with the first
claim. Everything runs on one thread of this machine; the load of the machine stands beside it, and
processor seconds, which it changes less. Word tables are loaded before the clock starts.
"""

from __future__ import annotations

import os
import random
import resource
import time
from pathlib import Path
from typing import Any

from benchmarks.reports import option, read_options, report
from harness.rag.check.overlap import OverlapVerifier
from harness.rag.check.types import Claim
from harness.rag.retrieve import Document

WHO = "Arlen Bexley Corin Dovrin Elmsea Farrow Gransk Hollin Istren Jorvik Kelso Lundby".split()  # noqa: SIM905
DID = "opened closed bought sold repaired measured visited funded moved tested".split()  # noqa: SIM905
WHAT = "bridge mill harbour station archive reservoir quarry library furnace ferry".split()  # noqa: SIM905
HOW = "after a long dispute|with help from the council|against the advice of its engineers".split(  # noqa: SIM905
    "|"
)


def main() -> None:
    """Measure and write the result."""
    options = read_options(__doc__, out=option(type=Path), claims=200)
    draw = random.Random(0)
    sentences = pages(draw, 20)
    document = Document("report", " ".join(sentences))
    verifier = OverlapVerifier()
    verifier.verify([changed(sentences[0], draw)], [Document("first", sentences[1])])
    indexing = timed(lambda: verifier.verify([changed(sentences[0], draw)], [document]))
    claims = [changed(draw.choice(sentences), draw) for _ in range(options.claims)]
    checking = timed(lambda: verifier.verify(claims, [document]))
    result = {
        "command": "python -m benchmarks.check.speed --out evals/results/check_speed.json",
        "words": len(document.text.split()),
        "sentences": len(sentences),
        "claims": len(claims),
        "index": indexing,
        "check": checking,
        "claims_per_second": round(len(claims) / checking["wall_s"], 1),
        "claims_per_core_second": round(len(claims) / checking["cpu_s"], 1),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "load_average": round(os.getloadavg()[0], 1),
    }
    report(result, options.out)


def timed(call: Any) -> dict[str, float]:
    """Wall and processor seconds of a call."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return {
        "wall_s": round(time.perf_counter() - wall, 2),
        "cpu_s": round(time.process_time() - processor, 2),
    }


def pages(draw: random.Random, count: int) -> list[str]:
    """Sentences of about twenty words, 25 a page."""
    return [
        f"In {draw.randrange(1900, 2020)} {draw.choice(WHO)} {draw.choice(DID)} the "
        f"{draw.choice(WHAT)} of {draw.choice(WHO)} {draw.choice(HOW)}, at a cost of "
        f"{draw.randrange(2, 900)} thousand crowns, number {number}."
        for number in range(25 * count)
    ]


def changed(sentence: str, draw: random.Random) -> Claim:
    """A sentence with another verb or year, as a claim about a relation."""
    words = sentence.split()
    words[1 if draw.random() < 0.5 else 3] = draw.choice(DID)
    text = " ".join(words)
    return Claim(text=text, type="relation", start=0, end=len(text), sentence=text)


if __name__ == "__main__":
    main()
