"""Worked examples of a skill become turns; everything else of the text stays."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agents import EXAMPLES_SECTION, NEAREST_SECTION, split_examples, worked_example

SKILL = """# Almanac

## Worked examples

Task: Text: a
Question: b?
Answer: c

- Task: one line
Answer: d

## Notes

Be brief."""


def test_examples_become_turns_and_the_rest_stays() -> None:
    rest, turns = split_examples(SKILL)
    assert [turn["content"] for turn in turns] == ["Text: a\nQuestion: b?", "c", "one line", "d"]
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 2
    assert rest == "# Almanac\n\n## Notes\n\nBe brief."


def test_task_that_ends_in_answer_colon_keeps_it() -> None:
    text = "## Worked examples\n\nTask: Text: a\nQuestion: b?\nAnswer:\nAnswer: c\n"
    assert [turn["content"] for turn in split_examples(text)[1]] == [
        "Text: a\nQuestion: b?\nAnswer:",
        "c",
    ]


def test_a_program_is_an_answer_with_its_blank_lines() -> None:
    programs = ["```python\nimport csv\n\n\nprint(1)\n```", "```\nprint(2)\n```"]
    body = "\n\n".join(
        f"Task: do {n}\n\n```\na,b\n```\nAnswer:\n{p}" for n, p in enumerate(programs)
    )
    rest, turns = split_examples(f"x\n\n## Worked examples\n\n{body}\n\n## Notes\n\ny")
    assert [turn["content"] for turn in turns[1::2]] == programs
    assert turns[2]["content"] == "do 1\n\n```\na,b\n```"
    assert rest == "x\n\n## Notes\n\ny"


def test_in_a_block_nothing_is_a_heading_or_a_label() -> None:
    program = "```python\n## Load\nprint(1)  # Task: none\n```"
    task = "sum it\n\n```\n## Data\nTask: a\nAnswer: b\n```"
    text = f"## Worked examples\n\nTask: {task}\nAnswer:\n{program}\n\n"
    text += "Task: next\nAnswer: ```7```\n\nx"
    rest, turns = split_examples(f"{text}\n\n## Notes\n\ny")
    assert [turn["content"] for turn in turns] == [task, program, "next", "```7```"]
    assert rest == "## Notes\n\ny"


def test_examples_are_read_in_one_pass() -> None:
    text = "## Worked examples\n\n" + "Task: a\nAnswer:\n```x\n" * 20_000
    assert len(split_examples(text)[1]) == 20_000  # every second fence closes a block


def test_closing_tag_of_the_prompt_is_no_part_of_an_example() -> None:
    text = "x\n\n<skill>\n## Worked examples\n\nTask: a\nAnswer: c\n</skill>"
    rest, turns = split_examples(text)
    assert turns[-1]["content"] == "c"
    assert rest == "x\n\n<skill>\n</skill>"


def test_the_examples_most_like_the_request_come_last() -> None:
    tasks = (
        "Sort the table by the column Name and write it.",
        "Write the table without the rows whose column Name is empty.",
        "Add the column Year to the table and write it.",
    )
    skill = "\n\n".join(
        [EXAMPLES_SECTION, *(worked_example(task, f"{n}") for n, task in enumerate(tasks))]
    )
    for task, expected in (
        ("Sort the table by the column Amount.\n\nAdd Year rows without is empty", "120"),
        ("Leave out the rows whose column Amount is empty.", "201"),
        ("Add the column Total.", "102"),
        ("Nothing alike", "012"),
    ):
        _, turns = split_examples(skill, task)
        order = [turn["content"] for turn in turns[1::2]]
        assert "".join(order) == expected
        assert [turn["content"] for turn in turns[::2]] == [tasks[int(text)] for text in order]
    assert [turn["content"] for turn in split_examples(skill)[1][1::2]] == ["0", "1", "2"]
    two = skill.replace(EXAMPLES_SECTION, NEAREST_SECTION % 2)
    _, turns = split_examples(two, "Write the table without rows whose column Total is empty.")
    assert [turn["content"] for turn in turns[1::2]] == ["0", "1"]
    _, turns = split_examples(two, "Add the column Total, and write the rows of the table.")
    assert [turn["content"] for turn in turns[1::2]] == ["1", "2"]
    assert [turn["content"] for turn in split_examples(two)[1][1::2]] == ["1", "2"]


def test_section_of_another_form_is_left_alone() -> None:
    text = "## Worked examples\n\nSee references/examples.md."
    assert split_examples(text) == (text, [])


line = st.from_regex(r"[a-z |:?]{0,9}[a-z?]", fullmatch=True)


@given(st.lists(st.tuples(line, line), min_size=1, max_size=5))
def test_what_was_written_is_read(pairs: list[tuple[str, str]]) -> None:
    body = "\n\n".join(f"Task: {task}\nAnswer: {answer}" for task, answer in pairs)
    _, turns = split_examples(f"## Worked examples\n\n{body}\n")
    read = [turn["content"] for turn in turns]
    assert read == [part.strip() for pair in pairs for part in pair]


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_examples_is_that_of_every_process(seed: int) -> None:
    """Sets have another order in every process; sums over them must not have."""
    program = (
        "from harness.agents import split_examples\n"
        # Every example has a word of its own, and others that 2, 3, 4 and 6 of them share.
        "asks = [' '.join(f'w{f}x{n // f}' for f in (1, 2, 3, 4, 6)) for n in range(12)]\n"
        "pairs = [f'Task: {ask}\\nAnswer: {n}' for n, ask in enumerate(asks)]\n"
        "skill = 'x\\n\\n## Worked examples\\n\\n' + '\\n\\n'.join(pairs)\n"
        "print([turn['content'] for turn in split_examples(skill, ' '.join(asks))[1][1::2]])"
    )
    orders = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(number)},
            capture_output=True,
            check=True,
        ).stdout
        for number in (0, seed + 1)
    }
    assert orders == {f"{[str(number) for number in range(12)]}\n".encode()}


def test_headings_of_a_task_stand_above_its_answer() -> None:
    task = "Sort the table.\n\n## Files\n\n- `input.xlsx`\n\n## First rows\n\n```\nA1: x\n```"
    examples = [worked_example(task, f"```python\nprint({number})\n```") for number in range(2)]
    text = "\n\n".join(["x", EXAMPLES_SECTION, *examples, "Task: unanswered", "## Notes", "y"])
    rest, turns = split_examples(text)
    assert rest.endswith("## Notes\n\ny")
    assert [turn["content"] for turn in turns[::2]] == [task, task]
