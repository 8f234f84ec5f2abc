"""The source of a node in the user's file: read it, put another in its place; frames of a failure.

What is written runs as the user's own program once the graph is loaded again; it is the user's own
request to do so. Files outside the folder of the graph's file are never written.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import os
import reprlib
import sysconfig
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from harness.core import BadInput, digest, write_atomic
from harness.debug.engine.graphs import is_graph, subgraph
from harness.debug.engine.stops import Failure, SourceFrame

BACKUP = ".bak"
"""Behind the name of the file, for what it held before the last change."""
_LIBRARY = sysconfig.get_path("stdlib")
_MACHINERY = ("/langgraph/", "/langchain_core/", "/harness/debug/", "/concurrent/", "/asyncio/")
_SHOWN = 400
"""Characters of a local variable."""


@dataclass(frozen=True)
class Source:
    """The lines of one function.

    Attributes:
        node: `outer/inner/node`.
        file: that holds it.
        line: its first line (decorators included), from 1.
        text: its lines as they stand in the file.
        digest: of `text`.
    """

    node: str
    file: Path
    line: int
    text: str
    digest: str


def node_source(graph: Any, node: str, root: Path) -> Source:
    """The source of a node's function, as its file holds it now.

    Args:
        graph: that has the node.
        node: `outer/inner/node`.
        root: folder of the graph's file; the function's file must lie in it.

    Raises:
        BadInput: if the node is no function, or stands in another folder.
    """
    function = _function(graph, node)
    file = Path(inspect.getsourcefile(function) or "").resolve()
    inside = file.is_relative_to(root.resolve()) and "site-packages" not in file.parts
    if not file.is_file() or not inside:
        raise BadInput(f"the node {node!r} stands in {str(file)!r}, outside {str(root)!r}")
    text = file.read_text(encoding="utf-8")
    definition = _definition(_parsed(text, file), function)
    if definition is None:
        raise BadInput(f"no function {function.__qualname__!r} in {str(file)!r}; reload the graph")
    decorators = (decorator.lineno for decorator in definition.decorator_list)
    first = min([definition.lineno, *decorators])
    lines = text.splitlines(keepends=True)[first - 1 : definition.end_lineno]
    source = "".join(lines)
    return Source(node, file, first, source, digest(source.encode()))


def replace_source(source: Source, text: str) -> None:
    """Put `text` in place of a node's lines, in one step; the file as it was is kept beside it.

    Raises:
        BadInput: if the file would not be Python any more; it is left as it is.
    """
    before = source.file.read_text(encoding="utf-8")
    lines = before.splitlines(keepends=True)
    behind = lines[source.line - 1 + len(source.text.splitlines()) :]
    replacement = text if text.endswith("\n") or not behind else f"{text}\n"
    after = "".join([*lines[: source.line - 1], replacement, *behind])
    _parsed(after, source.file)
    mode = source.file.stat().st_mode & 0o777
    write_atomic(source.file.with_name(source.file.name + BACKUP), before)
    write_atomic(source.file, after)
    source.file.chmod(mode)


def _function(graph: Any, node: str) -> Any:
    *outer, name = node.split("/")
    inner = subgraph(graph, tuple(outer))
    bound = None if inner is None else getattr(inner.nodes.get(name), "bound", None)
    function: Any = getattr(bound, "func", None) or getattr(bound, "afunc", None)
    if is_graph(bound) or function is None:
        raise BadInput(f"expected a node that is a function, found {node!r}")
    while isinstance(function, functools.partial):
        function = cast("Any", function).func
    function = inspect.unwrap(function)
    return function if inspect.isroutine(function) else type(function).__call__


def _parsed(text: str, file: Path) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise BadInput(f"{file.name}, line {line}: expected Python, found {error}") from error


def _definition(tree: ast.Module, function: Any) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition of a function by its qualified name; of several, that nearest to its line."""
    line: int = function.__code__.co_firstlineno
    matches: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    bodies: list[tuple[ast.AST, str]] = [(tree, "")]
    for body, prefix in bodies:
        for child in ast.iter_child_nodes(body):
            inner = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if prefix + child.name == function.__qualname__:
                    matches.append(child)
                inner = f"{prefix}{child.name}.<locals>."
            elif isinstance(child, ast.ClassDef):
                inner = f"{prefix}{child.name}."
            bodies.append((child, inner))
    return min(matches, key=lambda match: abs(match.lineno - line), default=None)


def describe_failure(error: BaseException) -> Failure:
    """The exception's type, message and frames, those of LangGraph and of Python left out.

    Secrets among the variables are masked, and the environment is not shown.
    """
    from harness.core.redaction import redact

    frames = list(traceback.walk_tb(error.__traceback__))
    user_frames = [
        (frame, line) for frame, line in frames if not _is_library(frame.f_code.co_filename)
    ]
    short = reprlib.Repr()
    short.maxstring = short.maxother = 10 * _SHOWN  # a secret is masked whole, then it is cut
    sources = tuple(
        SourceFrame(
            frame.f_code.co_filename,
            line,
            frame.f_code.co_name,
            linecache.getline(frame.f_code.co_filename, line).strip(),
            {
                name: "the environment" if value is os.environ else _cut(redact(short.repr(value)))
                for name, value in frame.f_locals.items()
            },
        )
        for frame, line in user_frames or frames
    )
    return Failure(type(error).__name__, redact(str(error)), sources)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _is_library(name: str) -> bool:
    """Return whether a file is LangGraph's, the debugger's or Python's own."""
    name = name.replace("\\", "/")
    of_python = name.startswith(("<frozen", _LIBRARY)) and "-packages/" not in name
    return of_python or any(part in name for part in _MACHINERY)
