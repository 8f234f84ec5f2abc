"""The trained critic as one ONNX file whose weights are stored in 8 bits.

Weights alone are rounded, each column (an embedding: each row) with a scale of its own; a runtime
multiplies them out when it loads the file and computes in 32 bits. Rounding activations too would
be a third faster and costs far more: without VNNI instructions sums of 8-bit products overflow,
and the mean reciprocal rank of the gold sentence fell from 80.6 to 37.3, or to 75.6 with weights
in 7 bits. Weights alone cost 0.2.
"""

from __future__ import annotations

import tempfile
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from harness.train.compressor.network import TokenCritic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OPSET = 17
INPUTS = ("input_ids", "attention_mask", "query", "member")
OUTPUTS = ("tags", "sentences")
LEAST = 4096
"""Numbers of a matrix from which it is stored in 8 bits."""


def export_onnx(critic: TokenCritic, path: Path, *, quantised: bool = True) -> None:
    """Write the critic, its matrices (the embeddings too) in 8 bits unless `quantised` is off.

    Raises:
        ImportError: if `onnx` is not installed.
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
        if quantised:
            in_8_bits(whole, path)
        else:
            path.write_bytes(whole.read_bytes())


def in_8_bits(whole: Path, path: Path) -> None:
    """Store the large matrices of the model `whole` as 8-bit numbers and scales, in `path`."""
    onnx: Any = import_module("onnx")
    model: Any = onnx.load(str(whole))
    graph = model.graph
    rows = {node.input[0] for node in graph.node if node.op_type == "Gather"}
    stored: list[Any] = []
    restore: list[Any] = []
    for tensor in graph.initializer:
        values: Any = onnx.numpy_helper.to_array(tensor)
        if values.ndim != 2 or values.size < LEAST or values.dtype.kind != "f":
            stored.append(onnx.TensorProto.FromString(tensor.SerializeToString()))
            continue
        axis = 0 if tensor.name in rows else 1
        numbers, scales = rounded(values, axis)
        names = [f"{tensor.name}_8bit", f"{tensor.name}_scale"]
        stored += [
            onnx.numpy_helper.from_array(one, name)
            for one, name in zip((numbers, scales), names, strict=True)
        ]
        restore.append(onnx.helper.make_node("DequantizeLinear", names, [tensor.name], axis=axis))
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(stored)
    graph.node.extend([*restore, *nodes])
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def rounded(values: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Numbers from -127 to 127, and one scale for each place along `axis`."""
    import numpy as np

    largest = np.abs(values).max(axis=1 - axis, keepdims=True)
    scales = np.where(largest > 0, largest / 127, 1.0).astype(np.float32)
    return np.round(values / scales).astype(np.int8), scales.reshape(-1)
