"""The trained critic as one ONNX file with 8-bit weights."""

from __future__ import annotations

import tempfile
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from harness.compress.training.network import TokenCritic

OPSET = 17
INPUTS = ("input_ids", "attention_mask", "query", "member")
OUTPUTS = ("tags", "sentences")


def export_onnx(critic: TokenCritic, path: Path, *, quantised: bool = True) -> None:
    """Write the critic; weights (the embeddings too) in 8 bits, activations measured as they come.

    Raises:
        ImportError: if `onnx` or `onnxruntime` is not installed.
    """
    critic.eval()
    ids = torch.ones((2, 8), dtype=torch.long)
    sample = (ids, ids, torch.ones((2, 3)), torch.ones((2, 3, 8)))
    axes = {name: {0: "batch", 1: "tokens"} for name in INPUTS[:2]}
    axes |= {"query": {0: "batch", 1: "asked"}}
    axes |= {"member": {0: "batch", 1: "sentences", 2: "tokens"}}
    axes |= {"tags": {0: "batch", 1: "tokens"}, "sentences": {0: "batch", 1: "sentences"}}
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "critic.onnx"
        with warnings.catch_warnings():
            # The tracer warns of every branch that the encoder takes by shape; the tests compare
            # the traced critic with the other at shapes that it was not traced at.
            warnings.simplefilter("ignore")
            onnx: Any = torch.onnx
            onnx.export(
                critic, sample, str(whole), input_names=list(INPUTS), output_names=list(OUTPUTS),
                dynamic_axes=axes, opset_version=OPSET, dynamo=False,
            )  # fmt: skip
        if not quantised:
            path.write_bytes(whole.read_bytes())
            return
        quantization: Any = import_module("onnxruntime.quantization")
        quantization.quantize_dynamic(
            str(whole), str(path), weight_type=quantization.QuantType.QInt8, per_channel=True
        )
