"""Training on a tiny encoder: the same weights for a seed, and a report of what went in."""

from __future__ import annotations

import math
import random
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.core import BadInput, digest_file
from lab.training.compressor.__main__ import main
from lab.training.compressor.evaluation import held_questions, kept_within
from lab.training.compressor.examples import Example, Passage, read_examples
from lab.training.compressor.loop import token_targets
from lab.training.compressor.mixture import MAKERS, cloze, labelled, mixture
from lab.training.compressor.network import focal_loss, new_critic
from lab.training.compressor.session import Report, TrainOptions, train
from lab.training.compressor.windows import Window, WindowMaker, batches
from tests.lab.training_data import tiny_data, tiny_encoder

pytest.importorskip("torch")
pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Encoder and data."""
    root = tmp_path_factory.mktemp("training")
    tiny_encoder(root / "encoder")
    tiny_data(root / "data")
    return root


def options(folder: Path, out: str, windows: int = 60) -> TrainOptions:
    """A run of a few small updates."""
    return TrainOptions(
        data=folder / "data", out=folder / out, encoder=folder / "encoder", windows=windows,
        batch_tokens=500, frozen=0, fused_with="lexical",
    )  # fmt: skip


def opened(folder: Path) -> Any:
    """The encoder's tokenizer."""
    path = str(folder / "encoder" / "tokenizer.json")
    return import_module("tokenizers").Tokenizer.from_file(path)


@pytest.fixture(scope="module")
def maker(folder: Path) -> WindowMaker:
    """Windows of the short questions."""
    short = [
        labelled(one)
        for one in read_examples(folder / "data")
        if one.passage.source in ("nq_oracle", "qed")
    ]
    return WindowMaker(short, opened(folder), 3)


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    """Return the report of a run that was not disturbed."""
    return train(options(folder, "whole"), lambda line: None)


def test_the_same_run_gives_the_same_weights_on_the_device_asked_for(folder: Path) -> None:
    import torch

    from lab.training.compressor import loop

    on_cpu = options(folder, "cpu").model_copy(update={"device": "cpu"})
    lines: list[str] = []
    first, second = (loop.fit(on_cpu, lines.append) for _ in range(2))
    weights = second.state_dict()
    assert lines
    assert all(torch.equal(weight, weights[name]) for name, weight in first.state_dict().items())
    assert {weight.device.type for weight in first.parameters()} == {"cpu"}
    if not torch.cuda.is_available():
        with pytest.raises(BadInput, match="expected a GPU"):
            loop.fit(on_cpu.model_copy(update={"device": "cuda"}), lines.append)


def test_report_and_manifest_name_what_went_in_and_came_out(folder: Path, report: Report) -> None:
    weights = folder / "whole" / "weights" / "critic.onnx"
    assert report.weights == {"sha256": digest_file(weights), "bytes": weights.stat().st_size}
    assert report.manifest.data["qed.jsonl"] == digest_file(folder / "data" / "qed.jsonl")
    assert report.manifest.windows == 60
    assert set(report.critic.thresholds) == {"0.95", "0.98", "0.99"}
    assert report.critic.thresholds["0.99"] <= report.critic.thresholds["0.95"]
    assert report.critic.questions == report.lexical.questions


def test_a_training_is_not_overwritten(folder: Path, report: Report) -> None:
    with pytest.raises(BadInput, match="holds a training already"):
        train(options(folder, "whole", windows=99), lambda line: None)


def test_the_command_trains_and_prints_recalls(folder: Path) -> None:
    ran = CliRunner().invoke(main, [
        *("--data", str(folder / "data"), "--out", str(folder / "command")),
        *("--encoder", str(folder / "encoder"), "--windows", "40"),
    ])  # fmt: skip
    assert ran.exit_code == 0, ran.output
    assert "mean recall" in ran.stdout
    assert {path.name for path in (folder / "command" / "weights").iterdir()} == {
        *("critic.onnx", "tokenizer.json", "report.json", "fusion.json"),
    }


def test_nothing_held_out_is_trained_on(folder: Path) -> None:
    examples = read_examples(folder / "data")
    held = {one.query for one in examples if one.passage.held_out}
    assert held
    assert {one.query.query for one in held_questions(examples, 0)} <= held
    mixed = mixture([one for one in examples if not one.passage.held_out], 3)
    assert not held & {one.query for one in mixed}
    assert {"cloze", "needle", "chain", "table"} <= {one.source for one in mixed}


def test_a_window_holds_its_question_and_a_gold_sentence(folder: Path, maker: WindowMaker) -> None:
    tokenizer = opened(folder)
    for at in range(30):
        windows = maker.windows(at, 0)
        gold = [window for window in windows if 1 in window.labels]
        assert len(gold) == 1
        place = gold[0].labels.index(1) + 2
        ids = [id_ for id_, where in zip(gold[0].ids, gold[0].places, strict=True)
               if where == place]  # fmt: skip
        town = maker.examples[at].query.split()[2 if "founded" in maker.examples[at].query else -1]
        assert town.lower() in tokenizer.decode(ids)
        assert all(window.places.count(1) for window in windows)


def test_a_sentence_with_the_answer_is_no_negative(maker: WindowMaker) -> None:
    known = labelled(
        Example(
            "when was Arbor founded",
            Passage("nq_oracle", "g", ("Arbor began in 1820.", "In 1820 it rained.", "It is old.")),
            frozenset({0}),
            ("1820",),
        )
    )
    assert known.labels == (1, -1, 0)


def test_batches_are_the_same_for_a_seed_and_within_the_size(maker: WindowMaker) -> None:
    first, second = (list(batches(maker, 40, 0, 5, 600)) for _ in range(2))
    assert first == second
    assert list(batches(maker, 40, 1, 5, 600)) != first
    for batch in first:
        groups = {window.group for window in batch}
        widest = max(len(window.ids) for window in batch)
        assert len(groups) == 1 or widest * len(batch) <= 600


def test_tags_mark_begin_inside_and_end_of_gold() -> None:
    window = Window(0, list(range(9)), [0, 1, 0, 2, 2, 3, 3, 3, 0], [0, 1])
    assert token_targets(window) == [(3, 0), (4, 0), (5, 1), (6, 2), (7, 3)]
    unknown = Window(0, list(range(5)), [0, 1, 0, 2, 0], [-1])
    assert token_targets(unknown) == []


def test_focal_loss_takes_the_unweighted_probability() -> None:
    import torch

    logits = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
    p = 1 / (1 + math.exp(-2))
    wanted = [-((1 - p) ** 2) * math.log(p), -(0.5**2) * math.log(0.5)]
    losses: Any = focal_loss(logits, torch.tensor([0, 1]))
    assert losses.tolist() == pytest.approx(wanted, rel=1e-4)


def test_the_start_prefers_the_sentence_like_the_question(folder: Path) -> None:
    """Before training, what the encoder knows decides, not heads at random."""
    import torch

    critic = new_critic(folder / "encoder").eval()
    ids = torch.tensor([[101, 7001, 7002, 102, 7001, 7002, 9005, 9006, 102]])
    member = torch.zeros((1, 2, 9))
    member[0, 0, 4:6] = 1
    member[0, 1, 6:8] = 1
    with torch.no_grad():
        _, sentences = critic(ids, torch.ones_like(ids), torch.ones((1, 2)), member)
    assert sentences[0, 0] > sentences[0, 1]


def test_generated_records_hold_an_answer_among_others() -> None:
    rng = random.Random(1)
    for _ in range(200):
        for maker in MAKERS:
            query, lines, gold = maker(rng)
            assert gold
            assert query
            assert len(gold) < len(lines)


def test_a_cloze_question_does_not_hold_its_answer() -> None:
    sentence = "The harbour of Arbor was rebuilt in 1911 after a storm broke the northern wall."
    made = [cloze(sentence, random.Random(seed)) for seed in range(40)]
    asked = [one for one in made if one]
    assert len(asked) > 10
    assert all(answer.lower() not in question.lower() for question, answer in asked)


def test_kept_units_fit_the_budget_and_are_never_none() -> None:
    import numpy as np

    scores = np.asarray([0.1, 0.9, 0.5])
    assert kept_within(scores, [10, 50, 40], 0.5) == {1}
    assert kept_within(scores, [10, 50, 40], 0.6) == {0, 1}
    assert kept_within(scores, [10, 50, 40], 0.01) == {1}


def test_missing_data_are_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nq_oracle\.jsonl"):
        train(TrainOptions(data=tmp_path, out=tmp_path / "out"), lambda line: None)
