"""`harness debug`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import click

from harness.cli import intent
from harness.core.errors import BadInput

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore
    from harness.debug import Debugger, Stop
    from harness.debug.usage import Meter


@intent("Look inside")
@click.command(short_help="Step through a graph; look at it, change it, fork it, replay it.")
@click.argument("graph", required=False)
@click.option("--input", "given", metavar="FILE|JSON", help="What the graph is started with.")
@click.option("--config", metavar="FILE|JSON", help="LangGraph's config: configurable, tags, …")
@click.option("--context", metavar="FILE|JSON", help="The graph's runtime context.")
@click.option("--store", "path", type=click.Path(path_type=Path), help="Keep the branches here.")
@click.option(
    "--checkpoints",
    metavar="URI",
    help="A file of LangGraph's SqliteSaver, or postgresql://… of its PostgresSaver (read-only).",
)
@click.option("--thread", help="The thread to open.")
@click.option("--run", type=click.Path(path_type=Path), help="A run folder of eval or evolve.")
@click.option("--trajectories", type=click.Path(path_type=Path), help="Play one of these back.")
@click.option("--item", metavar="ID", help="The item of --run, or trajectory of --trajectories.")
@click.option("--suite", help="The suite of --run, if it is no shipped one.")
@click.option("--skill", type=click.Path(path_type=Path), help="Go on with this skill in --run.")
@click.option("--model", metavar="SPEC", help="Answers beyond the recording. Default: the run's.")
@click.option("--base-url", help="Its endpoint.")
@click.option("--sandbox", default="auto", show_default=True, help="Of tools that run live.")
@click.option("--web", is_flag=True, help="In the browser, on loopback.")
@click.option("--port", type=int, default=0, help="Of --web; 0 takes a free one.")
@click.option("--terminal", is_flag=True, help="In the terminal (default).")
def debug(graph: str | None, path: Path | None, web: bool, terminal: bool, **options: Any) -> None:
    """Step through GRAPH (FILE.py:NAME), look at it, change it, fork it, replay it.

    Without GRAPH a finished item of a run is opened: its graph with the recorded answers of models
    and tools, or, of a foreign agent, its trajectory played back message by message.

    \b
    Example: harness debug flow.py:graph --input '{"question": "Why?"}'
    Example: harness debug flow.py:graph --checkpoints app.sqlite --thread 42
    Example: harness debug --run runs/eval-1 --item task-7 --web
    """
    from harness.checkpoints import open_store
    from harness.debug import Debugger

    if web and terminal:
        raise BadInput("expected one of --web and --terminal, found both")
    with TemporaryDirectory(prefix="harness-debug-") as folder:
        kept = path or Path(folder) / "checkpoints.sqlite"
        if options["run"] is not None and options["item"] is None and not kept.exists():
            _copy_evolution(options["run"], kept)
        with open_store(kept) as store:
            opened = _opened(graph, store, Path(folder) / "work", options)
            debugger = Debugger(
                opened.graph,
                store,
                config=opened.settings,
                context=opened.context,
                find_mutations=True,
                beyond=opened.beyond,
                meter=opened.meter,
            )
            stop = _begin(debugger, opened)
            for note in (*opened.notes, *opened.told()):
                click.echo(note, err=True)
            if web:
                _in_browser(debugger, opened, options["port"])
            else:
                _in_terminal(debugger, opened.reload, stop)
            debugger.quit()


@dataclass
class _Opened:
    """What is debugged, and where it begins.

    Attributes:
        start: the input, or None to open `thread`.
        hold: stop in front of the first node.
        told: what there is to say once it has begun.
    """

    graph: Any
    title: str
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    context: Any = None
    start: Any = None
    thread: str | None = None
    hold: bool = True
    reload: Callable[[], Any] | None = None
    beyond: Callable[[], None] | None = None
    meter: Meter | None = None
    root: Path | None = None
    folders: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    told: Callable[[], tuple[str, ...]] = tuple


def _opened(
    graph: str | None, store: CheckpointStore, folder: Path, options: dict[str, Any]
) -> _Opened:
    if graph is not None:
        return _of_file(graph, store, options)
    run, item, trajectories = options["run"], options["item"], options["trajectories"]
    if run is not None and item is not None:
        return _of_item(run, item, store, folder, options)
    if run is not None:
        return _of_evolution(run, store)
    if trajectories is None or item is None:
        raise BadInput("expected a graph (FILE.py:NAME), or --run RUN with --item ID")
    return _of_trajectory(trajectories, item)


def _of_file(graph: str, store: CheckpointStore, options: dict[str, Any]) -> _Opened:
    from harness.debug import load_graph

    graph = _listed(graph)
    settings: dict[str, Any] = _value(options["config"]) or {}
    thread, start = options["thread"], _value(options["given"])
    reload = partial(load_graph, graph, settings)
    made = reload()
    if options["checkpoints"]:
        thread = _copied(options["checkpoints"], thread, store)
    context = _value(options["context"])
    root = Path(graph.rpartition(":")[0]).resolve().parent
    return _Opened(made, graph, settings, context, start, thread, reload=reload, root=root)


def _listed(graph: str) -> str:
    """The file behind a name of the `langgraph.json` here; a FILE.py:NAME is itself."""
    listing = Path("langgraph.json")
    if ":" in graph or not listing.is_file():
        return graph
    named = cast("dict[str, dict[str, Any]]", _value(str(listing)))
    graphs = named.get("graphs", {})
    if graph not in graphs:
        names = ", ".join(graphs) or "none"
        raise BadInput(f"expected FILE.py:NAME or a graph of langgraph.json ({names}): {graph!r}")
    found = graphs[graph]
    return found if isinstance(found, str) else str(found["path"])


def _of_item(
    run: Path, item: str, store: CheckpointStore, folder: Path, options: dict[str, Any]
) -> _Opened:
    from harness.debug.attempts import Settings, find_item, open_item

    names = ("suite", "skill", "model", "base_url", "sandbox")
    settings = Settings(**{name: options[name] for name in names})
    opened = open_item(find_item(run, item), store, folder, settings)
    return _Opened(
        opened.graph,
        f"{item} of {run.name}",
        context=opened.context,
        start=None if item in store.threads() else opened.start,
        thread=item,
        hold=False,
        beyond=opened.beyond,
        meter=opened.meter,
        folders=(folder,),
        notes=opened.notes,
        told=lambda: (opened.served(),),
    )


def _of_trajectory(trajectories: Path, item: str) -> _Opened:
    from harness.debug.postmortem import START, trajectory_graph
    from harness.trajectories import find_trajectory

    graph = trajectory_graph(find_trajectory(trajectories, item))
    return _Opened(graph, f"trajectory {item}", start=START)


def _copy_evolution(run: Path, path: Path) -> None:
    from harness.debug.evolutions import copy_state, is_evolution

    if not is_evolution(run):
        raise BadInput("expected --item ID with a run of eval; without, a folder of evolve")
    copy_state(run, path)


def _of_evolution(run: Path, store: CheckpointStore) -> _Opened:
    from harness.core import assets

    thread = next(iter(store.threads()), None)
    if thread is None:
        raise BadInput(f"the evolution {str(run)!r} has no state yet")
    note = "an evolution post-mortem: its nodes are served from the record and not run"
    return _Opened(assets.load_graph("trace2skill"), run.name, thread=thread, notes=(note,))


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


def _begin(debugger: Debugger, opened: _Opened) -> Stop | None:
    """Start on the input, or open the thread: an ended one stays, another goes on."""
    if opened.start is not None:
        return debugger.start(opened.start, thread=opened.thread or "main", hold=opened.hold)
    return None if opened.thread is None else debugger.open(opened.thread)


def _in_terminal(debugger: Debugger, reload: Any, stop: Stop | None) -> None:
    from harness.core import cache_root
    from harness.debug.terminal import Terminal
    from harness.debug.terminal.prompt import prompted

    terminal = Terminal(debugger, click.echo, reload)
    if stop is None:
        raise BadInput("expected --input, or --checkpoints or --store with --thread")
    terminal.show(stop)
    with prompted(terminal.complete, cache_root() / "debug_history") as lines:
        terminal.run(lines)


def _in_browser(debugger: Debugger, opened: _Opened, port: int) -> None:
    from harness.debug.web import serve_page

    serve_page(
        debugger,
        opened.title,
        port=port,
        reload=opened.reload,
        root=opened.root,
        folders=opened.folders,
        ready=click.echo,
    )
