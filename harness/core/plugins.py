"""Plug-ins of wings and other packages: entry points, read when they are needed.

A package registers what it adds in its own metadata, one group per kind of addition:

| group | name | value: `module:attribute` of |
|---|---|---|
| `harness.commands` | `ask`, or `skill audit` for a subcommand | a click command |
| `harness.api` | a name of `harness.api` | a function or type |
| `harness.tools` | the name that agents call | `(name, setting) -> Tool` |
| `harness.families` | a task's `check` | `(sandbox) -> Family` |
| `harness.judges` | a task's `check` | `(ModelJudge) -> Family`, see `harness.tasks.judging` |
| `harness.reviewers` | `judge` | `(review rows, model) -> harness.skills.JudgedEdits` |
| `harness.scorers` | a task's `check` | `(task, answer, workdir) -> Score` |
| `harness.engines` | the kind of a model spec | `(spec, base_url) -> Endpoint` |
| `harness.layers` | `guard` | `(setting, open_model) -> harness.models.Layer` of the gateway |
| `harness.servers` | the kind of a model spec | `(name, mode) -> (base URL, key)` |
| `harness.wires` | the path behind `/v1/` | a `harness.models.Format`, served by the gateway |
| `harness.executors` | the value of `--executor` | see `harness.evals.pool` |
| `harness.weights` | the kind of a model spec | `(name) -> Path`, or None |
| `harness.pages` | what is shown | `(folder, out) -> None`: writes one HTML file |
| `harness.formats` | a trajectory format | a `harness.trajectories.Format` |
| `harness.corpora` | who generates corpora | name -> `harness.corpora.Generator` |
| `harness.loaders` | a public set | `(name, path, out, split, limit) -> list[Task]` |
| `harness.readers` | the suffix of binary files, `mp3` | `(source, bytes) -> Document` |
| `harness.verifiers` | `rules` | `(conclusion, text) -> why the text contradicts it, or ""` |
| `harness.encoders` | `lexical`, `sentences` | `() -> encoder` with `name` and `encode(texts)` |
| `harness.compressors` | `lexical` | `(texts, query, instruction, ratio) -> spans by name` |
| `harness.triggers` | `choose` | see `harness.evolve.description.Measure` |

The wings of this package register in the same way, so that a wing whose folder is deleted is
simply not there.
"""

from __future__ import annotations

import shlex
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import BadInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_HOUSE = Path(__file__).resolve().parent.parent


@cache
def plugins(group: str) -> dict[str, EntryPoint]:
    """Entry points of `harness.<group>` by name, sorted; nothing is imported."""
    from importlib.metadata import entry_points  # 30 ms that `--version` need not pay

    points = entry_points(group=f"harness.{group}")
    return {point.name: point for point in sorted(points) if _present(point.module)}


def load(group: str, name: str) -> Any:
    """Load the plug-in of that name.

    Raises:
        BadInput: if there is no such plugin, or it cannot be imported (the cause is named).
    """
    point = plugins(group).get(name)
    if point is None:
        names = ", ".join(plugins(group)) or "none"
        raise BadInput(f"no plugin {name!r} in harness.{group}; installed: {names}")
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise BadInput(f"plugin {name!r} of harness.{group} does not load: {error}") from error


def install_command(*extras: str) -> str:
    """Return the command that adds extras to this environment: with the lock of a checkout."""
    lock = _HOUSE.parent / "constraints" / "install"
    if lock.is_file():
        return shlex.join([str(lock), sys.executable, *extras])
    return f"pip install 'agent-skill-harness[{','.join(extras)}]'"


def require(module: str, need: str, package: str = "", *, extra: str = "rag") -> Any:
    """A module of an optional package, imported when it is needed.

    Args:
        module: its dotted name.
        need: begins the message, such as "the vector index needs FAISS".
        package: the one to install, where no extra of ours brings it.
        extra: brings the module otherwise.

    Raises:
        BadInput: if it cannot be imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        command = f"pip install {package}" if package else install_command(extra)
        raise BadInput(f"{need} ({error}): {command}") from error


def packaged(name: str, sha: str, files: tuple[str, ...], *, extra: str) -> bytes:
    """Read files of installed packages, one after the other; the packages do not run.

    Args:
        name: of the whole, for messages.
        sha: its SHA-256.
        files: `package/path`, in order.
        extra: brings the packages.

    Raises:
        BadInput: if a package is not installed, or the digest differs.
    """
    from hashlib import sha256  # 6 ms that `--version` need not pay

    parts: list[bytes] = []
    for file in files:
        package, _, inner = file.partition("/")
        spec = find_spec(package)
        path = Path(spec.origin).parent / inner if spec is not None and spec.origin else None
        if path is None or not path.is_file():
            raise BadInput(f"{name} needs the package {package!r}: {install_command(extra)}")
        parts.append(path.read_bytes())
    data = b"".join(parts)
    if (actual := sha256(data).hexdigest()) != sha:
        raise BadInput(
            f"{name}: expected sha256 {sha}, found {actual} in the installed packages; the file is "
            f"damaged or was changed, so it is not loaded: "
            f"pip install --force-reinstall 'agent-skill-harness[{extra}]'"
        )
    return data


def _present(module: str) -> bool:
    """Return True if a module's wing is in the tree: an installation's metadata may name more.

    A folder alone is no wing: caches of its modules may have stayed behind.
    """
    package, _, inner = module.partition(".")
    if package != "harness":
        return True
    wing = _HOUSE / inner.partition(".")[0]
    return (wing / "__init__.py").is_file() or wing.with_suffix(".py").is_file()
