"""A program that passed, made a function: what the task chose becomes a parameter.

A constant of the program that stands in a slot of the task's prompt was chosen by the task. As a
parameter it gets the value of another task from that task's prompt, so that the function can be
tried on every task of its kind without a model.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import ne
from typing import Any

from harness.evolve.scripts.prompts import TOKEN, Kind, Slot, is_value, sentences, unquoted

Argument = str | int | float | list[str]
# What no function of a skill may import or call: it computes, and reads and writes its folder.
MODULES = frozenset(
    (
        "subprocess", "socket", "ctypes", "urllib", "http", "requests", "multiprocessing",
        "threading", "asyncio", "importlib", "pickle", "marshal", "shutil", "ftplib", "smtplib",
    )
)  # fmt: skip
CALLS = frozenset(
    (
        "eval", "exec", "system", "popen", "input", "breakpoint", "getattr", "setattr", "globals",
        "locals", "vars", "fork", "kill", "rmtree", "unlink", "rmdir", "chmod", "chown", "symlink",
        "posix_spawn", "posix_spawnp", "attrgetter", "methodcaller",
    )
)  # fmt: skip
# How further names of that sort begin: os.execv, os.spawnl, __builtins__ and the like.
DOORS = frozenset(("execv", "execl", "spawn", "__bui", "__imp", "__cla", "__sub", "__glo", "__dic"))
FILE_NAME = re.compile(r"\w\.[a-z]{2,5}\W*$")
# Parameters that a small model still fills, and tokens before a slot that may name its parameter.
MOST, NEAR = 6, 3
# Worked examples of a function that has parameters: shown one, Qwen2.5-Coder copied its values;
# shown marks in their place, it copied the marks.
SHOWN = 2
# Words that are quoted of a prompt: of its beginning, before a cut, beside a parameter.
BEGINNING, OPENING, AROUND = 18, 10, 6
MARK = re.compile(r"<\w+>")
# A rate of 7 % in programs: 0.07, 1.07 and 0.93, as (sign, one) of sign * 0.07 + one.
PERCENT = ((1, 0), (1, 1), (-1, 1))


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function.

    Attributes:
        name: an identifier.
        slot: number of the slot of the prompt that its value stands in.
        part: number of the part of the slot; None for the whole text.
        of: `text`, `whole` (number), `number` or `list` (of texts).
    """

    name: str
    slot: int
    part: int | None
    of: str

    def value(self, slots: tuple[Slot, ...]) -> Argument | None:
        """What a task's prompt gives; None if it gives nothing of that form."""
        slot = slots[self.slot]
        if self.of == "list":
            return list(slot.parts)
        if self.part is None:
            text = slot.parts[0] if len(slot.parts) == 1 else slot.text
        elif self.part < len(slot.parts):
            text = slot.parts[self.part]
        else:
            return None
        if self.of == "text":
            return text
        try:
            number = float(text)
        except ValueError:
            return None
        if self.of == "number":
            return number
        return int(number) if number.is_integer() else None


@dataclass(frozen=True)
class Function:
    """A function that was made from one program.

    Attributes:
        name: an identifier.
        kind: the tasks that it is for.
        source: id of the task whose program it was.
        parameters: in the order of the prompt.
        body: the program, with parameters in place of constants.
        files: names of the input files that all tasks of the kind have.
        examples: at most so many tasks are shown as worked examples.
        proven: ids of tasks that pass by it alone.
        broken: ids of tasks that passed without it, and do not by it.
    """

    name: str
    kind: Kind
    source: str
    parameters: tuple[Parameter, ...]
    body: tuple[ast.stmt, ...]
    files: tuple[str, ...] = ()
    examples: int = SHOWN
    proven: tuple[str, ...] = field(default=(), compare=False)
    broken: tuple[str, ...] = field(default=(), compare=False)

    def code(self) -> str:
        """Its source text."""
        head = f"def {self.name}({', '.join(parameter.name for parameter in self.parameters)}):"
        lines = [f'    """{self.purpose}"""']
        lines += [f"    {line}" for p in self.parameters if (line := reading(p))]
        # A caller who prints what the function returns prints nothing more than it printed.
        module = ast.Module(body=[*self.body, ast.Return(ast.Constant(""))], type_ignores=[])
        text = ast.unparse(ast.fix_missing_locations(module))
        lines += [f"    {line}" if line else "" for line in text.splitlines()]
        return "\n".join([head, *lines]) + "\n"

    @property
    def stated(self) -> list[str]:
        """Values that all prompts of the kind state and the program holds, also as a percentage.

        Nothing shows whether each was chosen by the tasks, or is part of what they ask for.
        """
        text = " ".join(self.kind.pieces)
        values = {match[0]: match for match in TOKEN.finditer(text) if is_value(match[0])}
        forms = {value: [unquoted(value)] for value in values}
        for value, match in values.items():
            if text[match.end() :].lstrip()[:1] == "%" and value.replace(".", "", 1).isdigit():
                forms[value] += [str(float(value) / 100 * sign + one) for sign, one in PERCENT]
        nodes = ast.walk(ast.Module(list(self.body), type_ignores=[]))
        held = [node.value for node in nodes if isinstance(node, ast.Constant)]
        held = [v for v in held if isinstance(v, str | int | float) and not isinstance(v, bool)]
        return sorted(
            unquoted(value)
            for value, texts in forms.items()
            if unquoted(value) not in self.files
            and any(_same(constant, text) for constant in held for text in texts)
        )

    @property
    def purpose(self) -> str:
        """What its tasks ask for: the first sentence of their prompts and each with a parameter."""
        marks: dict[int, list[str]] = {}
        for parameter in self.parameters:
            marks.setdefault(parameter.slot, []).append(f"<{parameter.name}>")
        text = self.kind.pieces[0]
        for slot, piece in enumerate(self.kind.pieces[1:]):
            text += (", ".join(marks[slot]) if slot in marks else "...") + piece
        first, *later = sentences(text)
        quoted = [excerpt(s) for s in later if MARK.search(s) or s in self.kind.clauses]
        return " ".join([excerpt(first, OPENING), *quoted])

    def request(self, task: str) -> str:
        """The same in the words of one task."""
        slots = self.kind.slots[task]
        shared = Counter(parameter.slot for parameter in self.parameters)
        values = {
            p.name: in_line(slots[p.slot].text if shared[p.slot] == 1 else str(p.value(slots)))
            for p in self.parameters
        }
        return MARK.sub(lambda mark: values.get(mark[0][1:-1], mark[0]), self.purpose)

    def shown(self) -> list[str]:
        """Tasks that it solved, for worked examples: as different as they can be."""
        solved = self.proven if self.proven else self.kind.tasks
        tasks: list[str] = [task for task in solved if self.call(task) is not None]
        shown: list[str] = []
        while tasks and len(shown) < self.examples:
            shown.append(max(tasks, key=lambda task: self._unlike(task, shown)))
            tasks = [task for task in tasks if self._unlike(task, shown)]
        return shown

    def _unlike(self, task: str, shown: list[str]) -> int:
        """In how many arguments a task differs from each that is shown, at least."""
        values = self.arguments(task)
        differing = (sum(map(ne, values, self.arguments(example))) for example in shown)
        return min(differing, default=len(values))

    def arguments(self, task: str) -> list[Argument | None]:
        """The values that a task's prompt gives."""
        return [parameter.value(self.kind.slots[task]) for parameter in self.parameters]

    def call(self, task: str, *, keywords: bool = True) -> str | None:
        """The call that solves a task; None where its prompt does not give every value."""
        values = self.arguments(task)
        if any(value is None for value in values):
            return None
        names = [f"{parameter.name}=" * keywords for parameter in self.parameters]
        filled = (f"{name}{value!r}" for name, value in zip(names, values, strict=True))
        return f"{self.name}({', '.join(filled)})"


def in_line(text: str) -> str:
    """A text of a prompt that can be no heading and no block of the skill that quotes it."""
    return " ".join(text.replace("`", "").split())


def excerpt(sentence: str, opening: int = 0) -> str:
    """What is quoted of a sentence: its beginning, or the words around its parameters.

    Args:
        sentence: of a prompt, with marks for parameters.
        opening: words of its beginning that are quoted in any case.
    """
    words = sentence.split()
    marked = [number for number, word in enumerate(words) if MARK.search(word)]
    start = marked[0] - AROUND if marked else 0
    start = 0 if start <= opening else start
    end = marked[-1] + AROUND if marked else BEGINNING
    cut = [*words[:opening], "..."] if start else []
    return " ".join([*cut, *words[start:end], *(["..."] if end < len(words) else [])])


def reading(parameter: Parameter) -> str:
    """A line that takes a parameter as a caller may have meant it, or ""."""
    name = parameter.name
    match parameter.of:
        case "whole":
            return f"{name} = int(float({name}))"
        case "number":
            return f"{name} = float({name})"
        case "list":
            return f"{name} = [{name}] if isinstance({name}, str) else list({name})"
        case _:
            return ""


def function_of(code: str, task: str, kind: Kind, name: str) -> Function | None:
    """A program as a function of what its task chose.

    Returns:
        None where the program cannot be one: it does not parse, it uses what no skill may use, or
        the task chose too much.
    """
    try:
        tree = ast.parse(code)
        attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        used, imported = set(names_in(tree)), set(imports_in(tree))
        # A variable may be called like a module, an attribute may not: it may be the module.
        if (imported | attributes) & MODULES or (imported | used) & CALLS or "*" in imported:
            return None
        if any(name[:5] in DOORS for name in used):
            return None
        finder = _Chosen(kind.slots[task], used | set(dir(builtins)), tree)
        tree = finder.visit(_Inline().visit(tree))
        order = sorted(finder.parameters, key=lambda p: (p.slot, p.part or 0))
        function = Function(name, kind, task, tuple(order), tuple(tree.body))
        ast.parse(function.code())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return function if len(order) <= MOST and tree.body else None


def names_in(tree: ast.AST) -> Iterator[str]:
    """Every name that a program uses: of variables, attributes, modules and parameters."""
    yield from imports_in(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg


def imports_in(tree: ast.AST) -> Iterator[str]:
    """Every part of the names of modules that a program imports, and what it imports from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (part for alias in node.names for part in alias.name.split("."))
        if isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")


class _Inline(ast.NodeTransformer):
    """What a program does when it is run as a script is what its function does."""

    def visit_If(self, node: ast.If) -> Any:
        if ast.unparse(node.test) in ("__name__ == '__main__'", "'__main__' == __name__"):
            return [self.visit(statement) for statement in node.body]
        return self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        return None if node.module == "__future__" else node  # only a module may begin so


class _Chosen(ast.NodeTransformer):
    """Puts parameters in place of the constants that stand in a slot of the prompt."""

    def __init__(self, slots: tuple[Slot, ...], taken: set[str], tree: ast.AST) -> None:
        self._slots, self._taken = slots, taken
        self.parameters: list[Parameter] = []
        # What is listed as a whole is no value by itself: another constant may only look like it.
        self._listed = {self._list_of(node) for node in ast.walk(tree)}

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        for value in node.values:  # its texts cannot be names
            if isinstance(value, ast.FormattedValue):
                value.value = self.visit(value.value)
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        return node  # a name in its place would match everything

    def visit_Expr(self, node: ast.Expr) -> Any:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def _list_of(self, node: ast.AST) -> int | None:
        """Number of the slot whose parts a list of constants gives."""
        items = node.elts if isinstance(node, ast.List | ast.Set | ast.Tuple) else []
        values = [str(item.value) for item in items if isinstance(item, ast.Constant)]
        if len(values) == len(items) >= 2:
            for number, slot in enumerate(self._slots):
                if values == list(slot.parts):
                    return number
        return None

    def visit(self, node: ast.AST) -> Any:
        number = self._list_of(node)
        return (
            super().visit(node) if number is None else self._parameter(number, None, "list", node)
        )

    def visit_Constant(self, node: ast.Constant) -> Any:
        value: object = node.value
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return node
        kind = {str: "text", int: "whole", float: "number"}[type(value)]
        for number, slot in enumerate(self._slots):
            if _same(value, slot.text) or (len(slot.parts) == 1 and _same(value, slot.parts[0])):
                return self._parameter(number, None, kind, node)
            for part, text in enumerate(slot.parts):
                if number not in self._listed and _same(value, text):
                    return self._parameter(number, part, kind, node)
        return node

    def _parameter(self, slot: int, part: int | None, of: str, node: ast.AST) -> ast.AST:
        for parameter in self.parameters:
            if (parameter.slot, parameter.part, parameter.of) == (slot, part, of):
                break
        else:
            parameter = Parameter(self._name(slot, of), slot, part, of)
            self.parameters.append(parameter)
        return ast.copy_location(ast.Name(parameter.name, ast.Load()), node)

    def _name(self, slot: int, of: str) -> str:
        """The last word of the template before the slot that can name a parameter."""
        text, base = self._slots[slot].text, "value"
        before = [unquoted(token).lower() for token in self._slots[slot].before[:NEAR]]
        words = [re.sub(r"\W+", "_", word).strip("_") for word in before]
        if FILE_NAME.search(text):
            base = "file"
        elif named := [w for w in words if re.fullmatch(r"[a-z_]{2,}", w) and w not in COMMON]:
            base = named[0]
        base = f"{base}s" if of == "list" and not base.endswith("s") else base
        name, count = base, 1
        while name in self._taken or keyword.iskeyword(name):
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name


# Words that say nothing of what comes after them.
_COMMON = (
    "a an the of in on at to for from with by as is are was be than that this it its and or not if"
    " least most more less under over below above where which who each every all any into per what"
    " how does do should you your only"
)
COMMON = frozenset(_COMMON.split())


def _same(value: str | float, text: str) -> bool:
    """Whether a constant of a program is what a prompt says."""
    if isinstance(value, str):
        return value == text
    try:
        return abs(float(text) - value) < 1e-9
    except (ValueError, OverflowError):
        return False
