"""Areas under the ROC curve."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats import auc


def test_area_is_the_share_of_pairs_in_order() -> None:
    draw = np.random.default_rng(1)
    scores = draw.integers(0, 5, size=60).astype(float)
    supported = draw.random(60) < 0.4
    pairs = scores[supported][:, None] - scores[~supported][None]
    expected = float(((pairs > 0) + 0.5 * (pairs == 0)).mean())
    assert auc(scores, supported) == pytest.approx(expected)
    assert auc(scores, np.ones(60, bool)) == 0.5
