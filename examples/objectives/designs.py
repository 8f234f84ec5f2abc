"""Designs tried before the settings of a proof were chosen: objective -> design -> settings."""

from __future__ import annotations

from typing import Any

DESIGNS: dict[str, dict[str, dict[str, Any]]] = {
    "CLIPO": {
        f"{f'{second} of 8 another way' if second else 'one way'}, {variant}, T = {temperature}": {
            "second": second, "variant": variant, "temperature": temperature,
        }
        for second in (0, 3)
        for variant in ("infonce", "supcon_out", "supcon_in", "soft_nn")
        for temperature in (0.05, 0.1, 0.5, 1.0)
    },
    "GD2PO": {
        "one policy": {"policies": 1},
        "one policy, snr 0.8": {"policies": 1, "rule": "snr"},
        "one policy, snr 0.4": {"policies": 1, "rule": "snr", "threshold": 0.4},
        "one policy, 600 steps": {"policies": 1, "steps": 600},
        "one policy, 128 rollouts in groups of 32": {"policies": 1, "size": 128, "group": 32},
        "one policy, noise 0.1": {"policies": 1, "noise": 0.1},
        "one policy, rewards 2 and -1": {"policies": 1, "best": 2.0},
        "ten policies": {},
    },
    "DIR": {
        "model as fast as the guesser": {"rate": 0.01},
        "the same, 20 steps of the guesser": {"rate": 0.01, "guesses": 20},
        "the same, states of deviation 1": {"rate": 0.01, "spread": True},
        "the same, 2,000 pairs": {"rate": 0.01, "size": 2000},
        "the same, weight 0.3": {"rate": 0.01, "weight": 0.3},
        "the same, weight 3": {"rate": 0.01, "weight": 3.0},
        "model at a third of the guesser's rate": {},
        "the same, 600 steps": {"steps": 600},
    },
}  # fmt: skip
