"""A ladder from settings to receipt: every rung is a skill directory, or none, and an eval run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.core import BadInput, Value, digest, loops, mapping, read_json, write_atomic
from harness.core.rundir import (
    RunReader,
    differing,
    finished_report,
    mark_finished,
    request_of,
)
from harness.evals import (
    Evaluator,
    LoadedSuite,
    ProgressHook,
    adopt_spent,
    attempt_id,
    budget_of,
)
from harness.models import Budget, CallStore
from harness.receipts.audit import write_files
from harness.receipts.ladder import rungs as texts
from harness.receipts.ladder.no_model import attempt_without_model, no_model_rung
from harness.receipts.ladder.plan import (
    PLAN,
    LadderSettings,
    Prepared,
    inputs_of,
    plan_of,
    plan_text,
    prepare,
)
from harness.receipts.ladder.records import (
    NO_MODEL,
    Choice,
    LadderHeader,
    LadderRecords,
    LadderRow,
    Rung,
    RungName,
    rows_of,
)
from harness.receipts.ladder.report import Ladder, ladder_of, ladder_page
from harness.receipts.records import read_run, task_digests, task_groups
from harness.skills import LADDER, LADDER_PAGE, LADDER_RECORDS, Skill, beside


class Climbed(Value):
    """A ladder that was run: the receipt, where it lies, and its folder."""

    ladder: Ladder
    paths: tuple[Path, ...]
    run: Path


def run_ladder(
    settings: LadderSettings,
    *,
    tell: Callable[[str], None] = lambda text: None,
    show: ProgressHook | None = None,
) -> Climbed:
    """Run or resume a ladder; write its receipt into its folder, and beside the skill.

    Raises:
        BadInput: before any call, for what cannot be used.
        LimitReached: when a budget is spent; finished attempts are kept.
        Unreachable: if no attempt of a rung reached the model.
    """
    out = settings.run_folder("ladder")
    request, begun = request_of(settings, **inputs_of(settings)), (out / PLAN).is_file()
    if earlier := finished_report(out, request, resume=settings.resume is not None, begun=begun):
        return Climbed.model_validate({**earlier, "run": out})
    out.mkdir(parents=True, exist_ok=True)
    prepared = prepare(settings, out)
    plan = plan_of(settings, prepared)
    hold_to_plan(request, plan, out)
    tell(plan_text(plan))
    budget = budget_of(settings)
    for begun in sorted(out.rglob("run.json")):
        if begun.parent.name != NO_MODEL:  # which spends nothing
            adopt_spent(begun.parent, budget)
    records = loops.run(climb(settings, prepared, str(plan["plan"]), out, budget, tell, show))
    ladder = ladder_of(records)
    contents = {LADDER: ladder.text, LADDER_RECORDS: records.text, LADDER_PAGE: ladder_page(ladder)}
    for name, text in contents.items():
        write_atomic(out / name, text)
        write_atomic(beside(settings.skill, name), text)
    paths = tuple(beside(settings.skill, name) for name in contents)
    invalid = sum(rung.invalid for rung in (*ladder.rungs, *ladder.unseen))
    climbed = Climbed(ladder=ladder, paths=paths, run=out)
    return mark_finished(out, request, climbed, invalid=invalid)


def hold_to_plan(request: Mapping[str, Any], plan: Mapping[str, Any], out: Path) -> None:
    """Write down what the ladder depends on, or refuse to resume another one.

    Raises:
        BadInput: if something differs from what was begun.
    """
    path = out / PLAN
    if not path.is_file():
        write_atomic(path, json.dumps({"request": request, "plan": plan}, indent=1) + "\n")
    elif changed := differing(mapping(mapping(read_json(path)).get("request")), request):
        raise BadInput(
            f"{str(out)!r} was begun with other {', '.join(changed)}: resume it as it was, or "
            "begin a new one with another --out"
        )


async def climb(
    settings: LadderSettings,
    prepared: Prepared,
    planned: str,
    out: Path,
    budget: Budget,
    tell: Callable[[str], None],
    show: ProgressHook | None,
) -> LadderRecords:
    """Choose the best sets, then run every rung that has a text of its own."""
    folder_name = settings.skill.resolve().name

    async def run(
        run_name: str, skill: Skill | None, suite: LoadedSuite, epochs: int, seed: int
    ) -> Path:
        folder = None
        if skill is not None:
            folder = out / "skills" / run_name / folder_name
            write_files(skill, folder)
        update = {"epochs": epochs, "seed": seed, "limit": None, "skill": folder}
        evaluation = settings.evaluation().model_copy(update=update)
        if run_name == NO_MODEL:
            await attempt_without_model(evaluation, suite, prepared.replies, out / run_name, show)
        else:
            await Evaluator(evaluation, suite, budget).run(out / run_name, folder, show)
        return out / run_name

    best_sets: dict[RungName, texts.DrawnSet] = {}
    choices: list[Choice] = []
    for name, drawn in prepared.sets.items():
        assert prepared.chooser is not None
        passed: list[int] = []
        rows: list[LadderRow] = []
        for number, row in enumerate(drawn):
            run_name = f"choose/{name}-{number}"
            skill = texts.control(prepared.skill, row.body)
            await run(run_name, skill, prepared.chooser, 1, settings.seed)
            ids = [task.id for task in prepared.chooser.tasks]
            tried = _rows(name, ids, out / run_name)
            passed.append(sum(attempt.outcome == "pass" for attempt in tried))
            rows += tried
        choices.append(
            Choice(
                rung=name,
                tokens=tuple(row.tokens for row in drawn),
                passed=tuple(passed),
                attempts=len(rows),
                calls=sum(len(row.calls) for row in rows),
                used=sum(row.tokens for row in rows),
            )
        )
        best_sets[name] = drawn[choices[-1].best]
        tell(f"{name}: set {choices[-1].best + 1} of {len(drawn)} chosen, passes {passed}")
    rungs = rungs_of(prepared, best_sets)
    to_run: list[RungName] = [rung.name for rung in rungs if rung.run == rung.name]
    ids = [
        attempt_id(task, epoch) for epoch in range(settings.epochs) for task in prepared.suite.tasks
    ]
    rows = []
    for name in to_run:
        skill = prepared.skill if name == NO_MODEL else prepared.skills.get(name)
        if name in best_sets:
            skill = texts.control(prepared.skill, best_sets[name].body)
        suite, seed = prepared.suite, settings.seed
        if name == "repeat":  # other seeds, and the tasks from the last to the first
            suite = suite.model_copy(update={"tasks": tuple(reversed(suite.tasks))})
            seed += settings.epochs
        await run(name, skill, suite, settings.epochs, seed)
        rows += _rows(name, ids, out / name)
    lock = RunReader(out / "skill").lock
    chooser = prepared.chooser
    header = LadderHeader(
        name=prepared.skill.name or folder_name,
        skill=prepared.skill.digest,
        files={path: digest(data) for path, data in prepared.skill.all_files.items()},
        suite=settings.suite,
        split=prepared.suite.split,
        suite_digest=prepared.suite.digest,
        tasks=task_digests(prepared.suite.tasks),
        groups=task_groups(prepared.suite.tasks),
        epochs=settings.epochs,
        planned=planned,
        rungs=rungs,
        choose_split=chooser.split if chooser else None,
        choose_tasks=len(chooser.tasks) if chooser else 0,
        choices=tuple(choices),
        unseen=prepared.unseen,
        pool=str(prepared.pool or ""),
        **{
            name: lock[name]
            for name in (
                "agent", "model", "simulated", "skill_mode", "prompts", "version", "seed",
            )
        },
    )  # fmt: skip
    return LadderRecords(header=header, rows=tuple(rows))


def _rows(name: RungName, ids: Sequence[str], run: Path) -> list[LadderRow]:
    with CallStore(run / "calls.sqlite") as calls:
        return rows_of(name, ids, read_run(run, calls.answered()))


def rungs_of(prepared: Prepared, best_sets: Mapping[RungName, texts.DrawnSet]) -> tuple[Rung, ...]:
    """All rungs; one that has the text of an earlier one, or of the skill, has its attempts."""
    runs: dict[str, RungName] = {prepared.skill.digest: "skill"}
    rungs: list[Rung] = []
    if "best" in prepared.sets:
        best_sets = {"random": prepared.sets["best"][0], **best_sets}
    for name in prepared.names:
        if name == NO_MODEL:
            rungs.append(no_model_rung(prepared.replies))
            continue
        drawn = best_sets.get(name)
        skill = texts.control(prepared.skill, drawn.body) if drawn else prepared.skills[name]
        key = skill.digest if skill else ""
        target, tokens = prepared.targets.get(name), texts.tokens_of(skill)
        note, length = "", drawn.length if drawn else tokens
        if target is not None and not texts.near(length, target):
            note = (
                f"{length} tokens were reached of {target} ({100 * length / target - 100:+.0f} %)"
            )
        kinds = {"prose": "part", "skill": "skill", "repeat": "repeat"}
        rungs.append(
            Rung.model_validate({
                "name": name,
                "kind": kinds.get(name, "control"),
                "target": target,
                "tokens": tokens,
                "skill": key,
                "body": skill.body.strip() if skill and name not in kinds else "",
                "examples": drawn.examples if drawn else (),
                "run": name if name == "repeat" else runs.setdefault(key, name),
                "note": note,
            })
        )  # fmt: skip
    return tuple(rungs)
