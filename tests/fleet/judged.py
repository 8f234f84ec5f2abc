"""Finished runs whose judging is work: code in a sandbox, a command, files that tasks name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fleet.running import doubled, evaluated
from tests.models.http_server import serve

CHECKS = """
import json
from pathlib import Path

HERE = Path(__file__).parent

def judge(task, workdir, answer):
    told = json.loads((HERE / "gold.json").read_text())
    seen = Path(told["outside"]).exists()
    return {"passed": answer == told[task["id"]], "reason": f"sees the file outside: {seen}"}

def unable(task, workdir, answer):
    raise SystemExit("no opinion")
"""
TABLE = {"files": {"input.xlsx": "files/table.xlsx"}, "meta": {"form": "reply"}}


def judged_rows(*kinds: str) -> list[dict[str, Any]]:
    """Three tasks of every kind; the endpoint answers one of them wrongly."""
    given: dict[str, dict[str, Any]] = {
        "text": {},
        "code": {"check": "checks/code.py:judge"},
        "broken": {"check": "checks/code.py:unable"},
        "command": {
            "check": '{python} -c \'import sys; sys.exit(open("answer.txt").read() != "8")\''
        },
        "table": {"check": "tableqa", **TABLE},
    }
    return [
        {"id": f"{kind}{n}", "prompt": f"What is twice {n}?", "answer": str(2 * n), **given[kind]}
        for kind in kinds
        for n in (3, 4, 5)
    ]


def write_suite(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """The suite with these tasks; what code of it may not see lies beside its folder."""
    for name in ("checks", "files"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder.parent / "outside").touch()
    gold = {str(row["id"]): str(row["answer"]) for row in rows}
    told = {**gold, "outside": str(folder.parent / "outside")}
    (folder / "checks" / "gold.json").write_text(json.dumps(told))
    (folder / "checks" / "code.py").write_text(CHECKS)
    (folder / "files" / "table.xlsx").write_bytes(b"a table")
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text("name: judged\ntasks: tasks.jsonl\n")
    return folder / "suite.yaml"


def finished_run(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """A run of the suite with these tasks, two attempts each, judged by their text."""
    suite = write_suite(folder / "suite", [{**row, "check": "em"} for row in rows])
    with serve(doubled) as served:
        evaluated(suite, folder / "run", served, epochs=2, concurrency=1)
    write_suite(folder / "suite", rows)
    return folder / "run"


def contents(run: Path) -> dict[str, bytes]:
    """Every file of a run folder but the mark of the finished one, which names its folder."""
    files = (path for path in run.iterdir() if path.is_file() and path.name != "finished.json")
    return {path.name: path.read_bytes() for path in files}
