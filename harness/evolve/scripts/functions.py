"""A function that tasks of one kind share: a program with parameters for what each task chose."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import ne
from typing import Any

from harness.evolve.scripts.forms import enumerations, mentions, states
from harness.evolve.scripts.naming import parameter_name, plain_words, shared_words
from harness.evolve.scripts.search import Kind
from harness.evolve.scripts.templates import SPECIFIC, Argument, Hole, constants_in
from harness.evolve.scripts.train_tasks import TrainTask

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
# Parameters that a small model still fills, and tasks that a function must solve.
MOST, LEAST = 6, 2
# Worked examples of a function that has parameters: shown one, Qwen2.5-Coder copied its values;
# shown marks in their place, it copied the marks.
SHOWN = 2
# Words that are quoted of a prompt: of its beginning, and on either side of a value.
OPENING, AROUND = 10, 6


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function.

    Attributes:
        name: an identifier.
        sort: of its hole.
        values: task id -> the value with which the function passes it.
        default: None if a caller has to give one.
        fixed: whether no other value than the default is proven.
    """

    name: str
    sort: str
    values: Mapping[str, Argument]
    default: Argument | None = None
    fixed: bool = False

    @property
    def declaration(self) -> str:
        """Its name, type and default, as in a signature."""
        types = {type(value).__name__ for value in self.values.values()}
        default = "" if self.default is None else f"={self.default!r}"
        return f"{self.name}: {'float' if 'float' in types else min(types)}{default}"

    @property
    def proven(self) -> str | tuple[Argument]:
        """The pattern of its proven values, as a regular expression; "" for any text.

        A value that no two tasks differ in is itself, as a tuple.
        """
        values = [*self.values.values()]
        if self.fixed:
            return (values[0],)
        numbers = [value for value in values if isinstance(value, int | float)]
        if numbers:
            fraction = r"(\.\d+)?" if any(isinstance(number, float) for number in numbers) else ""
            return rf"{'-?' if min(numbers) < 0 else ''}\d+{fraction}"
        texts = [value for value in values if isinstance(value, str)]
        letters, digits = (re.search(sort, "".join(texts)) for sort in (r"[^\W\d_]", r"\d"))
        if not texts or self.sort == "file" or (letters and not digits):
            return ""
        words = [re.sub(r"[^\W\d_]+", r"[^\\W\\d_]+", re.escape(text)) for text in texts]
        exact = {re.sub(r"\d+", lambda run: rf"\d{{{len(run[0])}}}", text) for text in words}
        loose = {re.sub(r"\d+", r"\\d+", text) for text in words}
        patterns = exact if len(exact) == 1 else loose if len(loose) == 1 or not letters else ()
        return "|".join(sorted(patterns)).replace("\\-", "-")


@dataclass(frozen=True)
class Function:
    """A function that was made from one program.

    Attributes:
        name: an identifier.
        source: id of the task whose program it was.
        parameters: those that a caller has to give first.
        body: the program, with parameters in place of constants.
        prompts: of the tasks that it solves, by their ids.
        files: suffixes of the input files.
        examples: at most so many tasks are shown as worked examples.
    """

    name: str
    source: str
    parameters: tuple[Parameter, ...]
    body: tuple[ast.stmt, ...]
    prompts: Mapping[str, str]
    files: tuple[str, ...] = ()
    examples: int = SHOWN

    @property
    def proven(self) -> tuple[str, ...]:
        """Ids of the tasks that it solves."""
        return tuple(self.prompts)

    def code(self) -> str:
        """Its source text, below what says which values it takes."""
        rules = [f"{p.name}={p.proven!r}" for p in self.parameters if p.proven]
        [definition] = ast.parse(
            f"@for_files({', '.join([repr(self.files), *rules])})\n"
            f"def {self.name}({', '.join(p.declaration for p in self.parameters)}):\n"
            f"    {self.purpose!r}"
        ).body
        assert isinstance(definition, ast.FunctionDef)
        # A caller who prints what the function returns prints nothing more than it printed.
        definition.body += [*self.body, ast.Return(ast.Constant(""))]
        text = ast.unparse(ast.fix_missing_locations(definition))
        return f"{text}\n# proven on: {', '.join(map(in_line, self.proven))}\n"

    @property
    def purpose(self) -> str:
        """Its task in the words that most requests have, without the values of any."""
        values = " ".join(str(value) for p in self.parameters for value in p.values.values())
        words = shared_words([*self.prompts.values()], values)
        files = "".join(f" with {suffix} files" for suffix in dict.fromkeys(self.files))
        return f"Do a task{files} about {', '.join(words) or self.name}."

    def request(self, task: str) -> str:
        """The beginning of a task's request, and the words around its values."""
        prompt, spans = self.prompts[task], list[tuple[int, int]]()
        for value in (parameter.values[task] for parameter in self.parameters):
            if isinstance(value, list):
                spans += [
                    (members[0].start, members[-1].end)
                    for members in enumerations(prompt)
                    if {str(r) for m in members for r in m.readings.values()}.issuperset(value)
                ][:1]
            spans += [
                (mention.start, mention.end)
                for mention in mentions(prompt)
                if value in mention.readings.values()
            ]
        words, quoted = prompt.split(), set(range(OPENING))
        for start, end in spans:
            first, last = len(prompt[: start + 1].split()) - 1, len(prompt[:end].split())
            quoted.update(range(first - AROUND, last + AROUND))
        texts, before = list[str](), -1
        for n, word in enumerate(words):
            if n in quoted:
                texts += ["..."] * (n > before + 1) + [word]
                before = n
        return in_line(" ".join([*texts, *["..."] * (before < len(words) - 1)]))

    def shown(self) -> list[str]:
        """Tasks that it solves, for worked examples: as different as they can be."""
        tasks: list[str] = list(self.proven)
        examples: list[str] = []
        while tasks and len(examples) < self.examples:
            examples.append(max(tasks, key=lambda task: self._unlike(task, examples)))
            tasks = [task for task in tasks if self._unlike(task, examples)]
        return examples

    def _unlike(self, task: str, examples: Sequence[str]) -> int:
        """In how many values a task differs from each that is shown, at least."""
        values = [p.values[task] for p in self.parameters]
        rows = (sum(map(ne, values, (p.values[t] for p in self.parameters))) for t in examples)
        return min(rows, default=len(values))

    def call(self, task: str) -> str:
        """The call that solves a task."""
        pairs = [(p, p.values[task]) for p in self.parameters]
        return f"{self.name}({', '.join(f'{p.name}={v!r}' for p, v in pairs if v != p.default)})"


def in_line(text: str) -> str:
    """A text of a prompt that can be no heading and no block of the skill that quotes it."""
    return " ".join(re.sub(r"[`\"\\]", "", text).split())


def allowed(code: str) -> ast.Module | None:
    """Return a program as a function may hold it; None if it does not parse, or no skill may."""
    try:
        tree = ast.parse(code)
        attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        used, imported = set(names_in(tree)), set(imports_in(tree))
        # A variable may be called like a module, an attribute may not: it may be the module.
        if (imported | attributes) & MODULES or (imported | used) & CALLS or "*" in imported:
            return None
        if any(name[:5] in DOORS for name in used):
            return None
        tree = _Inline().visit(tree)
        return ast.parse(ast.unparse(tree)) if tree.body else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


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


def function_of(kind: Kind, tasks: Mapping[str, TrainTask], name: str) -> Function:
    """Return the function of a program with the tasks that it passes.

    A hole whose value differs between tasks is a parameter, those that never differ from each other
    are one. A value that no two tasks differ in is part of the program if a request does without
    it, or if it is a word and no value of an input; else a parameter that takes no other holds it.
    """
    source, prompts = kind.template.source, {task: tasks[task].prompt for task in kind.proofs}
    words = {*plain_words(" ".join(kind.varied_values))}
    replaced: dict[str, ast.expr] = {}
    values: dict[str, dict[str, Argument]] = {}
    varied = set[str]()
    for hole in kind.template.holes:
        values[hole.name] = {task: proof[hole.name] for task, proof in kind.proofs.items()}
        if len({*map(repr, values[hole.name].values())}) > 1:
            varied.add(hole.name)
        elif part_of_program(hole, source, prompts):
            replaced[hole.name] = ast.parse(repr(hole.value), mode="eval").body
    tree = _Replace(replaced).visit(ast.parse(kind.template.code))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    reserved, merged = names | {*dir(builtins), name}, dict[str, Parameter]()
    for hole in kind.template.holes:
        if hole.name in replaced:
            continue
        key = f"{hole.sort.replace('column', 'text')} {values[hole.name]!r}"
        if key not in merged:
            default = None if hole.name in varied else hole.value
            merged[key] = Parameter(
                parameter_name(hole, values[hole.name], tree, prompts, reserved, words),
                hole.sort, values[hole.name], default, default is not None and hole.sort != "file",
            )  # fmt: skip
            reserved.add(merged[key].name)
        replaced[hole.name] = ast.Name(merged[key].name)
    body = _Replace(replaced).visit(tree).body
    order = sorted(merged.values(), key=lambda p: (p.default is not None, p.sort == "file"))
    return Function(name, source.id, tuple(order), tuple(body), prompts, source.suffixes)


class _Replace(ast.NodeTransformer):
    """Puts parameters, or constants, into holes."""

    def __init__(self, expressions: Mapping[str, ast.expr]) -> None:
        self._expressions = expressions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._expressions.get(node.id, node)


def part_of_program(hole: Hole, source: TrainTask, prompts: Mapping[str, str]) -> bool:
    """Return True if a value that no two tasks differ in is what all tasks of the kind ask for."""
    if hole.sort == "file":
        return False
    if hole.sort == "column" or not all(states(prompt, hole.value) for prompt in prompts.values()):
        return True
    word = hole.sort == "text" and not (
        SPECIFIC.search(str(hole.value)) and ("text", "exact") in hole.ways
    )
    return word and (len(prompts) > LEAST or hole.value not in source.values)


def unexplained(function: Function, tasks: Mapping[str, TrainTask]) -> list[str]:
    """Constants that stay in a function though no column and no plain word explains them.

    A text that every such file holds belongs to the format, and so does one of marks alone.
    """
    source, tree = tasks[function.source], ast.Module(list(function.body), [])
    inputs = [task.values for task in tasks.values() if task.suffixes == source.suffixes]
    specific = {value for value in source.values - source.fields if re.search(r"\w", value)}
    specific -= source.values.intersection(*inputs)
    return sorted(
        {
            repr(node.value)
            for node in constants_in(tree)
            if (isinstance(node.value, str) and node.value in specific)
            or (
                isinstance(node.value, int | float)
                and not isinstance(node.value, bool)
                and abs(node.value) > 2
            )
        }
    )
