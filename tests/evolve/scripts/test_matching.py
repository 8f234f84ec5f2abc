"""Functions without a model: templates, slots and calls are those that the functions came from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.core import BadInput
from harness.evolve import Matcher
from harness.evolve.scripts.functions import Function, Parameter
from harness.evolve.scripts.library import FILE, entry, module_of
from harness.evolve.scripts.templates import Argument
from harness.skills import Skill, new_skill

RENT = "Add {} % of rent to every flat of {} in the sheet '{}'. Round to whole euros."
RENTS: list[tuple[Argument, ...]] = [
    (4, "Elm Row", "May"), (2.5, "Oak Row", "June"), (7, "Elm Row", "July"),
]  # fmt: skip
KEEP = "Keep only the lines of log.txt whose level is one of {}. Sort them."
KEEPS: list[tuple[Argument, ...]] = [(["warn", "error"],), (["a", "b", "c"],)]


def made(name: str, form: str, rows: list[tuple[Argument, ...]], *names: str) -> Function:
    """A function with a parameter for some of the values that its prompts state in their order."""
    written = [
        [", ".join(f"'{v}'" for v in value) if isinstance(value, list) else value for value in row]
        for row in rows
    ]
    prompts = {f"{name}-{n}": form.format(*row) for n, row in enumerate(written)}
    parameters = tuple(
        Parameter(text, "text", {f"{name}-{n}": row[place] for n, row in enumerate(rows)})
        for place, text in enumerate(names)
        if text
    )
    return Function(name, f"{name}-0", parameters, (), prompts)


RENT_FUNCTION = made("add_rent", RENT, RENTS, "percent", "", "sheet")
KEEP_FUNCTION = made("keep_levels", KEEP, KEEPS, "levels")
TRAIN = {**RENT_FUNCTION.prompts, **KEEP_FUNCTION.prompts}


def skill_of(*functions: Function) -> Skill:
    body = "\n\n".join(entry(function) for function in functions)
    module = "\n".join(module_of(functions)).encode()
    return replace(new_skill("own", "Own functions.", f"\n{body}\n"), files={FILE: module})


def test_a_prompt_of_a_template_gives_the_call_and_others_give_none() -> None:
    matcher = Matcher(skill_of(RENT_FUNCTION, KEEP_FUNCTION), TRAIN)
    assert [template.name for template in matcher.functions] == ["add_rent", "keep_levels"]
    asked = RENT.format(9, "Ash Row", "March")
    assert matcher.program(asked) == (
        "from helpers import add_rent\n\nadd_rent(percent=9, sheet='March')\n"
    )
    levels = KEEP.format("'fatal', 'hint'")
    assert "['fatal', 'hint']" in (matcher.program(levels) or "")
    # The same wish in other words; a kind that nobody saw; a value that is not of the kind.
    assert matcher.program("Rents in Ash Row go up by 9 percent, see sheet March") is None
    assert matcher.program("Draw a map of the town.") is None
    assert matcher.program(asked.replace("9 %", "nine %")) is None


def test_a_prompt_with_a_clause_more_is_of_another_template() -> None:
    matcher = Matcher(skill_of(RENT_FUNCTION), TRAIN)
    asked = RENT.format(9, "Ash Row", "March")
    assert matcher.program(asked)
    assert matcher.program(asked.replace(" Round", " Leave out empty flats. Round")) is None


def test_a_prompt_that_two_functions_fit_gets_no_call() -> None:
    twin = replace(RENT_FUNCTION, name="raise_rent")
    matcher = Matcher(skill_of(RENT_FUNCTION, twin), TRAIN)
    assert len(matcher.functions) == 2
    assert matcher.program(RENT.format(9, "Ash Row", "March")) is None


def test_prompts_in_other_words_have_no_template() -> None:
    free = replace(
        RENT_FUNCTION,
        prompts={
            "add_rent-0": "Add 4 % of rent to every flat of Elm Row in the sheet 'May'.",
            "add_rent-1": "Oak Row gets dearer: put 2.5 percent on top, sheet 'June', please.",
            "add_rent-2": "The 'July' sheet: rents of Elm Row should go up by 7 %.",
        },
    )
    matcher = Matcher(skill_of(free), free.prompts)
    assert (matcher.functions, matcher.unmatched) == ([], ("add_rent",))


def test_skills_without_functions_and_modules_that_are_none() -> None:
    plain = new_skill("plain", "Prose.", "\nBe brief.\n")
    assert Matcher(plain, TRAIN).functions == [] and Matcher(plain, TRAIN).program("Add") is None
    matcher = Matcher(skill_of(RENT_FUNCTION), KEEP_FUNCTION.prompts)  # made from other tasks
    assert (matcher.functions, matcher.unmatched) == ([], ("add_rent",))
    with pytest.raises(BadInput, match="is no Python module"):
        Matcher(replace(plain, files={FILE: b"def broken(:\n"}), TRAIN)
