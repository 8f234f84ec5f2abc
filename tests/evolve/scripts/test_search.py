"""Kinds are found by running programs, whatever the words of their prompts."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

from harness.evals import load_suite
from harness.evolve.scripts.functions import Function, function_of
from harness.evolve.scripts.library import module_of, unproven
from harness.evolve.scripts.proving import kinds_found, prover
from harness.evolve.scripts.trials import Trial, Trials
from harness.sandbox import select
from tests.evolve.scripts.test_library import settings

WORDED = (
    "How many parcels to {town} weigh more than {kilos} kg? {file} has them all.",
    "{file}: count what goes to {town} and is heavier than {grams} grams.",
    "I need the number of parcels above {kilos} kilos that are addressed to {town} ({file}).",
    "Look at {file}. Deliveries for {town}, over {grams} g only: how many?",
)
LATE = (
    "Which parcels of {file} were sent on {words}? Their ids, one a line, in order.",
    "ids sent {iso}, sorted, a line each, from {file}",
    "{file} lists our parcels; print the ids of those of {dots}, sorted, each on its own line.",
)
HEAVY_CODE = """import csv
with open({file!r}, newline="") as source:
    rows = list(csv.DictReader(source))
print(sum(row["town"] == {town!r} and int(row["grams"]) > {grams} for row in rows))
"""
LATE_CODE = """import csv
with open({file!r}, newline="") as source:
    print("\\n".join(sorted(r["id"] for r in csv.DictReader(source) if r["sent"] == {iso!r})))
"""
TOWNS = ("Brno", "Gent", "Novi Sad")


@pytest.fixture(scope="module")
def worded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Two kinds of tasks on tables of one sort, no two prompts in the same words."""
    folder, rng = tmp_path_factory.mktemp("worded") / "suite", random.Random(5)
    folder.mkdir()
    tasks: list[dict[str, object]] = []
    programs: dict[str, str] = {}
    for n, form in enumerate([*WORDED, *LATE]):
        file, day = f"parcels{n}.csv", 3 + n
        chosen = {
            "file": file, "town": TOWNS[n % 3], "grams": (1500, 2500)[n % 2],
            "kilos": (1.5, 2.5)[n % 2], "iso": f"2026-03-{day:02}", "words": f"{day} March 2026",
            "dots": f"{day:02}.03.2026",
        }  # fmt: skip
        rows: list[tuple[str, str, int, str]] = [
            (f"p{k}", rng.choice(TOWNS), rng.choice((1500, 2500, rng.randint(500, 4000))),
             f"2026-03-{rng.choice((day, rng.randint(1, 28))):02}")
            for k in range(40)
        ]  # fmt: skip
        lines = ["id,town,grams,sent", *(",".join(map(str, row)) for row in rows)]
        (folder / file).write_text("\n".join(lines) + "\n")
        heavy = sum(r[1] == chosen["town"] and r[2] > (1500, 2500)[n % 2] for r in rows)
        sent = "\n".join(sorted(r[0] for r in rows if r[3] == chosen["iso"]))
        late = n >= len(WORDED)
        tasks.append(
            {"id": f"t{n}", "prompt": form.format(**chosen), "files": {file: file},
             "answer": sent if late else str(heavy)}
        )  # fmt: skip
        programs[f"t{n}"] = (LATE_CODE if late else HEAVY_CODE).format(**chosen)
    (folder / "train.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    (folder / "suite.yaml").write_text(
        "name: parcels\nagent: graph:program\ntasks: {train: train.jsonl}\n"
    )
    return folder, programs


def learned(
    out: Path, suite: Path, programs: list[tuple[str, str]]
) -> tuple[list[Function], list[str]]:
    """Functions, and the tasks that one of them fails though the search found it."""
    loaded, chosen = load_suite(str(suite), "train", trusted=True), settings(out, suite)

    async def made() -> tuple[list[Function], list[str]]:
        found, tasks = await kinds_found(programs, loaded, chosen)
        functions = [function_of(row, tasks, f"function_{n}") for n, row in enumerate(found)]
        rows = [await unproven(function, prover(loaded, chosen)) for function in functions]
        return functions, [task for row in rows for task in row]

    return asyncio.run(made())


def test_a_program_each_is_enough_for_kinds_in_other_words(
    tmp_path: Path, worded: tuple[Path, dict[str, str]]
) -> None:
    suite, programs = worded
    functions, failed = learned(tmp_path, suite, [(t, programs[t]) for t in ("t0", "t4")])
    assert not failed and not (tmp_path / "out" / "trials").exists()
    heavy, late = functions
    assert sorted(heavy.proven) == ["t0", "t1", "t2", "t3"]
    assert sorted(late.proven) == ["t4", "t5", "t6"]
    # The module has the shape of the values of its tasks, and none of these.
    module = "\n".join(module_of(functions))
    assert not [word for word in (*TOWNS, "2026-03", "1500", "parcels0") if word in module]
    assert "day='\\\\d{4}-\\\\d{2}-\\\\d{2}'" in module
    assert "Do a task with .csv files about " in module
    # Kilos and grams are one value, and so is a day in three forms.
    assert heavy.call("t2") == "function_0(town='Novi Sad', grams=1500, file='parcels2.csv')"
    assert late.call("t6") == "function_1(day='2026-03-09', file='parcels6.csv')"


def test_a_constant_that_prompts_do_not_state_is_found_where_programs_differ(
    tmp_path: Path, worded: tuple[Path, dict[str, str]]
) -> None:
    suite, programs = worded
    rows = [json.loads(line) for line in (suite / "train.jsonl").read_text().splitlines()[:3]]
    copy = tmp_path / "suite"
    copy.mkdir()
    for path in suite.glob("*.csv"):
        (copy / path.name).write_bytes(path.read_bytes())
    (copy / "suite.yaml").write_text((suite / "suite.yaml").read_text())
    # Nobody can read the weight in these prompts.
    limits = ("the usual weight", "the other weight", "the usual weight")
    for n, (row, limit) in enumerate(zip(rows, limits, strict=True)):
        row["prompt"] = f"Parcels to {TOWNS[n]} above {limit} in parcels{n}.csv: how many?"
    (copy / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    [function], failed = learned(tmp_path, copy, [(t, programs[t]) for t in ("t0", "t1")])
    assert not failed and {"t0", "t1"} <= set(function.proven)
    [limit] = [p for p in function.parameters if p.sort == "number"]
    assert sorted(map(str, map(limit.values.get, ("t0", "t1")))) == ["1500", "2500"]


@pytest.mark.parametrize(
    "escape",
    [
        "os.remove('../t0.out'); os.symlink({secret!r}, '../t0.out')",
        "os.remove('../t0.out'); os.mkfifo('../t0.out')",
        "os.remove('../t0.out'); os.link('parcels0.csv', '../t0.out')",
        "open('/proc/%d/fd/1' % os.getppid(), 'w').write('t0 0 {{\\n[]\\n')",
    ],
)
def test_a_trial_is_judged_by_ordinary_files_of_its_own(
    tmp_path: Path, worded: tuple[Path, dict[str, str]], escape: str
) -> None:
    suite = load_suite(str(worded[0]), "train", trusted=True)
    secret = tmp_path / "secret"
    secret.write_text(str(suite.tasks[0].answer))
    trials = Trials(suite, select("auto"), tmp_path / "trials", trusted=True)
    code = f"import os\n{escape.format(secret=str(secret))}\n"
    honest = Trial("t0", worded[1]["t0"], {})
    assert asyncio.run(trials.passed([Trial("t0", code, {}), honest])) == [False, True]
