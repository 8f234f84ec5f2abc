"""Evidence is located in the step that it speaks of, verbatim or paraphrased; else not at all."""

from __future__ import annotations

import pytest

from harness.core import AgentInfo, Observation, ObservationResult, Step, Trajectory
from harness.evolve.analysts.location import Locator

SKILL = "- Always list available sheet names programmatically before attempting access.\n"
LOOK = "wb = load_workbook('in.xlsx')\nprint(wb.sheetnames)\nfor row in ws.rows:\n    print(row)"
WRITE = (
    "rows_to_delete = []\nfor row_idx in range(start_row, end_row + 1):\n"
    "    cell_value = ws.cell(row=row_idx, column=1).value\n"
    "    if cell_value is None:\n        rows_to_delete.append(row_idx)\n"
    "for row_idx in reversed(rows_to_delete):\n    ws.delete_rows(row_idx)\nwb.save(output_path)"
)
ERROR = "AttributeError: 'Cell' object has no attribute 'is_formula'"


def run(name: str, *turns: tuple[str, str], task: str = "Remove the empty rows.") -> Trajectory:
    steps = [Step(step_id=1, source="user", message=f"{SKILL}\n{task}")]
    for number, (message, shown) in enumerate(turns, start=2):
        seen = Observation(results=(ObservationResult(content=shown),))
        steps.append(Step(step_id=number, source="agent", message=message, observation=seen))
    agent = AgentInfo(name="test", version="0")
    return Trajectory(trajectory_id=name, agent=agent, steps=tuple(steps))


RUN = run(
    "a", (LOOK, "['Sheet1', 'Totals']"), (WRITE, "Deleted 12 rows"), ("print(c.is_formula)", ERROR)
)
OTHERS = [
    run(f"o{n}", (f"print({n} * total)", "42"), (f"answer = {n}", "done"), task=f"Add {n} prices.")
    for n in range(8)
]
LOCATOR = Locator.of([RUN, *OTHERS])


@pytest.mark.parametrize(
    ("quote", "step", "how"),
    [
        ("print(wb.sheetnames)", 2, "verbatim"),
        ("'Cell'  object has no attribute 'is_formula'", 4, "verbatim"),
        ("ws.delete_rows( row_idx )", 3, "verbatim"),  # white space inside of code
        ("Deleted 17 rows", 3, "verbatim"),  # a number of another run of the same task
        ("Agent printed wb.sheetnames and every row before it changed anything", 2, "fragment"),
        ("Rows were deleted in reverse: for row_idx in reversed(rows_to_delete)", 3, "fragment"),
        ("Iterated range(start_row, end_row + 1), checking if cell_value is None", 3, "fragment"),
        ("The instruction says to remove the empty rows", 1, "fragment"),
        ("The skill says to list available sheet names programmatically", 1, "fragment"),
        ("Verification crashed on the non-existent attribute is_formula", 4, "fragment"),
        ("The grader returned a score of 0 for the test case", None, ""),
        ("No currency conversion was considered at all", None, ""),
    ],
)  # fmt: skip
def test_a_quote_is_found_where_it_stands(quote: str, step: int | None, how: str) -> None:
    (place,) = LOCATOR.locate([quote], RUN)
    assert (place.step, place.how) == (step, how)


def test_a_paraphrase_comes_with_the_lines_that_it_speaks_of() -> None:
    (place,) = LOCATOR.locate(["Rows are deleted in reversed(rows_to_delete) order"], RUN)
    assert "reversed(rows_to_delete)" in place.passage and "sheetnames" not in place.passage
    assert place.fragment == "in reversed(rows_to_delete)"


def test_what_every_prompt_says_is_not_where_an_agent_did_it() -> None:
    """The skill in the prompt speaks of sheet names, too; the agent listed them in step 2."""
    (place,) = LOCATOR.locate(["Listed the available sheetnames of wb before access"], RUN)
    assert place.step == 2


def test_an_empty_quote_is_nowhere() -> None:
    assert [place.step for place in LOCATOR.locate(["", "   ", "...", "`x`"], RUN)] == [None] * 4
