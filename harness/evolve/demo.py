"""The demo: the main job on our own corpus, live or from a recording, with controls.

train runs -> exemplar analyst -> skill -> gate on held-out tasks -> controls of the same length
on test tasks -> export -> report. Worked examples are few-shot prompting: what counts is the lift
over the best control, whatever it is.
"""

from __future__ import annotations

import random
import re
import resource
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from harness.agents import EXAMPLES_SECTION, worked_example
from harness.core import BadInput, Task, Value, assets, loops, render_page, write_atomic
from harness.evals import ItemRecord, Split, compare_paired, load_suite
from harness.evolve.evolution import Event, ignore_event
from harness.evolve.session import SuiteRuns, run_evolution
from harness.evolve.settings import EvolveSettings
from harness.evolve.types import EvolveResult
from harness.models import Budget, read_calls
from harness.skills import (
    ShownBlock,
    Skill,
    count_tokens,
    export,
    load_skill,
    new_skill,
    read_provenance,
    shown_blocks,
    write_skill,
)
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
# Largest relative difference in tokens between a control and the skill.
TOLERANCE = 0.1
Origin = Literal["live", "recorded", "simulated"]
_EXAMPLES = re.compile(rf"^{re.escape(EXAMPLES_SECTION)}\s*$.*?(?=^## |\Z)", re.M | re.S)
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
    tell: Callable[[Event], None] = ignore_event,
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
        epochs=1,
        examples=sizes.examples,
        limit=max(sizes.train, sizes.gate),
        models=(model,),
        concurrency=concurrency,
        sandbox="none",  # nothing of this suite runs code
    )
    evolution = run_evolution(settings, progress=tell)
    skill_dir = out / "evolved" / "skill" / NAME
    runs = SuiteRuns(settings.model_copy(update={"limit": None}), Budget(), tell)
    arms: tuple[Arm, ...] = ()
    passes: tuple[int, ...] = ()
    # An accepted skill is exported for every client; a refused or empty one stays where it is.
    target = out / "export"
    shutil.rmtree(target, ignore_errors=True)
    if evolution.edits:
        arms, passes = loops.run(_compare(runs, out, skill_dir, sizes))
        if evolution.accepted:
            for client in ("agents", "claude", "zip"):
                export(load_skill(skill_dir), client, target)
    exported = sorted(str(path.relative_to(out)) for path in target.rglob("*") if path.is_file())
    kind, _, name = model.partition("/")
    if kind == "replay":  # the spec of the model that answered when the recording was made
        call = next(read_calls(Path(name)))
        model = f"{call.kind}/{call.body['model']}"
    origins: dict[str, Origin] = {"replay": "recorded", "simulated": "simulated"}
    report = DemoReport(
        origin=origins.get(kind, "live"),
        model=model,
        sizes=sizes,
        evolution=evolution,
        arms=arms,
        chosen_set_passes=passes,
        detectable=detectable_lift(sizes.test),
        exported=tuple(exported),
        tokens=evolution.tokens + runs.budget.spent.tokens,
        seconds=time.monotonic() - started,
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )
    write_atomic(out / "demo.json", report.model_dump_json(indent=1) + "\n")
    # The page: verdict, arms with intervals, and where each block of the skill came from.
    controls = [arm for arm in arms if arm.against is not None]
    blocks: list[ShownBlock] = []
    if (skill_dir / "SKILL.md").is_file():
        blocks = shown_blocks(read_provenance(skill_dir), load_skill(skill_dir))
    page = render_page(
        TEMPLATE,
        report=report,
        gate=evolution.gate,
        best=max(controls, key=lambda arm: arm.passed, default=None),
        blocks=blocks,
    )
    write_atomic(out / "report.html", page)
    return report


def recording() -> Path:
    """The recording that `harness demo` replays."""
    return assets.find(RECORDING)


async def _compare(
    runs: SuiteRuns, out: Path, skill_dir: Path, sizes: DemoSizes
) -> tuple[tuple[Arm, ...], tuple[int, ...]]:
    """Every arm on the test tasks; the best random set is chosen on selection tasks."""

    async def run(name: str, split: Split, limit: int, skill: Path | None) -> list[ItemRecord]:
        runs.progress(Event(stage=name, message=f"{limit} tasks of split {split}"))
        suite = load_suite(SUITE, split)
        suite = suite.model_copy(update={"tasks": suite.tasks[:limit]})
        return await runs.attempts(suite, out / "runs" / name, skill)

    skill = load_skill(skill_dir)
    train = load_suite(SUITE, "train").tasks[: sizes.train]
    controls = {"rule": rule_alone(skill)}
    for number, drawn in enumerate(random_sets(skill, train, sizes.sets, seed=41)):
        controls[f"random-{number}"] = drawn
    folders = {name: out / "controls" / name / skill.name for name in controls}
    for name, control in controls.items():
        write_skill(control, folders[name])
    passes: list[int] = []
    for number in range(sizes.sets):
        folder = folders[f"random-{number}"]
        items = await run(f"choose-{number}", "selection", sizes.choose, folder)
        passes.append(sum(item.outcome == "pass" for item in items))
    conditions: dict[str, Path | None] = {
        NO_SKILL: None,
        RULE: folders["rule"],
        RANDOM: folders["random-0"],
        BEST: folders[f"random-{passes.index(max(passes))}"],
        EVOLVED: skill_dir,
    }
    results = {
        name: await run(name.replace(" ", "-"), "test", sizes.test, folder)
        for name, folder in conditions.items()
    }
    arms: list[Arm] = []
    for name, items in results.items():
        passed = [item.outcome == "pass" for item in items if item.outcome != "invalid"]
        arms.append(
            Arm(
                name=name,
                passed=sum(passed),
                valid=len(passed),
                invalid=len(items) - len(passed),
                ci95=wilson(sum(passed), len(passed)),
                tokens=sum(item.usage.tokens for item in items),
                against=None if name == EVOLVED else compare_paired(items, results[EVOLVED]),
            )
        )
    return tuple(arms), tuple(passes)


def rule_alone(skill: Skill) -> Skill:
    """The skill without its worked examples."""
    body = _EXAMPLES.sub("", skill.body).rstrip() + "\n"
    return new_skill(skill.name, skill.description, body)


def random_sets(skill: Skill, tasks: Sequence[Task], sets: int, seed: int) -> list[Skill]:
    """The skill with its examples replaced by random tasks and their gold answers.

    Every set holds as many examples as the skill, and its length in tokens is that of the skill
    within a tenth.

    Args:
        skill: with worked examples.
        tasks: the tasks that the skill's own examples were drawn from.
        sets: how many skills to make.
        seed: of the draw.

    Raises:
        BadInput: if the tasks cannot fill such sets.
    """
    count = len(re.findall(r"^Task:", skill.body, re.M))
    tokens = count_tokens(skill.body)
    start = rule_alone(skill)
    rng = random.Random(seed)
    skills: list[Skill] = []
    for _ in range(200 * sets):
        examples = [
            worked_example(" ".join(task.prompt.split()), " ".join(str(task.answer).split())) + "\n"
            for task in rng.sample(list(tasks), min(count, len(tasks)))
        ]
        body = f"{start.body.rstrip()}\n\n{EXAMPLES_SECTION}\n\n" + "\n".join(examples)
        if abs(count_tokens(body) - tokens) <= TOLERANCE * tokens:
            skills.append(replace(start, body=body))
            if len(skills) == sets:
                return skills
    raise BadInput(f"{len(tasks)} tasks cannot fill {sets} sets of {count} examples of that length")
