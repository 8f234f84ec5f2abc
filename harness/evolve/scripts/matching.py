"""The functions of a skill without a model: what code alone makes of them.

A prompt that was made from the template of train prompts holds all that a call needs: its template
says which function, its slots say which values. A skill of functions needs a model only for what it
passes beyond this.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, islice

from harness.core import BadInput
from harness.evolve.scripts.functions import Function, Parameter
from harness.evolve.scripts.library import FILE, MODULE
from harness.evolve.scripts.prompts import Kind, alike, alike_groups, plain, split
from harness.skills import Skill

PROVEN = re.compile(r"# proven on: (.+)")
READINGS = {"int(": "whole", "float(": "number", "[": "list"}
"""Beginning of the value that a function reads a parameter as -> what the parameter is."""
MOST = 20_000
"""Ways to put the parameters of a function into slots that are tried."""
ASKED = "\0"
"""Id of the prompt that a call is sought for: no task has it."""


class Matcher:
    """Finds the function for a prompt, and the values of its call.

    Attributes:
        functions: of the skill, those whose template is among the train prompts.
        unmatched: names of its other functions; no program calls them.
    """

    def __init__(self, skill: Skill, train: Mapping[str, str]) -> None:
        """Find the template of every function, and the slots of its parameters.

        Args:
            skill: with a module of functions, or without: then there are none.
            train: task id -> prompt, of the tasks that the functions were made from.

        Raises:
            BadInput: if the module of the skill cannot be parsed.
        """
        groups = alike_groups(dict(train))
        self._groups = [{task: train[task] for task in group} for group in groups]
        kinds = [kind for group in self._groups for kind in split(group)]
        rows = {
            definition.name: recovered(definition, proven, kinds, skill.body)
            for definition, proven in definitions(skill)
        }
        self.functions = [function for function in rows.values() if function]
        self.unmatched = tuple(name for name, function in rows.items() if not function)

    def program(self, prompt: str) -> str | None:
        """Return the program that calls the function of a prompt with the values of its slots.

        Returns:
            None where the prompt has no train template, no function was made for its template, or
            a slot gives no value.
        """
        words = plain(prompt)
        for group in self._groups:
            if not alike(plain(next(iter(group.values()))), words):
                continue
            kind = next(kind for kind in split({**group, ASKED: prompt}) if ASKED in kind.tasks)
            for function in self.functions:
                same = function.kind.tasks == kind.tasks[:-1]
                if same and len(function.kind.pieces) == len(kind.pieces):
                    call = replace(function, kind=kind).call(ASKED)
                    return f"from {MODULE} import {function.name}\n\n{call}\n" if call else None
            return None
        return None


def definitions(skill: Skill) -> Iterator[tuple[ast.FunctionDef, frozenset[str]]]:
    """Yield the functions of a skill's module, each with the ids of the tasks that prove it.

    Raises:
        BadInput: if the module cannot be parsed.
    """
    source = skill.files.get(FILE, b"").decode(errors="replace")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise BadInput(f"{FILE} of skill {skill.name!r} is no Python module: {error}") from error
    lines = [*source.split("\n"), ""]
    for node in tree.body:
        end = node.end_lineno or 0
        if isinstance(node, ast.FunctionDef) and (match := PROVEN.fullmatch(lines[end])):
            yield node, frozenset(match[1].split(", "))


def recovered(
    definition: ast.FunctionDef, proven: frozenset[str], kinds: Sequence[Kind], body: str
) -> Function | None:
    """Return a function of a module with its template and the slots of its parameters.

    The module does not say which slots they are. They are those with which the function describes
    itself as it does there, and of a slot with several values the one that a worked example shows.

    Args:
        definition: in the module.
        proven: ids of the tasks that prove it.
        kinds: of the train tasks.
        body: of SKILL.md.

    Returns:
        None where no template, or no slots of it, fit.
    """
    names, shown = [argument.arg for argument in definition.args.args], calls(body, definition)
    for kind in kinds:
        tasks = proven.intersection(kind.tasks)
        assignments = combinations_with_replacement(range(len(kind.pieces) - 1), len(names))
        for numbers in islice(assignments if tasks else (), MOST):
            parameters: list[Parameter] = []
            for name, number in zip(names, numbers, strict=True):
                values = {row[name] for row in shown if name in row}
                most = max(len(kind.slots[task][number].parts) for task in tasks)
                for part in (None, *range(most)):
                    parameter = Parameter(name, number, part, form_of(name, definition))
                    possible = {repr(parameter.value(kind.slots[task])) for task in tasks}
                    if values <= possible:
                        parameters.append(parameter)
                        break
            function = Function(definition.name, kind, "", tuple(parameters), ())
            if len(parameters) == len(names) and function.purpose == ast.get_docstring(definition):
                return function
    return None


def calls(body: str, definition: ast.FunctionDef) -> list[dict[str, str]]:
    """Return the arguments of a function in worked examples: name -> source text, a row a call."""
    names = [argument.arg for argument in definition.args.args]
    rows: list[dict[str, str]] = []
    for line in body.splitlines():
        if not line.startswith(f"{definition.name}("):
            continue
        try:
            call = ast.parse(line, mode="eval").body
        except (SyntaxError, ValueError):
            continue
        if isinstance(call, ast.Call):
            row = {name: ast.unparse(value) for name, value in zip(names, call.args, strict=False)}
            named = {key.arg: ast.unparse(key.value) for key in call.keywords if key.arg}
            rows.append(row | named)
    return rows


def form_of(name: str, definition: ast.FunctionDef) -> str:
    """Return what a parameter is, by the line with which the function reads it."""
    for node in definition.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            value = ast.unparse(node.value)
            return next(
                (form for start, form in READINGS.items() if value.startswith(start)), "text"
            )
    return "text"
