"""Gain of prefix affinity: share of prompt tokens that the servers' caches hold.

    python -m benchmarks.serving.affinity

128 rollouts of six turns under one skill, 16 at a time, over four HTTP servers that keep blocks
of 16 tokens by the digest of all before them, least recently used first out, as vLLM's prefix
cache does; `usage` reports what was there. Arms: our client's balancing, round robin, and one
server with the memory of all four, the most that any balancing could reach. In two sizes of the
caches: one that holds the rollouts under way four times over, and one that just holds them.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from benchmarks.reports import read_options, report
from harness.models import Balancer, CallStore, open_model, serving

BLOCK = 16
SERVERS, ROLLOUTS, TURNS, SLOTS = 4, 128, 6, 16
SKILL_TOKENS, TASK_TOKENS, TURN_TOKENS = 800, 200, 150
ANSWER_S = 0.02


class PrefixCache:
    """Blocks of prompts, least recently used first out. A token is a word here."""

    def __init__(self, blocks: int) -> None:
        self._blocks: OrderedDict[bytes, None] = OrderedDict()
        self._most = blocks

    def hits(self, tokens: list[str]) -> int:
        """Tokens at the beginning that were there; all of them are afterwards."""
        cached, matching, key = 0, True, hashlib.sha256()
        for start in range(0, len(tokens) - len(tokens) % BLOCK, BLOCK):
            key.update(" ".join(tokens[start : start + BLOCK]).encode())
            block = key.digest()
            matching = matching and block in self._blocks
            cached += BLOCK if matching else 0
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._most:
            self._blocks.popitem(last=False)
        return cached


def app(cache: PrefixCache, load: list[int]) -> Any:
    """A chat endpoint in front of a cache; `load` gets the requests under way at every arrival."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    under_way = 0

    async def answer(request: Request) -> Response:
        nonlocal under_way
        body = await request.json()
        text: str = " ".join(row["content"] for row in body["messages"])
        tokens = [str(word) for word in text.split()]
        hits = cache.hits(tokens)
        under_way += 1
        load.append(under_way)
        # Of different length, by the request: rounds in step would make round robin return.
        await asyncio.sleep(
            ANSWER_S * (0.5 + hashlib.sha256(tokens[-1].encode()).digest()[0] / 256)
        )
        under_way -= 1
        message = {"role": "assistant", "content": "ok"}
        usage = {
            "prompt_tokens": len(tokens), "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": hits},
        }  # fmt: skip
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return JSONResponse({"model": "m", "choices": [choice], "usage": usage})

    async def health(request: Request) -> Response:
        return Response()

    return Starlette(
        routes=[
            Route("/v1/chat/completions", answer, methods=["POST"]),
            Route("/health", health),
        ]
    )


def round_robin() -> Callable[..., int]:
    """In place of :meth:`Balancer.choose`."""
    count = itertools.count()

    def choose(balancer: Balancer, prefix: bytes, tried: frozenset[int] = frozenset()) -> int:
        return next(count) % SERVERS

    return choose


def words(kind: str, number: int, count: int) -> str:
    """Text of so many tokens."""
    return " ".join(f"{kind}{number}.{position}" for position in range(count))


async def run(servers: int, blocks: int) -> dict[str, Any]:
    """All rollouts against fresh servers."""
    loads: list[list[int]] = [[] for _ in range(servers)]
    async with AsyncExitStack() as stack:
        urls = [
            f"{await stack.enter_async_context(serving(app(PrefixCache(blocks), load)))}/v1"
            for load in loads
        ]
        calls = CallStore()
        model = open_model("vllm/m", base_url=",".join(urls), calls=calls, concurrency=SLOTS)
        slots = asyncio.Semaphore(SLOTS)

        async def rollout(number: int) -> None:
            messages: list[Any] = [
                {"role": "system", "content": words("skill", 0, SKILL_TOKENS)},
                {"role": "user", "content": words(f"task{number}-", 0, TASK_TOKENS)},
            ]
            async with slots:
                for turn in range(TURNS):
                    reply = await model.complete(messages)
                    result = words(f"result{number}-", turn, TURN_TOKENS)
                    messages += [
                        {"role": "assistant", "content": reply.text},
                        {"role": "user", "content": result},
                    ]

        await asyncio.gather(*(rollout(number) for number in range(ROLLOUTS)))
        await model.aclose()
        usage = calls.usage()
        calls.close()
    return {
        "cached share": round(usage.cached_tokens / usage.prompt_tokens, 4),
        "prompt tokens": usage.prompt_tokens,
        "calls by server": [len(load) for load in loads],
        "most under way": [max(load, default=0) for load in loads],
    }


def main() -> None:
    """Run all arms at both sizes, print and write the report."""
    options = read_options(__doc__, out=Path("evals/results/serving_affinity.json"))
    longest = SKILL_TOKENS + TASK_TOKENS + TURNS * (TURN_TOKENS + 1)
    under_way = SLOTS * longest // BLOCK
    shares: dict[str, Any] = {}
    for name, blocks in (("roomy", 4 * under_way // SERVERS), ("tight", under_way // SERVERS)):
        affine = asyncio.run(run(SERVERS, blocks))
        choose = Balancer.choose
        Balancer.choose = round_robin()
        try:
            turns = asyncio.run(run(SERVERS, blocks))
        finally:
            Balancer.choose = choose
        shares[name] = {
            "blocks a server": blocks, "affinity": affine, "round robin": turns,
            "one server": asyncio.run(run(1, SERVERS * blocks)),
        }  # fmt: skip
    head = {"servers": SERVERS, "rollouts": ROLLOUTS, "turns": TURNS, "concurrency": SLOTS}
    report({**head, **shares}, options.out)


if __name__ == "__main__":
    main()
