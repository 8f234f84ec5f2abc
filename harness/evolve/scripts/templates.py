"""Programs with holes: a passing program, and variables in place of what its task chose.

A constant was chosen by the task if the prompt states it, in any form, or if it names a file or a
column of the input.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.evolve.scripts.forms import TEXTS, Mention, enumerations, mentions, share_of
from harness.evolve.scripts.train_tasks import TrainTask

Argument = str | int | float | list[str]
# A text with a capital, a digit or a space: hardly a word of the program's own.
SPECIFIC = re.compile(r"[A-Z0-9]|\s")
Statement = tuple[Mention, str]
"""A mention in a prompt, and its reading that a program holds."""


@dataclass(frozen=True)
class Hole:
    """A variable in place of a constant that the task chose.

    Attributes:
        name: of the variable.
        value: that the program's own task chose.
        sort: `file`, `column`, `list`, `text`, `number`, `date` or `percent`.
        ways: (form, reading) in which its prompt states the value.
        near: words around it in the prompt.
        varied: whether programs of the same structure differ here.
        indexes: of its constants among all constants of the program.
    """

    name: str
    value: Argument
    sort: str
    ways: frozenset[tuple[str, str]]
    near: frozenset[str] = frozenset()
    varied: bool = False
    indexes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Template:
    """A program with holes.

    Attributes:
        source: the task that it passed.
        code: its source text, without the values.
        holes: in the order of the program.
        fields: names of fields of its input that it holds.
        structure: of the program, without its constants.
    """

    source: TrainTask
    code: str
    holes: tuple[Hole, ...]
    fields: frozenset[str] = frozenset()
    structure: str = ""


def constants_in(tree: ast.AST) -> list[ast.Constant]:
    """The constants of a program; programs of the same structure have them in the same order."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]


def structure_of(tree: ast.Module) -> str:
    """A program without its constants: two that differ in constants alone have the same."""
    copy = ast.parse(ast.unparse(tree))
    for constant in constants_in(copy):
        constant.value = None
    return ast.dump(copy)


def template_of(
    tree: ast.Module,
    task: TrainTask,
    varied: Iterable[int] = (),
    own_fields: frozenset[str] = frozenset(),
) -> Template:
    """Return a program with holes.

    Args:
        tree: the program.
        task: that it passed.
        varied: indexes of the constants in which programs of other tasks differ from it.
        own_fields: fields of its input that inputs of other tasks lack.
    """
    structure, tree = structure_of(tree), ast.parse(ast.unparse(tree))
    finder = _HoleFinder(task, tree, frozenset(varied), own_fields)
    code = ast.unparse(ast.fix_missing_locations(finder.visit(tree)))
    texts = {c.value for c in constants_in(tree) if isinstance(c.value, str)}
    return Template(task, code, tuple(finder.holes), frozenset(texts & task.fields), structure)


class _HoleFinder(ast.NodeTransformer):
    """Puts variables in place of the constants that a task chose."""

    def __init__(
        self, task: TrainTask, tree: ast.Module, varied: frozenset[int], own_fields: frozenset[str]
    ) -> None:
        self._task, self._varied, self._own_fields = task, varied, own_fields
        self._mentions = mentions(task.prompt)
        self._indexes = {id(node): index for index, node in enumerate(constants_in(tree))}
        self._skipped = {*map(id, structural(tree))}
        self._digits = {*map(id, digits_of_rounding(tree))}
        self._names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {
            n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)
        }
        self.holes: list[Hole] = []

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        for value in node.values:  # its texts cannot be variables
            if isinstance(value, ast.FormattedValue):
                value.value = self.visit(value.value)
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        return node  # a variable in its place would match everything

    def visit_Expr(self, node: ast.Expr) -> Any:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        """A date that a program makes of three numbers is one value."""
        parts = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        if ast.unparse(node.func).split(".")[-1] in ("date", "datetime") and not node.keywords:
            for mention in self._mentions:
                readings = mention.readings
                if mention.form == "date" and len(node.args) == 3 and parts == [
                    readings[part] for part in ("year", "month", "day")
                ]:  # fmt: skip
                    stated = [(mention, "%Y-%m-%d")]
                    hole = self._hole(str(readings["%Y-%m-%d"]), "date", stated, node.args[0])
                    return ast.Call(
                        ast.Attribute(node.func, "fromisoformat", ast.Load()), [hole], []
                    )
        return self.generic_visit(node)

    def visit_List(self, node: ast.List) -> Any:
        return self._collection(node)

    def visit_Set(self, node: ast.Set) -> Any:
        return self._collection(node)

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return self._collection(node)

    def _collection(self, node: ast.List | ast.Set | ast.Tuple) -> Any:
        """An enumeration of the prompt that a program holds as a list, a set or a tuple."""
        texts = [e.value for e in node.elts if isinstance(e, ast.Constant)]
        texts = [text for text in texts if isinstance(text, str)]
        if len(texts) < 2 or len(texts) != len(node.elts):
            return self.generic_visit(node)
        for members in enumerations(self._task.prompt):
            if len(members) == len(texts) and members[0].form in TEXTS:
                stated = [
                    (members[0], reading) for reading in members[0].readings
                    if sorted(str(m.readings.get(reading)) for m in members) == sorted(texts)
                ]  # fmt: skip
                if stated:
                    hole = self._hole(texts, "list", stated, node.elts[0])
                    kind = type(node).__name__.lower()
                    return hole if kind == "list" else ast.Call(ast.Name(kind), [hole], [])
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> Any:
        value = node.value
        if isinstance(value, bool) or id(node) in self._skipped:
            return node
        if isinstance(value, str):
            return self._text(node, value)
        if not isinstance(value, int | float):
            return node
        for mention in self._mentions:
            percent = mention.readings.get("percent")
            if percent is not None and (expression := share_of(value, percent)):
                hole = self._hole(percent, "percent", [(mention, "percent")], node)
                return ast.parse(expression.format(hole.id), mode="eval").body
        varied, stated = self._indexes.get(id(node)) in self._varied, self._stated(value)
        variable = varied or (stated and (value not in (0, 1) or id(node) in self._digits))
        return self._hole(value, "number", stated, node) if variable else node

    def _text(self, node: ast.Constant, value: str) -> Any:
        stated, varied = self._stated(value), self._indexes.get(id(node)) in self._varied
        if value in self._task.files:
            return self._hole(value, "file", stated, node)
        if value in self._task.fields and (stated or value in self._own_fields):
            return self._hole(value, "column", stated, node)
        if (stated and value.strip()) or varied:
            return self._hole(value, "text", stated, node)
        inside = [
            (len(reading), reading, mention, name)
            for mention in self._mentions
            for name, reading in mention.readings.items()
            if isinstance(reading, str) and len(reading) > 2 and SPECIFIC.search(reading)
            and stands_in(reading, value)
        ]  # fmt: skip
        if not inside or "\\" in value:
            return node
        _, text, mention, name = max(inside, key=lambda match: match[0])
        before, after = value.split(text, 1)
        hole = self._hole(text, "text", [(mention, name)], node)
        pieces = [ast.Constant(before), ast.FormattedValue(hole, -1), ast.Constant(after)]
        return ast.JoinedStr([p for p in pieces if not isinstance(p, ast.Constant) or p.value])

    def _stated(self, value: str | int | float) -> list[Statement]:
        return [
            (mention, name)
            for mention in self._mentions
            for name, reading in mention.readings.items()
            if reading == value and isinstance(reading, str) == isinstance(value, str)
        ]

    def _hole(
        self, value: Argument, sort: str, stated: Sequence[Statement], node: ast.AST
    ) -> ast.Name:
        index = self._indexes.get(id(node), -1)
        varied = index in self._varied
        for n, hole in enumerate(self.holes):
            # Equal texts are one value; equal numbers may be two.
            if hole.value == value and hole.sort == sort and sort != "number":
                indexes = (*hole.indexes, index)
                self.holes[n] = replace(hole, varied=hole.varied or varied, indexes=indexes)
                return ast.Name(hole.name)
        ways = frozenset(("text" if m.form in TEXTS else m.form, name) for m, name in stated)
        near = frozenset(word for m, _ in stated for word in around(self._task.prompt, m))
        name = f"value_{len(self.holes)}"
        while name in self._names:
            name += "_"
        self.holes.append(Hole(name, value, sort, ways, near, varied, (index,)))
        return ast.Name(name)


def structural(tree: ast.AST) -> Iterator[ast.AST]:
    """Constants that no task chooses: indexes, the mode of `open` and its keyword values."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=int()) as constant):
                yield constant
            case ast.Subscript(slice=ast.UnaryOp(operand=ast.Constant() as constant)):
                yield constant
            case ast.Call(func=ast.Name(id="open"), args=[_, ast.Constant() as constant, *_]):
                yield constant
            case ast.keyword(
                arg="encoding" | "newline" | "indent" | "mode", value=ast.Constant() as constant
            ):
                yield constant
            case _:
                pass


def digits_of_rounding(tree: ast.AST) -> Iterator[ast.AST]:
    """Numbers of decimals: a task that states 0 or 1 of them chose that."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="round"), args=[_, ast.Constant() as constant]):
                yield constant
            case _:
                pass


def stands_in(value: str, text: str) -> bool:
    """Return True if a text holds a value as words of its own."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def around(text: str, mention: Mention) -> list[str]:
    """The three words before a value and the one behind it, in lower case."""
    before = re.findall(r"\w+", text[: mention.start])[-3:]
    after = re.findall(r"\w+", text[mention.end :])[:1]
    return [word.lower() for word in (*before, *after)]
