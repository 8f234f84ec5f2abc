"""Settings of the plug-in of verl, without verl: only its registries are stood in for."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.wing("train")


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    name = "verl.trainer.ppo.core_algos"
    for end in range(4):
        monkeypatch.setitem(sys.modules, ".".join(name.split(".")[: end + 1]), ModuleType("verl"))
    algorithms: Any = ModuleType(name)
    algorithms.ADV_ESTIMATOR_REGISTRY = {}

    def register(_: str) -> Any:
        return lambda function: function  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType]

    algorithms.register_adv_est = algorithms.register_policy_loss = register
    monkeypatch.setitem(sys.modules, name, algorithms)
    monkeypatch.delitem(sys.modules, "harness.train.verl", raising=False)
    yield import_module("harness.train.verl")
    sys.modules.pop("harness.train.verl", None)


@pytest.mark.parametrize(("threshold", "taught"), [(0, 4), (0.0, 4), (1, 2), (None, 2)], ids=str)
def test_a_threshold_of_zero_keeps_every_rollout(plug_in: Any, threshold: Any, taught: int) -> None:
    rewards = {"first": np.array([1.0, 1.0, 0.0, 0.0]), "second": np.array([1.0, 0.2, 0.9, 0.0])}
    config = {"gdpo_reward_keys": [*rewards], "gd2po_rule": "snr", "gd2po_threshold": threshold}
    mask = torch.ones(4, 2)
    advantages, _ = plug_in.gd2po_advantages(mask, mask, config, ["q"] * 4, rewards)
    assert int((advantages[:, 0] != 0).sum()) == taught
