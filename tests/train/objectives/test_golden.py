"""Every objective on the numbers that the official functions gave on the same input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from examples.objectives.calibration import calibration_errors
from examples.objectives.distillation import reverse_kl
from examples.objectives.mixture import segment_minimum
from examples.objectives.preferences import club_bound, ranking_loss
from harness.train.objectives.advantages import gd2po, whitened
from harness.train.objectives.contrast import contrastive_losses, contrastive_reward

pytestmark = pytest.mark.shared
# The numbers were computed in single precision and are rounded at six places.
TOLERANCE = 2e-6


@pytest.fixture(scope="module")
def golden(shared: Path) -> Any:
    return json.loads((shared / "golden/golden.json").read_text())


def near(value: Any) -> Any:
    return pytest.approx(value, abs=TOLERANCE, rel=0)


@pytest.mark.parametrize(
    ("name", "rule", "threshold"),
    [("hard", "hard", 0), ("snr0.8", "snr", 0.8), ("snr0.2", "snr", 0.2)],
)
def test_gd2po(golden: Any, name: str, rule: Any, threshold: float) -> None:
    row = golden["gd2po"]
    rewards = torch.tensor(row["rewards"])
    advantages = gd2po(rewards, row["group"], rule, threshold)
    assert advantages.each.numpy().tolist() == [
        near(values) for values in row["per_reward_adv_tok0"]
    ]
    assert advantages.ratio.numpy().tolist() == near(row["snr_ratio"])
    expected = row[name]
    assert advantages.keep.numpy().tolist() == expected["keep"]
    assert advantages.keep_ratio.numpy().tolist() == near(expected["keep_ratio"])
    assert advantages.values.numpy().tolist() == near(expected["adv_nowhiten"])
    lengths = torch.tensor(row["lengths"])
    mask = torch.arange(int(lengths.max()))[None] < lengths[:, None]
    kept = (mask & advantages.keep[:, None]).float()
    assert whitened(advantages.values, kept)[:, 0].numpy().tolist() == near(
        expected["adv_whitened_tok0"]
    )


@pytest.mark.parametrize("temperature", [0.05, 0.5])
@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ("supcon_out", "supcon_loss_out"),
        ("supcon_in", "supcon_loss_in"),
        ("soft_nn", "soft_nn_loss"),
        ("infonce", "infonce_loss"),
    ],
)
def test_clipo(golden: Any, variant: Any, name: str, temperature: float) -> None:
    row = golden["clipo"]
    expected = row.get(name if temperature == row["T"] else f"{name}_T{temperature}")
    if expected is None:
        assert variant == "infonce"  # the only one without numbers at the other temperature
        expected = row["supcon_loss_out_T0.5"]  # the same where a group has one positive
    losses, anchors = contrastive_losses(
        torch.tensor(row["raw"], dtype=torch.float64),
        torch.tensor(row["labels"]).bool(),
        row["uid"],
        variant,
        temperature,
    )
    assert losses.numpy().tolist() == near(expected["ind"])
    assert float(losses[anchors].mean()) == near(expected["loss"])
    if "reward" in expected:
        assert contrastive_reward(losses).numpy().tolist() == near(expected["reward"])


def test_club(golden: Any) -> None:
    row = golden["dir_club"]
    weight, states = torch.tensor(row["W"]), torch.tensor(row["X"])
    labels = torch.tensor(row["Y"])
    readings = [states @ matrix + torch.tensor(row["b"]) for matrix in (weight.T, weight)]
    fitted = [torch.nn.functional.cross_entropy(logits, labels) for logits in readings]
    logits = readings[[float(loss) == near(row["learning_loss"]) for loss in fitted].index(True)]
    assert float(club_bound(logits, labels)) == near(row["mi"])


def test_apo(golden: Any) -> None:
    row = golden["apo"]
    rewards, scores = torch.tensor(row["logits"]), torch.tensor(row["scores"])
    assert float(ranking_loss(rewards, scores)) == near(row["ranking"])
    assert float(ranking_loss(rewards, scores, "difference")) == near(row["diff"])
    weights = torch.tensor([1.0, 0.0])
    official = ranking_loss(rewards, scores, weights=weights, normalizer="pairs")
    assert float(official) == near(row["coeff_1_0"])
    # A list without weight is as good as none; in the official code it halves the loss.
    alone = ranking_loss(rewards[:1], scores[:1])
    assert float(ranking_loss(rewards, scores, weights=weights)) == near(float(alone))
    assert float(official) < float(alone)


def test_calibration_errors(golden: Any) -> None:
    row = golden["apo_ece"]
    errors = calibration_errors(row["p"], [bool(label) for label in row["y"]], row["n_bins"])
    assert list(errors) == near(row["ece_ace_mce"])


def test_more(golden: Any) -> None:
    for products, (weight, length) in golden["more_minnorm2"].items():
        assert segment_minimum(*json.loads(f"[{products[1:-1]}]")) == near((weight, length))


def test_policyalign(golden: Any) -> None:
    row = golden["policyalign_kl"]
    student = torch.tensor(row["student_logits"], dtype=torch.float64)
    teacher = torch.tensor(row["teacher_logits"], dtype=torch.float64)
    assert reverse_kl(student, teacher).numpy().tolist() == near(row["full"])
    assert reverse_kl(student, teacher, 2).numpy().tolist() == near(row["top2"])
    assert reverse_kl(student, teacher, 2, renormalize=True).numpy().tolist() == near(
        row["top2_renorm"]
    )
