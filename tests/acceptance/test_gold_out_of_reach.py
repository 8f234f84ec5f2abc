"""Official defect 5 (a hackable PASS gate): here nobody who could cheat ever sees the gold."""

from __future__ import annotations

import sys
from pathlib import Path

from harness.core import Task, assets, read_models
from harness.sandbox import select
from harness.tasks import family


def test_gold_is_not_in_the_work_folder_and_not_readable_from_it(tmp_path: Path) -> None:
    base = assets.find("corpora/ledger/sample")
    task = read_models(next(base.glob("*.jsonl")), Task)[0]
    gold = base / str(task.answer)
    prompt = family(task).prepare(task, base, tmp_path)
    assert gold.is_file()
    assert gold.name not in prompt
    assert gold.read_bytes() not in [path.read_bytes() for path in tmp_path.iterdir()]
    script = f"print(len(open({str(gold)!r}, 'rb').read()))"
    outside = select("none").exec([sys.executable, "-c", script], workdir=tmp_path)
    assert int(outside.stdout) == gold.stat().st_size
    inside = select("auto").exec([sys.executable, "-c", script], workdir=tmp_path)
    assert not inside.ok
    assert str(gold.stat().st_size) not in inside.stdout


def test_gold_handed_in_as_the_output_by_a_link_does_not_pass(tmp_path: Path) -> None:
    base = assets.find("corpora/ledger/sample")
    task = read_models(next(base.glob("*.jsonl")), Task)[0]
    family(task).prepare(task, base, tmp_path)
    (tmp_path / "output.xlsx").symlink_to(base / str(task.answer))
    assert family(task).score(task, base, tmp_path, None).outcome == "fail"
