"""Compares answers in a process of its own; stands alone, imports math-verify and not ours.

`python -P math_worker.py SECONDS BYTES`: reads one JSON object a line, `gold` and `text`, and
writes one, `ok`, `gold` and `answer` (what was read, or null), or `error`. Each comparison may use
SECONDS of processor time and the process BYTES of memory.

Processor time, because a right answer must not become a wrong one where the machine is busy. What
math-verify waits for by itself is off: it counts seconds on the wall, and its signal is not heard
while one big number is being computed. The kernel's is: the process ends, and the caller knows.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
from typing import Any


def main() -> None:
    """Answer until the input ends."""
    seconds, memory = int(sys.argv[1]), int(sys.argv[2])
    import math_verify  # pyright: ignore[reportMissingTypeStubs]  # ships none

    logging.disable(logging.CRITICAL)  # it warns of timeouts that are off
    compared(math_verify, "\\frac{1}{2}", "0.5")  # loads the grammar before the limits hold
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print("ready", flush=True)
    for line in sys.stdin:
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + seconds + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))
        request = json.loads(line)
        try:
            verdict = compared(math_verify, request["gold"], request["text"])
        except (Exception, RecursionError) as error:  # noqa: BLE001  # a parser of hostile text
            verdict = {"ok": False, "error": type(error).__name__}
        print(json.dumps(verdict), flush=True)


def compared(verifier: Any, gold: str, text: str) -> dict[str, Any]:
    """Return the verdict of math-verify on a reply.

    Args:
        verifier: the module.
        gold: LaTeX or a number, without any text around it.
        text: a reply, from which the last boxed answer, or else the last formula or number, counts.
    """
    expected = verifier.parse(f"\\boxed{{{gold}}}", parsing_timeout=None)
    got = verifier.parse(text, parsing_timeout=None)
    ok = bool(expected) and bool(got) and verifier.verify(expected, got, timeout_seconds=None)
    return {"ok": bool(ok), "gold": _last(expected), "answer": _last(got)}


def _last(parsed: list[Any]) -> str | None:
    """The text that was read: math-verify puts it behind what it made of it."""
    texts = [part for part in parsed if isinstance(part, str)]
    return texts[-1][:200] if texts else None


if __name__ == "__main__":
    main()
