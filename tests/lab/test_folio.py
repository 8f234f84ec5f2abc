"""The folio: counted, reproducible, drawn as its truth says, one family kept for the test split."""

from __future__ import annotations

import json
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from harness.core import BadInput, Task, digest_tree, read_models
from harness.corpora import generate
from harness.tasks import family
from lab.corpora.folio import SIZES, Picture, folio_tasks, write_split
from lab.corpora.folio.style import KNOWN, UNSEEN

Pairs = list[tuple[Task, Picture]]


@pytest.fixture(scope="module")
def splits() -> dict[str, Pairs]:
    """All questions with their pictures."""
    return {split: list(folio_tasks(split)) for split in SIZES}


def _truth(task: Task) -> dict[str, Any]:
    truth = task.meta["truth"]
    assert isinstance(truth, dict)
    return truth


def _answer(task: Task) -> str:
    assert isinstance(task.answer, list)
    (answer,) = task.answer
    return str(answer)


def test_counts_and_families(splits: dict[str, Pairs]) -> None:
    assert {split: len(pairs) for split, pairs in splits.items()} == SIZES
    assert sum(SIZES.values()) >= 150
    for split, pairs in splits.items():
        families = Counter(str(task.meta["family"]) for task, _ in pairs)
        assert set(families) == set(KNOWN) | ({UNSEEN} if split == "test" else set())
        assert min(families.values()) >= 15
    ids = [task.id for pairs in splits.values() for task, _ in pairs]
    assert len(set(ids)) == len(ids)


def test_no_picture_of_one_split_is_in_another(splits: dict[str, Pairs]) -> None:
    seen = [{picture.data for _, picture in pairs} for pairs in splits.values()]
    assert not seen[0] & seen[1]
    assert not seen[0] & seen[2]
    assert not seen[1] & seen[2]


def test_every_answer_follows_from_the_truth(splits: dict[str, Pairs]) -> None:
    checked: Counter[str] = Counter()
    for task, _ in splits["test"]:
        truth, kind = _truth(task), str(task.meta["kind"])
        answer = _answer(task)
        if "chart" in truth:
            checked[kind] += 1
            assert answer == _of_chart(task.prompt, kind, truth["chart"]["values"]), task.id
        elif "receipt" in truth and "total" in task.prompt:
            costs = [str(fact).rsplit(" cost ", 1)[-1] for fact in task.meta["facts"] or ()]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType, reportUnknownArgumentType]  # JSON
            amounts = [round(100 * float(cost)) for cost in costs[3:]]
            checked["receipt"] += 1
            assert sum(amounts) == round(100 * float(answer))
        elif "flow" in truth and kind == "place":
            steps: list[str] = truth["flow"]
            named = task.prompt.rstrip("?").rsplit(" ", 1)[-1]
            checked["flow"] += 1
            assert answer == steps[steps.index(named) + (1 if "after" in task.prompt else -1)]
        elif "shapes" in truth and kind == "count":
            things = [thing for line in truth["shapes"] for thing in line]
            asked = task.prompt.removeprefix("How many ").partition(" are ")[0]
            wanted = asked.removesuffix("s")
            colour = task.prompt.rstrip("?").rsplit(" ", 1)[-1]
            found = [one for one in things if one == wanted or one.split()[0] == colour]
            checked["shapes"] += 1
            assert int(answer) == len(found), task.prompt
    assert min(checked.values()) >= 8
    assert len(checked) == 6


def _of_chart(question: str, kind: str, values: dict[str, dict[str, int]]) -> str:
    row = next((row for name, row in values.items() if f" of {name}" in question), None)
    if row is None:
        (row,) = values.values()
    if kind == "compare":
        best = max(row.values()) if "highest" in question else min(row.values())
        return next(name for name, value in row.items() if value == best)
    named = [name for name in row if name in question]
    return str(sum(row[name] for name in named))


def test_columns_are_as_high_as_their_values(splits: dict[str, Pairs]) -> None:
    """Measured in the picture: heights of the coloured columns, by the highest one."""
    measured = 0
    for task, picture in splits["train"] + splits["selection"]:
        truth = _truth(task).get("chart")
        if not truth or truth["shape"] != "columns" or picture.family not in ("plain", "slide"):
            continue
        if len(truth["values"]) > 1 or not task.id.endswith("-0"):
            continue
        values = list(next(iter(truth["values"].values())).values())
        heights = _column_heights(picture.data)
        assert len(heights) == len(values), task.id
        for height, value in zip(heights, values, strict=True):
            assert height / max(heights) == pytest.approx(value / max(values), abs=0.02), task.id
        measured += 1
    assert measured >= 2


def _column_heights(data: bytes) -> list[int]:
    """Height of each run of columns in the most frequent saturated colour."""
    image = Image.open(BytesIO(data)).convert("HSV")
    hue, saturation, value = (np.asarray(image).astype(int)[..., at] for at in range(3))
    strong = (saturation > 90) & (value > 120)
    peak = np.bincount(hue[strong], minlength=256).argmax()
    mask = strong & (np.abs(hue - peak) < 8)
    counts = mask.sum(axis=0)
    columns, heights = counts > 8, list[int]()
    for at in range(1, len(columns)):
        if columns[at] and not columns[at - 1]:
            heights.append(0)
        if columns[at] and heights:
            heights[-1] = max(heights[-1], int(counts[at]))
    return [height for height in heights if height > 8]


def test_the_same_bytes_every_time_and_other_ones_from_another_seed(tmp_path: Path) -> None:
    write_split("train", tmp_path / "a", limit=5)
    write_split("train", tmp_path / "b", limit=5)
    write_split("train", tmp_path / "c", limit=5, seed=1)
    assert digest_tree(tmp_path / "a") == digest_tree(tmp_path / "b")
    assert digest_tree(tmp_path / "a") != digest_tree(tmp_path / "c")


def test_the_sample_is_what_the_generator_gives(repository: Path, tmp_path: Path) -> None:
    """Rows to the letter; pixels nearly, for another decoder or typeface may round otherwise."""
    generate("folio", tmp_path, "train", limit=12)
    sample = repository / "corpora" / "folio" / "sample"
    rows, kept = (read_models(folder / "train.jsonl", Task) for folder in (tmp_path, sample))
    assert rows == kept
    names = sorted(path.name for path in (sample / "images").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "images").iterdir())
    for name in names:
        one, two = (
            np.asarray(Image.open(folder / "images" / name).convert("L"), dtype=float)
            for folder in (tmp_path, sample)
        )
        assert one.shape == two.shape
        assert np.abs(one - two).mean() < 4


def test_tasks_are_prepared_and_judged(tmp_path: Path) -> None:
    tasks = write_split("train", tmp_path, limit=12)
    for number, task in enumerate(tasks):
        work = tmp_path / f"work-{number}"
        work.mkdir()
        prompt = family(task).prepare(task, tmp_path, work)
        (image,) = work.iterdir()
        assert image.name in prompt
        assert "truth" not in prompt
        answer = _answer(task)
        assert family(task).score(task, tmp_path, work, f" {answer}. ").outcome == "pass" or (
            task.meta["metric"] == "relaxed"
        )
        assert family(task).score(task, tmp_path, work, answer).outcome == "pass"
        assert family(task).score(task, tmp_path, work, "no idea").outcome == "fail"


def test_bad_limits_and_splits(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at least 1"):
        write_split("train", tmp_path, limit=0)
    with pytest.raises(BadInput, match="expected a split"):
        next(folio_tasks("dev"))


def test_rows_are_json(tmp_path: Path) -> None:
    write_split("test", tmp_path, limit=8)
    for line in (tmp_path / "test.jsonl").read_text().splitlines():
        row = json.loads(line)
        assert (tmp_path / next(iter(row["files"].values()))).is_file()
