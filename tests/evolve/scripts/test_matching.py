"""Functions without a model: templates, slots and calls are those that the functions came from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.core import BadInput
from harness.evolve import Matcher
from harness.evolve.scripts.functions import Function, function_of
from harness.evolve.scripts.library import FILE, FORM, Form, entry, module_of
from harness.evolve.scripts.prompts import kinds
from harness.skills import Skill, new_skill

RENT = {
    f"rent-{number}": f"Add {rate} % of rent to every flat of {street} in the sheet '{sheet}'. "
    "Round to whole euros."
    for number, (rate, street, sheet) in enumerate(
        [(4, "Elm Row", "May"), (2.5, "Oak Row", "June"), (7, "Elm Row", "July")]
    )
}
RENT_CODE = "rate = 4\nprint('Elm', 'May', rate)\n"
KEEP = {
    "keep-0": "Keep only the lines of log.txt whose level is one of 'warn', 'error'. Sort them.",
    "keep-1": "Keep only the lines of log.txt whose level is one of 'a', 'b', 'c'. Sort them.",
}
KEEP_CODE = "levels = ['warn', 'error']\nprint(levels)\n"
PAIRS = {
    "pairs-0": "Swap the columns of plan.csv named 'Start' and 'End', then save it.",
    "pairs-1": "Swap the columns of plan.csv named 'From' and 'To' and 'Via', then save it.",
}
PAIRS_CODE = "print('End', 'Start')\n"


def made(prompts: dict[str, str], code: str, name: str) -> Function:
    """A function of the first of these tasks, proven on all of them."""
    [kind] = kinds(prompts)
    function = function_of(code, next(iter(prompts)), kind, name)
    assert function is not None
    return replace(function, proven=kind.tasks)


def skill_of(*functions: Function, form: Form = FORM) -> Skill:
    body = "\n\n".join(entry(function, form) for function in functions)
    module = "\n".join(module_of(functions)).encode()
    return replace(new_skill("own", "Own functions.", f"\n{body}\n"), files={FILE: module})


@pytest.mark.parametrize("keywords", [True, False])
def test_the_slots_of_every_parameter_are_recovered_from_the_skill(keywords: bool) -> None:
    rent, keep = made(RENT, RENT_CODE, "add_rent"), made(KEEP, KEEP_CODE, "keep_levels")
    swap = made(PAIRS, PAIRS_CODE, "swap_columns")
    assert [p.part for p in swap.parameters] == [0, 1]  # two values of one slot
    skill = skill_of(rent, keep, swap, form=Form(keywords=keywords))
    matcher = Matcher(skill, RENT | KEEP | PAIRS)
    assert [f.name for f in matcher.functions] == ["add_rent", "keep_levels", "swap_columns"]
    for function, original in zip(matcher.functions, (rent, keep, swap), strict=True):
        assert function.parameters == original.parameters


def test_a_prompt_of_a_template_gives_the_call_and_others_give_none() -> None:
    rent, keep = made(RENT, RENT_CODE, "add_rent"), made(KEEP, KEEP_CODE, "keep_levels")
    matcher = Matcher(skill_of(rent, keep), RENT | KEEP)
    asked = "Add 9 % of rent to every flat of Ash Row in the sheet 'March'. Round to whole euros."
    program = matcher.program(asked)
    assert program is not None
    assert program.startswith("from helpers import add_rent\n\nadd_rent(")
    assert "=9," in program and "'Ash'" in program and "'March'" in program
    levels = "Keep only the lines of log.txt whose level is one of 'fatal', 'hint'. Sort them."
    assert "['fatal', 'hint']" in (matcher.program(levels) or "")
    # The same wish in other words; a kind that nobody saw; a value that is not of the kind.
    assert matcher.program("Rents in Ash Row go up by 9 percent, see sheet March") is None
    assert matcher.program("Draw a map of the town.") is None
    assert matcher.program(asked.replace("9 %", "nine %")) is None


def test_a_rule_that_no_function_was_made_for_gets_no_call() -> None:
    rule = " If both lists have a number, {} counts and the other list is left as it is."
    prompts = {
        f"{which}-{number}": f"Merge {number}.json into all.json." + rule.format(which)
        for which in ("the higher number", "the list that is named first")
        for number in range(3)
    }
    first, second = kinds(prompts)
    function = function_of("print('all.json')", first.tasks[0], first, "merge_lists")
    assert function is not None
    matcher = Matcher(skill_of(replace(function, proven=first.tasks)), prompts)
    assert matcher.program("Merge 8.json into all.json." + rule.format("the higher number"))
    for words in ("the list that is named first", "the number of the longer list of both"):
        assert matcher.program("Merge 8.json into all.json." + rule.format(words)) is None
    assert second.clauses


def test_skills_without_functions_and_modules_that_are_none() -> None:
    plain = new_skill("plain", "Prose.", "\nBe brief.\n")
    assert Matcher(plain, RENT).functions == [] and Matcher(plain, RENT).program("Add") is None
    elsewhere = skill_of(made(RENT, RENT_CODE, "add_rent"))
    matcher = Matcher(elsewhere, KEEP)  # made from other tasks
    assert (matcher.functions, matcher.unmatched) == ([], ("add_rent",))
    with pytest.raises(BadInput, match="is no Python module"):
        Matcher(replace(plain, files={FILE: b"def broken(:\n"}), RENT)
