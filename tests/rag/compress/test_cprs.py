"""The critic for published CPRS weights, on a tiny random checkpoint of that architecture."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.rag.compress import Query, Unit
from harness.rag.compress.critics.cprs import OUTSIDE, CprsCritic

pytestmark = pytest.mark.slow  # imports transformers
LAYERS, CAUSAL = 4, 2
QUERY = Query("Keep facts.", "What was red?")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four layers, random weights, a byte-level tokenizer, and a head of four classes."""
    folder = tmp_path_factory.mktemp("cprs")
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    tokenizers: Any = import_module("tokenizers")
    torch.manual_seed(7)
    config = transformers.Qwen2Config(
        vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=LAYERS,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
        initializer_range=0.5,
    )  # fmt: skip
    model = transformers.Qwen2ForCausalLM(config)
    tensors = {
        key: value.clone() for key, value in model.state_dict().items() if "lm_head" not in key
    }
    tensors["cls_head.weight"] = torch.randn(4, 32)
    tensors["cls_head.bias"] = torch.zeros(4)
    import_module("safetensors.torch").save_file(
        tensors, folder / "model.safetensors", metadata={"format": "pt"}
    )
    config.save_pretrained(folder)
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE({letter: number for number, letter in enumerate(alphabet)}, [])
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.save(str(folder / "tokenizer.json"))
    return folder


def units(*texts: str) -> list[Unit]:
    return [Unit("d", 0, len(text), text, "sentence") for text in texts]


def test_layers_behind_the_causal_ones_read_what_follows(checkpoint: Path) -> None:
    before, after = units("A red car.", "It rained."), units("A red car.", "It snowed")
    both = CprsCritic(checkpoint, causal_layers=CAUSAL, window=400)
    assert both.score(QUERY, before)[0] != both.score(QUERY, after)[0]
    causal = CprsCritic(checkpoint, causal_layers=LAYERS, window=400)
    assert causal.score(QUERY, before)[0] == pytest.approx(causal.score(QUERY, after)[0], abs=1e-6)


def test_all_causal_layers_are_those_of_qwen2(checkpoint: Path) -> None:
    torch: Any = import_module("torch")
    critic = CprsCritic(checkpoint, causal_layers=LAYERS, window=400)
    text = "<|im_start|>system\nKeep facts.<|im_end|>\n<|im_start|>user\nWhat was red?<|im_end|>\n"
    tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(
        str(checkpoint / "tokenizer.json")
    )
    prompt = tokenizer.encode(f"{text}<|im_start|>context\n").ids
    piece = tokenizer.encode("A red car.\n").ids
    reference: Any = import_module("transformers").Qwen2Model.from_pretrained(checkpoint).eval()
    head: Any = import_module("safetensors.torch").load_file(checkpoint / "model.safetensors")
    with torch.inference_mode():
        states = reference(torch.tensor([prompt + piece])).last_hidden_state[0, len(prompt) :]
        classes = (states @ head["cls_head.weight"].T).softmax(-1)
    expected = float((1 - classes[:, OUTSIDE]).max())
    assert critic.score(QUERY, units("A red car."))[0] == pytest.approx(expected, abs=1e-5)


def test_long_inputs_go_through_overlapping_windows(checkpoint: Path) -> None:
    critic = CprsCritic(checkpoint, causal_layers=CAUSAL, window=240, overlap=30)
    scores = critic.score(QUERY, units(*(f"Sentence number {number}." for number in range(40))))
    assert len(scores) == 40
    assert all(0 <= score <= 1 for score in scores)


def test_a_query_that_fills_the_window_is_refused(checkpoint: Path) -> None:
    critic = CprsCritic(checkpoint, causal_layers=CAUSAL, window=200)
    with pytest.raises(BadInput, match="of 200"):
        critic.score(Query("", "why " * 60), units("A."))


def test_a_folder_without_the_head(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"config\.json"):
        CprsCritic(tmp_path)
