"""Programs become functions: constants that the task chose are parameters, all else stays."""

from __future__ import annotations

import ast
import asyncio
import re
from contextlib import aclosing
from pathlib import Path

import pytest

from harness.agents import split_examples
from harness.evolve.scripts.forms import mentions
from harness.evolve.scripts.functions import Function, Parameter, allowed, function_of
from harness.evolve.scripts.library import entry
from harness.evolve.scripts.naming import names, usable, words_of
from harness.evolve.scripts.search import Kind
from harness.evolve.scripts.templates import Argument, Template, template_of
from harness.evolve.scripts.train_tasks import TrainTask
from harness.models import open_model

ORDERS = "id,customer,state,price\n1,Ash Ltd,open,20\n2,Elm & Son,paid,35\n"
ASKED = {
    "a": "How much does Ash Ltd still owe us, with 7 % tax, as of 3 May 2026? See orders.csv.",
    "b": "orders.csv: the open orders of Elm & Son up to 2026-06-30, plus 19 percent tax.",
}


def given(task: str) -> TrainTask:
    return TrainTask(task, ASKED[task], {"orders.csv": ORDERS})


def template(code: str, task: str = "a") -> Template:
    tree = allowed(code)
    assert tree is not None
    return template_of(tree, given(task))


def function(code: str, **values: tuple[Argument, Argument]) -> Function:
    """A function of a program of task a that solves task b with the second values."""
    made = template(code)
    proofs = {
        task: {
            hole.name: next((v[n] for v in values.values() if v[0] == hole.value), hole.value)
            for hole in made.holes
        }
        for n, task in enumerate(ASKED)
    }
    return function_of(Kind(made, proofs), {task: given(task) for task in ASKED}, "solve")


def test_constants_that_a_task_states_in_any_form_are_holes() -> None:
    made = template(
        "import csv\nfrom datetime import date\nday = date(2026, 5, 3)\nrows = open('orders.csv')\n"
        "print('Ash Ltd', '2026-05-03', 1.07, 'open', True, round(2.5, 1), rows[7])\n"
    )
    values = [(hole.value, hole.sort) for hole in made.holes]
    assert values == [
        ("2026-05-03", "date"), ("orders.csv", "file"), ("Ash Ltd", "text"), ("2026-05-03", "text"),
        (7, "percent"),
    ]  # fmt: skip
    assert "date.fromisoformat(" in made.code and "1 + value_4 / 100" in made.code
    assert "'open', True, round(2.5, 1), rows[7]" in made.code


def test_what_tasks_differ_in_is_a_parameter_and_equal_values_are_one() -> None:
    code = "print('Ash Ltd', 1.07 * 2, open('orders.csv'), '2026-05-03' + 'Ash Ltd')\n"
    made = function(
        code, name=("Ash Ltd", "Elm & Son"), rate=(7, 19), day=("2026-05-03", "2026-06-30")
    )
    names = {p.name: (p.default, p.fixed) for p in made.parameters}
    assert names == {
        "text": (None, False), "percent": (None, False), "day": (None, False),
        "file": ("orders.csv", False),
    }  # fmt: skip
    assert made.call("b") == "solve(text='Elm & Son', percent=19, day='2026-06-30')"
    assert "print(text, (1 + percent / 100) * 2, open(file), day + text)" in made.code()


def test_a_date_inside_of_a_text_is_a_value() -> None:
    made = function("print('until 2026-05-03 only')\n", day=("2026-05-03", "2026-06-30"))
    assert made.call("b") == "solve(day='2026-06-30')" and "f'until {day} only'" in made.code()


def test_a_value_is_called_what_the_program_compares_it_with() -> None:
    code = "row = {'customer': 1}\nprint(row['customer'] == 'Ash Ltd')\n"
    assert function(code, name=("Ash Ltd", "Elm & Son")).call("b") == "solve(customer='Elm & Son')"


def test_a_pattern_stays_what_it_matches() -> None:
    code = "match 'x':\n    case 'Ash Ltd':\n        print('Ash Ltd')\n"
    text = function(code, name=("Ash Ltd", "Elm & Son")).code()
    assert "case 'Ash Ltd':" in text and "print(text)" in text


def test_a_script_is_run_when_its_function_is_called() -> None:
    code = "def main():\n    print('ran')\n\nif __name__ == '__main__':\n    main()\n"
    tree = allowed(f"from __future__ import annotations\n{code}")
    assert tree is not None and ast.unparse(tree).endswith("main()")
    assert "__future__" not in ast.unparse(tree)


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
    assert allowed(code) is None


def test_a_variable_may_be_called_like_a_module() -> None:
    assert allowed("requests = [10]\nprint(requests)\n") is not None


def test_data_in_a_prompt_is_no_part_of_the_skill() -> None:
    prompts = {task: f"Sum the numbers of {task}.\n```\n## Notes\n{task},4\n```" for task in ASKED}
    made = Function("solve", "a", (), (), prompts)
    assert len(split_examples(f"## Worked examples\n\n{entry(made)}")[1]) == 2
    assert "\n## Notes" not in entry(made)


def test_prompts_and_ids_can_leave_no_code_in_the_module() -> None:
    hostile = 'orders orders.csv """\nimport os\x00\r\u2028print("owned") # """ owned \\'
    prompts = {task: f"{task} {hostile}" for task in ("a\nprint('owned')", "b")}
    made = Function("solve", "a", (), (), prompts, (".csv'); print('owned'); ('",))
    [definition] = ast.parse(made.code()).body
    assert isinstance(definition, ast.FunctionDef) and len(definition.body) == 2
    assert ast.get_docstring(definition) is not None and "\nprint" not in made.code()


@pytest.mark.parametrize(
    ("values", "pattern", "others"),
    [
        (("2026-05", "2026-11"), r"\d{4}-\d{2}", ("May 2026", "2026-5", "")),
        (("1.2.3", "10.0.14"), r"\d+\.\d+\.\d+", ("1.2", "v1.2.3", "1.2.3-rc1")),
        (("R-17", "K-20"), r"[^\W\d_]+-\d{2}", ("17", "R17", "R-170")),
        (("3 May 2026", "12 June 2026"), r"\d+\ [^\W\d_]+\ \d+", ("2026-05-03",)),
        (("Ash", "Elm & Son"), "", ()),
        (("Hall 7", "Old Mill"), "", ()),
        ((3, 12), r"\d+", ("-3", "1.5", "many")),
        ((-3, 1.5), r"-?\d+(\.\d+)?", ("1,5", "nan")),
    ],
)
def test_a_parameter_takes_the_shape_of_its_values(
    values: tuple[Argument, Argument], pattern: str, others: tuple[str, ...]
) -> None:
    parameter = Parameter("value", "text", dict(zip("ab", values, strict=True)))
    assert parameter.proven == pattern
    assert all(re.fullmatch(pattern or ".+", str(value)) for value in values)
    assert not any(re.fullmatch(pattern, other) for other in others)


def test_a_request_shows_its_beginning_and_the_words_around_its_values() -> None:
    words = " ".join(f"word{n}x" for n in range(40))
    prompts = {name: f"Take {words} the limit '{name}' and then {words}." for name in ("K9", "L8")}
    source = {task: TrainTask(task, prompt, {}) for task, prompt in prompts.items()}
    tree = allowed("print('K9')\n")
    assert tree is not None
    found = template_of(tree, source["K9"])
    [hole] = found.holes
    made = function_of(Kind(found, {t: {hole.name: t} for t in prompts}), source, "solve")
    text = made.request("L8")
    assert text.startswith("Take word0x word1x") and text.count("...") == 2
    assert "the limit 'L8' and then word0x" in text and "word20x" not in text


def test_a_model_names_the_functions_and_kinds_that_it_calls_the_same_are_told_apart(
    tmp_path: Path,
) -> None:
    kinds = [
        [f"Merge the files; {rule} wins in case {n}." for n in (3, 5)]
        for rule in ("the newest entry", "whoever came first")
    ]
    script = tmp_path / "user.json"
    script.write_text('["from helpers import merge_files"]')

    async def named() -> list[str]:
        async with aclosing(open_model(f"scripted/{script}")) as user:
            chosen, usage = await names(kinds, [[], []], user)
            assert usage.calls == 4
            return chosen

    first, second = asyncio.run(named())
    assert first == "merge_files" and second.startswith("merge_files_") and second != first


def test_names_hide_nothing_of_the_language_and_hold_no_value() -> None:
    assert [usable(name) for name in ("sum", "helpers", "for_files", "add_up")] == [
        "sum_task", "helpers_task", "for_files_task", "add_up",
    ]  # fmt: skip
    kinds = [["Halve the float 3.5 for Ostrava", "Please halve this float: 4.5, Ostrava"]]
    assert words_of(kinds, [["Ostrava"]]) == ["halve_float"]
    assert mentions("Ostrava")
