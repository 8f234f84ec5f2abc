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

from harness.cli import intent, shared_option
from harness.core import BadInput

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore
    from harness.debug import Debugger, Meter


@intent("Look inside")
@click.command(short_help="Step through a graph; look at it, change it, fork it, replay it.")
@click.argument("graph", required=False)
@click.option("--input", "values", metavar="FILE|JSON", help="What the graph is started with.")
@click.option("--config", metavar="FILE|JSON", help="LangGraph's config: configurable, tags, …")
@shared_option("--context", metavar="FILE|JSON", help="The graph's runtime context.")
@click.option("--store", "path", type=click.Path(path_type=Path), help="Keep the branches here.")
@click.option(
    "--checkpoints",
    metavar="URI",
    help="A file of LangGraph's SqliteSaver, or postgresql://… of its PostgresSaver (read-only).",
)
@click.option("--thread", help="The thread to open.")
@shared_option("--run", help="A run folder of eval or evolve.")
@shared_option("--trajectories", help="Play one of these back.")
@click.option("--item", metavar="ID", help="The item of --run, or trajectory of --trajectories.")
@shared_option("--suite", help="The suite of --run, if it is no shipped one.")
@shared_option("--skill", help="Go on with this skill in --run.")
@shared_option("--model", metavar="SPEC", help="Answers beyond the recording. Default: the run's.")
@shared_option("--base-url", help="Its endpoint.")
@shared_option("--sandbox", help="Of tools that run live.")
@click.option("--web", is_flag=True, help="In the browser, on loopback.")
@shared_option("--port", help="Of --web; 0 takes a free one.")
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
        database = path or Path(folder) / "checkpoints.sqlite"
        run, item = options["run"], options["item"]
        if run is not None and item is None and not database.exists():
            from harness.debug.postmortem import copy_evolution

            if not (run / "checkpoints.sqlite").is_file():
                raise BadInput("expected --item ID with a run of eval; without, a folder of evolve")
            copy_evolution(run, database)
        with open_store(database) as store:
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
            # An input is started on; else the thread is opened: an ended one stays as it is.
            if opened.start is not None:
                debugger.start(opened.start, thread=opened.thread or "main", hold=opened.hold)
            elif opened.thread is not None:
                debugger.open(opened.thread)
            for note in (*opened.notes, *opened.summary()):
                click.echo(note, err=True)
            if web:
                from harness.debug.web import serve_page

                serve_page(
                    debugger,
                    opened.title,
                    port=options["port"],
                    reload=opened.reload,
                    root=opened.root,
                    folders=opened.folders,
                    ready=click.echo,
                )
            else:
                _in_terminal(debugger, opened.reload)
            debugger.quit()


@dataclass
class _Opened:
    """What is debugged, and where it begins.

    Attributes:
        start: the input, or None to open `thread`.
        hold: stop in front of the first node.
        summary: what there is to say once it has begun.
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
    summary: Callable[[], tuple[str, ...]] = tuple


def _opened(
    graph: str | None, store: CheckpointStore, folder: Path, options: dict[str, Any]
) -> _Opened:
    run, item, trajectories = options["run"], options["item"], options["trajectories"]
    if graph is not None:
        return _of_file(_listed(graph), store, options)
    if run is not None and item is not None:
        return _of_item(run, item, store, folder, options)
    if run is not None:
        from harness.core import assets

        thread = next(iter(store.threads()), None)
        if thread is None:
            raise BadInput(f"the evolution {str(run)!r} has no state yet")
        note = "an evolution post-mortem: its nodes are served from the record and not run"
        return _Opened(assets.load_graph("trace2skill"), run.name, thread=thread, notes=(note,))
    if trajectories is None or item is None:
        raise BadInput("expected a graph (FILE.py:NAME), or --run RUN with --item ID")
    from harness.debug.postmortem import START, trajectory_graph
    from harness.trajectories import find_trajectory

    played = trajectory_graph(find_trajectory(trajectories, item))
    return _Opened(played, f"trajectory {item}", start=START)


def _of_file(graph: str, store: CheckpointStore, options: dict[str, Any]) -> _Opened:
    from harness.debug import copy_thread, load_graph, thread_ids

    settings: dict[str, Any] = _value(options["config"]) or {}
    thread, start = options["thread"], _value(options["values"])
    reload = partial(load_graph, graph, settings)
    compiled = reload()
    if uri := options["checkpoints"]:
        # The thread is copied into the session's store; where it comes from is only read.
        ids = thread_ids(uri)
        if thread is None:
            raise BadInput(f"expected --thread, one of {ids[:20]}")
        if thread not in store.threads():
            copy_thread(uri, thread, store)
    context = _value(options["context"])
    root = Path(graph.rpartition(":")[0]).resolve().parent
    return _Opened(compiled, graph, settings, context, start, thread, reload=reload, root=root)


def _listed(graph: str) -> str:
    """The file behind a name of the `langgraph.json` here; a FILE.py:NAME is itself."""
    listing = Path("langgraph.json")
    if ":" in graph or not listing.is_file():
        return graph
    graphs = cast("dict[str, dict[str, Any]]", _value(str(listing))).get("graphs", {})
    if graph not in graphs:
        names = ", ".join(graphs) or "none"
        raise BadInput(f"expected FILE.py:NAME or a graph of langgraph.json ({names}): {graph!r}")
    entry = graphs[graph]
    return entry if isinstance(entry, str) else str(entry["path"])


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
        summary=lambda: (opened.served(),),
    )


def _value(option: str | None) -> Any:
    """JSON from the command line, or from a file of that name."""
    if option is None:
        return None
    text = option
    if not option.lstrip().startswith(("{", "[", '"')) and Path(option).is_file():
        text = Path(option).read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"expected JSON or a file that holds JSON, found {option!r}") from error


def _in_terminal(debugger: Debugger, reload: Callable[[], Any] | None) -> None:
    from harness.core import cache_root
    from harness.debug.terminal import Terminal, prompted

    if debugger.last is None:
        raise BadInput("expected --input, or --checkpoints or --store with --thread")
    terminal = Terminal(debugger, click.echo, reload)
    terminal.show(debugger.last)
    with prompted(terminal.complete, cache_root() / "debug_history") as lines:
        terminal.run(lines)
