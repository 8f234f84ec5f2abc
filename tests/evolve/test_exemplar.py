"""Worked examples and format rules without a model."""

from __future__ import annotations

import pytest

from harness.evolve.analysts.exemplar import (
    answer_format,
    exemplar_patch,
    unsupported_words,
    with_answers,
    worked_examples,
)
from tests.evolve.conftest import trajectory

PASSING = [trajectory(name, "pass", "Paris") for name in ("France", "Gaul", "Francia", "Ile")]
FAILING = [
    trajectory(name, "fail", f"The capital of {name} is a very fine and large old city, I believe.")
    for name in ("Spain", "Peru", "Chad")
]


def test_the_answer_format_tells_passing_from_failing() -> None:
    rules = answer_format([*PASSING, *FAILING])
    assert "at most 1 word" in rules[0].content
    assert rules[0].support == 7
    assert any("full stop" in rule.content for rule in rules)


def test_no_form_is_taught_where_no_check_objects_to_it() -> None:
    sections = [
        {edit.target_section for edit in exemplar_patch([*PASSING, *FAILING], 3, formal).edits}
        for formal in (True, False)
    ]
    assert sections[0] - sections[1] == {"## Answer format"}


def test_a_rule_that_failures_follow_too_is_no_rule() -> None:
    failing = [trajectory(name, "fail", "Rome") for name in ("Spain", "Peru")]
    assert answer_format([*PASSING, *failing]) == []


@pytest.mark.parametrize(
    ("answers", "rule"),
    [
        (
            ("05-OCT-27", "28-NOV-26", "04-SEP-26"),
            "2 digits, '-', 3 capital letters, '-', 2 digits. For example: 05-OCT-27",
        ),
        (("+49 30 1234", "+49 171 99887"), "'+', digits, a space, digits, a space, digits."),
        (("EUR 1.234,50", "EUR 12,00", "7 EUR"), None),
        (("Dora Jansik", "Wanda Quist"), None),
    ],
)
def test_a_form_that_all_answers_share_is_a_rule(
    answers: tuple[str, ...], rule: str | None
) -> None:
    passing = [trajectory(f"t{n}", "pass", answer) for n, answer in enumerate(answers)]
    rules = [edit.content for edit in answer_format([*passing, *FAILING])]
    forms = [text for text in rules if "in exactly this form: " in text]
    assert len(forms) == (rule is not None)
    assert rule is None or rule in forms[0]


def test_every_label_has_an_example() -> None:
    runs = [trajectory(f"t{n}", "pass", f"L{n % 5}") for n in range(20)]
    chosen = [edit.content.rpartition("Answer: ")[2] for edit in worked_examples(runs, 3)]
    assert sorted(chosen) == ["L0", "L1", "L2", "L3", "L4"]
    many = [trajectory(f"t{n}", "pass", f"L{n % 11}") for n in range(20)]
    assert len(worked_examples(many, 3)) == 3, "hardly any answer stands twice"


def test_every_form_has_an_example() -> None:
    units = ["GBP", "GBP", "USD", "GBP", "EUR", "JPY"]
    runs = [trajectory(f"t{n}", "pass", f"{n}4{n},31{n}.50 {units[n % 6]}") for n in range(24)]
    chosen = [edit.content[-3:] for edit in worked_examples(runs, 2)]
    assert sorted(chosen) == ["EUR", "GBP", "JPY", "USD"]
    assert worked_examples(runs, 0) == []


def test_examples_come_from_passing_runs_one_a_task() -> None:
    again = trajectory("France@1", "pass", "Paris")
    chosen = worked_examples([*FAILING, *PASSING, again], 3)
    assert len(chosen) == 3
    tasks = {source.split("@")[0] for edit in chosen for source in edit.sources}
    assert tasks <= {"France", "Gaul", "Francia", "Ile"} and len(tasks) == 3
    assert chosen[0].content.startswith("Task: What is the capital of")


def test_no_passing_run_gives_nothing_and_says_so() -> None:
    patch = exemplar_patch(FAILING)
    assert patch.edits == ()
    assert "no run passed" in patch.reasoning


def test_an_expected_answer_is_an_example_whatever_it_adds() -> None:
    runs = with_answers(FAILING, {"Spain": "MADRID (Tue)", "Chad": "CAPITAL | 6"})
    assert [(run.task_id, run.outcome) for run in runs] == [("Spain", "pass"), ("Chad", "pass")]
    shown = [edit.content for edit in exemplar_patch([*runs, *FAILING]).edits]
    assert any("MADRID (Tue)" in text for text in shown)
    assert any("CAPITAL | 6" in text for text in shown)


RECORD = "name: Winter Sparrow\ntown: Luthen\nseats: 71\nIn which town is the Winter Sparrow?"


def test_an_answer_that_adds_to_its_input_is_no_example() -> None:
    invented = trajectory("a", "pass", "Luthen, a suburb of Old Harrow", RECORD)
    assert unsupported_words(invented) == ["suburb", "old", "harrow"]
    assert worked_examples([invented], 3) == []
    patch = exemplar_patch([invented, trajectory("b", "pass", "Luthen", RECORD)])
    assert [edit.sources for edit in patch.edits] == [("b",)]
    assert "1 passing answers" in patch.reasoning
    assert "hold words" in exemplar_patch([invented]).reasoning


def test_an_answer_may_hold_numbers_other_forms_of_words_and_knowledge() -> None:
    for answer in ("Luthen", "it is the town of Luthen", "142 seat", "yes", "Paris"):
        assert unsupported_words(trajectory("a", "pass", answer, RECORD)) == []
