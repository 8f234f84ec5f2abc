"""The token critic's inference: windows cover all units; ONNX says what torch says."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.rag.compress import Query, Unit
from harness.rag.compress.critics.token import OVERLAP, TOKENS, TokenCritic, windows_of
from tests.lab.training_data import TOWNS, tiny_encoder

pytest.importorskip("torch")
pytest.importorskip("onnx")

QUERY = Query("", "When was Arbor founded?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of an untrained critic on a tiny random encoder, in 8 bits and in full."""
    from lab.training.compressor.network import export_onnx

    root = tmp_path_factory.mktemp("critic")
    tiny_encoder(root / "encoder")
    critic = seeded(root)
    for name, quantised in (("int8", True), ("full", False)):
        export_onnx(critic, root / name / "critic.onnx", quantised=quantised)
        tokenizer = (root / "encoder" / "tokenizer.json").read_bytes()
        (root / name / "tokenizer.json").write_bytes(tokenizer)
    return root


def seeded(root: Path) -> Any:
    """The critic whose weights the fixture exports."""
    from lab.training.compressor.network import new_critic

    torch: Any = import_module("torch")
    torch.manual_seed(3)
    return new_critic(root / "encoder").eval()


def units_of(*texts: str, doc: str = "a") -> list[Unit]:
    """Sentences of one document."""
    units: list[Unit] = []
    place = 0
    for text in texts:
        units.append(Unit(doc, place, place + len(text), text, "sentence"))
        place += len(text) + 1
    return units


@pytest.fixture(scope="module")
def many() -> list[Unit]:
    """Short and long units of two documents, one longer than a window."""
    texts = [f"{town} was founded by weavers, and its mills still turn." for town in TOWNS]
    long = " ".join(f"{town} has {number} mills." for number, town in enumerate(TOWNS * 5))
    return [*units_of(*texts, long, "It rains.", *texts), *units_of(*texts, doc="b")]


def test_every_token_of_every_unit_is_read(many: list[Unit]) -> None:
    ids = [[7 * number + at for at in range(len(unit.text) // 4)] for number, unit in
           enumerate(many)]  # fmt: skip
    read: dict[int, set[int]] = {}
    for window in windows_of(many, ids, 100):
        assert sum(map(len, window.pieces)) <= 100
        assert len({many[number].doc for number in window.units}) == 1
        assert list(window.units) == sorted(window.units)
        for number, piece in zip(window.units, window.pieces, strict=True):
            read.setdefault(number, set()).update(piece)
    assert read == {number: set(tokens) for number, tokens in enumerate(ids)}


def test_windows_share_a_short_unit(many: list[Unit]) -> None:
    short = windows_of(many[:15], [[1] * OVERLAP for _ in many[:15]], 100)
    assert len(short) == 3
    assert all(before.units[-1] == after.units[0] for before, after in pairwise(short))
    longer = windows_of(many[:15], [[1] * (OVERLAP + 1) for _ in many[:15]], 100)
    assert len(longer) == 3
    assert [number for window in longer for number in window.units] == list(range(15))


@pytest.mark.parametrize("shift", range(0, 40, 3))
def test_a_unit_is_scored_wherever_a_window_begins(folder: Path, shift: int) -> None:
    """The offset of a window moves the score a little, and never loses a unit."""
    filler = ["word " * shift + "end."] if shift else []
    units = units_of(*filler, *(f"{town} is old." for town in TOWNS * 3))
    scores = TokenCritic(folder / "full").score(QUERY, units)
    assert len(scores) == len(units)
    assert all(score > -100 for score in scores)


def test_onnx_says_what_torch_says(folder: Path, many: list[Unit]) -> None:
    import torch

    critic = seeded(folder)
    tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(
        str(folder / "encoder" / "tokenizer.json")
    )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    units = many[:4]
    asked: list[int] = tokenizer.encode(QUERY.text, add_special_tokens=False).ids
    pieces: list[list[int]] = [
        tokenizer.encode(unit.text, add_special_tokens=False).ids for unit in units
    ]
    ids = torch.tensor([[101, *asked, 102, *(one for piece in pieces for one in piece), 102]])
    member = torch.zeros((1, len(units), ids.shape[1]))
    place = len(asked) + 2
    for number, piece in enumerate(pieces):
        member[0, number, place : place + len(piece)] = 1
        place += len(piece)
    with torch.no_grad():
        _, wanted = critic(ids, torch.ones_like(ids), torch.ones((1, len(asked))), member)
    expected: Any = wanted[0]
    full = TokenCritic(folder / "full").score(QUERY, units)
    assert full == pytest.approx(expected.tolist(), abs=1e-3)


def test_storing_weights_in_8_bits_changes_next_to_nothing(folder: Path, many: list[Unit]) -> None:
    """Rounding the activations too breaks this, and the ranking with it."""
    import numpy as np

    exact = np.asarray(TokenCritic(folder / "full").score(QUERY, many))
    stored = np.asarray(TokenCritic(folder / "int8").score(QUERY, many))
    assert float(exact.std()) > 0.05, "scores that are all alike would prove nothing"
    assert float(np.abs(exact - stored).max()) < 0.1 * float(exact.std())
    assert float(np.corrcoef(exact, stored)[0, 1]) > 0.999


def test_every_weight_is_within_half_a_step(folder: Path) -> None:
    import numpy as np

    onnx: Any = import_module("onnx")
    models = [onnx.load(str(folder / name / "critic.onnx")).graph for name in ("full", "int8")]
    whole, stored = (
        {one.name: onnx.numpy_helper.to_array(one) for one in model.initializer} for model in models
    )
    assert not {"DynamicQuantizeLinear", "MatMulInteger"} & {n.op_type for n in models[1].node}
    nodes = [node for node in models[1].node if node.op_type == "DequantizeLinear"]
    assert "encoder.embeddings.word_embeddings.weight" in {node.output[0] for node in nodes}
    for node in nodes:
        axis = node.attribute[0].i
        step = np.expand_dims(stored[node.input[1]], 1 - axis)
        error = np.abs(whole[node.output[0]] - stored[node.input[0]] * step)
        assert (error <= 0.5001 * step).all()


def test_scores_do_not_depend_on_the_batch(folder: Path, many: list[Unit]) -> None:
    critic = TokenCritic(folder / "full")
    alone = critic.score(QUERY, many[-3:])
    others = [Unit("c", 0, 4, "Rain", "sentence")] * 40
    assert critic.score(QUERY, [*others, *many[-3:]])[-3:] == pytest.approx(alone, abs=1e-3)


def test_empty_calls_queries_and_units_have_scores(folder: Path) -> None:
    critic = TokenCritic(folder / "int8")
    assert critic.score(QUERY, []) == []
    odd = units_of("Arbor is old.", "\u200b", "\U0001f600")
    for query in (QUERY, Query("", ""), Query("", "word " * 500)):
        scores = critic.score(query, odd)
        assert len(scores) == 3
        assert all(score == score and abs(score) < 1000 for score in scores)


def test_thresholds_come_from_the_report(folder: Path) -> None:
    critic = TokenCritic(folder / "int8")
    with pytest.raises(BadInput, match="not calibrated"):
        critic.threshold(0.95, [])


def test_missing_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"critic\.onnx"):
        TokenCritic(tmp_path)


def test_a_window_leaves_room_for_the_question() -> None:
    assert TOKENS <= 512
