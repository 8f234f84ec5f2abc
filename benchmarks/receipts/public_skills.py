"""Skills of others: what our validator says of them, and what they do to a small model.

    python -m benchmarks.receipts.public_skills FOLDER [--only purpose|demo] [--model SPEC]

FOLDER holds the skills of `public_skills.json` beside this file, each at `OWNER+NAME/PATH` of its
repository at the commit named there; one that is missing or has another digest is an error. Two
measurements, each paired by task, without a skill and with each one preloaded; the intervals of a
measurement hold together for all of its skills.

`purpose`: the suite that a skill is about, with its own settings (one program, two repairs). A
model that passes nothing without a skill can show help, and no harm.

`demo`: short questions that no skill but our `short-answers` is about, and of which the embedded
model passes enough to lose some: a test of being in the way, not of a skill's own purpose. Skills
that are longer than its context are named and left out.

Ours stand beside those of others. `log-wrangling` and `table-cleaning` were distilled from train
tasks of the very suites, `short-answers` from those of `demo`: that they do better there says
nothing of how the others were written. A run that was stopped is gone on with.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.reports import Options, Result, benchmark, earlier_report, option, out_or_resume
from harness.api import aevaluate
from harness.core import BadInput, Value, assets, digest_tree
from harness.evals import records
from harness.evals.report import ItemRecord
from harness.skills import TOKENIZER, count_tokens, load_skill, validate
from harness.stats import change_interval, joint_critical

MANIFEST = Path(__file__).with_suffix(".json")
OWN = {
    "table-cleaning": "roster", "log-wrangling": "wire", "spreadsheet-basics": "ledger-programs",
    "short-answers": "demo",
}  # fmt: skip
"""Skill that ships -> suite that it is about."""
PERMISSIVE = {"MIT", "Apache-2.0", "BSD-3-Clause", "CC0-1.0"}
_VARIABLE = re.compile(r"'[^']*'|(?<![\w-])\d[\d,]*(?![\w-])")
"""What differs from problem to problem of a kind."""


class PublicSkill(Value):
    """A skill of a public repository.

    Attributes:
        path: of its folder in the repository.
        suite: that it is about, as near as one of ours comes.
        on_topic: whether it is about files of that kind, and not about programming in general.
        digest: of its folder.
    """

    repository: str
    path: str
    suite: str
    on_topic: bool
    digest: str

    @property
    def name(self) -> str:
        """Owner and folder: several repositories have a skill of the same name."""
        return f"{self.repository.partition('/')[0]}/{self.path.rpartition('/')[2]}"

    def folder(self, root: Path) -> Path:
        """Return the folder of the skill.

        Raises:
            BadInput: if it is missing, or is not what the manifest names.
        """
        folder = root / self.repository.replace("/", "+") / self.path
        if not folder.is_dir() or digest_tree(folder) != self.digest:
            raise BadInput(
                f"expected {self.name} with the digest {self.digest!r} in {str(folder)!r}"
            )
        return folder


class Manifest(Value):
    """Manifest of what is measured: facts only, no text of a skill.

    Attributes:
        repositories: name -> commit that was read, licence, and the file that states it.
        left_out: repository, path and why, of what was looked at and not taken.
    """

    repositories: dict[str, dict[str, str]]
    skills: tuple[PublicSkill, ...]
    left_out: tuple[dict[str, str], ...]


class Arm(NamedTuple):
    """Runs of a measurement: suite, name of the skill or "", and its folder."""

    suite: str
    skill: str
    folder: Path | None

    @property
    def run(self) -> str:
        """Name of its run folder."""
        return f"{self.suite}-{self.skill.replace('/', '-') or 'none'}"


class Measurement(NamedTuple):
    """Plan: skill -> suite, tasks of each, the model, runs at a time, attempts of each."""

    about: Mapping[str, str]
    tasks: int
    model: str
    base_url: str | None
    at_once: int
    concurrency: int

    def arms(self, folders: Mapping[str, Path]) -> list[Arm]:
        """Every suite without a skill, then every skill."""
        bare = [Arm(suite, "", None) for suite in dict.fromkeys(self.about.values())]
        return bare + [Arm(suite, name, folders[name]) for name, suite in self.about.items()]


def read_manifest() -> Manifest:
    """The skills of others that are measured."""
    return Manifest.model_validate_json(MANIFEST.read_bytes())


def facts(folders: Mapping[str, Path]) -> dict[str, Any]:
    """Lengths, problems by skill, and in how many skills of others a kind of problem occurs."""
    by_skill: dict[str, Any] = {}
    kinds: Counter[str] = Counter()
    for name, folder in folders.items():
        skill = load_skill(folder)
        problems = validate(skill)
        levels = Counter(problem.level for problem in problems)
        by_skill[name] = {
            "tokens": count_tokens(skill.text),
            "files": len(skill.all_files),
            "errors": levels["error"],
            "warnings": levels["warning"],
        }
        if name not in OWN:
            kinds.update({f"{row.level}: {_VARIABLE.sub('…', row.message)}" for row in problems})
    return {"skills": by_skill, "problems": dict(kinds.most_common())}


async def run_arms(arms: Sequence[Arm], folder: Path, measurement: Measurement) -> None:
    """Run every arm, or go on with it; a few at a time: the last tasks of one leave room."""
    room = asyncio.Semaphore(measurement.at_once)

    async def run(arm: Arm) -> None:
        out = folder / arm.run
        async with room:
            await aevaluate(
                arm.suite, model=measurement.model, base_url=measurement.base_url,
                skill=arm.folder, split="test", limit=measurement.tasks, progress=False,
                concurrency=measurement.concurrency, **out_or_resume(out),
            )  # fmt: skip
        print(arm.run, Counter(item.outcome for item in records(out)), flush=True)

    await asyncio.gather(*map(run, arms))


def compared(runs: Mapping[Arm, Sequence[ItemRecord]]) -> dict[str, Any]:
    """Each skill against no skill on the same tasks; one without a valid attempt is only named.

    Differences are in points of pass rate; those of `skills` hold together (95 %). Where all have
    one suite, `by_length` has the mean over skills of others, by thirds of their length.
    """
    valid = {
        arm: {item.task_id: item for item in items if item.outcome != "invalid"}
        for arm, items in runs.items()
    }
    bare = {arm.suite: items for arm, items in valid.items() if not arm.skill}
    arms = [arm for arm, items in valid.items() if arm.skill and items]
    tasks = [(suite, task) for suite, items in bare.items() for task in items]
    changes = np.full((len(tasks), len(arms)), np.nan)  # nan: another suite, or invalid
    for column, arm in enumerate(arms):
        for row, (suite, task) in enumerate(tasks):
            if suite == arm.suite and task in valid[arm]:
                passed = [items[task].outcome == "pass" for items in (bare[suite], valid[arm])]
                changes[row, column] = passed[1] - passed[0]
    critical = joint_critical(changes)
    without = {suite: reached(list(items.values())) for suite, items in bare.items()}
    skills: list[dict[str, Any]] = []
    for column, arm in enumerate(arms):
        with_skill = reached(list(valid[arm].values()))
        with_skill["context"] -= without[arm.suite]["context"]
        change = effect(changes[:, column], critical)
        skills.append({"skill": arm.skill, "suite": arm.suite, **with_skill, **change})
    order = sorted(
        (column for column, arm in enumerate(arms) if arm.skill not in OWN),
        key=lambda column: skills[column]["context"],
    )
    thirds = [part.tolist() for part in np.array_split(order, 3)] if len(bare) == 1 else []
    return {
        "critical": round(critical, 3),
        "least": least_passes(max(items["valid"] for items in without.values()), critical),
        "without": without,
        "skills": skills,
        "by_length": [
            {
                "skills": len(part),
                "context": [skills[part[end]]["context"] for end in (0, -1)],
                **effect(np.ma.masked_invalid(changes[:, part]).mean(axis=1).filled(np.nan)),
            }
            for part in thirds
            if part
        ],
        "not_measured": [arm.skill for arm in runs if arm.skill and not valid[arm]],
    }


def least_passes(tasks: int, critical: float) -> int | None:
    """Passes that show help where nothing passes without a skill; None where no number does."""
    for passes in range(1, tasks + 1):
        changes = np.repeat([1.0, 0.0], [passes, tasks - passes])
        if effect(changes, critical)["verdict"] == "helps":
            return passes
    return None


def reached(items: Sequence[ItemRecord]) -> dict[str, Any]:
    """Summarise valid attempts; `context` is the mean prompt in tokens of the model."""
    calls = sum(item.usage.calls for item in items)
    return {
        "passed": sum(item.outcome == "pass" for item in items),
        "valid": len(items),
        "context": round(sum(item.usage.prompt_tokens for item in items) / calls),
        "tokens_per_task": round(sum(item.usage.tokens for item in items) / len(items)),
    }


def effect(changes: NDArray[np.float64], critical: float | None = None) -> dict[str, Any]:
    """Mean change of tasks in points, its interval and what it says; nan is left out."""
    values: list[float] = changes[~np.isnan(changes)].tolist()
    low, high = change_interval(values, critical) or (-1.0, 1.0)
    return {
        "difference": round(100 * sum(values) / len(values), 2),
        "low": round(100 * low, 2),
        "high": round(100 * high, 2),
        "verdict": "helps" if low > 0 else "hurts" if high < 0 else "nothing detectable",
    }


@benchmark(
    "skills",
    only=option(choices=("facts", "purpose", "demo")),
    model="vllm/qwen2.5-coder-0.5b",
    base_url="http://127.0.0.1:8100/v1",
    tasks=24,
    demo_tasks=60,
    demo_model="local/smollm2-135m",
    demo_base_url=option(),
    at_once=2,
    runs=Path("runs/public-skills"),
    out=Path("evals/results/public_skills.json"),
)
def main(options: Options) -> Result:
    manifest = read_manifest()
    public = {skill.name: skill.folder(options.skills) for skill in manifest.skills}
    folders = {**public, **{name: assets.root() / "skills" / name for name in OWN}}
    suites = {**{skill.name: skill.suite for skill in manifest.skills}, **OWN}
    result = earlier_report(options.out)
    result["command"] = "python -m benchmarks.receipts.public_skills FOLDER"
    result |= {"tokenizer": TOKENIZER, **facts(folders)}
    about = {name: suite for name, suite in suites.items() if suite != "demo"}
    served = Measurement(about, options.tasks, options.model, options.base_url, options.at_once, 16)
    # One request at a time: the skill stays in an embedded engine's cache, and each is read once.
    at_once = (1, 1) if options.demo_base_url is None else (options.at_once, 16)
    small = Measurement(
        dict.fromkeys(suites, "demo"), options.demo_tasks, options.demo_model,
        options.demo_base_url, *at_once,
    )  # fmt: skip
    for name, measurement in (("purpose", served), ("demo", small)):
        if options.only in (None, name):
            folder = options.runs / name
            arms = measurement.arms(folders)
            asyncio.run(run_arms(arms, folder, measurement))
            result[name] = {
                "date": datetime.now(UTC).date().isoformat(),
                "model": measurement.model,
                "tasks": measurement.tasks,
                **compared({arm: records(folder / arm.run) for arm in arms}),
            }
    return result
