"""The published QwenLong-CPRS-7B weights as a critic (arXiv 2505.18092, section 2.2).

Qwen2 with causal attention in layers 1 to 21 and attention in both directions from 22 on, and a
head of four classes for each token: begin, inner, outside, end. The language head of the paper is
not part of the published inference weights.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.core import BadInput, require
from harness.rag.compress.critics.windows import merged, unit_windows
from harness.rag.compress.tokens import load_tokenizer
from harness.rag.compress.types import Query, Unit

CAUSAL_LAYERS = 21
# Tokens of a window with instruction and query in it, and tokens that two windows share.
WINDOW, OVERLAP = 8192, 512
OUTSIDE = 2
_BOTH_WAYS = "both_ways"


class CprsCritic:
    """Scores a unit by its best token: 1 - P(outside).

    Args:
        folder: of the checkpoint: `config.json`, `tokenizer.json`, safetensors with the weights of
            the model and of `cls_head`.
        device: of torch.
        causal_layers: layers with causal attention, from the first.
        window: tokens of a window.
        overlap: tokens that two windows share.

    Raises:
        BadInput: if the folder is no such checkpoint, or torch or transformers are missing.
    """

    def __init__(
        self,
        folder: Path,
        device: str = "cpu",
        causal_layers: int = CAUSAL_LAYERS,
        window: int = WINDOW,
        overlap: int = OVERLAP,
    ) -> None:
        self.name = f"cprs ({folder.name})"
        self._device, self._window, self._overlap = device, window, overlap
        self._head = {key: value.to(device) for key, value in _head(folder).items()}
        transformers: Any = import_module("transformers")
        self._model: Any = transformers.Qwen2Model.from_pretrained(folder, dtype="auto").to(device)
        self._model.eval()
        kinds = self._model.config.layer_types
        both_ways = [_BOTH_WAYS] * (len(kinds) - causal_layers)
        self._model.config.layer_types = [*kinds[:causal_layers], *both_ways]
        self._tokenizer = load_tokenizer(folder / "tokenizer.json")

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Scores from 0 to 1, comparable between calls.

        Raises:
            BadInput: if instruction and query leave less than half of a window.
        """
        prompt = self._ids(
            f"<|im_start|>system\n{query.instruction}<|im_end|>\n"
            f"<|im_start|>user\n{query.query}<|im_end|>\n<|im_start|>context\n"
        )
        room = self._window - len(prompt)
        if room < self._window // 2:
            raise BadInput(f"instruction and query hold {len(prompt)} tokens of {self._window}")
        pieces = [self._ids(f"{unit.text}\n")[:room] for unit in units]
        windows = unit_windows([len(ids) for ids in pieces], room, min(self._overlap, room // 4))
        scored = [
            self._window_scores(prompt, [pieces[index] for index in window]) for window in windows
        ]
        return merged(windows, scored, len(units))

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def _window_scores(self, prompt: list[int], pieces: Sequence[list[int]]) -> list[float]:
        torch: Any = import_module("torch")
        ids = [*prompt, *(token for piece in pieces for token in piece)]
        size, kind = len(ids), self._model.dtype
        free = torch.zeros((1, 1, size, size), dtype=kind, device=self._device)
        later = torch.full_like(free, torch.finfo(kind).min).triu(1)
        with torch.inference_mode():
            states = self._model(
                input_ids=torch.tensor([ids], device=self._device),
                attention_mask={"full_attention": later, _BOTH_WAYS: free},
                use_cache=False,
            ).last_hidden_state[0, len(prompt) :]
            head = {name: tensor.to(kind) for name, tensor in self._head.items()}
            logits = torch.nn.functional.linear(states, head["weight"], head.get("bias"))
            keep = 1 - logits.float().softmax(-1)[:, OUTSIDE]
        parts = keep.split([len(piece) for piece in pieces])
        return [float(part.max()) if len(part) else 0.0 for part in parts]


def _head(folder: Path) -> dict[str, Any]:
    """Weight (4, hidden) and, where there is one, bias (4) of the token head."""
    if not (folder / "config.json").is_file() or not (folder / "tokenizer.json").is_file():
        raise BadInput(f"expected config.json and tokenizer.json in {str(folder)!r}")
    shards = sorted(folder.glob("*.safetensors"))
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        weight_map: dict[str, str] = json.loads(index.read_text("utf-8"))["weight_map"]
        names = sorted({file for key, file in weight_map.items() if key.startswith("cls_head.")})
        shards = [folder / name for name in names]
    head: dict[str, Any] = {}
    safetensors = require("safetensors", "the CPRS weights need torch and transformers")
    for shard in shards:
        with safetensors.safe_open(str(shard), framework="pt") as tensors:
            for key in tensors.keys():  # noqa: SIM118  # no mapping: it cannot be iterated
                if key.startswith("cls_head."):
                    head[key.removeprefix("cls_head.")] = tensors.get_tensor(key)
    if "weight" not in head or head["weight"].shape[0] != 4:
        raise BadInput(f"{str(folder)!r}: expected a head 'cls_head' of the 4 classes B, I, O, E")
    return head
