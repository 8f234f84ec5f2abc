"""Thresholds and calibration on small arrays."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats import auc
from lab.training.calibration import calibrated, calibration_error, middle_threshold


def test_middle_threshold_lies_between_the_medians() -> None:
    scores = np.array([0.0, 1.0, 2.0, 5.0, 6.0, 100.0])
    supported = np.array([False, False, False, True, True, True])
    assert middle_threshold(scores, supported) == pytest.approx(3.5)


def test_calibration_error_is_the_mean_gap() -> None:
    supported = np.array([True, False] * 50)
    assert calibration_error(np.full(100, 0.5), supported, bins=1) == pytest.approx(0.0)
    assert calibration_error(np.full(100, 0.9), supported, bins=1) == pytest.approx(0.4)


def test_a_curve_through_scores_gives_their_rates() -> None:
    draw = np.random.default_rng(0)
    scores = draw.normal(size=4000)
    supported = draw.random(4000) < 1 / (1 + np.exp(-2 * scores))
    found = calibrated(scores[:2000], supported[:2000], scores[2000:])
    assert calibration_error(found, supported[2000:]) < 0.05
    assert calibration_error(np.full(2000, 0.9), supported[2000:]) > 0.3


def test_area_is_the_share_of_pairs_in_order() -> None:
    draw = np.random.default_rng(1)
    scores = draw.integers(0, 5, size=60).astype(float)
    supported = draw.random(60) < 0.4
    pairs = scores[supported][:, None] - scores[~supported][None]
    expected = float(((pairs > 0) + 0.5 * (pairs == 0)).mean())
    assert auc(scores, supported) == pytest.approx(expected)
    assert auc(scores, np.ones(60, bool)) == 0.5
