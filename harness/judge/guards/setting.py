"""`--guard SETTING`: a guard and its policy, from a spec or a file, as a layer of the gateway."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from harness.core import BadInput, first_fault, read_yaml
from harness.judge.guards.layer import GuardedModel
from harness.judge.guards.models import Guard, ModelGuard, WordGuard
from harness.judge.guards.offline import OfflineGuard
from harness.judge.guards.policy import GuardPolicy
from harness.models import Layer, Model


class GuardSetting(GuardPolicy):
    """A policy with the guard that it is for.

    Attributes:
        model: spec of a Qwen3Guard-Gen model; or
        words: category -> words, for :class:`WordGuard`; or
        offline: whether :class:`OfflineGuard` is it.
    """

    model: str | None = None
    words: dict[str, tuple[str, ...]] = {}
    offline: bool = False


def guard_layer(setting: str, opened: Callable[[str], Model]) -> Layer:
    """The layer of a setting.

    Args:
        setting: spec of a model, whose policy is the default one; `offline` for the offline guard,
            loosely (its Controversial texts pass); or a YAML file of :class:`GuardSetting`.
        opened: opens the guard's model, within the budget of the run.

    Raises:
        BadInput: if the file cannot be read, or does not name exactly one guard.
    """
    value = GuardSetting(model=setting)
    if setting == "offline":
        value = GuardSetting(offline=True, mode="loose")
    elif setting.endswith((".yaml", ".yml")):
        try:
            value = GuardSetting.model_validate(read_yaml(Path(setting)))
        except ValidationError as error:
            raise BadInput(f"--guard: {setting}: {first_fault(error, 'guard')}") from error
    if (value.model is not None) + bool(value.words) + value.offline != 1:
        raise BadInput(f"--guard: {setting}: expected one of 'model', 'words' and 'offline'")
    guard: Guard = WordGuard(value.words)
    if value.model is not None:
        guard = ModelGuard(opened(value.model))
    elif value.offline:
        guard = OfflineGuard()
    return lambda model: GuardedModel(model, guard, value)
