"""The demo: the main job on our own corpus, live or from a recording, with controls.

train runs -> exemplar analyst -> skill -> gate on held-out tasks -> controls of the same length
on test tasks -> export -> report. Worked examples are few-shot prompting: what counts is the lift
over the best control, whatever it is.
"""

from __future__ import annotations

import resource
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from harness.core import Usage, Value, assets, write_atomic
from harness.evals import (
    EvalSettings,
    Evaluator,
    ItemRecord,
    Tally,
    compare_paired,
    load_suite,
    records,
)
from harness.evolve.baselines.few_shot import random_sets, rule_alone
from harness.evolve.evolution import Event, tally_event
from harness.evolve.session import run_evolution
from harness.evolve.settings import EvolveSettings
from harness.evolve.types import EvolveResult
from harness.skills import Skill, export, load_skill, write_skill
from harness.stats import PairedComparison, detectable_lift, wilson

RECORDING = "evals/recordings/demo.jsonl.zst"
NAME = "short-answers"
SUITE = "demo"
NO_SKILL, EVOLVED, RULE, RANDOM, BEST = (
    "no skill",
    "evolved skill",
    "format rule alone",
    "random examples",
    "best of random sets",
)
Origin = Literal["live", "recorded", "simulated"]
Tell = Callable[[Event], None]


class DemoSizes(Value):
    """Numbers of tasks; the defaults fit two cores in well under 15 minutes.

    Attributes:
        train: tasks that teach.
        gate: held-out tasks of the gate (split selection).
        choose: selection tasks on which the best random set is chosen.
        sets: random sets to choose from.
        test: tasks of the comparison (split test).
        examples: worked examples in the skill.
    """

    train: int = 60
    gate: int = 60
    choose: int = 20
    sets: int = 8
    test: int = 100
    examples: int = 6


class Arm(Value):
    """One condition on the test tasks.

    Attributes:
        against: the evolved skill minus this arm, paired; None for the skill itself.
    """

    name: str
    passed: int
    valid: int
    invalid: int
    ci95: tuple[float, float] | None
    tokens: int
    against: PairedComparison | None


class DemoReport(Value):
    """The end of a demo.

    Attributes:
        origin: live, recorded (replayed from our recording), or simulated.
        model: spec of the model that answered, now or when it was recorded.
        evolution: result of the evolution with its gate.
        arms: the conditions on the test tasks; empty if no skill came out.
        detectable: smallest lift that the test tasks can show.
        exported: where the skill was exported to; empty if it was not.
        tokens: of the whole demo.
        seconds: wall-clock time of the whole demo.
        peak_memory_mb: largest resident memory of this process, MiB.
    """

    origin: Origin
    model: str
    sizes: DemoSizes
    evolution: EvolveResult
    arms: tuple[Arm, ...]
    chosen_set_passes: tuple[int, ...]
    detectable: float | None
    exported: tuple[str, ...]
    tokens: int
    seconds: float
    peak_memory_mb: int


def run_demo(
    out: Path,
    *,
    model: str,
    sizes: DemoSizes | None = None,
    concurrency: int = 8,
    tell: Tell = lambda event: None,
) -> DemoReport:
    """Run the demo into the folder `out`; running it again goes on where it was.

    Args:
        model: spec; `replay/FILE` replays a recording.
        concurrency: calls at one time.
        tell: called with every event.

    Raises:
        HarnessError: as an evolution does; a recording that no longer fits is BadInput.
    """
    import asyncio

    started = time.monotonic()
    sizes = sizes or DemoSizes()
    evolution = _evolve(out, model, sizes, concurrency, tell)
    skill_dir = out / "evolved" / "skill" / NAME
    bench = _Bench(out, model, concurrency, tell)
    arms: tuple[Arm, ...] = ()
    passes: tuple[int, ...] = ()
    if evolution.edits:
        arms, passes = asyncio.run(bench.arms(load_skill(skill_dir), skill_dir, sizes))
    exported = _export(skill_dir, out, evolution)
    report = DemoReport(
        origin=_origin(model),
        model=_recorded_model(model) if model.startswith("replay/") else model,
        sizes=sizes,
        evolution=evolution,
        arms=arms,
        chosen_set_passes=passes,
        detectable=detectable_lift(sizes.test),
        exported=exported,
        tokens=evolution.tokens + bench.usage.tokens,
        seconds=time.monotonic() - started,
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )
    write_atomic(out / "demo.json", report.model_dump_json(indent=1) + "\n")
    from harness.evolve.demo_page import write_demo_page

    write_demo_page(report, skill_dir, out / "report.html")
    return report


def recording() -> Path:
    """The recording that `harness demo` replays."""
    return assets.find(RECORDING)


def _origin(model: str) -> Origin:
    kind = model.partition("/")[0]
    return "recorded" if kind == "replay" else "simulated" if kind == "simulated" else "live"


def _recorded_model(spec: str) -> str:
    """The spec of the model that answered when the recording was made."""
    from harness.models import read_calls

    call = next(read_calls(Path(spec.partition("/")[2])))
    return f"{call.kind}/{call.body['model']}"


def _evolve(out: Path, model: str, sizes: DemoSizes, concurrency: int, tell: Tell) -> EvolveResult:
    settings = EvolveSettings(
        out=out / "evolved",
        suite=SUITE,
        create=NAME,
        description="Answers short questions about a text with the bare answer, in the form of "
        "worked examples. Use for questions whose answer is a word or a number of the text.",
        analyst="exemplar",
        examples=sizes.examples,
        limit=max(sizes.train, sizes.gate),
        models=(model,),
        concurrency=concurrency,
        sandbox="none",  # nothing of this suite runs code
    )
    return run_evolution(settings, progress=tell)


class _Bench:
    """Runs the arms of the comparison and counts what they use."""

    def __init__(self, out: Path, model: str, concurrency: int, tell: Tell) -> None:
        self._out, self._model, self._concurrency, self._tell = out, model, concurrency, tell
        self.usage = Usage()

    async def arms(
        self, skill: Skill, skill_dir: Path, sizes: DemoSizes
    ) -> tuple[tuple[Arm, ...], tuple[int, ...]]:
        """Every arm on the test tasks; the best random set is chosen on selection tasks."""
        train = load_suite(SUITE, "train").tasks[: sizes.train]
        sets = random_sets(skill, train, sizes.sets, seed=41)
        folders = [self._written(f"random-{number}", one) for number, one in enumerate(sets)]
        passes: list[int] = []
        for number, folder in enumerate(folders):
            items = await self._run(f"choose-{number}", "selection", sizes.choose, folder)
            passes.append(sum(item.outcome == "pass" for item in items))
        best = folders[passes.index(max(passes))]
        conditions: dict[str, Path | None] = {
            NO_SKILL: None,
            RULE: self._written("rule", rule_alone(skill)),
            RANDOM: folders[0],
            BEST: best,
            EVOLVED: skill_dir,
        }
        runs = {
            name: await self._run(name.replace(" ", "-"), "test", sizes.test, folder)
            for name, folder in conditions.items()
        }
        return tuple(_arm(name, items, runs[EVOLVED]) for name, items in runs.items()), tuple(
            passes
        )

    def _written(self, name: str, skill: Skill) -> Path:
        folder = self._out / "controls" / name / skill.name
        write_skill(skill, folder)
        return folder

    async def _run(
        self, name: str, split: Literal["selection", "test"], limit: int, skill: Path | None
    ) -> list[ItemRecord]:
        self._tell(Event(stage=name, message=f"{limit} tasks of split {split}"))
        settings = EvalSettings(
            suite=SUITE,
            limit=limit,
            models=(self._model,),
            concurrency=self._concurrency,
            sandbox="none",
        )
        folder = self._out / "runs" / name

        def show(label: str, tally: Tally) -> None:
            self._tell(tally_event(label, tally))

        await Evaluator(settings, load_suite(SUITE, split)).run(folder, skill, show)
        items = records(folder)
        self.usage += sum((item.usage for item in items), Usage())
        return items


def _arm(name: str, items: Sequence[ItemRecord], skill: Sequence[ItemRecord]) -> Arm:
    valid = [item for item in items if item.outcome != "invalid"]
    passed = sum(item.outcome == "pass" for item in valid)
    against = None if name == EVOLVED else compare_paired(items, skill)
    return Arm(
        name=name,
        passed=passed,
        valid=len(valid),
        invalid=len(items) - len(valid),
        ci95=wilson(passed, len(valid)),
        tokens=sum(item.usage.tokens for item in items),
        against=against,
    )


def _export(skill_dir: Path, out: Path, evolution: EvolveResult) -> tuple[str, ...]:
    """Export an accepted skill for every client; a refused or empty one stays where it is."""
    target = out / "export"
    shutil.rmtree(target, ignore_errors=True)
    if not (evolution.edits and evolution.accepted):
        return ()
    skill = load_skill(skill_dir)
    for kind in ("agents", "claude", "zip"):
        export(skill, kind, target)
    return tuple(sorted(str(p.relative_to(out)) for p in target.rglob("*") if p.is_file()))
