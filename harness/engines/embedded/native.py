"""Everything that touches the native library, openvino-genai."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from openvino_genai.py_openvino_genai import (
        ContinuousBatchingPipeline,
        GenerationHandle,
        Tokenizer,
    )

MAX_BATCH = 16
MAX_BATCHED_TOKENS = 2048
KV_CACHE_GB = 1
"""Holds 23,000 tokens; cached prefixes fill it, so it is what a long run takes."""
EXACT = {
    "KV_CACHE_PRECISION": "f32",
    "INFERENCE_PRECISION_HINT": "f32",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
}
"""So that a greedy answer does not depend on its batch. With the library's 8-bit KV cache about one
answer in 20 did. With its 8-bit activations, which it takes for batches on processors with VNNI
only, 7 of 10 did; without them a batch of ten takes about twice as long there, a single request as
long as before."""

Finish = Literal["stop", "length"]


@dataclass(frozen=True)
class Settings:
    """How one request is generated.

    Attributes:
        limit: tokens at most.
        sampled: draw at random; greedy otherwise.
        options: sampling options of the engine (`temperature`, `top_p`, `presence_penalty`, ...).
        stops: strings that end the answer and are left out of it.
        seed: makes a sampled request repeat.
        schema: JSON schema that the answer must follow.
    """

    limit: int
    sampled: bool = False
    options: dict[str, float | int] = field(default_factory=dict[str, float | int])
    stops: frozenset[str] = frozenset()
    seed: int | None = None
    schema: str | None = None


def read(generation: GenerationHandle) -> tuple[list[int], Finish | None, str]:
    """New token ids of a request, why it finished (None while it runs), and the engine's status."""
    tokens: list[int] = []
    finish: Finish | None = None
    while generation.can_read():
        for output in generation.read().values():
            tokens += output.generated_ids
            name: str = output.finish_reason.name
            finish = "stop" if name == "STOP" else "length" if name == "LENGTH" else finish
    return tokens, finish, generation.get_status().name


class Pipeline:
    """A model in memory. Not safe to use from several threads, its tokenizer excepted.

    Args:
        weights: GGUF file.
    """

    def __init__(self, weights: Path) -> None:
        from openvino_genai import ContinuousBatchingPipeline, SchedulerConfig

        scheduler = SchedulerConfig()
        scheduler.cache_size = KV_CACHE_GB
        scheduler.max_num_seqs = MAX_BATCH
        scheduler.max_num_batched_tokens = MAX_BATCHED_TOKENS
        scheduler.enable_prefix_caching = True
        self._pipeline: ContinuousBatchingPipeline = ContinuousBatchingPipeline(
            str(weights), scheduler, "CPU", EXACT
        )
        self.text = Text(self._pipeline.get_tokenizer())

    def start(self, number: int, tokens: list[int], settings: Settings) -> GenerationHandle:
        """Add a request under a number that was never used before.

        Raises:
            RuntimeError: if the library refuses the settings.
        """
        import numpy as np
        from openvino import Tensor
        from openvino_genai import StructuredOutputConfig

        config = self._pipeline.get_config()
        config.max_new_tokens = settings.limit
        config.do_sample = settings.sampled
        config.stop_strings = set(settings.stops)
        for name, value in settings.options.items():
            setattr(config, name, value)
        if settings.sampled:
            # The library's default seed is a constant: unseeded requests must differ.
            config.rng_seed = secrets.randbits(31) if settings.seed is None else settings.seed
        if settings.schema is not None:
            structure = StructuredOutputConfig()
            structure.json_schema = settings.schema
            config.structured_output_config = structure
        ids = Tensor(np.array([tokens], dtype=np.int64))
        return self._pipeline.add_request(number, ids, config)  # pyright: ignore[reportUnknownMemberType]  # an overload of the stub has untyped kwargs

    def step(self) -> None:
        """Advance every request by one token, or by one piece of its prompt.

        Raises:
            RuntimeError: if the library fails; the requests in flight are then still in it.
        """
        self._pipeline.step()

    def flush(self) -> None:
        """Free what cancelled requests held; call when no other request is in flight."""
        if self._pipeline.has_non_finished_requests():
            self._pipeline.step()


class Text:
    """Chat template and tokenizer of the model; may be used from any thread."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def encode_chat(self, messages: list[dict[str, str]]) -> list[int]:
        """Token ids of a conversation, up to where the assistant speaks.

        The library cuts at the length of the context: that many ids mean "or more".
        """
        text = self._tokenizer.apply_chat_template(messages, add_generation_prompt=True)  # pyright: ignore[reportUnknownMemberType]  # the stub has bare dicts
        encoded = self._tokenizer.encode(text, add_special_tokens=False)  # pyright: ignore[reportUnknownMemberType]  # an overload of the stub has a bare list
        return encoded.input_ids.data[0].tolist()

    def decode(self, tokens: list[int], complete: bool = True) -> str:
        """Text of token ids; if not `complete`, without a character that is still incomplete."""
        text = self._tokenizer.decode(tokens)
        return text if complete else text.rstrip("\ufffd")
