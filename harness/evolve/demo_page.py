"""The demo's report as one static HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.core import render_page, write_atomic
from harness.skills import explain, load_skill, read_provenance

if TYPE_CHECKING:
    from harness.evolve.demo import DemoReport


TEMPLATE = Path(__file__).parent / "templates" / "demo.html.j2"


def write_demo_page(report: DemoReport, skill_dir: Path, out: Path) -> None:
    """Write the page: verdict, arms with intervals, and where each line of the skill came from."""
    controls = [arm for arm in report.arms if arm.against is not None]
    best = max(controls, key=lambda arm: arm.passed, default=None)
    html = render_page(
        TEMPLATE, report=report, gate=report.evolution.gate, best=best, lines=_lines(skill_dir)
    )
    write_atomic(out, html)


def _lines(skill_dir: Path) -> list[dict[str, object]]:
    if not (skill_dir / "SKILL.md").is_file():
        return []
    skill, provenance = load_skill(skill_dir), read_provenance(skill_dir)
    count = len((skill_dir / "SKILL.md").read_text("utf-8").splitlines())
    found = [explain(provenance, skill, "SKILL.md", number) for number in range(1, count + 1)]
    return [
        {"number": number, "text": one.text, "edit": one.edit}
        for number, one in enumerate(found, start=1)
    ]
