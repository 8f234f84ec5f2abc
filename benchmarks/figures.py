"""docs/figures.md, the pages of receipts and papers, the picture of the README, from results.

Run: python -m benchmarks.figures
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
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
WIDTH, ROW, TOP = 860, 44, 78
"""Pixels: of the picture, of a line, and above the first line."""
AXIS, SCALE = 716, 5.0
"""Pixels: where zero stands, and of a point."""
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .head { font-weight: 600 }
  .small { font-size: 11px; fill: #59636e }
  .line { font-family: monospace; font-size: 12px }
  .helps { stroke: #1a7f37; fill: #1a7f37 }
  .hurts { stroke: #cf222e; fill: #cf222e }
  .none { stroke: #8c959f; fill: #8c959f }
  .rule { stroke: #d1d9e0 }
  .ground { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .small { fill: #9198a1 }
    .ground { fill: #0d1117 }
    .rule { stroke: #3d444d }
    .helps { stroke: #3fb950; fill: #3fb950 }
    .hurts { stroke: #f85149; fill: #f85149 }
  }
"""


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
    shown = {kinds[task] for task in best.examples}
    path = assets.root() / "skills" / f"{ladder.skill}.ladder.jsonl"
    records = read_ladder(path)
    rows = [row for row in records.rows if row.rung == "best"]
    rows = [row for row in rows if row.task not in records.header.unseen]
    passed = Counter(kinds[row.task] in shown for row in rows if row.outcome == "pass")
    return {
        "kinds": sorted(shown), "all_kinds": len({kinds[row.task] for row in rows}),
        "tasks": sum(kinds[row.task] in shown for row in rows),
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
    ours = {each["ours"]["file"] for row in rows for each in row["figures"] if "ours" in each}
    return page("papers.md.jinja", {"papers": rows, "results": {n: read(root / n) for n in ours}})


def read(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text("utf-8"))


def page(template: str, values: Mapping[str, Any]) -> str:
    """A page of Markdown; a value that is missing is an error."""
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
    units: list[dict[str, Any]] = receipt["units"]
    height = TOP + ROW * len(units) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Each line of a skill with its evidence and its verdict">',
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>',
        text(24, 34, "line of the skill", "head"),
        text(416, 34, "evidence", "head"),
        text(500, 34, "verdict", "head"),
        text(AXIS, 34, "points of pass rate", "head", "middle"),
        *(text(AXIS + SCALE * tick, 58, f"{tick:+d}" if tick else "0", "small", "middle")
          for tick in (-20, -10, 0, 10, 20)),
        f'<line class="rule" x1="{AXIS}" y1="66" x2="{AXIS}" y2="{TOP + ROW * len(units)}"/>',
    ]  # fmt: skip
    for place, unit in enumerate(units):
        middle = TOP + ROW * place + ROW // 2
        effect, kind = unit["effect"], {"helps": "helps", "hurts": "hurts"}.get(unit["verdict"])
        low, dot, high = (AXIS + SCALE * effect[name] for name in ("low", "estimate", "high"))
        parts += [
            f'<line class="rule" x1="24" y1="{middle - 22}" x2="{WIDTH - 24}" y2="{middle - 22}"/>',
            text(24, middle - 1, unit["id"], "small"),
            text(24, middle + 15, shortened(unit["text"], 52), "line"),
            text(416, middle + 5, evidence(unit["text"], edits)),
            f'<g class="{kind or "none"}"><line x1="{low:.1f}" y1="{middle}" x2="{high:.1f}" '
            f'y2="{middle}" stroke-width="2"/><circle cx="{dot:.1f}" cy="{middle}" r="4"/></g>',
            text(500, middle + 5, unit["verdict"]),
        ]
    about = (
        f"{receipt['skill']}, {receipt['model']}, {receipt['rollouts']} attempts at "
        f"{receipt['tasks']} tasks; intervals hold for all lines together (95 %)"
    )
    parts += [text(24, height - 16, about, "small"), "</svg>", ""]
    return "\n".join(parts)


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
    """A text of the picture."""
    name = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{name} text-anchor="{anchor}">{escape(content)}</text>'


def shortened(line: str, length: int) -> str:
    """A line of at most `length` characters."""
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


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
