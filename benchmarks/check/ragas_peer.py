"""RAGAS faithfulness of given answers, in its own environment.

    PYTHON benchmarks/check/ragas_peer.py BASE_URL MODEL < cases.json

Started by `benchmarks/check/ragas.py`; prints a JSON list: id, score (null where there is none),
requests that were sent, seconds, and the error.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
import time
from importlib import import_module
from typing import Any

LONGEST = 768
"""Tokens of one reply, as for our own roles with an embedded model."""


async def main() -> None:
    """Score every line of stdin."""
    base_url, model = sys.argv[1], sys.argv[2]
    openai, httpx = import_module("openai"), import_module("httpx")
    sent = [0]

    async def count(_: Any) -> None:
        sent[0] += 1

    http = httpx.AsyncClient(event_hooks={"request": [count]}, timeout=600)
    key = os.environ.get("OPENAI_API_KEY", "none")
    client = openai.AsyncOpenAI(base_url=base_url, api_key=key, http_client=http)
    llm = import_module("ragas.llms").llm_factory(
        model, client=client, temperature=0.0, max_tokens=LONGEST
    )
    metric = import_module("ragas.metrics.collections").Faithfulness(llm=llm)
    rows: list[dict[str, Any]] = []
    for case in json.load(sys.stdin):
        sent[0], score, problem, started = 0, None, "", time.monotonic()
        try:
            metric_score = await metric.ascore(
                user_input=case["question"],
                response=case["answer"],
                retrieved_contexts=case["contexts"],
            )
            value = float(metric_score.value)
            score = None if math.isnan(value) else value
        except Exception as error:  # noqa: BLE001  # whatever the peer raises is what is measured
            problem = f"{type(error).__name__}: {error}"[:200]
        seconds = round(time.monotonic() - started, 2)
        print("ragas", case["id"], score, seconds, problem, file=sys.stderr, flush=True)
        row = {"id": case["id"], "score": score, "calls": sent[0], "seconds": seconds}
        rows.append(row | {"error": problem})
    await http.aclose()
    print(json.dumps(rows))


if __name__ == "__main__":
    asyncio.run(main())
