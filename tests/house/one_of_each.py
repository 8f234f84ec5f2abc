"""Places of what the house does in one place only.

python -m tests.house.one_of_each          list the places
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.house.measure import sources

CLIENTS = re.compile(
    r"(httpx2?\.(Async)?Client|httpx2?\.(get|post|request|stream)|urlopen|ClientSession"
    r"|DefaultAioHttpClient|DefaultAsyncHttpxClient|HTTPConnection)$"
)
STATISTICS = re.compile(
    r"wilson|bootstrap|mcnemar|sign_?flip|percentile|quantile|(^|_)(ci95|p_value|binomial|holm)(_|$)"
    r"|(^|_)(confidence_)?interval(s)?$"
)
"""Names of functions that compute statistics."""
SECRET = re.compile(r"sk-\[|AKIA|gh[pousr]_|xox\[|BEGIN [A-Z ]*PRIVATE")


def dotted(node: ast.expr) -> str:
    """A name such as `httpx.AsyncClient`; "" for anything else."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""


def _serves_chat(path: Path, node: ast.AST) -> bool:
    """A route of chat completions."""
    return (
        isinstance(node, ast.Call)
        and dotted(node.func).endswith(("Route", ".post", ".route"))
        and any(
            isinstance(argument, ast.Constant)
            and isinstance(argument.value, str)
            and argument.value.endswith("/chat/completions")
            for argument in node.args
        )
        and dotted(node.func) != "client.post"
    )


def _creates_client(path: Path, node: ast.AST) -> bool:
    """An HTTP client, or a request without one."""
    return isinstance(node, ast.Call) and bool(CLIENTS.search(dotted(node.func)))


def _opens_tracer(path: Path, node: ast.AST) -> bool:
    """A tracer, or a class that stands in for one."""
    if isinstance(node, ast.Call):
        return dotted(node.func).endswith(("get_tracer", "TracerProvider"))
    return isinstance(node, ast.ClassDef) and node.name in ("Signals", "Signal", "Tracer")


def _knows_secrets(path: Path, node: ast.AST) -> bool:
    """A pattern of keys and tokens."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return bool(SECRET.search(node.value))


def _computes_statistics(path: Path, node: ast.AST) -> bool:
    """A function of statistics outside `stats/`, or an import of scipy's."""
    if path.parts[:2] == ("harness", "stats"):
        return False
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").startswith("scipy.stats")
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, functions) and bool(STATISTICS.search(node.name))


KINDS: dict[str, Callable[[Path, ast.AST], bool]] = {
    "serve chat completions": _serves_chat,
    "create an HTTP client": _creates_client,
    "open a tracer": _opens_tracer,
    "know what secrets look like": _knows_secrets,
    "compute statistics": _computes_statistics,
}


def declared_options(path: Path, nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Options of the command line (name and kind of value), with the places that declare them.

    Options of equal names that take different kinds of values mean different things: `--width` is
    a number of characters here and of percentage points there.
    """
    kind_of = ("type", "is_flag", "multiple", "callback")
    for node in nodes:
        if isinstance(node, ast.Call) and dotted(node.func) == "click.option":
            first = node.args[0]
            kind = [ast.unparse(word) for word in node.keywords if word.arg in kind_of]
            if isinstance(first, ast.Constant):
                yield " ".join([str(first.value), *kind]), f"{path}:{node.lineno}"


def places() -> dict[str, list[str]]:
    """By kind, the places (`file:line`; for secrets and clients one row a file)."""
    rows: dict[str, list[str]] = defaultdict(list)
    declared: list[tuple[str, str]] = []
    for path, nodes in sources("harness", "graphs"):
        if "init_template" in path.parts:  # a user's own files, which import nothing of ours
            continue
        declared += declared_options(path, nodes)
        for kind, is_one in KINDS.items():
            lines = [getattr(node, "lineno", 0) for node in nodes if is_one(path, node)]
            if lines:
                rows[kind].append(f"{path}:{min(lines)}")
    counts = Counter(option for option, _ in declared)
    rows["declare an option again"] = [f"{place} {o}" for o, place in declared if counts[o] > 1]
    return {kind: rows[kind] for kind in (*KINDS, "declare an option again")}


if __name__ == "__main__":
    for kind, rows_of_kind in places().items():
        print(f"{kind}: {len(rows_of_kind)}", *rows_of_kind, sep="\n  ")
