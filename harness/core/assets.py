"""Data that travels with the library: graphs, prompts, skills, corpora, suites; rendered templates.

In a checkout or an editable install they lie beside the package; in a wheel under
`harness/_assets/`. Code that users bring is loaded by the same loader as ours.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from contextlib import suppress
from functools import cache
from importlib.machinery import SourceFileLoader
from itertools import accumulate, product
from pathlib import Path
from threading import RLock
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from harness.core.errors import BadInput
from harness.core.files import digest, digest_file

if TYPE_CHECKING:
    from jinja2 import Template

_LOADING = RLock()
"""A file that is loaded may load others."""
MOST_MODULES = 2000
"""Files that are followed from import to import."""
_RELATIVE = re.compile(r"[\w./-]*[./][\w./-]*\w")
"""Text that may be the path of a file beside the one that holds it."""
KINDS = ("graphs", "prompts", "skills", "corpora", "evals")


class _Uncached(SourceFileLoader):
    """Reads a file anew, though it was edited twice in a second; leaves no `__pycache__` there."""

    def get_code(self, fullname: str) -> CodeType:
        """Its code, compiled from its text."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


@cache
def root() -> Path:
    """The folder that holds the asset folders.

    Raises:
        BadInput: if the installation carries none (a broken wheel).
    """
    package = Path(__file__).resolve().parent.parent
    for candidate in (package.parent, package / "_assets"):
        if (candidate / "graphs").is_dir() and (candidate / "prompts").is_dir():
            return candidate
    raise BadInput(f"no assets beside {package} or in {package / '_assets'}: reinstall the package")


def find(relative: str) -> Path:
    """Path of an asset, such as `prompts/react.md.j2`.

    Raises:
        BadInput: if there is no such asset.
    """
    path = root() / relative
    if not path.exists():
        raise BadInput(f"no asset {relative!r} under {root()}")
    return path


def load_module(path: Path) -> ModuleType:
    """Import a Python file under a name derived from its path, once per content.

    Threads that want the same file wait for each other: none gets a module that is half executed.

    Raises:
        BadInput: if the file is missing or fails to import.
    """
    if not path.is_file():
        raise BadInput(f"expected a Python file, found nothing at {str(path)!r}")
    with _LOADING:
        tag = hashlib.sha256(str(path.resolve()).encode() + path.read_bytes()).hexdigest()[:16]
        name = f"_harness_loaded_{path.stem}_{tag}"
        if name in sys.modules:
            return sys.modules[name]
        loader = _Uncached(name, str(path))
        spec = importlib.util.spec_from_file_location(name, path, loader=loader)
        if spec is None or spec.loader is None:
            raise BadInput(f"cannot import {str(path)!r}: is it a .py file?")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise BadInput(
                f"importing {str(path)!r} failed: {type(error).__name__}: {error}"
            ) from error
        return module


def import_digest(file: Path) -> str:
    """Return the digest of a script and of the user's files that it leads to.

    Of Python these are the modules that it imports, beside the file, in the working folder and in
    `PYTHONPATH`; installed packages and this library do not count. Imports are read from the syntax
    tree, wherever they stand, and nothing is run: a module whose name is computed, and a file that
    the code opens, are not seen. A file that cannot be parsed counts without its imports. Of other
    languages they are the files in its folder that the text names, as `lib.sh` or `./lib`.
    """
    import ast

    variable = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    roots = dict.fromkeys(p.resolve() for p in (file.parent, Path.cwd(), *map(Path, variable)))
    library = Path(__file__).resolve().parent.parent
    rows, waiting = dict[Path, tuple[str, str]](), {file.resolve(): ""}
    while waiting and len(rows) < MOST_MODULES:
        path, label = waiting.popitem()
        rows[path], nodes = (label, "unreadable"), list[ast.AST]()
        with suppress(OSError, BadInput, SyntaxError, ValueError, RecursionError, MemoryError):
            rows[path] = label, digest_file(path)
            if path.suffix != ".py":
                references = _RELATIVE.findall(path.read_text("utf-8", "replace"))
                names = {
                    name.lstrip("/") for name in references
                }  # as in `__dirname + "/rules.txt"`
                files = {
                    path.parent / f"{name}{end}" for name in names for end in ("", path.suffix)
                }
                fresh = {file.resolve() for file in files if file.is_file()} - rows.keys()
                waiting |= {file: os.path.relpath(file, path.parent) for file in fresh}
                continue
            nodes += ast.walk(ast.parse(path.read_bytes()))
        imports = [(0, a.name) for n in nodes if isinstance(n, ast.Import) for a in n.names]
        imports += [  # `from a import b` may name the module `a.b`
            (node.level, f"{node.module or ''}.{alias.name}".strip("."))
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        ]
        for level, name in imports:
            tops = path.parents[level - 1 : level] if level else roots
            for top, stem in product(tops, accumulate(name.split("."), "{}/{}".format)):
                files = (top / stem / "__init__.py", top / f"{stem}.py")
                module = next((file for file in files if file.is_file()), None)
                if module is None or module in rows or "site-packages" in module.parts:
                    continue
                if not module.is_relative_to(library):
                    waiting[module] = module.relative_to(top).as_posix()
    return digest(sorted(rows.values()))


def load_object(reference: str, base: Path | None = None) -> Any:
    """Load `path/to/file.py:name`; relative paths start at `base` (default: working folder).

    Raises:
        BadInput: if the reference is malformed, or the file or the name is missing.
    """
    file, colon, name = reference.rpartition(":")
    if not colon or not file.endswith(".py") or not name:
        raise BadInput(f"expected 'path/to/file.py:name', got {reference!r}")
    path = (base or Path.cwd()) / file
    module = load_module(path)
    if not hasattr(module, name):
        raise BadInput(f"{str(path)!r} defines no {name!r}")
    return getattr(module, name)


def load_graph(name: str) -> Any:
    """The compiled graph of `graphs/<name>.py` (its `graph`).

    Raises:
        BadInput: if there is no such graph. A name from a suite or a run leads to no other folder.
    """
    if not name.isidentifier():
        raise BadInput(f"expected the name of one of our graphs, such as 'react', got {name!r}")
    return load_object(f"graphs/{name}.py:graph", root())


@cache
def _prompt(name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  # prompts are Markdown for models, never served as HTML
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(find(f"prompts/{name}.md.j2").read_text("utf-8"))


def render(name: str, /, **variables: object) -> str:
    """Render `prompts/<name>.md.j2`; the header comment of the template lists its variables.

    Raises:
        BadInput: if the template is missing or a variable it uses was not given.
    """
    from jinja2 import UndefinedError

    try:
        return _prompt(name).render(**variables).strip()
    except UndefinedError as error:
        raise BadInput(f"prompt {name!r}: {error}") from error


def render_page(template: Path, **variables: object) -> str:
    """Render an HTML template of a room; its header comment lists the variables.

    It may extend `page.html.j2` of this room, which every page looks like.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folders = [template.parent, Path(__file__).parent / "templates"]
    environment = Environment(
        loader=FileSystemLoader(folders), undefined=StrictUndefined, autoescape=True
    )
    return environment.get_template(template.name).render(**variables)
