"""An encoder in many processes of a Ray cluster: the same batches, the same vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.rag.retrieve.encoder import Encoder, open_encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from harness.fleet import RayExecutor

    Vectors = NDArray[np.float32]


def spread(encoder: Encoder, base_url: str | None, executor: RayExecutor) -> Encoder:
    """The encoder, with its batches made in the workers of a cluster.

    Args:
        encoder: its `spec` must open it on every node.
        base_url: endpoint of `openai/` and `vllm/` encoders.
        executor: the cluster.
    """
    from harness.fleet import Bulk

    bulk = Bulk(executor, "harness.rag.retrieve.spread:encoding", [encoder.spec, base_url])

    def encoded(batches: Sequence[list[str]]) -> Iterator[tuple[int, Vectors]]:
        import numpy as np

        for number, answer in bulk.answers(batches):
            yield number, np.frombuffer(answer, np.float32).reshape(-1, encoder.dimension)

    return replace(encoder, encode_elsewhere=encoded)


def encoding(argument: Any, _: Mapping[str, Path]) -> Callable[[list[str]], bytes]:
    """In a worker: texts to the bytes of their vectors."""
    spec, base_url = argument
    encoder = open_encoder(spec, base_url)
    return lambda texts: encoder.encode(texts).tobytes()
