"""Figures of the house that moving, splitting or reformatting code cannot change for the better.

Each is a ratchet: `ratchets.json` holds its value, and the tests fail where a figure is above it.

    python -m tests.house.measure             show the figures beside their ratchets
    python -m tests.house.measure --lower     write the figures that have fallen
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
RATCHETS = Path(__file__).with_name("ratchets.json")
SOURCES = ("harness", "graphs", "lab", "benchmarks", "corpora")
_VAGUE = """
one other others found told said asked known given kept left made taken done wanted here there at
it them these those thing things something nothing nobody anybody somebody both rest what whole
place places fact facts chosen named shown stood meant fit usable each every own ours theirs
beyond alone
"""
VAGUE = frozenset(_VAGUE.split())
"""Names that say nothing."""
OPENER = re.compile(r"(What|Which|Where|Who|How|Of|Those|The same|Whether|When|Why|That|Whose)\b")
"""Openings of a docstring that is a question, or a clause without its verb."""


GOALS = {
    "statements": 40_000,
    "vague names, percent": 0.5,
    "private functions used once, percent": 50.0,
    "docstrings with a poor opening, percent": 1.0,
    "files in the fullest folder": 15,
    "lines of the longest file": 400,
    "source statements per test statement": 2.45,
}
"""A ratchet does not fall below its goal: within it there is room to write."""


Nodes = list[ast.AST]
"""Of the syntax tree of a file, the module first; walking a tree takes longer than parsing it."""


def sources(*roots: str) -> Iterator[tuple[Path, Nodes]]:
    """Python files below folders of the repository, with the nodes of their syntax trees."""
    for root in roots:
        for path in sorted((REPOSITORY / root).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            yield path.relative_to(REPOSITORY), list(ast.walk(tree))


def statements(nodes: Nodes) -> int:
    """Statements of a file, docstrings left out."""
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = sum(
        isinstance(node, scopes) and ast.get_docstring(node, clean=False) is not None
        for node in nodes
    )
    return sum(isinstance(node, ast.stmt) for node in nodes) - docstrings


def names_of(nodes: Nodes) -> Iterator[str]:
    """Names that assignments, loops and parameters bind."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg) and node.arg not in ("self", "cls"):
            yield node.arg


def private_functions(nodes: Nodes) -> tuple[int, int]:
    """Private functions of a module, and how many of them it refers to only once."""
    uses = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    body = nodes[0].body if isinstance(nodes[0], ast.Module) else []
    private = [n.name for n in body if isinstance(n, functions) and n.name.startswith("_")]
    return len(private), sum(uses[name] == 1 for name in private)


def docstrings(nodes: Nodes) -> tuple[int, int]:
    """Docstrings of a file, and how many of them open poorly."""
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, scopes)]
    return sum(map(bool, texts)), sum(OPENER.match(text) is not None for text in texts)


def figures() -> dict[str, float]:
    """Every figure by the name of its ratchet."""
    total = bindings = vague = private = once = longest = texts = poor = 0
    folders: Counter[Path] = Counter()
    for path, nodes in sources(*SOURCES):
        total += statements(nodes)
        names = Counter(names_of(nodes))
        bindings += names.total()
        vague += sum(names[name] for name in VAGUE)
        more = private_functions(nodes)
        private, once = private + more[0], once + more[1]
        documented = docstrings(nodes)
        texts, poor = texts + documented[0], poor + documented[1]
        folders[path.parent] += path.name != "__init__.py"
        longest = max(longest, (REPOSITORY / path).read_text("utf-8").count("\n"))
    tests = sum(statements(nodes) for _, nodes in sources("tests"))
    return {
        "statements": total,
        "vague names, percent": round(100 * vague / bindings, 2),
        "private functions used once, percent": round(100 * once / private, 1),
        "docstrings with a poor opening, percent": round(100 * poor / texts, 2),
        "files in the fullest folder": max(folders.values()),
        "lines of the longest file": longest,
        "source statements per test statement": round(total / tests, 3),
    }


def ratchets() -> dict[str, float]:
    """The values that no figure may exceed."""
    return json.loads(RATCHETS.read_text("utf-8"))


def main() -> None:
    """Show the figures; with `--lower`, write those that have fallen."""
    from tests.house.one_of_each import places
    from tests.house.ways import WAYS, walk

    limits = ratchets()
    measured = figures() | {f"places that {kind}": len(rows) for kind, rows in places().items()}
    for name in WAYS:
        entered, imported = walk(name)
        measured[f"files entered: {name}"] = len(entered)
        measured[f"modules imported: {name}"] = imported
    for name, figure in measured.items():
        print(f"{name}: {figure:g} (at most {limits.get(name, figure):g})")
    if "--lower" in sys.argv:
        lowered = {
            name: max(GOALS.get(name, 0), min(figure, limits.get(name, figure)))
            for name, figure in measured.items()
        }
        RATCHETS.write_text(json.dumps(lowered, indent=2) + "\n")


if __name__ == "__main__":
    main()
