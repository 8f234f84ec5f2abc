"""Prompts of one kind, and programs made functions of what their tasks choose."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from harness.agents import split_examples
from harness.evolve.scripts.functions import Function, function_of
from harness.evolve.scripts.library import entry
from harness.evolve.scripts.naming import names, usable, words_of
from harness.evolve.scripts.prompts import kinds
from harness.models import open_model

FILL = {
    "a": "Fill the column 'Unit price' of the sheet 'Orders'. Leave rows below 10 % alone.",
    "b": "Fill the column 'Cost' of the sheet 'Sales'. Leave rows below 2.5 % alone.",
}
WORDS = {
    "c": "Count words in notes.txt that start with 'x', 'y' and 'z'.",
    "d": "Count words in other.txt that start with 'q' or 'r'.",
}


def function(prompts: dict[str, str], task: str, code: str) -> Function:
    [kind] = kinds(prompts)
    made = function_of(code, task, kind, "solve")
    assert made is not None
    return made


def test_tasks_of_one_kind_share_a_template() -> None:
    fill, words = kinds(FILL | WORDS)
    assert (fill.tasks, words.tasks) == (("a", "b"), ("c", "d"))
    assert [slot.text for slot in fill.slots["a"]] == ["'Unit price'", "'Orders'", "10"]
    assert [slot.text for slot in fill.slots["b"]] == ["'Cost'", "'Sales'", "2.5"]
    assert [slot.parts for slot in words.slots["c"]] == [("notes.txt",), ("x", "y", "z")]


def test_constants_that_the_task_chose_are_parameters() -> None:
    made = function(
        FILL,
        "a",
        "import openpyxl\nbook = openpyxl.load_workbook('input.xlsx')\nsheet = book['Orders']\n"
        "print('Unit price', 10, True, f'{10} Orders')\n",
    )
    assert [parameter.name for parameter in made.parameters] == ["column", "sheet_2", "rows"]
    assert made.call("b") is None  # 2.5 is no whole number
    assert "book[sheet_2]" in made.code()
    assert "print(column, rows, True, f'{rows} Orders')" in made.code()
    assert "<column> of the sheet <sheet_2>" in made.purpose


def test_a_list_of_constants_is_one_parameter() -> None:
    code = "first = ['x', 'y', 'z']\nprint(sum(w[0] in first for w in open('notes.txt').read()))\n"
    made = function(WORDS, "c", code)
    assert [(p.name, p.of) for p in made.parameters] == [("file", "text"), ("starts", "list")]
    assert made.call("d") == "solve(file='other.txt', starts=['q', 'r'])"


def test_a_script_is_run_when_its_function_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    code = "def main():\n    print('ran', 10)\n\nif __name__ == '__main__':\n    main()\n"
    made = function(FILL, "a", code)
    names: dict[str, object] = {"__name__": "helpers"}
    exec(f"{made.code()}\nsolve('7')", names)  # noqa: S102  # a number as text
    assert capsys.readouterr().out == "ran 7\n"


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess\nsubprocess.run(['ls'])",
        "import os\nos.system('ls')",
        "from urllib import request\nrequest.urlopen('http://127.0.0.1')",
        "eval('1')",
        "__import__('socket')",
        "import os\nos.execvp('ls', ['ls'])",
        "().__class__.__base__.__subclasses__()",
        "getattr(open, 'name')",
        "def broken(:",
        "import webbrowser\nwebbrowser.subprocess.run(['id'])",
        "import logging.handlers\nlogging.handlers.socket.create_connection(('h', 1))",
        "import os\nos.posix_spawn('/bin/ls', ['ls'], {})",
        "import operator, os\noperator.attrgetter('sys' + 'tem')(os)('ls')",
        "from math import *\nprint(sqrt(10))",
        "print(" + " + ".join(["'a'"] * 3000) + ")",
    ],
)
def test_what_no_skill_may_do_is_no_function(code: str) -> None:
    [kind] = kinds(FILL)
    assert function_of(code, "a", kind, "solve") is None


def test_a_variable_may_be_called_like_a_module() -> None:
    assert function(FILL, "a", "requests = [10]\nprint(requests)\n").call("a") == "solve(rows=10)"


def test_a_list_of_any_length_and_of_marks_is_one_parameter() -> None:
    prompts = {
        "a": "A cell is missing if it is one of: 'none', '-', '?'. Write none there.",
        "b": "A cell is missing if it is one of: '-', 'tbc'. Write none there.",
    }
    code = "print({'none', '-', '?'}, 'none')\n"
    made = function(prompts, "a", code)
    assert made.call("b") == "solve(ones=['-', 'tbc'])"
    assert made.code().count("'none'") == 1  # what is written is no item of the list
    assert made.purpose == "A cell is missing if it is one of: <ones>."


def test_prompts_that_differ_in_a_rule_are_of_two_kinds() -> None:
    prompt = "Merge the files. Where both have a list, {} of the second. Write the {} merged ones."
    rules = ("take the list", "add those entries to the first list that are not in it,")
    tasks = {
        f"{rule[:4]}-{number}": prompt.format(rule, number) for rule in rules for number in (3, 5)
    }
    first, second = kinds(tasks)
    assert (first.tasks, second.tasks) == (("take-3", "take-5"), ("add -3", "add -5"))
    made = function_of("print(3)\n", "take-3", first, "merge")
    assert made is not None and made.call("take-5") == "merge(write=5)"
    assert made.purpose == (
        "Merge the files. Where both have a list, take the list of the second. "
        "Write the <write> merged ones."
    )


def test_kinds_that_a_model_calls_the_same_are_told_apart_by_their_rule(tmp_path: Path) -> None:
    prompt = "Merge the files. Where both have a list, {}. Write the {} merged ones."
    rules = ("keep the second", "append the entries of the second to the first")
    tasks = {f"{rule}{n}": prompt.format(rule, n) for rule in rules for n in (3, 5)}
    script = tmp_path / "user.json"
    script.write_text('["from helpers import merge_files"]')

    async def named() -> list[str]:
        async with aclosing(open_model(f"scripted/{script}")) as user:
            chosen, usage = await names(kinds(tasks), tasks, user)
            assert usage.calls == 4
            return chosen

    assert asyncio.run(named()) == ["merge_files", "merge_files_append"]


def test_a_list_that_all_tasks_share_is_no_slot() -> None:
    texts = ("Print the sum of these: 1, 2, 3, 4, 5", "1, 2, 3 and 4 are the columns to print")
    for text in texts:
        [kind] = kinds({"a": text, "b": text})
        assert kind.pieces == (text,)
    rows = {name: f"Write '{name}' in order of the columns 'a', 'b', 'c' and 'd'" for name in "xy"}
    [kind] = kinds(rows)
    assert [slot.text for slot in kind.slots["x"]] == ["'x'"]


def test_names_hide_nothing_of_the_language() -> None:
    assert words_of(kinds({"a": "Return 5", "b": "Return 6"})) == ["return_task"]
    assert [usable(name) for name in ("sum", "helpers", "for_files", "add_up")] == [
        "sum_task", "helpers_task", "for_files_task", "add_up",
    ]  # fmt: skip
    kind = kinds({"a": "Halve the float 3.5 now", "b": "Halve the float 4.5 now"})[0]
    made = function_of("print(3.5 / 2)\n", "a", kind, "halve")
    assert made is not None and "def halve(float_2):" in made.code()


def test_a_pattern_stays_what_it_matches() -> None:
    code = "match 'Sales':\n    case 'Orders':\n        print('Orders')\n"
    text = function(FILL, "a", code).code()
    assert "case 'Orders':" in text and "print(sheet)" in text


def test_a_whole_number_may_be_written_with_a_point() -> None:
    prompts = {"a": "Leave rows below 10.0 % alone", "b": "Leave rows below 2.5 % alone"}
    made = function(prompts, "a", "print(10)\n")
    assert (made.call("a"), made.call("b")) == ("solve(rows=10)", None)


def test_data_in_a_prompt_is_no_part_of_the_skill() -> None:
    data = "Sum the numbers of the region {}.\n```\n## Notes\n{},4\n```"
    prompts = {name: data.format(name, name) for name in ("East", "West")}
    made = function(prompts, "East", "from __future__ import annotations\nprint('East')\n")
    text = f"## Worked examples\n\n{entry(made)}"
    assert len(split_examples(text)[1]) == 4
    assert "\n## Notes" not in text


def test_of_a_word_with_a_number_the_number_is_the_value() -> None:
    prompts = {
        "a": "Write the count, `p50` and `p75` of the times, and nothing else at all.",
        "b": "Write the count, `p50` and `p99` of the times, and nothing else at all.",
    }
    made = function(prompts, "a", "for p in (50, 75):\n    print(f'p{p}')\n")
    assert made.call("b") == "solve(value=99)"


def test_of_a_long_sentence_the_words_around_parameters_are_quoted() -> None:
    words = " ".join(f"word{n}" for n in range(40))
    prompts = {name: f"Take {words} the limit {name} and then {words}." for name in ("7", "8")}
    made = function(prompts, "7", "print(7)\n")
    assert made.purpose == (
        "Take word0 word1 word2 word3 word4 word5 word6 word7 word8 ... word36 word37 word38 "
        "word39 the limit <limit> and then word0 word1 word2 ..."
    )
