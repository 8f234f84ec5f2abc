"""The page's routes (itself at `/`, what it asks under `/api`), and the sessions behind them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from harness.core import BadInput
from harness.debug.engine.session import Debugger
from harness.debug.web.browse import Browsing, Library
from harness.debug.web.browse.answers import Query, needed
from harness.debug.web.desk import Desk
from harness.debug.web.drawing import drawing
from harness.debug.web.guard import POLICY, Guard
from harness.debug.web.steps import compared, look, steps
from harness.debug.web.values import sheets

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from harness.checkpoints import CheckpointStore

STATIC = Path(__file__).parent / "static"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
WAIT_S = 25.0
"""Longest time that a question for news is held."""
MOST = 6
"""Finished items that are kept open; the one that was asked for longest ago makes room."""
Answer = Callable[["Request"], Awaitable[Any]]

LOOKS: Mapping[str, Callable[[Desk, Query], Any]] = {
    "graph": lambda desk, _: drawing(desk.debugger.graph),
    "session": lambda desk, _: desk.session(),
    "timeline": lambda desk, query: steps(
        desk.debugger.graph, desk.debugger.store, needed(query, "branch")
    ),
    "usage": lambda desk, query: desk.usage(needed(query, "branch")),
    "source": lambda desk, query: desk.source(needed(query, "node")),
    "sheets": lambda desk, query: sheets(needed(query, "path"), desk.folders),
    "state": lambda desk, query: look(
        desk.debugger.store,
        needed(query, "branch"),
        query.get("ns", ""),
        needed(query, "checkpoint"),
    ),
    "compare": lambda desk, query: compared(
        desk.debugger.store, needed(query, "a"), needed(query, "b")
    ),
}
"""What is looked up about a graph, as JSON, from the parameters of the address."""


class Desks:
    """The sessions behind one page: the debugger's own, and finished items, opened when asked for.

    Args:
        main: what is debugged; None where finished work is only looked at, read-only.
        library: where finished items lie.
    """

    def __init__(self, main: Desk | None, library: Library) -> None:
        self.main = main
        self._library = library
        self._open: OrderedDict[tuple[str, ...], tuple[Desk, ExitStack]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, query: Query) -> Desk:
        """The session that an address names by `run` or `evolution`, and `item`; else the main one.

        Raises:
            BadInput: if there is no such item, or nothing is debugged.
        """
        subject = tuple(query.get(name, "") for name in ("run", "evolution", "item"))
        if not any(subject):
            if self.main is None:
                raise BadInput("no graph is debugged here: open a sample, then its graph view")
            return self.main
        with self._lock:
            if subject not in self._open:
                self._open[subject] = self._opened(*subject)
                while len(self._open) > MOST:
                    self._open.popitem(last=False)[1][1].close()
            self._open.move_to_end(subject)
            return self._open[subject][0]

    def close(self) -> None:
        """End all sessions."""
        if self.main is not None:
            self.main.close()
        while self._open:
            self._open.popitem()[1][1].close()

    def _opened(self, run: str, evolution: str, item: str) -> tuple[Desk, ExitStack]:
        from harness.checkpoints import open_store
        from harness.core import assets
        from harness.debug.postmortem import START, copy_evolution, trajectory_graph

        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="harness-view-")))
            path = folder / "checkpoints.sqlite"
            if evolution and not item:
                copy_evolution(self._library.place(evolution, "evolution").path, path)
            store = stack.enter_context(open_store(path))
            if run:
                debugger = self._recorded(run, item, store, folder / "work")
            elif item:  # a trajectory that an evolution read, played back message by message
                graph = trajectory_graph(self._library.taught(evolution, item))
                debugger = Debugger(graph, store)
                debugger.start(dict[str, Any](START), thread=item, hold=False)
            else:  # an evolution's own graph with the state that it left
                thread = next(iter(store.threads()), None)
                if thread is None:
                    raise BadInput("this evolution left no graph state")
                debugger = Debugger(assets.load_graph("trace2skill"), store)
                debugger.open(thread)
            title = " of ".join(part for part in (item, run or evolution) if part not in ("", "."))
            read_only = self.main is None or not (run and item)
            desk = Desk(debugger, title or "evolution", read_only=read_only)
            stack.callback(desk.close)
            return desk, stack.pop_all()
        raise AssertionError("an exit stack does not hide exceptions")

    def _recorded(self, run: str, item: str, store: CheckpointStore, folder: Path) -> Debugger:
        """A finished item on its recorded answers, run to its end."""
        from harness.debug.attempts import Settings, find_item, open_item

        finished = find_item(self._library.place(run, "eval").path, item)
        opened = open_item(finished, store, folder, Settings())
        debugger = Debugger(
            opened.graph,
            store,
            context=opened.context,
            stop_on_exception=False,
            beyond=None if self.main is None else opened.beyond,
            meter=opened.meter,
        )
        debugger.start(opened.start, thread=item, hold=False)
        return debugger


def app(desks: Desks, browsing: Browsing, guard: Guard) -> Starlette:
    """The application: graphs of the desks, and finished work beside them."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    def looked_up(look_up: Callable[[Query], Any]) -> Answer:
        async def answer(request: Request) -> Any:
            return await run_in_threadpool(look_up, dict(request.query_params))

        return answer

    async def news(request: Request) -> Any:
        """The version, as soon as it is not `version` any more."""
        desk = await run_in_threadpool(desks.of, dict(request.query_params))
        version = request.query_params.get("version", "")
        await desk.wait(int(version) if version.isdecimal() else 0, WAIT_S)
        return {"version": desk.version}

    async def command(request: Request) -> Any:
        """Do as the body says."""
        try:
            body = await request.json()
            name, arguments = str(body["command"]), dict(body.get("arguments") or {})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput("expected JSON: a command, and its arguments as an object") from error
        desk = await run_in_threadpool(desks.of, dict(request.query_params))
        await desk.command(name, arguments)
        return {"version": desk.version}

    def reply(content: Any, status: int = 200) -> Response:
        return JSONResponse(content, status, headers=POLICY)

    def guarded(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        """An answer for those who may ask; bad input is status 400."""

        async def route(request: Request) -> Response:
            refusal = guard.refusal(request.headers, token=True)
            if refusal is not None:
                return reply({"error": refusal}, 403)
            try:
                return reply(await answer(request))
            except BadInput as error:
                return reply({"error": str(error)}, 400)

        return route

    async def page(request: Request) -> Response:
        """The page and its files, which hold no secret."""
        refusal = guard.refusal(request.headers, token=False)
        if refusal is not None:
            return reply({"error": refusal}, 403)
        home = "runs.html" if desks.main is None else "index.html"
        path = STATIC / request.path_params.get("name", home)
        if path.parent != STATIC or path.suffix not in KINDS or not path.is_file():
            return reply({"error": "not found"}, 404)
        return Response(path.read_bytes(), media_type=KINDS[path.suffix], headers=POLICY)

    def about(_: Query) -> Any:
        return browsing.about(debugger=desks.main is not None)

    def at_desk(look_up: Callable[[Desk, Query], Any], query: Query) -> Any:
        return look_up(desks.of(query), query)

    questions: dict[str, Callable[[Query], Any]] = {"about": about, **browsing.questions}
    questions |= {name: partial(at_desk, look_up) for name, look_up in LOOKS.items()}
    answers = {name: looked_up(question) for name, question in questions.items()}
    answers["news"] = news
    routes = [Route(f"/api/{name}", guarded(answer)) for name, answer in answers.items()]
    routes += [
        Route("/api/command", guarded(command), methods=["POST"]),
        Route("/", page),
        Route("/{name:str}", page),
    ]
    return Starlette(routes=routes)
