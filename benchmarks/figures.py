"""docs/figures.md, the pages of receipts and papers, the picture of the README, from results.

Run: python -m benchmarks.figures
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.receipts.public_skills import read_manifest
from harness.core import assets, read_rows, read_yaml, string
from harness.evals import load_suite
from harness.receipts.ladder.records import read_ladder
from harness.receipts.ladder.report import Ladder

TEMPLATES = Path(__file__).parent
SKILL = "short-answers"
LEDGER_GOLD = "evals/examples/ledger.jsonl"
SERVED_ON = {
    "log-wrangling": "two cores", "table-cleaning": "one H100", "workbook-programs": "two cores",
}  # fmt: skip
"""Skill with a ladder -> what served its model; receipts do not say it."""


def figures() -> str:
    """docs/figures.md; a figure that the results lack is an error."""
    results = (assets.root() / "evals" / "results").glob("*.json")
    values = {path.stem: read(path) for path in results}
    values |= {
        "ladders": ladders(), "served_on": SERVED_ON, "without_gold": without_gold(),
        "coverage": {ladder.skill: coverage(ladder) for ladder in ladders()},
    }  # fmt: skip
    return page("figures.md.jinja", values)


def ladders() -> list[Ladder]:
    """Read the ladders of the skills that ship."""
    paths = sorted((assets.root() / "skills").glob("*.ladder.json"))
    return [Ladder.model_validate_json(path.read_bytes()) for path in paths]


def without_gold() -> tuple[int, Counter[str]]:
    """Count the workbooks' tasks whose kind no gold program shows, and passes by rung."""
    root = assets.root()
    tasks = [*load_suite("ledger-programs", "train").tasks, *load_suite("ledger-programs").tasks]
    kinds = {task.id: str(task.meta["kind"]) for task in tasks}
    gold = {kinds[string(row.get("task"))] for _, row in read_rows(root / LEDGER_GOLD)}
    rows = read_ladder(root / "skills" / "workbook-programs.ladder.jsonl").rows
    unshown = [row for row in rows if kinds[row.task] not in gold]
    passed = Counter(row.rung for row in unshown if row.outcome == "pass")
    return len({row.task for row in unshown}), passed


def coverage(ladder: Ladder) -> dict[str, Any]:
    """Kinds that the best set of gold examples shows, and passes among them and among others.

    Args:
        ladder: of a skill that ships, on tasks that name their kind.
    """
    tasks = [*load_suite(ladder.suite, "train").tasks, *load_suite(ladder.suite).tasks]
    kinds = {task.id: str(task.meta["kind"]) for task in tasks}
    [best] = [rung for rung in ladder.rungs if rung.name == "best"]
    covered = {kinds[task] for task in best.examples}
    path = assets.root() / "skills" / f"{ladder.skill}.ladder.jsonl"
    records = read_ladder(path)
    rows = [row for row in records.rows if row.rung == "best"]
    rows = [row for row in rows if row.task not in records.header.unseen]
    passed = Counter(kinds[row.task] in covered for row in rows if row.outcome == "pass")
    return {
        "kinds": sorted(covered), "all_kinds": len({kinds[row.task] for row in rows}),
        "tasks": sum(kinds[row.task] in covered for row in rows),
        "passed": passed[True], "others_passed": passed[False],
    }  # fmt: skip


def receipts() -> str:
    """docs/receipts/index.md: the receipts beside shipped skills, and what others' skills do."""
    paths = sorted((assets.root() / "skills").glob("*.receipt.json"))
    values = {"audits": list(map(read, paths)), "ladders": ladders(), "manifest": read_manifest()}
    results = assets.root() / "evals" / "results"
    values |= {name: read(results / f"{name}.json") for name in ("public_skills", "skill_transfer")}
    return page("receipts.md.jinja", values)


def papers() -> str:
    """docs/concepts/papers.md: published figures beside those of ours that name their result."""
    root = assets.root()
    rows = [read_yaml(path) for path in sorted((root / "evals" / "paper").glob("*.yaml"))]
    files = {
        figure["ours"]["file"] for row in rows for figure in row["figures"] if "ours" in figure
    }
    return page("papers.md.jinja", {"papers": rows, "results": {n: read(root / n) for n in files}})


def read(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text("utf-8"))


def page(template: str, values: Mapping[str, Any]) -> str:
    """Render a template; a value that is missing is an error."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)  # noqa: S701  # writes Markdown
    environment.filters |= {
        "percent": percent, "points": points, "span": span, "interval": interval, "signed": signed,
    }  # fmt: skip
    return environment.from_string((TEMPLATES / template).read_text("utf-8")).render(values)


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{100 * share:.1f} %"


def points(change: float) -> str:
    """A difference of shares in points."""
    return interval([100 * change])


def span(pair: Sequence[float]) -> str:
    """Two shares as percentages."""
    return " to ".join(map(percent, pair))


def interval(pair: Sequence[float]) -> str:
    """Points with their signs."""
    return " to ".join(map(signed, pair))


def signed(value: float) -> str:
    """A figure with its sign."""
    return f"{value:+.1f}".replace("-", "\N{MINUS SIGN}")


def picture() -> str:
    """The lines of a shipped skill, the runs behind each, and what its receipt says of it."""
    skills = assets.root() / "skills"
    receipt = read(skills / f"{SKILL}.receipt.json")
    edits = read(skills / f"{SKILL}.provenance.json")["edits"]
    for unit in receipt["units"]:
        unit["evidence"] = evidence(unit["text"], edits)
    return page("receipt.svg.jinja", receipt)


def evidence(line: str, edits: list[dict[str, Any]]) -> str:
    """Format how many runs taught a line."""
    start = " ".join(line.rstrip("…").split())[:60]
    for edit in edits:
        if start in " ".join(edit["content"].split()):
            return f"{edit['support']} run{'s' if edit['support'] > 1 else ''}"
    return "template"


FILES = {
    "docs/figures.md": figures,
    "docs/receipts/index.md": receipts,
    "docs/concepts/papers.md": papers,
    "docs/images/receipt.svg": picture,
}


def main() -> None:
    """Write them."""
    for name, make in FILES.items():
        (assets.root() / name).write_text(make(), "utf-8")


if __name__ == "__main__":
    main()
