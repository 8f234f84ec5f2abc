"""Value types, digests, JSON lines, redaction, atomic files and assets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from harness.core import (
    BadInput,
    Edit,
    Task,
    Usage,
    canonical_json,
    digest,
    first_fault,
    read_models,
    write_atomic,
)
from harness.core.assets import load_object
from harness.core.redaction import redact
from harness.evals.suite import Suite


def test_canonical_json_does_not_depend_on_order() -> None:
    assert digest({"a": 1, "b": [2, 3]}) == digest({"b": [2, 3], "a": 1})
    assert canonical_json({"é": None}) == '{"é":null}'
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


def test_unknown_cost_makes_the_sum_unknown() -> None:
    assert (Usage(cost_usd=1.0) + Usage(cost_usd=None)).cost_usd is None
    assert (Usage(cost_usd=1.0) + Usage(cost_usd=0.5)).cost_usd == 1.5


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../b"])
def test_task_files_stay_in_the_work_folder(name: str) -> None:
    with pytest.raises(ValidationError, match="inside the work folder"):
        Task(id="t", prompt="p", files={name: "x"})


def test_task_takes_a_list_of_paths_and_a_numeric_id() -> None:
    task = Task.model_validate({"id": 7, "prompt": "p", "files": ["data/a.csv"]})
    assert (task.id, task.files) == ("7", {"a.csv": "data/a.csv"})


def test_patch_operation_aliases() -> None:
    assert Edit.model_validate({"file": "x", "op": "createFile"}).op == "create"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "a", "prompt": "p"}\n{broken\n', "tasks.jsonl:2: expected one JSON object"),
        ('{"id": "a", "prompt": "p"}\n\n[1]\n', "tasks.jsonl:3: expected a JSON object, got list"),
        ('{"id": "a"}\n', "tasks.jsonl:1: prompt: Field required"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        read_models(path, Task)


def test_the_first_fault_names_its_field() -> None:
    with pytest.raises(ValidationError) as caught:
        Task.model_validate({"id": "t", "prompt": "p", "files": {"a": 1}})
    assert first_fault(caught.value) == "files.a: Input should be a valid string"
    with pytest.raises(ValidationError) as caught:
        Task.model_validate(3)
    assert first_fault(caught.value, "task") == "task: expected fields with values, got 3"


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"agnet": "react"}, "agnet: no such field (did you mean 'agent'?)"),
        (
            {"sampling": {"temperatur": 0}},
            "sampling.temperatur: no such field (did you mean 'temperature'?)",
        ),
        ({"judge": {"rubrik": "x"}}, "judge.rubrik: no such field (did you mean 'rubric'?)"),
        ({"qqqq": 1}, "qqqq: no such field: there are name, tasks, split_by"),
    ],
)
def test_a_misspelt_field_gets_a_suggestion(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Suite.model_validate({"name": "s", "tasks": "t.jsonl", **fields})
    assert fault in first_fault(caught.value, "suite", Suite)


def test_a_misspelt_field_comes_before_the_one_that_is_missing() -> None:
    with pytest.raises(ValidationError) as caught:
        Suite.model_validate({"nmae": "s"})
    assert first_fault(caught.value, "suite", Suite) == "nmae: no such field (did you mean 'name'?)"


def test_secrets_are_redacted() -> None:
    key = "sk-" + "a1B2" * 8
    assert redact(f"key={key} end") == "key=[REDACTED] end"
    assert redact("Authorization: Bearer " + "x" * 30) == "Authorization: [REDACTED]"
    assert redact("nothing to see") == "nothing to see"


def test_write_atomic_replaces_whole_files(tmp_path: Path) -> None:
    write_atomic(tmp_path / "new" / "a.txt", "one")
    write_atomic(tmp_path / "new" / "a.txt", "two")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.txt"]
    assert (tmp_path / "new" / "a.txt").read_text() == "two"


def test_load_object_names_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("x = 1\n")
    assert load_object("m.py:x", tmp_path) == 1
    with pytest.raises(BadInput, match="defines no 'y'"):
        load_object("m.py:y", tmp_path)
    with pytest.raises(BadInput, match=r"file\.py:name"):
        load_object("m.py", tmp_path)
    (tmp_path / "bad.py").write_text("1/0\n")
    with pytest.raises(BadInput, match="ZeroDivisionError"):
        load_object("bad.py:x", tmp_path)
