"""`harness debug`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from harness.core import BadInput

if TYPE_CHECKING:
    from harness.checkpoints.store import CheckpointStore
    from harness.debug import Debugger, Stop


@click.command()
@click.argument("graph", required=False)
@click.option("--input", "given", metavar="FILE|JSON", help="What the graph is started with.")
@click.option("--config", metavar="FILE|JSON", help="LangGraph's config: configurable, tags, …")
@click.option("--context", metavar="FILE|JSON", help="The graph's runtime context.")
@click.option("--store", "path", type=click.Path(path_type=Path), help="Keep the branches here.")
@click.option("--checkpoints", metavar="URI", help="A file of LangGraph's SqliteSaver (read-only).")
@click.option("--thread", help="The thread to open.")
@click.option("--trajectories", type=click.Path(path_type=Path), help="Play one of these back.")
@click.option("--item", metavar="ID", help="The trajectory of --trajectories.")
@click.option("--web", is_flag=True, help="In the browser, on loopback.")
@click.option("--port", type=int, default=0, help="Of --web; 0 takes a free one.")
@click.option("--terminal", is_flag=True, help="In the terminal (default).")
def debug(
    graph: str | None,
    given: str | None,
    config: str | None,
    context: str | None,
    path: Path | None,
    checkpoints: str | None,
    thread: str | None,
    trajectories: Path | None,
    item: str | None,
    web: bool,
    port: int,
    terminal: bool,
) -> None:
    """Step through GRAPH (FILE.py:NAME), look at it, change it, fork it, replay it.

    Without GRAPH a finished trajectory is played back, message by message.

    \b
    Example: harness debug flow.py:graph --input '{"question": "Why?"}'
    Example: harness debug flow.py:graph --checkpoints app.sqlite --thread 42
    Example: harness debug --trajectories runs/eval-1 --item task-7
    """
    from harness.checkpoints import open_store
    from harness.debug import Debugger, load_graph

    if web and terminal:
        raise BadInput("expected one of --web and --terminal, found both")
    settings: dict[str, Any] = _value(config) or {}
    with TemporaryDirectory(prefix="harness-debug-") as folder:
        kept = path or Path(folder) / "checkpoints.sqlite"
        with open_store(kept) as store:
            made = load_graph(graph, settings) if graph else _played(trajectories, item)
            if graph is None and given is None and thread is None:
                given = '{"messages": [], "tokens": 0}'
            debugger = Debugger(
                made, store, config=settings, context=_value(context), find_mutations=True
            )
            if checkpoints:
                thread = _copied(checkpoints, thread, store)

            reload = partial(load_graph, graph, settings) if graph else None
            stop = _begin(debugger, given, thread)
            if web:
                _in_browser(debugger, graph or f"trajectory {item}", port, reload)
            else:
                _in_terminal(debugger, reload, stop)
            debugger.quit()


def _played(trajectories: Path | None, item: str | None) -> Any:
    """A finished trajectory as a graph."""
    from harness.debug.postmortem import trajectory_graph
    from harness.trajectories import find_trajectory

    if trajectories is None or item is None:
        raise BadInput("expected a graph (FILE.py:NAME), or --trajectories PATH with --item ID")
    return trajectory_graph(find_trajectory(trajectories, item))


def _value(given: str | None) -> Any:
    """JSON from the command line, or from a file of that name."""
    if given is None:
        return None
    text = given
    if not given.lstrip().startswith(("{", "[", '"')) and Path(given).is_file():
        text = Path(given).read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"expected JSON or a file that holds JSON, found {given!r}") from error


def _copied(uri: str, thread: str | None, store: CheckpointStore) -> str:
    """Copy the thread into the session's store; the file that it comes from is only read."""
    from harness.debug.foreign import copy_thread, thread_ids

    known = thread_ids(uri)
    if thread is None:
        raise BadInput(f"expected --thread, one of {known[:20]}")
    return thread if thread in store.threads() else copy_thread(uri, thread, store)


def _begin(debugger: Debugger, given: str | None, thread: str | None) -> Stop | None:
    """Start on the input, or open the thread: an ended one stays, another goes on."""
    if given is not None:
        return debugger.start(_value(given), thread=thread or "main")
    if thread is None:
        return None
    return debugger.open(thread)


def _in_terminal(debugger: Debugger, reload: Any, stop: Stop | None) -> None:
    from harness.core.cache import cache_root
    from harness.debug.terminal import Terminal
    from harness.debug.terminal.prompt import prompted

    terminal = Terminal(debugger, click.echo, reload)
    if stop is None:
        raise BadInput("expected --input, or --checkpoints or --store with --thread")
    terminal.show(stop)
    with prompted(terminal.complete, cache_root() / "debug_history") as lines:
        terminal.run(lines)


def _in_browser(debugger: Debugger, title: str, port: int, reload: Any) -> None:
    from harness.debug.web import serve_page

    serve_page(debugger, title, port=port, reload=reload, ready=click.echo)
