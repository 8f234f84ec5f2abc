"""The token critic: a sentence encoder that reads question and window together, with two heads."""

from __future__ import annotations

import tempfile
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

# Outside, begin, inside, end of an extract; a single token is its own beginning.
TAGS = ("O", "B", "I", "E")
# Weights and bias of the sentence features before training.
START = ((8.0, 8.0, 0.5, 0.25), -9.0)


class TokenCritic(nn.Module):
    """BERT over "question [SEP] window" with a tag for every token and a score for every sentence.

    Two heads on one encoder, as QwenLong-CPRS section 2.2. The score of a sentence begins as what
    the encoder knows already, in this joint reading: the cosine of the means of question and
    sentence, and late interaction (MaxSim, Khattab & Zaharia 2020). The head learns what to add:
    with few labels, one that begins with nothing forgets more than it learns.

    Args:
        encoder: a BERT encoder.
    """

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder
        width = int(encoder.config.hidden_size)
        self.tokens = nn.Linear(width, len(TAGS))
        self.state = nn.Linear(width, 1)
        self.mix = nn.Linear(len(START[0]), 1)
        with torch.no_grad():
            self.mix.weight.copy_(torch.tensor([START[0]]))
            self.mix.bias.fill_(START[1])
            self.state.weight.zero_()
            self.state.bias.zero_()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, query: Tensor, member: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Logits of tags, shape (batch, tokens, 4), and of sentences, (batch, sentences).

        Args:
            input_ids: [CLS] question [SEP] window [SEP], shape (batch, tokens).
            attention_mask: 1 for tokens, 0 for padding, same shape.
            query: 1 for tokens of the question, which begins at place 1, shape (batch, longest).
            member: 1 where a token is the sentence's, shape (batch, sentences, tokens).
        """
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask)[0]
        tags = self.tokens(states)
        question = states[:, 1 : 1 + query.shape[1]]
        sentences, meaning = _mean(states, member), _mean(question, query[:, None])
        cosine = nn.functional.cosine_similarity(sentences, meaning, dim=-1)
        # Late interaction: the mean over the question's tokens of the cosine with the sentence's
        # nearest token.
        likeness = _unit(question) @ _unit(states).transpose(1, 2)
        best = (likeness[:, None] + 4 * (member[:, :, None] - 1)).amax(-1)
        late = (best * query[:, None]).sum(-1) / query[:, None].sum(-1).clamp(min=1)
        # Mean and greatest logit of any tag but O among the sentence's tokens.
        keep = (tags[..., 1:].logsumexp(-1) - tags[..., 0])[:, None]
        mean = (keep * member).sum(-1) / member.sum(-1).clamp(min=1)
        most = (keep * member + 30 * (member - 1)).amax(-1)
        features = torch.stack([cosine, late, mean, most], dim=-1)
        return tags, (self.mix(features) + self.state(sentences)).squeeze(-1)


def new_critic(folder: Path, *, frozen: int = 3) -> TokenCritic:
    """The critic before training: the encoder's weights under the heads.

    Args:
        folder: of the encoder.
        frozen: lowest layers that are not trained, and the embeddings with them.
    """
    transformers: Any = import_module("transformers")
    transformers.utils.logging.disable_progress_bar()
    encoder: Any = transformers.AutoModel.from_pretrained(str(folder), add_pooling_layer=False)
    for part in (encoder.embeddings, *encoder.encoder.layer[:frozen]) if frozen else ():
        for weight in part.parameters():
            weight.requires_grad = False
    return TokenCritic(encoder)


def focal_loss(logits: Tensor, target: Tensor, *, gamma: float = 2.0) -> Tensor:
    """-(1 - p_t)^gamma log p_t of every item, with p_t unweighted (Lin et al. 2017).

    The released code of QwenLong-CPRS takes p_t from a weighted loss, where it is no probability.

    Args:
        logits: shape (items, classes).
        target: class numbers, shape (items,).
    """
    log_p = torch.log_softmax(logits, dim=-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return -((1 - log_p.exp()) ** gamma) * log_p


def _mean(states: Tensor, member: Tensor) -> Tensor:
    return member @ states / member.sum(-1, keepdim=True).clamp(min=1)


def _unit(states: Tensor) -> Tensor:
    return nn.functional.normalize(states, dim=-1, eps=1e-9)


OPSET = 17
INPUTS = ("input_ids", "attention_mask", "query", "member")
OUTPUTS = ("tags", "sentences")
# Numbers of a matrix from which it is stored in 8 bits.
LEAST = 4096


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
        full = Path(folder) / "critic.onnx"
        with warnings.catch_warnings():
            # The tracer warns of every branch that the encoder takes by shape; the tests compare
            # the traced critic with the other at shapes that it was not traced at.
            warnings.simplefilter("ignore")
            onnx: Any = torch.onnx
            onnx.export(
                critic, sample, str(full), input_names=list(INPUTS), output_names=list(OUTPUTS),
                dynamic_axes=axes, opset_version=OPSET, dynamo=False,
            )  # fmt: skip
        if quantised:
            in_8_bits(full, path)
        else:
            path.write_bytes(full.read_bytes())


def in_8_bits(full: Path, path: Path) -> None:
    """Store the large matrices of the model `full` as 8-bit numbers and scales, in `path`."""
    onnx: Any = import_module("onnx")
    model: Any = onnx.load(str(full))
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
            onnx.numpy_helper.from_array(array, name)
            for array, name in zip((numbers, scales), names, strict=True)
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
    largest = np.abs(values).max(axis=1 - axis, keepdims=True)
    scales = np.where(largest > 0, largest / 127, 1.0).astype(np.float32)
    return np.round(values / scales).astype(np.int8), scales.reshape(-1)
