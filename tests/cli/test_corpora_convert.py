"""`harness corpora convert`: a public set becomes tasks that an eval runs on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from harness.cli import cli
from harness.core import BadInput
from harness.evals import load_suite

ROW = {
    "_id": "5a",
    "question": "Which river flows through the town where Ada Bell was born?",
    "answer": "the Wye",
    "type": "bridge",
    "level": "easy",
    "supporting_facts": [["Ada Bell", 0], ["Hay", 1]],
    "context": [
        ["Ada Bell", ["Ada Bell was born in Hay.", " She wrote."]],
        ["Hay", ["Hay is a town.", " The Wye flows through it."]],
    ],
}


def test_a_public_file_becomes_a_suite(tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text(json.dumps([ROW, {**ROW, "_id": "5b"}]))
    options = [
        "corpora",
        "convert",
        "hotpotqa",
        str(tmp_path / "dev.json"),
        "--out",
        str(tmp_path / "out"),
    ]
    done = CliRunner().invoke(cli, [*options, "--limit", "1", "--json"])
    assert done.exit_code == 0, (done.output, done.exception)
    facts = json.loads(done.stdout)
    assert (facts["tasks"], facts["family"]) == (1, "search")
    suite = load_suite(facts["file"])
    [task] = suite.tasks
    assert task.answer == ["the Wye"]
    [documents] = task.files.values()
    rows = [json.loads(line) for line in (suite.base / documents).read_text().splitlines()]
    texts = {row["id"]: row["text"] for row in rows}
    evidence = task.meta["evidence"]
    assert isinstance(evidence, list)
    quotes = [texts[one["doc"]][one["start"] : one["end"]] for one in evidence]  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue, reportOptionalSubscript]  # JSON that was read
    assert [quote.strip() for quote in quotes] == [
        "Ada Bell was born in Hay.",
        "The Wye flows through it.",
    ]


def test_another_name_or_form_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text("[]")
    for name, words in (("hotpot", "expected one of hotpotqa"), ("hotpotqa", "no question")):
        options = [
            "corpora",
            "convert",
            name,
            str(tmp_path / "dev.json"),
            "--out",
            str(tmp_path / "out"),
        ]
        done = CliRunner().invoke(cli, options)
        assert isinstance(done.exception, BadInput), done.output
        assert words in str(done.exception)
    assert not (tmp_path / "out" / "test.jsonl").exists()


@pytest.mark.wing("vision")
def test_a_set_with_images_becomes_a_suite_of_visual_questions(tmp_path: Path) -> None:
    (tmp_path / "png").mkdir()
    Image.new("RGB", (8, 8), "white").save(tmp_path / "png" / "a.png")
    row = {"imgname": "a.png", "query": "What is the value of Ina?", "label": "40"}
    (tmp_path / "test.json").write_text(json.dumps([row]))
    source, out = str(tmp_path / "test.json"), str(tmp_path / "out")
    done = CliRunner().invoke(cli, ["corpora", "convert", "chartqa", source, "--out", out])
    assert done.exit_code == 0, (done.output, done.exception)
    assert "1 tasks\nnext:\n  harness eval" in done.stdout
    assert "--agent graph:vqa" in done.stdout
    [task] = load_suite(str(tmp_path / "out" / "test.jsonl")).tasks
    assert (task.check, task.meta["metric"], task.answer) == ("vqa", "relaxed", ["40"])
    assert all((tmp_path / "out" / path).is_file() for path in task.files.values())
