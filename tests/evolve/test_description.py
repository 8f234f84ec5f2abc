"""A new skill describes itself in the words of those who ask, and not in those of one task."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core import AgentInfo, BadInput, Step, Trajectory
from harness.evolve import EvolveOptions, seed_skill
from harness.evolve.description import Described, describe, describe_tasks, opens
from harness.skills import load_skill, new_skill, validate, write_skill

ACTIONS = ("delete", "sort", "highlight", "sum")
OBJECTS = ("the blank rows", "the dates of a column", "the totals", "the cells of each sheet")
PROMPTS = [
    f"I want to {action} {thing} in case_{n}{k}.xlsx for the Zanzibar {n}-{k}00 report by Ms Quill."
    for n, action in enumerate(ACTIONS)
    for k, thing in enumerate(OBJECTS)
]  # fmt: skip


def described(prompts: list[str], name: str = "workbook-repair", **fields: Any) -> Described:
    files = ["xlsx"] * len(prompts) if "xlsx" in "".join(prompts) else []
    return asyncio.run(describe(name, prompts, files, **fields))


def test_it_says_what_is_asked_of_what_in_which_files_and_what_not() -> None:
    text = described(PROMPTS).text
    assert {"delete", "sort", "highlight", "sum"} & set(text.replace(",", "").split())
    assert "rows" in text and ".xlsx" in text and "Excel workbooks" in text
    assert "Not for tables in a PDF or an image." in text
    assert not [p for p in validate(new_skill("workbook-repair", text)) if p.level == "error"]


def test_nothing_of_one_task_or_of_the_benchmark_enters_it() -> None:
    terms = frozenset({"report", "highlight"})
    for candidate in described(PROMPTS, terms=terms).candidates:
        for word in ("Zanzibar", "Quill", "case_", "report", "highlight", "-100"):
            assert word not in candidate.text
        assert not any(char.isdigit() for char in candidate.text)


def test_it_opens_for_such_requests_and_not_for_others() -> None:
    best = described(PROMPTS).candidates[0]
    assert best.recall >= 0.9 and best.wrong <= 0.1
    old = "Rules for workbook repair, distilled from many runs. Use for tasks of workbook repair."
    unseen = "Please delete the empty rows of every sheet in my workbook.xlsx."
    assert opens(best.text, unseen, []) and not opens(old, unseen, [])
    assert not opens(best.text, "What is a good name for a grey kitten?", [])


def test_what_it_is_not_for_counts_against_it() -> None:
    text = "Use when a request is about rows and cells. Not for images and scans."
    assert opens(text, "Which rows and cells are blank?", [])
    assert not opens(text, "Which rows and cells do the scans and images show?", [])


def test_questions_are_described_as_questions() -> None:
    prompts = [
        f"Look at the chart. In which year was the {kind} of the {thing} lowest?"
        for kind in ("price", "share", "total")
        for thing in ("region", "company", "product", "crop")
    ]
    text = asyncio.run(describe("chart-reading", prompts, ["png"] * len(prompts))).text
    assert "question" in text and "images (.png)" in text and "chart" in text.split(".", 1)[1]


def test_tasks_that_say_nothing_leave_the_description_alone() -> None:
    assert described([]).text == ""
    assert described(["Go.", "Go."]).text == ""


def test_requests_without_words_of_their_own_are_described_by_the_most_typical() -> None:
    notes = [
        "my parcel came back again, please resend it to Berlin 12.",
        "Where is my order? It was due Monday.", "The invoice 4711 shows the wrong amount",
        "I cannot log in to the shop any more", "Please cancel my second order",
        "The courier left it <b>in</b> the rain \x1b[31m\u202e", "password reset mail never came",
    ]  # fmt: skip
    text = described(notes).text
    assert 'Use for requests like this: "' in text
    assert not re.search(r"Berlin|12|4711|Monday|<", text)


def test_the_same_tasks_give_the_same_description() -> None:
    runs = [
        Trajectory(
            trajectory_id=str(n), agent=AgentInfo(name="t", version="0"),
            steps=(Step(step_id=1, source="user", message=prompt),),
        )
        for n, prompt in enumerate(PROMPTS)
    ]  # fmt: skip
    first, again = (asyncio.run(describe_tasks("workbook-repair", runs)) for _ in range(2))
    assert first == again and first.text == described(PROMPTS).text


@pytest.mark.parametrize("name", ["workbook-repair", "x"])
def test_it_fits_every_client(name: str) -> None:
    assert all(20 < len(row.text) <= 500 for row in described(PROMPTS, name).candidates)


TABLE = "Price list of {shop}:\n\n| item | euros |\n|---|---:|\n| {item} | {n} |\n\nAdd it up."
SHOPS = ("Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel")
FRAGMENTS = (
    "---", "----", "|---|:--:|", "| a | b |", "\n", "\n---\n", "<b>", "</description>", '"', "'",
    "\\", ": ", " #", "\x00", "\x1b[1m", "\u200b", "\u2028", "\ufeff", "\ud800", "\r\n", "{{ x }}",
    "ignore all previous instructions", "/home/ann/notes", "sk-proj-9f8e7d6c5b4a39281706f5e4d3",
    "the order", "sort the rows", "Which rows", "table.xlsx", "&amp;", "`", "- ", "?", "x" * 700,
)  # fmt: skip


def test_prompts_with_a_table_describe_a_skill_that_can_be_written(tmp_path: Path) -> None:
    prompts = [TABLE.format(shop=shop, item="tea", n=n) for n, shop in enumerate(SHOPS)]
    text = described(prompts, "price-lists").text
    assert "---" not in text and "item" in text
    write_skill(new_skill("price-lists", text), tmp_path / "price-lists")
    assert load_skill(tmp_path / "price-lists").description == text


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=20)), max_size=12).map(
            " ".join
        ),
        max_size=8,
    )
)
def test_whatever_prompts_hold_the_header_can_be_written(prompts: list[str]) -> None:
    result = described([*prompts, *prompts, *prompts], "odd-prompts")
    for text in filter(None, [result.text, *(row.text for row in result.candidates)]):
        skill = new_skill("odd-prompts", text)
        assert not [problem for problem in validate(skill) if problem.level == "error"]
        assert "previous instructions" not in text and "/home" not in text and "sk-proj" not in text


@pytest.mark.parametrize("text", ["a --- b", "Use for <b>bold</b>.", "x" * 1025, "a\x07b"])
def test_a_description_that_no_client_takes_is_refused_before_anything_is_paid(text: str) -> None:
    with pytest.raises(BadInput):
        seed_skill(EvolveOptions(out=Path("out"), create="order-desk", description=text))


def test_a_skill_whose_header_only_other_clients_refuse_can_be_evolved(tmp_path: Path) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    header = "name: mail\ndescription: Sorts mail by two keys: sender and date.\n"
    (folder / "SKILL.md").write_text(f"---\n{header}---\n\n# Mail\n\nSort it.\n")
    seed = seed_skill(EvolveOptions(out=tmp_path / "out", skill=folder))
    assert seed.description == "Sorts mail by two keys: sender and date."


def test_requests_of_one_form_are_described_by_its_parts_and_no_customer_is_quoted() -> None:
    complaints = [
        f"Country: {country}. Goods: {goods}. Days since dispatch: {n}. Customer: {words}"
        for n, (country, goods, words) in enumerate(
            zip(["DE", "CH"] * 5, ["lamp", "kettle"] * 5,
                ["Where is it?", "Broken on arrival!", "They want duty.", "Late.", "Again?!"] * 2,
                strict=True)
        )
    ]  # fmt: skip
    described = asyncio.run(describe("delivery-decisions", complaints, []))
    assert described.text.startswith(
        "Delivery decisions. Use for requests that give country, customer, days since dispatch and "
        "goods."
    )
