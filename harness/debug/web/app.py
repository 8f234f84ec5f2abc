"""The page in a browser, on loopback: its routes, and the sessions behind them."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
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
from harness.debug.web.values import sheets, tree
from harness.models import Refused, body_of, read_body, serving

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

RUNS = Path("runs")
"""Where runs lie unless one says otherwise."""
STATIC = Path(__file__).parent / "static"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
WAIT_S = 25.0
"""Longest time that a question for news is held."""
MOST = 6
"""Finished items that are kept open; the one that was asked for longest ago makes room."""

LOOKS: Mapping[str, Callable[[Desk, Query], Any]] = {
    "graph": lambda desk, _: drawing(desk.debugger.graph),
    "session": lambda desk, _: desk.session(),
    "timeline": lambda desk, query: steps(
        desk.debugger.graph,
        desk.debugger.store,
        needed(query, "branch"),
        desk.debugger.breakpoints.names,
    ),
    "usage": lambda desk, query: desk.usage(needed(query, "branch")),
    "calls": lambda desk, _: [
        {"branch": call.thread, "task": call.task, "end": call.lines[-1][:200]}
        for call in desk.debugger.meter.sent
    ],
    "sent": lambda desk, query: desk.debugger.meter.shown(
        query.get("first", ""), query.get("second", "")
    ),
    "source": lambda desk, query: desk.source(needed(query, "node")),
    "memory": lambda desk, _: {name: tree(value) for name, value in desk.debugger.memory().items()},
    "sheets": lambda desk, query: sheets(needed(query, "path"), desk.folders),
    "state": lambda desk, query: look(
        desk.debugger.store,
        needed(query, "branch"),
        query.get("ns", ""),
        needed(query, "checkpoint"),
    ),
    "value": lambda desk, query: desk.value(
        needed(query, "key"), query.get("branch"), query.get("ns", ""), query.get("checkpoint")
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
        run, evolution, item = (query.get(name, "") for name in ("run", "evolution", "item"))
        if not (run or evolution or item):
            if self.main is None:
                raise BadInput("no graph is debugged here: open a sample, then its graph view")
            return self.main
        name = (run, evolution, item)
        with self._lock:
            if name not in self._open:
                with ExitStack() as stack:
                    desk = self._opened(*name, stack)
                    self._open[name] = desk, stack.pop_all()
                while len(self._open) > MOST:
                    self._open.popitem(last=False)[1][1].close()
            self._open.move_to_end(name)
            return self._open[name][0]

    def close(self) -> None:
        """End all sessions."""
        if self.main is not None:
            self.main.close()
        while self._open:
            self._open.popitem()[1][1].close()

    def _opened(self, run: str, evolution: str, item: str, stack: ExitStack) -> Desk:
        """A session over a finished item, run to its end; `stack` is closed after it."""
        from harness.checkpoints import open_store
        from harness.debug.attempts import Settings, find_item, open_item
        from harness.debug.subjects import copy_evolution, open_evolution, play_back

        folder = Path(stack.enter_context(TemporaryDirectory(prefix="harness-view-")))
        path = folder / "checkpoints.sqlite"
        if evolution and not item:
            copy_evolution(self._library.place(evolution, "evolution").path, path)
        store = stack.enter_context(open_store(path))
        if run:
            finished = find_item(self._library.place(run, "eval").path, item)
            subject = open_item(finished, store, folder / "work", Settings())
        elif item:  # a trajectory that an evolution read
            trajectory = self._library.taught(evolution, item)
            subject = play_back(trajectory, thread=item, hold=False)
        else:
            subject = open_evolution(store, evolution)
        live = {} if self.main is not None else {"beyond": None}
        debugger = subject.begin(store, stop_on_exception=False, **live)
        title = " of ".join(part for part in (item, run or evolution) if part not in ("", "."))
        looking = self.main is None or not (run and item)
        desk = Desk(debugger, title or "evolution", read_only=looking, notes=subject.notes)
        stack.callback(desk.close)
        return desk


def app(desks: Desks, browsing: Browsing, guard: Guard) -> Starlette:
    """The application: the page at `/`, what it asks under `/api`."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    def reply(content: Any, status: int = 200) -> Response:
        return JSONResponse(content, status, headers=POLICY)

    async def bad_input(_: Request, error: Exception) -> Response:
        status = error.status if isinstance(error, Refused) else 400
        return reply({"error": str(error)}, status)

    def query_of(request: Request) -> dict[str, str]:
        query = dict(request.query_params)
        if any("\0" in text for text in query.values()):
            raise BadInput("expected names in the address, found one with a null character")
        return query

    async def question(request: Request) -> Response:
        """Answer a question about finished work, or look something up about a graph."""
        guard.check(request.headers, token=True)
        name, query = request.path_params["name"], query_of(request)
        if name == "about":
            return reply(await run_in_threadpool(browsing.about, debugger=desks.main is not None))
        if name in browsing.questions:
            return reply(await run_in_threadpool(browsing.questions[name], query))
        if name not in (*LOOKS, "news"):
            raise HTTPException(404)
        desk = await run_in_threadpool(desks.of, query)
        if name in LOOKS:
            return reply(await run_in_threadpool(LOOKS[name], desk, query))
        # The version, as soon as it is not `version` any more.
        version, heard = query.get("version", ""), query.get("heard", "")
        await desk.wait(int(version) if version.isdecimal() else 0, heard, WAIT_S)
        return reply({"version": desk.version, **desk.meanwhile()})

    async def command(request: Request) -> Response:
        """Do as the body says."""
        guard.check(request.headers, token=True)
        try:
            body = read_body(await body_of(request))
            name, arguments = str(body["command"]), dict(body.get("arguments") or {})
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput("expected JSON: a command, and its arguments as an object") from error
        desk = await run_in_threadpool(desks.of, query_of(request))
        await desk.command(name, arguments)
        return reply({"version": desk.version})

    async def page(request: Request) -> Response:
        """The page and its files, which hold no secret."""
        guard.check(request.headers, token=False)
        path = STATIC / request.path_params.get("name", "index.html" if desks.main else "runs.html")
        if path.parent != STATIC or path.suffix not in KINDS or not path.is_file():
            return reply({"error": "not found"}, 404)
        return Response(path.read_bytes(), media_type=KINDS[path.suffix], headers=POLICY)

    routes = [
        Route("/api/command", command, methods=["POST"]),
        Route("/api/{name}", question),
        Route("/", page),
        Route("/{name:str}", page),
    ]
    handlers = dict.fromkeys((BadInput, Refused), bad_input)
    return Starlette(routes=routes, exception_handlers=handlers)


@asynccontextmanager
async def open_page(
    debugger: Debugger,
    title: str,
    *,
    port: int = 0,
    reload: Callable[[], Any] | None = None,
    library: Library | None = None,
    root: Path | None = None,
    folders: Sequence[Path] = (),
) -> AsyncGenerator[str]:
    """Serve the page while a block runs; gives its address with the token.

    Args:
        debugger: with or without a run.
        title: what is debugged.
        port: TCP port of 127.0.0.1; 0 takes a free one.
        reload: loads the graph anew.
        library: the runs that can be looked at; by default those in `runs`.
        root: folder of the graph's file: the page may edit the functions of nodes there.
        folders: where workbooks that the state names may lie, besides the working folder.

    Raises:
        BadInput: if the port cannot be had.
    """
    desk = Desk(debugger, title, reload, root=root, folders=folders)
    async with _opened(desk, library or Library(RUNS), port) as address:
        yield address("")


@asynccontextmanager
async def open_view(library: Library, *, port: int = 0) -> AsyncGenerator[str]:
    """Serve runs and evolutions, read-only, while a block runs; gives the address.

    Args:
        library: what can be looked at.
        port: TCP port of 127.0.0.1; 0 takes a free one.

    Raises:
        BadInput: if the port cannot be had.
    """
    async with _opened(None, library, port) as address:
        yield address("runs.html")


@asynccontextmanager
async def _opened(
    desk: Desk | None, library: Library, port: int
) -> AsyncGenerator[Callable[[str], str]]:
    guard, desks = Guard(), Desks(desk, library)
    async with serving(app(desks, Browsing(library), guard), port, grace=1) as origin:
        try:
            yield lambda file: f"{origin}/{file}?token={guard.token}"
        finally:
            await asyncio.to_thread(desks.close)


def serve_until_signal(
    page: AbstractAsyncContextManager[str], ready: Callable[[str], None]
) -> None:
    """Serve an opened page until SIGINT or SIGTERM; `ready` is called with its address."""

    async def serve() -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, ended.set)
        async with page as url:
            ready(url)
            await ended.wait()

    asyncio.run(serve())
