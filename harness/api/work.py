"""Work around the functions of the interface: rows into a file, errors, bars."""

from __future__ import annotations

import inspect
import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from harness.core import (
    BadInput,
    HarnessError,
    Option,
    Task,
    Value,
    digest,
    from_keywords,
    loops,
    write_atomic,
)
from harness.core.rundir import new_run_id
from harness.core.terminal import time_left
from harness.evolve.evolution import Event, ignore_event
from harness.evolve.report import check_out
from harness.tasks.families import is_function
from harness.tasks.files.rows import NAMES, tasks_of, without_gaps

if TYPE_CHECKING:
    from harness.agents import Agent
    from harness.evals import EvalSettings, Tally
    from harness.evolve import EvolveSettings


class Frame(Protocol):
    """A table such as a data frame of pandas."""

    def to_dict(self, orient: Any, /) -> Any:
        """Its rows, for `"records"`."""
        ...


T = TypeVar("T")
Rows = Iterable[Task | Mapping[str, Any]] | Frame
Suite = Path | str | Rows
"""Path or name of a suite, or the rows of a task file."""
TASKS = "tasks.jsonl"
_LOADED = "import base64\nimport pickle\n\n{} = pickle.loads(base64.b64decode({!r}))"
"""A file with a function of this process."""


def run_folder(folder: Path | str | None) -> Path:
    """The folder of a run: the one that is named, or a new one below `runs/`."""
    return Path(folder) if folder else Path("runs") / new_run_id("eval")


def named(suite: Suite | None, tasks: Suite | None) -> Suite:
    """Return the argument that was given under one of its two names.

    Raises:
        BadInput: if both or none are given.
    """
    if suite is not None and tasks is None:
        return suite
    if tasks is not None and suite is None:
        return tasks
    raise BadInput("expected a suite, or tasks=[...], and not both")


def own_check(check: Any, folder: Path) -> Any:
    """The check of rows as a file below their folder, which is what the sandbox shows: a copy of a
    function, or of the file of `file.py:name` that starts at the working folder.

    Raises:
        BadInput: as :func:`harness.agents.pickled_function`.
    """
    file, _, name = check.rpartition(":") if isinstance(check, str) else ("", "", "")
    if callable(check):
        import cloudpickle  # pyright: ignore[reportMissingTypeStubs]  # it ships none

        from harness.agents import pickled_function

        module, registry = inspect.getmodule(check), cast("Any", cloudpickle)
        if module is not None:  # the sandbox shows no modules of the user's
            registry.register_pickle_by_value(module)
        try:
            stem, pickled = pickled_function(check)
        finally:
            if module is not None:
                registry.unregister_pickle_by_value(module)
        stem, name, text = re.sub(r"[^\w-]", "", stem), "judge", _LOADED.format("judge", pickled)
    elif is_function(str(check)) and Path(file).is_file():
        text = Path(file).read_text("utf-8")
        stem = f"{Path(file).stem}-{digest(text)[:12]}"
    else:
        return check
    write_atomic(folder / "checks" / f"{stem}.py", text)
    return f"checks/{stem}.py:{name}"


def with_check(settings: Mapping[str, Any], folder: Path | None) -> Mapping[str, Any]:
    """Settings whose check lies in the folder of the rows; a suite's own folder is not written.

    Raises:
        BadInput: for a function as the check of a suite, and as :func:`own_check`.
    """
    check = settings.get("check")
    if folder is not None and check is not None:
        return {**settings, "check": own_check(check, folder)}
    if callable(check):
        raise BadInput(
            "check= takes a function for rows (a list, a data frame): for a suite or a file name "
            "it FILE.py:FUNCTION, or read the file into rows"
        )
    return settings


def suite_file(suite: Suite, folder: Path, columns: Mapping[str, str]) -> str:
    """The suite that is named, or its rows as a task file in a folder.

    Args:
        suite: path or name, or rows.
        folder: of the run.
        columns: of the rows, as :func:`harness.tasks.files.rows.tasks_of` takes them.

    Raises:
        BadInput: if a row does not fit, or the folder holds other tasks.
    """
    if isinstance(suite, str | Path):
        return str(suite)
    of_frame = getattr(suite, "to_dict", None)
    rows = suite if of_frame is None else of_frame("records")
    if not isinstance(rows, Iterable) or isinstance(rows, Mapping):
        raise BadInput(
            "expected a suite's path or name, or rows: mappings or Tasks in a list, a data frame "
            f"of pandas; got {type(suite).__name__}"
        )
    records = [_row(row) for row in cast("Iterable[object]", rows)]
    for row in records:
        row |= {name: own_check(row[name], folder) for name in NAMES["check"] if name in row}
    tasks = tasks_of(enumerate(records, 1), columns, "task ")
    if not tasks:
        raise BadInput("expected tasks, found an empty list")
    text = ""
    for task in tasks:
        files = {name: str(Path(file).resolve()) for name, file in task.files.items()}
        placed = task.model_copy(update={"files": files})
        fields = placed.model_dump(mode="json", exclude_defaults=True)
        text += f"{json.dumps(fields, ensure_ascii=False)}\n"
    path = folder / TASKS
    if path.is_file() and path.read_text("utf-8") != text:
        raise BadInput(
            f"{str(folder)!r} holds a run of other tasks: name another out=, and with "
            f"earlier={str(folder)!r} what it holds is not paid for again"
        )
    write_atomic(path, text)
    return str(path)


def _row(row: object) -> dict[str, Any]:
    if isinstance(row, Task):
        return row.model_dump(mode="json")
    if not isinstance(row, Mapping):
        raise BadInput(f"expected every task to be a mapping or a Task, got {row!r:.60}")
    return without_gaps(cast("Mapping[Any, Any]", row))


def eval_settings(
    suite: Suite,
    agent: str | Callable[..., Any] | None,
    models: Sequence[str],
    folder: Path,
    settings: Mapping[str, Any],
) -> tuple[EvalSettings, Agent | None]:
    """The settings of an eval, its rows as a file in `folder`, and the agent if it is a function.

    Raises:
        BadInput: as :func:`harness.core.from_keywords` and :func:`suite_file`.
    """
    from harness.agents import function_agent
    from harness.evals import EvalSettings, columns_of

    refuse_dry_run(settings, "plan_evaluation(...) of harness.api takes the same arguments")
    spec, python_agent = (None, function_agent(agent)) if callable(agent) else (agent, None)
    path = str(suite) if isinstance(suite, str | Path) else ""
    settings = with_check(settings, None if path else folder)
    fields = {**settings, "suite": path, "agent": spec, "models": models}
    checked = from_keywords(EvalSettings, fields)
    if not path:
        path = suite_file(suite, folder, columns_of(settings))
        checked = checked.model_copy(update={"suite": path})
    return checked, python_agent


def evolve_settings(
    out: Path,
    suite: Suite | None,
    agent: str | Callable[..., Any] | None,
    models: Sequence[str],
    settings: Mapping[str, Any],
) -> EvolveSettings:
    """The settings of an evolution, with rows and a function as files in its folder.

    Raises:
        BadInput: as :func:`eval_settings`, and for rows where a suite's name is expected.
    """
    from harness.evals import columns_of
    from harness.evolve import EvolveSettings

    refuse_dry_run(settings, "plan_evolution(...) of harness.api takes the same arguments")
    for name in ("tasks", "gate"):
        if not isinstance(settings.get(name, ""), str | Path | None):
            raise BadInput(f"{name}= takes the path or name of a suite: rows to run are suite=rows")
    path = None if suite is None else str(suite) if isinstance(suite, str | Path) else ""
    if suite is not None and not path:
        check_out(out)
    settings = with_check(settings, None if path or suite is None else out / "runs")
    spec = None if callable(agent) else agent
    fields = {**settings, "out": out, "suite": path, "agent": spec, "models": models}
    checked = from_keywords(EvolveSettings, fields)
    if suite is not None and not path:
        path = suite_file(suite, checked.out / "runs", columns_of(settings))
        checked = checked.model_copy(update={"suite": path})
    if callable(agent):
        checked = checked.model_copy(update={"agent": agent_file(agent, checked.out)})
    return checked


def refuse_dry_run(settings: Mapping[str, Any], instead: str) -> None:
    """Refuse `dry_run`, which the command line has, and say what to call instead.

    Raises:
        BadInput: if it is among the settings.
    """
    if "dry_run" in settings:
        raise BadInput(f"dry_run is an option of the command line: {instead}")


@contextmanager
def in_python(kind: type[Value]) -> Generator[None]:
    """Errors of the block name the keywords of settings, where the command line has options."""
    try:
        yield
    except HarnessError as error:
        error.args = (as_keywords(str(error), kind),)
        raise


def as_keywords(text: str, kind: type[Value]) -> str:
    """A text that names keywords for the options of settings: `earlier` for `--from`, `epochs=1`
    for `--epochs 1`, the same of paths; what is quoted stays, and what speaks of Python already."""
    if "in Python" in text:
        return text
    keywords = dict[str, str]()
    for name, declared in kind.model_fields.items():
        options = [option for option in declared.metadata if isinstance(option, Option)]
        names = [name for option in options for name in option.names]
        keywords |= dict.fromkeys(names or [f"--{name.replace('_', '-')}"], name)
    keywords["--model"] = "model"

    def keyword(match: re.Match[str]) -> str:
        option, number, path = match["option"], match["number"], match["path"]
        if option not in keywords:
            return match[0]
        return keywords[option] + (f"={number}" if number else f"={path!r}" if path else "")

    return re.sub(
        r"(?<!\w)'[^']*'|`[^`]*`"
        r"|(?<![\w-])(?P<option>--[a-z][a-z-]*)"
        r"(?: (?:(?P<number>\d+)|(?P<path>[^\s,;)]*/[^\s,;)]*)))?",
        keyword,
        text,
    )


def plan_in_python(plan: dict[str, Any], kind: type[Value]) -> dict[str, Any]:
    """A plan whose sentences name keywords."""
    sentences = {name: plan[name] for name in ("judged_by", "notes") if plan.get(name)}
    with_keywords = {
        name: [as_keywords(line, kind) for line in lines] for name, lines in sentences.items()
    }
    return plan | with_keywords


def wait(work: Coroutine[Any, Any, T]) -> T:
    """The result of work; what a caller can act on is raised without the frames and notes of ours.

    Raises:
        HarnessError: as the work does.
        KeyboardInterrupt: if it is interrupted.
    """
    try:
        return loops.run(work)
    except (HarnessError, KeyboardInterrupt) as error:
        error.__notes__ = []  # a graph notes the node and the task that failed
        raise error.with_traceback(None) from None


def agent_file(function: Callable[..., Any], folder: Path) -> str:
    """A function as the spec of a file in the folder of an evolution, which any process resumes.

    Raises:
        BadInput: as :func:`harness.agents.pickled_function`, or if the folder holds other files.
    """
    from harness.agents import pickled_function

    name, pickled = pickled_function(function)
    check_out(folder)
    path = folder.resolve() / "agent" / re.sub(r"[^\w-]", "", name)
    write_atomic(path.with_suffix(".py"), _LOADED.format("answer", pickled) + "\n")
    return f"py:{path}.py:answer"


def in_notebook() -> bool:
    """Return True in the process of a Jupyter kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def bars(show: bool | None) -> Generator[Callable[[str, Tally], None] | None]:
    """A hook that draws a bar a run while a block runs; None where none is wanted."""
    with _drawn(show) as draw:

        def update(label: str, tally: Tally) -> None:
            counts = {"passed": tally.passed, "invalid": tally.invalid}
            nonzero = {name: count for name, count in counts.items() if count}
            draw(label, tally.done, tally.total, f"{nonzero or ''}".strip("{}").replace("'", ""))

        yield update if draw is not _nowhere else None


@contextmanager
def event_bars(show: bool | None) -> Generator[Callable[[Event], None]]:
    """Show bars for the events of an evolution."""
    with _drawn(show) as draw:

        def update(event: Event) -> None:
            if event.total:
                draw(event.stage, event.done, event.total, event.message)

        yield update if draw is not _nowhere else ignore_event


def _nowhere(label: str, done: int, total: int, postfix: str) -> None:
    """Draws nothing."""


@contextmanager
def _drawn(show: bool | None) -> Generator[Callable[[str, int, int, str], None]]:
    if not (in_notebook() or sys.stderr.isatty() if show is None else show):
        yield _nowhere
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without widgets the bar is text, which is well
        from tqdm.auto import tqdm

    drawn: dict[str, Any] = {}
    layout = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"  # its own rate counts resumed
    begun: dict[str, tuple[float, int]] = {}

    def draw(label: str, done: int, total: int, postfix: str) -> None:
        if label not in drawn:
            drawn[label] = cast("Any", tqdm)(total=total, desc=label, bar_format=layout)
        bar = drawn[label]
        bar.total = total
        started, resumed = begun.setdefault(label, (time.monotonic(), done))
        remaining = ""
        if done < total:
            remaining = time_left(time.monotonic() - started, done - resumed, total - resumed)
        bar.set_postfix_str("  ".join(filter(None, [postfix, remaining])), refresh=False)
        bar.update(done - bar.n)

    try:
        yield draw
    finally:
        for bar in drawn.values():
            bar.close()
