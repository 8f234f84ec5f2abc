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
}  # fmt: skip
