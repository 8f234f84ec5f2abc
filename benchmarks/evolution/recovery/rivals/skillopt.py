"""SkillOpt 0.2.0 (`ReflACTTrainer`, https://github.com/microsoft/SkillOpt) on an arena.

The package's: the training loop (rollout, reflect, aggregate, select, update, gate), its loader of
splits and epochs, the hierarchical merge, the cosine schedule of the edit budget, the application
of edits and the gate (strictly better on the selection split). Sizes are its documented defaults:
4 epochs, batches of 40, minibatches of 8, an edit budget of 4 that falls to 2; train to selection
2 : 1, as in its 2:1:7 (the tests are not the method's to see).

Ours: the environment, and what stands for the optimizer model. A rollout is `arena.attempt`;
reflection is one `arena.lessons` for each failed attempt of a minibatch, the most frequent lessons
first, at most as many as the edit budget (its `failure_only`: the analyst learns nothing from a
success). A merge joins edits that mean the same, however they are worded (`arena.meaning` makes no
mistake), and adds up their support; a ranking takes the best supported, which is what the package's
prompts ask for. Neither is counted against the budget. The wheel of
0.2.0 lacks its prompt files, without which its merge raises; only names stand for them here, as
nothing reads them. The slow update and the meta skill are off: they need a model that compares
epochs.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Generator, Hashable, Iterable, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.evolution.recovery.arena import Arena, BudgetSpent, Tried
from harness.core import Task

BATCH, MINIBATCH, EDITS, EPOCHS = 40, 8, 4, 4


class PlantedDesk:
    """SkillOpt's environment protocol (`skillopt.envs.base.EnvAdapter`) for an arena."""

    def __init__(self, arena: Arena, loader: Any) -> None:
        self.arena = arena
        self.loader = loader
        self.tasks = {task.id: task for task in arena.train}

    def setup(self, cfg: dict[str, Any]) -> None:
        """Load the splits."""
        self.loader.setup(cfg)

    def get_dataloader(self) -> Any:
        """The package's own loader."""
        return self.loader

    def requires_ray(self) -> bool:
        """Never."""
        return False

    def get_task_types(self) -> list[str]:
        """Kinds of question."""
        return sorted({str(task.meta["kind"]) for task in self.arena.train})

    def build_env_from_batch(self, batch: Any, **_: object) -> list[Task]:
        """The tasks of a batch."""
        return [self.tasks[item["id"]] for item in batch.payload]

    def rollout(
        self, env: Sequence[Task], skill: str, out_dir: str, **_: object
    ) -> list[dict[str, Any]]:
        """Attempts at the tasks, as rollout results with the attempt itself."""
        attempts = [self.arena.attempt(skill, task) for task in env]
        return [
            {
                "id": attempt.task.id,
                "hard": int(attempt.passed),
                "soft": float(attempt.passed),
                "attempt": attempt,
            }
            for attempt in attempts
        ]

    def reflect(
        self, results: Sequence[dict[str, Any]], skill: str, out_dir: str, **options: Any
    ) -> list[dict[str, Any]]:
        """One patch for each minibatch of failed attempts."""
        failed: list[Tried] = [result["attempt"] for result in results if not result["hard"]]
        random.Random(options["random_seed"]).shuffle(failed)
        groups = [failed[start : start + MINIBATCH] for start in range(0, len(failed), MINIBATCH)]
        return [self._patch(group, skill) for group in groups]

    def _patch(self, group: Sequence[Tried], skill: str) -> dict[str, Any]:
        present = {self.arena.meaning(line) for line in skill.splitlines()}
        rules = [
            (f"- {lesson}", 1)
            for attempt in group
            for lesson in dict.fromkeys(self.arena.lessons(attempt))
            if self.arena.meaning(lesson) not in present
        ]
        return {
            "patch": {"reasoning": "", "edits": joined(self.arena, rules)[:EDITS]},
            "source_type": "failure",
            "batch_size": len(group),
        }


def joined(arena: Arena, rules: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """Edits of rules with their support: those that mean the same are one, the best first."""
    support: Counter[Hashable] = Counter()
    wordings: dict[Hashable, str] = {}
    for rule, count in rules:
        meaning = arena.meaning(rule)
        support[meaning] += count
        wordings.setdefault(meaning, rule)
    return [
        {"op": "append", "content": wordings[meaning], "support_count": count}
        for meaning, count in support.most_common()
    ]


def optimizer(
    arena: Arena, system: str, user: str, *, stage: str, **_: object
) -> tuple[str, dict[str, int]]:
    """Stand in for SkillOpt's optimizer model: join edits of one meaning."""
    if stage == "merge":
        patches = json.loads(user[user.index("\n[") :])
        rules = [
            (edit["content"], edit["support_count"])
            for proposal in patches
            for edit in proposal["edits"]
        ]
        return json.dumps({"reasoning": "", "edits": joined(arena, rules)}), {}
    assert stage == "ranking", f"no optimizer for the stage {stage!r}"
    counts = re.findall(r"^\[(\d+)\] .*support=(\d+)$", user, re.M)
    ranked = sorted(counts, key=lambda count: -int(count[1]))
    return json.dumps({"selected_indices": [int(number) for number, _ in ranked]}), {}


def learn(arena: Arena) -> str:
    """The best skill by SkillOpt's own gate when its training ends or the budget is spent.

    Raises:
        ImportError: SkillOpt is not installed.
    """
    try:
        trainer: Any = import_module("skillopt.engine.trainer").ReflACTTrainer
        loader: Any = import_module("skillopt.datasets.base").SplitDataLoader
    except ImportError as error:
        need = "pip install skillopt==0.2.0"
        raise ImportError(f"SkillOpt is not installed ({error}): {need}") from error
    with tempfile.TemporaryDirectory() as folder, _offline(arena):
        root = Path(folder)
        splits = _write_splits(arena, root / "splits")
        desk = PlantedDesk(arena, loader(split_dir=str(splits), split_mode="split_dir"))
        with suppress(BudgetSpent):
            trainer(_config(arena.seed, root), desk).train()
        # The trainer writes each skill that its gate takes as the best so far.
        best = root / "best_skill.md"
        return best.read_text(encoding="utf-8") if best.exists() else ""


@contextmanager
def _offline(arena: Arena) -> Generator[None]:
    """SkillOpt without a model, without its prompts, quiet, and with the environment restored."""
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(io.StringIO()))
        stack.enter_context(patch.dict(os.environ))
        for name in ("skillopt.gradient.aggregate", "skillopt.optimizer.clip"):
            module = import_module(name)
            stack.enter_context(patch.object(module, "chat_optimizer", partial(optimizer, arena)))
            stack.enter_context(patch.object(module, "load_prompt", str))
        yield


def _write_splits(arena: Arena, root: Path) -> Path:
    tasks = random.Random(arena.seed).sample([task.id for task in arena.train], len(arena.train))
    cut = round(len(tasks) * 2 / 3)
    for name, part in (("train", tasks[:cut]), ("val", tasks[cut:]), ("test", [])):
        folder = root / name
        folder.mkdir(parents=True)
        items = [{"id": task} for task in part]
        (folder / "items.json").write_text(json.dumps(items), encoding="utf-8")
    return root


def _config(seed: int, root: Path) -> dict[str, Any]:
    return {
        "out_root": str(root), "skill_init": str(root / "none.md"), "seed": seed,
        "num_epochs": EPOCHS, "batch_size": BATCH, "accumulation": 1, "merge_batch_size": 8,
        "edit_budget": EDITS, "min_edit_budget": 2, "lr_scheduler": "cosine",
        "analyst_workers": 1, "sel_env_num": 0, "test_env_num": 0, "eval_test": False,
        "optimizer_model": "none", "target_model": "none", "gate_metric": "hard",
        "use_slow_update": False, "use_meta_skill": False,
    }  # fmt: skip
