"""The demo: the main job on our own corpus, live or from a recording, with controls.

train runs -> exemplar analyst -> skill -> gate on held-out tasks -> controls of the same length
on test tasks -> export -> report. Worked examples are few-shot prompting: what counts is the lift
over the best control, whatever it is.
"""

from __future__ import annotations

import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from harness.core import Usage, Value, assets, loops, render_page, write_atomic
from harness.evals import (
    EvalSettings,
    Evaluator,
    ItemRecord,
    compare_paired,
    load_suite,
    records,
)
from harness.evolve.baselines.few_shot import random_sets, rule_alone
from harness.evolve.evolution import Event, ignore_event
from harness.evolve.rollouts import tally_event
from harness.evolve.session import run_evolution
from harness.evolve.settings import EvolveSettings
from harness.evolve.types import EvolveResult
from harness.skills import Skill, explain, export, load_skill, read_provenance, write_skill
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
TEMPLATE = Path(__file__).parent / "templates" / "demo.html.j2"


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
    tell: Tell = ignore_event,
) -> DemoReport:
    """Run the demo into the folder `out`; running it again resumes where it was.

    Args:
        out: folder to write.
        model: spec; `replay/FILE` replays a recording.
        sizes: numbers of tasks.
        concurrency: calls at one time.
        tell: called with every event.

    Raises:
        HarnessError: as an evolution does; a recording that no longer fits is BadInput.
    """
    started = time.monotonic()
    sizes = sizes or DemoSizes()
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
    evolution = run_evolution(settings, progress=tell)
    skill_dir = out / "evolved" / "skill" / NAME
    bench = _Bench(out, model, concurrency, tell)
    arms: tuple[Arm, ...] = ()
    passes: tuple[int, ...] = ()
    if evolution.edits:
        arms, passes = loops.run(bench.arms(load_skill(skill_dir), skill_dir, sizes))
    # An accepted skill is exported for every client; a refused or empty one stays where it is.
    target = out / "export"
    shutil.rmtree(target, ignore_errors=True)
    if evolution.edits and evolution.accepted:
        for kind in ("agents", "claude", "zip"):
            export(load_skill(skill_dir), kind, target)
    exported = sorted(str(path.relative_to(out)) for path in target.rglob("*") if path.is_file())
    kind, _, name = model.partition("/")
    answered_by = model
    if kind == "replay":  # the spec of the model that answered when the recording was made
        from harness.models import read_calls

        call = next(read_calls(Path(name)))
        answered_by = f"{call.kind}/{call.body['model']}"
    origins: dict[str, Origin] = {"replay": "recorded", "simulated": "simulated"}
    report = DemoReport(
        origin=origins.get(kind, "live"),
        model=answered_by,
        sizes=sizes,
        evolution=evolution,
        arms=arms,
        chosen_set_passes=passes,
        detectable=detectable_lift(sizes.test),
        exported=tuple(exported),
        tokens=evolution.tokens + bench.usage.tokens,
        seconds=time.monotonic() - started,
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )
    write_atomic(out / "demo.json", report.model_dump_json(indent=1) + "\n")
    _write_page(report, skill_dir, out / "report.html")
    return report


def recording() -> Path:
    """The recording that `harness demo` replays."""
    return assets.find(RECORDING)


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
        folders = [self._written(f"random-{number}", drawn) for number, drawn in enumerate(sets)]
        passes: list[int] = []
        for number, folder in enumerate(folders):
            items = await self._run(f"choose-{number}", "selection", sizes.choose, folder)
            passes.append(sum(item.outcome == "pass" for item in items))
        conditions: dict[str, Path | None] = {
            NO_SKILL: None,
            RULE: self._written("rule", rule_alone(skill)),
            RANDOM: folders[0],
            BEST: folders[passes.index(max(passes))],
            EVOLVED: skill_dir,
        }
        runs = {
            name: await self._run(name.replace(" ", "-"), "test", sizes.test, folder)
            for name, folder in conditions.items()
        }
        arms: list[Arm] = []
        for name, items in runs.items():
            passed = [item.outcome == "pass" for item in items if item.outcome != "invalid"]
            arms.append(
                Arm(
                    name=name,
                    passed=sum(passed),
                    valid=len(passed),
                    invalid=len(items) - len(passed),
                    ci95=wilson(sum(passed), len(passed)),
                    tokens=sum(item.usage.tokens for item in items),
                    against=None if name == EVOLVED else compare_paired(items, runs[EVOLVED]),
                )
            )
        return tuple(arms), tuple(passes)

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
        await Evaluator(settings, load_suite(SUITE, split)).run(
            folder, skill, lambda label, tally: self._tell(tally_event(label, tally))
        )
        items = records(folder)
        self.usage += sum((item.usage for item in items), Usage())
        return items


def _write_page(report: DemoReport, skill_dir: Path, out: Path) -> None:
    """Write the page: verdict, arms with intervals, and where each line of the skill came from."""
    controls = [arm for arm in report.arms if arm.against is not None]
    best = max(controls, key=lambda arm: arm.passed, default=None)
    lines: list[dict[str, object]] = []
    if (skill_dir / "SKILL.md").is_file():
        skill, provenance = load_skill(skill_dir), read_provenance(skill_dir)
        count = len((skill_dir / "SKILL.md").read_text("utf-8").splitlines())
        for number in range(1, count + 1):
            line = explain(provenance, skill, "SKILL.md", number)
            lines.append({"number": number, "text": line.text, "edit": line.edit})
    gate = report.evolution.gate
    write_atomic(out, render_page(TEMPLATE, report=report, gate=gate, best=best, lines=lines))
