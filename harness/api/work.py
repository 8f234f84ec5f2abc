"""What the functions of the interface do around the work itself: tasks into a file, and bars."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from harness.core import BadInput, Task, from_keywords, write_atomic
from harness.core.rundir import new_run_id
from harness.evolve.evolution import Event, ignore_event
from harness.evolve.report import check_out

if TYPE_CHECKING:
    from harness.evals import Tally

TASKS = "tasks.jsonl"


def run_folder(named: Path | str | None) -> Path:
    """The folder of a run: the one that is named, or a new one below `runs/`."""
    return Path(named) if named else Path("runs") / new_run_id("eval")


def chosen_suite(
    suite: Path | str | None, tasks: Iterable[Task | Mapping[str, Any]] | None, folder: Path
) -> str:
    """The suite that is named, or the tasks as a file in the folder of the run.

    Raises:
        BadInput: if both or none are given, a task does not fit, or the folder holds other tasks.
    """
    if (suite is None) == (tasks is None):
        raise BadInput("expected a suite, or tasks=[...], and not both")
    if tasks is None:
        return str(suite)
    rows = [_row(task, number) for number, task in enumerate(tasks, 1)]
    if not rows:
        raise BadInput("expected tasks, found an empty list")
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path = folder / TASKS
    if path.is_file() and path.read_text("utf-8") != text:
        raise BadInput(f"{str(folder)!r} holds a run of other tasks: name another out=")
    write_atomic(path, text)
    return str(path)


def _row(task: Task | Mapping[str, Any], number: int) -> dict[str, Any]:
    fields = task.model_dump(mode="json") if isinstance(task, Task) else dict(task)
    try:
        checked = from_keywords(Task, {"id": f"task-{number}", **fields})
    except BadInput as error:
        raise BadInput(f"task {number}: {error}") from error
    files = {name: str(Path(path).resolve()) for name, path in checked.files.items()}
    placed = checked.model_copy(update={"files": files})
    return placed.model_dump(mode="json", exclude_defaults=True)


def agent_file(function: Callable[..., Any], folder: Path) -> str:
    """A function as the spec of a file in the folder of an evolution, which any process resumes.

    Raises:
        BadInput: as :func:`harness.agents.pickled_function`, or if the folder holds other files.
    """
    from harness.agents import pickled_function

    name, pickled = pickled_function(function)
    check_out(folder)
    path = folder.resolve() / "agent" / re.sub(r"[^\w-]", "", name)
    load = f"answer = pickle.loads(base64.b64decode({pickled!r}))"
    write_atomic(path.with_suffix(".py"), f"import base64\nimport pickle\n\n{load}\n")
    return f"py:{path}.py:answer"


def in_notebook() -> bool:
    """Whether this is the process of a Jupyter kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def bars(wanted: bool | None) -> Generator[Callable[[str, Tally], None] | None]:
    """A hook that draws a bar a run while a block runs; None where none is wanted."""
    with _drawn(wanted) as draw:

        def update(label: str, tally: Tally) -> None:
            counts = {"failed": tally.failed, "invalid": tally.invalid}
            facts = {name: count for name, count in counts.items() if count}
            draw(label, tally.done, tally.total, f"{facts or ''}".strip("{}").replace("'", ""))

        yield update if draw is not _nowhere else None


@contextmanager
def event_bars(wanted: bool | None) -> Generator[Callable[[Event], None]]:
    """The same for the events of an evolution."""
    with _drawn(wanted) as draw:

        def update(event: Event) -> None:
            if event.total:
                draw(event.stage, event.done, event.total, event.message)

        yield update if draw is not _nowhere else ignore_event


def _nowhere(label: str, done: int, total: int, facts: str) -> None:
    """Draws nothing."""


@contextmanager
def _drawn(wanted: bool | None) -> Generator[Callable[[str, int, int, str], None]]:
    if not (in_notebook() if wanted is None else wanted):
        yield _nowhere
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without widgets the bar is text, which is well
        from tqdm.auto import tqdm

    drawn: dict[str, Any] = {}

    def draw(label: str, done: int, total: int, facts: str) -> None:
        if label not in drawn:
            drawn[label] = cast("Any", tqdm)(total=total, desc=label)
        bar = drawn[label]
        bar.total = total
        bar.set_postfix_str(facts, refresh=False)
        bar.update(done - bar.n)

    try:
        yield draw
    finally:
        for bar in drawn.values():
            bar.close()
