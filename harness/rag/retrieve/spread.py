"""An encoder in many processes of a Ray cluster: the same batches, the same vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.rag.retrieve.encoder import Encoder, open_encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from harness.fleet import Ask, RayExecutor

    Vectors = NDArray[np.float32]


def spread(encoder: Encoder, base_url: str | None, executor: RayExecutor) -> Encoder:
    """The encoder, with its batches made in the workers of a cluster.

    Args:
        encoder: its `spec` must open it on every node.
        base_url: endpoint of `openai/` and `vllm/` encoders.
        executor: the cluster.
    """
    from harness.fleet import answers

    entry, spec = "harness.rag.retrieve.spread:encoding", (encoder.spec, base_url)

    def encoded(batches: Sequence[list[str]]) -> Iterator[tuple[int, Vectors]]:
        yield from enumerate(answers(executor, entry, spec, batches))

    return replace(encoder, encode_elsewhere=encoded)


async def encoding(spec: tuple[str, str | None], _: Mapping[str, Path]) -> Ask:
    """In a worker: texts to their vectors."""
    encoder = open_encoder(*spec)

    async def encode(texts: list[str]) -> Vectors:
        return encoder.encode(texts)

    return encode
