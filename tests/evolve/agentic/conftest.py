"""Tasks with real workbooks, and analysts whose replies a real server gives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pytest

from harness.core import Task, Usage
from harness.evolve.analysts.agentic import analyse_failure
from harness.evolve.types import AnalystRecord, Loss
from harness.models import open_model
from harness.sandbox import Limits, Sandbox, select
from tests.agents.scripted import in_order, native
from tests.evolve.conftest import trajectory
from tests.models.http_server import Answer, Served, completion, serve

PRICES = [("Amber lamp", 12.5), ("Birch stool", 48.0), ("Copper pan", 33.25), ("Dune rug", 120.75)]
ORDERS = ["Copper pan", "Amber lamp", "Dune rug", "Copper pan", "Birch stool", "Amber lamp"]
HONEST = b"""
import openpyxl
book = openpyxl.load_workbook("input.xlsx")
prices = {row[0]: row[1] for row in book["Prices"].iter_rows(min_row=2, values_only=True)}
sheet = book["Orders"]
for row in range(2, sheet.max_row + 1):
    sheet.cell(row, 2).value = prices[sheet.cell(row, 1).value]
book.save("output.xlsx")
"""
REPORT: dict[str, Any] = {
    "root_cause": "it filled one row only",
    "evidence": ["I filled the row and stopped."],
    "memory_items": [
        {"title": "Fill all rows", "lesson": "Fill every row.", "generalization": "tables"}
    ],
}
FAILED = trajectory("orders", "fail", "I filled the row and stopped.")
FAST = Limits(wall_s=20.0, cpu_s=20, memory_mb=512, output_bytes=100_000, disk_mb=32)


class Found(NamedTuple):
    """Result of an analysis."""

    record: AnalystRecord | None
    losses: list[Loss]
    usage: Usage
    served: Served

    @property
    def reasons(self) -> str:
        """The reasons of all losses."""
        return "; ".join(loss.reason for loss in self.losses)


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The best sandbox of this machine."""
    return select("auto")


def price_task(base: Path) -> Task:
    """A look-up task with its input and golden workbook under `base`."""
    base.mkdir(parents=True, exist_ok=True)
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Orders"
    sheet.append(["Product", "Price"])
    for name in ORDERS:
        sheet.append([name])
    prices = book.create_sheet("Prices")
    prices.append(["Product", "Price"])
    for row in PRICES:
        prices.append(row)
    book.save(base / "orders.xlsx")
    for number, name in enumerate(ORDERS, 2):
        sheet[f"B{number}"] = dict(PRICES)[name]
    book.save(base / "gold.xlsx")
    return Task(
        id="orders",
        prompt="Fill the column 'Price' of the sheet 'Orders' from the sheet 'Prices'.",
        files={"input.xlsx": "orders.xlsx"},
        answer="gold.xlsx",
        check="spreadsheet",
        meta={"answer_position": "'Orders'!B2:B7"},
    )


def hands_in(script: bytes, report: dict[str, Any] | None = None) -> list[Answer]:
    """Replies of an analyst that writes a fix and reports at once."""
    write = f"open('fix.py', 'wb').write({script!r})"
    final = completion(json.dumps(report or REPORT))
    return [native("python", json.dumps({"code": write})), final]


def analysed(
    task: Task, base: Path, workdir: Path, replies: Sequence[Answer], **settings: Any
) -> Found:
    """One analysis against a server that gives these replies in order."""
    script = in_order(*replies)
    with serve(lambda body: script(body["messages"])) as served:

        async def run() -> tuple[AnalystRecord | None, list[Loss], Usage]:
            model = open_model("openai/scripted", base_url=served.url)
            try:
                return await analyse_failure(
                    settings.pop("run", FAILED), task, base, model=model,
                    sandbox=settings.pop("sandbox", None) or select("auto"), workdir=workdir,
                    skill="", limits=FAST, **settings,
                )  # fmt: skip
            finally:
                await model.aclose()

        return Found(*asyncio.run(run()), served)
