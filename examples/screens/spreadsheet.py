"""A workbook as an environment: open a sheet, select cells, type into them.

The state is the steps. Each screen carries them out anew on `input.xlsx`, in the sandbox, so that
`output.xlsx` is always what is to be seen, and to take a step back is to leave it out. Formulas are
computed by LibreOffice, in the sandbox too.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from examples.screens.environments import BACK, STOP, TYPE, Action, Step, Trail
from harness.core import BadInput, temporary_work_folder
from harness.sandbox import Sandbox
from harness.synth.tables.table import cell_of
from harness.tasks import (
    INPUT_NAME,
    OUTPUT_NAME,
    open_workbook,
    parse_answer_position,
    recalculate,
)
from harness.tools import observation

SCRIPT, STEPS = ".harness_steps.py", ".harness_steps.json"
LONGEST = 60
"""Characters of a cell that are shown."""
_AREA = re.compile(r"[A-Z]{1,3}[1-9]\d{0,5}(:[A-Z]{1,3}[1-9]\d{0,5})?")

_QUOTED = re.compile('"[^"]*"')


class Spreadsheet(Trail):
    """Implements :class:`examples.screens.environments.Environment`.

    Steps are (sheet, cells), or (sheet, cells, content) where something was typed.

    Args:
        workdir: folder that holds `input.xlsx`, and will hold `output.xlsx`.
        sandbox: where the workbook is opened.

    Raises:
        BadInput: if it cannot be opened.
    """

    def __init__(self, workdir: Path, sandbox: Sandbox) -> None:
        super().__init__(("", "A1"))
        self._workdir, self._sandbox, self._sheets = workdir, sandbox, list[str]()
        self._fault, self._values = "", dict[str, dict[tuple[int, int], Any]]()
        if not self.observe():
            raise BadInput(f"cannot open {INPUT_NAME} in {str(workdir)!r}: {self._fault}")

    @property
    def actions(self) -> dict[str, str]:
        """See :class:`examples.screens.environments.Environment`."""
        return {
            "Sheet": f"the name of a sheet: {', '.join(self._sheets)}",
            "Select": "a cell or a range, such as B2 or B2:B40",
            TYPE: "a value or a formula into all selected cells; the references of a formula are "
            "those of the first cell and move with the others; empty brackets clear the cells",
            BACK: "takes the last step back",
            STOP: "when all is done",
        }

    def step(self, action: Action) -> Step | None:
        """See :class:`examples.screens.environments.Trail`."""
        sheet, cells = self.steps[-1][:2]
        wanted = action.argument.strip()
        if action.name == "Sheet" and wanted in self._sheets:
            return wanted, "A1"
        if action.name == "Select" and _AREA.fullmatch(wanted.upper()):
            return sheet, wanted.upper()
        if action.name == TYPE and not wanted.startswith("="):
            return sheet, cells, cell_of(wanted)
        plain = _QUOTED.sub("", wanted)  # a spreadsheet program takes no formula that is cut off
        if action.name == TYPE and plain.count("(") == plain.count(")"):
            return sheet, cells, wanted
        return None

    def show(self, steps: list[Step]) -> str | None:
        """See :class:`examples.screens.environments.Trail`."""
        script = Path(__file__).with_name("steps.py").read_bytes()
        files = {SCRIPT: script, STEPS: json.dumps(steps).encode()}
        command = [sys.executable, SCRIPT, INPUT_NAME, OUTPUT_NAME, STEPS]
        result = self._sandbox.exec(command, workdir=self._workdir, files=files)
        for name in files:
            (self._workdir / name).unlink(missing_ok=True)
        if not result.ok:
            self._fault = observation(result)
            return None
        view: Any = json.loads(result.stdout)  # as `steps.py` prints it
        if not view["changed"]:
            return None
        self._sheets = view["sheets"]
        formulas = any(content.startswith("=") for *_, content in view["cells"])
        values = self._computed(view["sheet"], view["area"], steps) if formulas else {}
        rows: dict[int, list[str]] = {}
        for row, column, address, content in view["cells"]:
            value = values.get((row, column), "?") if content.startswith("=") else content
            note = f" ({content:.{LONGEST}})" if content.startswith("=") else ""
            rows.setdefault(row, []).append(f"{address}: {value!s:.{LONGEST}}{note}")
        head = f"{view['sheet']}, {view['used']} in use, shown: {view['area']}"
        lines = [f"{head}; selected: {steps[-1][1]}", *map(" | ".join, rows.values())]
        return "\n".join(lines)

    def _computed(self, sheet: str, area: str, steps: list[Step]) -> dict[tuple[int, int], Any]:
        """(row, column) -> value of the cells that are to be seen; none without LibreOffice."""
        key = json.dumps([[step for step in steps if len(step) > 2], sheet, area])
        output = self._workdir / OUTPUT_NAME
        if key in self._values:
            return self._values[key]
        with temporary_work_folder("spreadsheet-") as folder:
            computed = recalculate([output], folder, sandbox=self._sandbox)
            if output not in computed:
                return {}
            with open_workbook(computed[output]) as book:
                cells = book.read(sheet, parse_answer_position(area)).cells
        return self._values.setdefault(key, cells)
