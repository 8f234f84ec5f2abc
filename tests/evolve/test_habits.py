"""Ubiquitous behaviour is no rule, however many analysts praise it and however they put it."""

from __future__ import annotations

from harness.core import Edit, Patch, Trajectory
from harness.evolve.artifacts import ArtifactStore
from harness.evolve.merge.habits import runs_that_follow, without_habits
from harness.evolve.rules import Member, Outcome, Rule
from harness.evolve.types import Draft
from tests.evolve.conftest import trajectory

LOOK = "Before any change, inspect the structure of the workbook: sheet names, rows and headers."
SORT = "Delete rows from the bottom to the top."


def rule(text: str, **fields: bool) -> Rule:
    return Rule.model_validate(
        {"content": f"- {text}", "members": (Member(wording=text, sources=("p0",)),), **fields}
    )


def draft(*rules: Rule) -> Draft:
    edits = tuple(Edit(file="SKILL.md", op="append_to_section", content=r.content) for r in rules)
    return Draft(patch=Patch(reasoning="", edits=edits), rules=rules)


def runs(lines: str, failed: int, passed: int) -> list[Trajectory]:
    return [
        *(trajectory(f"f{n}", "fail", lines) for n in range(failed)),
        *(trajectory(f"p{n}", "pass", lines) for n in range(passed)),
    ]


def remaining(before: Draft, trajectories: list[Trajectory]) -> Draft:
    store = ArtifactStore()
    return without_habits(before, store.take_in(trajectories).runs, store)


def test_praise_of_what_all_runs_do_goes_with_its_figures() -> None:
    both = [rule(LOOK, praise=True), rule(SORT, praise=True)]
    after = remaining(draft(*both), runs("I inspect the structure of the workbook.", 6, 5))
    assert [edit.content for edit in after.patch.edits] == [f"- {SORT}"]
    (row,) = after.discarded
    assert LOOK in row.content
    assert "in 6 of 6 failed and 5 of 5 passed" in row.reason
    assert [each.outcome.standing for each in after.rules] == ["habit", "not measured"]


def test_what_failed_runs_rarely_do_is_worth_its_line() -> None:
    mixed = [*runs("I inspect the structure of the workbook.", 1, 9), *runs("I guess.", 9, 0)[1:]]
    assert remaining(draft(rule(LOOK, praise=True)), mixed).discarded == ()


def test_what_was_blamed_measured_or_seen_in_few_runs_stays() -> None:
    does = "I inspect the structure of the workbook."
    measured = rule(LOOK, praise=True).model_copy(update={"outcome": Outcome(standing="safeguard")})
    for stays in (rule(LOOK), rule(LOOK, praise=True, quoted=True), measured):
        assert remaining(draft(stays), runs(does, 9, 9)) == draft(stays)
    few = draft(rule(LOOK, praise=True))
    assert remaining(few, runs(does, 9, 4)) == few


def test_a_rule_is_no_habit_for_what_its_less_central_lessons_add() -> None:
    copy = "Copy the file of the task before you change anything in it."
    more = ["Keep the file of the task: copy it, and change the copy.",
            "The file itself stays: save the result to the output path."]  # fmt: skip
    members = tuple(Member(wording=text, sources=("p0",)) for text in (copy, *more))
    group = Rule(content=f"- {copy}", praise=True, members=members)
    saved = runs("Save the result to the output path.", 6, 6)
    assert remaining(draft(group), saved).discarded == ()
    assert remaining(draft(rule(more[1], praise=True)), saved).discarded != ()
    copied = runs("I copy the file of the task before I change anything.", 6, 6)
    assert remaining(draft(group), copied).discarded != ()


def test_names_of_code_are_read_word_by_word_and_prompts_do_not_count() -> None:
    shown = runs_that_follow(
        [rule("Check the number of rows against max_row of the sheet.")],
        [
            trajectory("a", "pass", "rows = sheet.max_row"),
            trajectory("b", "pass", "I guess.", prompt="Check the number of rows of the sheet."),
        ],
    )
    assert shown.tolist() == [[True], [False]]
