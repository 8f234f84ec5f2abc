"""Validation of our configuration of verl: every key by its schema, the reward as it is called.

    pip download --no-deps verl==0.9.1 && unzip verl-0.9.1-py3-none-any.whl -d VERL
    pip install --no-deps --target HYDRA hydra-core antlr4-python3-runtime==4.9.3
    PYTHONPATH=HYDRA python -m benchmarks.check.verl_config --verl VERL

verl itself is not installed (it would bring torch, ray and vllm of its own): its YAML files are
composed with ours by Hydra, as `python -m verl.trainer.main_ppo` composes them. Then every key of
ours must stand in verl's own composition, with a value of the same kind; the one exception is
`reward_kwargs`, which verl reads without declaring it. Last, the reward function is looked up and
called as verl's naive reward manager calls it.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.reports import Options, benchmark, option, report
from harness.core import digest_file

CONFIG = Path("evals/paper/verl/march.yaml")
UNDECLARED = {"reward.custom_reward_function.reward_kwargs"}
"""Keys that verl's `get_custom_reward_fn` reads although its YAML does not have them."""
RIGHT, WRONG = "The plant made 4,120 cars in 2023.", "The plant made 9,999 cars in 2023."
DOCUMENTS = ["In 2023 the plant in Norrfjord made 4,120 cars, more than in any year before."]


def composed(verl: Path, config: Path | None) -> Any:
    """verl's configuration, with ours on top of it if one is given."""
    hydra: Any = importlib.import_module("hydra")
    core: Any = importlib.import_module("omegaconf").OmegaConf
    defaults = verl / "verl" / "trainer" / "config"
    if config is None:
        with hydra.initialize_config_dir(str(defaults.resolve()), version_base=None):
            return core.to_container(hydra.compose("ppo_trainer"), resolve=False)
    with tempfile.TemporaryDirectory() as folder:
        text = config.read_text("utf-8").replace(
            "pkg://verl.trainer.config", f"file://{defaults.resolve()}"
        )
        (Path(folder) / config.name).write_text(text, "utf-8")
        with hydra.initialize_config_dir(folder, version_base=None):
            return core.to_container(hydra.compose(config.stem), resolve=False)


def leaves(node: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted key and value of everything that is no mapping."""
    if not isinstance(node, dict):
        yield prefix, node
        return
    items: dict[str, Any] = node  # pyright: ignore[reportUnknownVariableType]  # parsed YAML
    for key, value in items.items():
        yield from leaves(value, f"{prefix}.{key}" if prefix else key)


def at(node: Any, key: str) -> Any:
    """The value at a dotted key; KeyError if there is none."""
    for part in key.split("."):
        node = node[part]
    return node


def declared(schema: Any, key: str) -> bool:
    """Return True if verl knows a key."""
    if any(key.startswith(prefix + ".") for prefix in UNDECLARED):
        return True
    try:
        at(schema, key)
    except (KeyError, TypeError):
        return False
    return True


def rewards(config: Any) -> dict[str, float]:
    """Call the configured reward function as verl does."""
    configured = config["reward"]["custom_reward_function"]
    module = importlib.import_module(configured["path"].removeprefix("pkg://"))
    function, settings = getattr(module, configured["name"]), configured["reward_kwargs"]
    return {
        name: function(
            data_source="harness_check", solution_str=answer, ground_truth="",
            extra_info={"documents": DOCUMENTS, "question": "How many cars?", "num_turns": None},
            **settings,
        )
        for name, answer in (("right", RIGHT), ("wrong", WRONG))
    }  # fmt: skip


@benchmark(
    verl=option(type=Path, required=True, help="unpacked wheel of verl"),
    out=Path("evals/results/verl_config.json"),
)
def main(options: Options) -> None:
    """Check, write what was found, and fail if a key is unknown."""
    schema = composed(options.verl, None)
    settings = dict(leaves(yaml.safe_load(CONFIG.read_text("utf-8"))))
    settings = {
        key: value
        for key, value in settings.items()
        if key.split(".")[0] not in ("hydra", "defaults")
    }
    unknown = [key for key in settings if not declared(schema, key)]
    full = composed(options.verl, CONFIG)
    differing = [key for key, value in settings.items() if at(full, key) != value]
    figures = {
        "command": "python -m benchmarks.check.verl_config --verl VERL",
        "verl": next(options.verl.glob("verl-*.dist-info")).name.removesuffix(".dist-info"),
        "config": digest_file(CONFIG),
        "keys": len(settings),
        "unknown": unknown,
        "not as we set them after composition": differing,
        "missing mandatory values": [key for key, value in leaves(full) if value == "???"],
        "reward": rewards(full),
    }
    report(figures, options.out)
    if unknown or differing:
        raise SystemExit(1)
