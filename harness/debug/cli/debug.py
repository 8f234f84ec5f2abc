"""`harness debug`."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import click

from harness.cli import echo, intent, shared_option
from harness.core import BadInput, cache_root, prompted

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore
    from harness.debug.subjects import Subject


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
@shared_option(
    "--model",
    metavar="SPEC",
    help="Answers GRAPH's clients (default: their own) or beyond a recording; person: you do.",
)
@shared_option("--base-url", help="Its endpoint.")
@shared_option("--sandbox", help="Of tools that run live.")
@click.option("--trust", is_flag=True, help="Run the graph's file that --run names.")
@click.option("--web", is_flag=True, help="In the browser, on loopback.")
@shared_option("--port", help="Of --web; 0 takes a free one.")
@click.option("--terminal", is_flag=True, help="In the terminal (default).")
def debug(graph: str | None, path: Path | None, web: bool, terminal: bool, **options: Any) -> None:
    """Step through GRAPH (FILE.py:NAME), look at it, change it, fork it, replay it.

    Without GRAPH a finished item of a run is opened: its graph with the recorded answers of models
    and tools; a graph in a file runs its code, with --trust, on the recorded answers of its model;
    of another agent the trajectory is played back, message by message.

    \b
    Example: harness debug flow.py:graph --input '{"question": "Why?"}'
    Example: harness debug flow.py:graph --checkpoints app.sqlite --thread 42
    Example: harness debug --run runs/eval-1 --item task-7 --web
    """
    from harness.checkpoints import open_store

    if web and terminal:
        raise BadInput("expected one of --web and --terminal, found both")
    unfit = ("run", "trajectories", "item", "suite", "skill", "trust") if graph else ()
    if unused := [f"--{name}" for name in unfit if options[name]]:
        raise BadInput(f"{', '.join(unused)}: of finished runs, expected without GRAPH")
    if graph and options["base_url"] and not options["model"]:
        raise BadInput("--base-url: expected with --model SPEC, which then answers the graph")
    with TemporaryDirectory(prefix="harness-debug-") as folder, ExitStack() as stack:
        database, work = path or Path(folder) / "checkpoints.sqlite", Path(folder) / "work"
        run, item = options["run"], options["item"]
        if run is not None and item is None and not database.exists():
            from harness.debug.subjects import copy_evolution

            if not (run / "checkpoints.sqlite").is_file():
                raise BadInput("expected --item ID with a run of eval; without, a folder of evolve")
            copy_evolution(run, database)
        with open_store(database) as store:
            subject, title = _subject(graph, store, work, options, stack)
            if options["model"] and graph is None and subject.beyond is None:
                echo("--model is not asked: this is played back and calls nothing", err=True)
            debugger = subject.begin(store, find_mutations=True)
            for note in subject.notes:
                echo(note, err=True)
            opened = debugger.branch.name if debugger.branch else "main"
            if graph and options["thread"] is None and opened != "main":
                echo(
                    f"{str(database)!r} has a thread 'main': this run is {opened!r}; --thread main "
                    "without --input goes on in the old one, with it adds a turn",
                    err=True,
                )
            if subject.answers is not None and not subject.over_http:
                echo(subject.answers.served(), err=True)
            if web:
                from harness.debug.web import open_page, serve_until_signal

                page = open_page(
                    debugger,
                    title,
                    port=options["port"],
                    reload=subject.reload,
                    root=subject.root,
                    folders=[work],
                )
                serve_until_signal(page, ready=echo)
            else:
                from harness.debug.terminal import PROMPT, Terminal

                if debugger.last is None:
                    raise BadInput("expected --input, or --checkpoints or --store with --thread")
                session = Terminal(debugger, echo, subject.reload)
                session.show(debugger.last)
                with prompted(PROMPT, session.complete, cache_root() / "debug_history") as lines:
                    session.run(lines)
            debugger.quit()


def _subject(
    graph: str | None,
    store: CheckpointStore,
    work: Path,
    options: dict[str, Any],
    stack: ExitStack,
) -> tuple[Subject, str]:
    """Open the subject of the options, with its title; `stack` ends what it needs beside itself."""
    from harness.debug.subjects import Subject, open_evolution, play_back

    run, item, trajectories = options["run"], options["item"], options["trajectories"]
    if graph is not None:
        from harness.debug import copy_thread, dropped, load_graph, thread_ids

        (graph, memory), thread = _listed(graph), options["thread"]
        config: dict[str, Any] = _value(options["config"]) or {}
        answers, notes = None, tuple[str, ...]()
        if options["model"]:
            from harness.debug.attempts import ask_model

            answers = ask_model(options["model"], options["base_url"], store, stack)
            notes = (f"{options['model']} answers the graph's clients, whatever model they name",)
        reload = partial(load_graph, graph, config, memory)
        compiled, start = reload(), _value(options["values"])
        if uri := options["checkpoints"]:
            # The thread is copied into the session's store; where it comes from is only read.
            ids = thread_ids(uri)
            if thread is None:
                raise BadInput(f"expected --thread, one of {ids[:20]}")
            if thread not in store.threads():
                copy_thread(uri, thread, store)
        if names := dropped(compiled, start):
            notes = (*notes, f"the graph takes no {', '.join(names)} as input: left out")
        context = _value(options["context"])
        root = Path(graph.rpartition(":")[0]).resolve().parent
        subject = Subject(
            compiled, start, thread, context=context, config=config, reload=reload, root=root,
            answers=answers, over_http=True, notes=notes,
        )  # fmt: skip
        return subject, graph
    if run is not None and item is not None:
        from harness.debug.attempts import (
            Settings,
            find_item,
            is_own_graph,
            open_item,
            open_own_graph,
            unnamed_endpoint,
        )

        names = ("suite", "skill", "model", "base_url", "sandbox", "trust")
        settings = Settings(**{name: options[name] for name in names})
        finished = find_item(run, item)
        fault = unnamed_endpoint(finished, settings)
        if is_own_graph(finished):
            subject = open_own_graph(finished, store, work, settings, stack)
        else:
            subject = open_item(finished, store, work, settings)
        if fault and subject.beyond is not None:
            subject = replace(subject, notes=(*subject.notes, f"before going on live: {fault}"))
        if item in store.threads():
            subject = replace(subject, start=None)
        return subject, f"{item} of {run.name}"
    if run is not None:
        return open_evolution(store, str(run)), run.name
    if trajectories is None or item is None:
        raise BadInput("expected a graph (FILE.py:NAME), or --run RUN with --item ID")
    from harness.trajectories import find_trajectory

    return play_back(find_trajectory(trajectories, item)), f"trajectory {item}"


def _listed(graph: str) -> tuple[str, Any]:
    """The file behind a name of the `langgraph.json` here, and a store; a FILE.py:NAME is itself.

    As with LangGraph's server, its `env` and `dependencies` hold and every graph has a store.
    """
    listing = Path("langgraph.json")
    if ":" in graph or not listing.is_file():
        return graph, None
    settings = cast("dict[str, Any]", _value(str(listing)))
    graphs = settings.get("graphs", {})
    if graph not in graphs:
        names = ", ".join(graphs) or "none"
        raise BadInput(f"expected FILE.py:NAME or a graph of langgraph.json ({names}): {graph!r}")
    entry = graphs[graph]
    env: Any = settings.get("env")
    variables = cast("dict[str, Any]", env) if isinstance(env, dict) else {}
    if isinstance(env, str):
        lines = Path(env).read_text("utf-8").splitlines() if Path(env).is_file() else []
        pairs = (line.removeprefix("export ").partition("=") for line in lines)
        variables = {name.strip(): text.strip().strip("'\"") for name, sign, text in pairs if sign}
    for name in [name for name in variables if name not in os.environ and name[:1] != "#"]:
        os.environ[name] = str(variables[name])
    sys.path += [str(Path(name).resolve()) for name in settings.get("dependencies") or ()]
    memory = import_module("langgraph.store.memory").InMemoryStore()
    return entry if isinstance(entry, str) else str(entry["path"]), memory


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
