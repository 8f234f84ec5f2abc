"""The page's routes: itself at `/`, what it asks under `/api`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import BadInput
from harness.debug.web.browse import Browsing
from harness.debug.web.browse.answers import needed
from harness.debug.web.desk import Desk
from harness.debug.web.desks import Desks
from harness.debug.web.drawing import drawing
from harness.debug.web.guard import POLICY, Guard
from harness.debug.web.looking import compared, look
from harness.debug.web.steps import steps
from harness.debug.web.workbooks import sheets

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

STATIC = Path(__file__).parent / "static"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
WAIT_S = 25.0
"""Longest time that a question for news is held."""
Answer = Callable[["Request"], Awaitable[Any]]


def app(desks: Desks, browsing: Browsing, guard: Guard) -> Starlette:
    """The application: graphs of the desks, and finished work beside them."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    questions: dict[str, tuple[str, Answer]] = {
        "about": ("GET", _at_once(lambda _: browsing.about(debugger=desks.main is not None))),
        **{name: ("GET", _at_once(answer)) for name, answer in browsing.questions.items()},
    }
    questions |= Answers(desks).questions
    asked = [
        Route(f"/api/{name}", _guarded(guard, answer), methods=[method])
        for name, (method, answer) in questions.items()
    ]
    page = _page(guard, "runs.html" if desks.main is None else "index.html")
    return Starlette(routes=[*asked, Route("/", page), Route("/{name:str}", page)])


def _at_once(answer: Callable[[Mapping[str, str]], Any]) -> Answer:
    """An answer that only looks something up, from the parameters of the address."""

    async def found(request: Request) -> Any:
        query = dict(request.query_params)
        return await _in_thread(lambda: answer(query))

    return found


class Answers:
    """What is answered about a graph, as JSON; long looks run in a thread."""

    def __init__(self, desks: Desks) -> None:
        self._desks = desks
        self.questions: dict[str, tuple[str, Answer]] = {
            "graph": ("GET", self.graph),
            "session": ("GET", self.session),
            "timeline": ("GET", self.timeline),
            "usage": ("GET", self.usage),
            "source": ("GET", self.source),
            "sheets": ("GET", self.sheets),
            "state": ("GET", self.state),
            "compare": ("GET", self.compare),
            "news": ("GET", self.news),
            "command": ("POST", self.command),
        }

    async def _desk(self, request: Request) -> Desk:
        query = dict(request.query_params)
        return await _in_thread(lambda: self._desks.of(query))

    async def graph(self, request: Request) -> Any:
        """The drawing."""
        return drawing((await self._desk(request)).debugger.graph)

    async def session(self, request: Request) -> Any:
        """Stop, branches, breakpoints."""
        return await _in_thread((await self._desk(request)).session)

    async def timeline(self, request: Request) -> Any:
        """Steps of a `branch`."""
        debugger = (await self._desk(request)).debugger
        branch = needed(request.query_params, "branch")
        return await _in_thread(lambda: steps(debugger.graph, debugger.store, branch))

    async def usage(self, request: Request) -> Any:
        """Tokens and cost of the tasks of a `branch`."""
        desk, branch = await self._desk(request), needed(request.query_params, "branch")
        return await _in_thread(lambda: desk.usage(branch))

    async def source(self, request: Request) -> Any:
        """The source of a `node`."""
        desk, node = await self._desk(request), needed(request.query_params, "node")
        return await _in_thread(lambda: desk.source(node))

    async def sheets(self, request: Request) -> Any:
        """The first cells of a workbook by its `path`."""
        desk, path = await self._desk(request), needed(request.query_params, "path")
        return await _in_thread(lambda: sheets(path, desk.folders))

    async def state(self, request: Request) -> Any:
        """The state at a `checkpoint` of a `branch`."""
        store = (await self._desk(request)).debugger.store
        query = request.query_params
        branch, checkpoint = needed(query, "branch"), needed(query, "checkpoint")
        ns = query.get("ns", "")
        return await _in_thread(lambda: look(store, branch, ns, checkpoint))

    async def compare(self, request: Request) -> Any:
        """Branches `a` and `b`."""
        store = (await self._desk(request)).debugger.store
        query = request.query_params
        first, second = needed(query, "a"), needed(query, "b")
        return await _in_thread(lambda: compared(store, first, second))

    async def news(self, request: Request) -> Any:
        """The version, as soon as it is not `version` any more."""
        desk = await self._desk(request)
        version = request.query_params.get("version", "")
        await desk.wait(int(version) if version.isdecimal() else 0, WAIT_S)
        return {"version": desk.version}

    async def command(self, request: Request) -> Any:
        """Do as the body says."""
        try:
            body = await request.json()
            name, arguments = str(body["command"]), dict(body.get("arguments") or {})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput("expected JSON: a command, and its arguments as an object") from error
        desk = await self._desk(request)
        await desk.command(name, arguments)
        return {"version": desk.version}


def _guarded(guard: Guard, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """An answer for those who may ask; bad input is status 400."""

    async def route(request: Request) -> Response:
        refused = guard.refusal(request.headers, token=True)
        if refused is not None:
            return _json({"error": refused}, 403)
        try:
            return _json(await answer(request))
        except BadInput as error:
            return _json({"error": str(error)}, 400)

    return route


def _page(guard: Guard, home: str) -> Callable[[Request], Awaitable[Response]]:
    """The page and its files, which hold no secret."""

    async def route(request: Request) -> Response:
        from starlette.responses import Response

        refused = guard.refusal(request.headers, token=False)
        if refused is not None:
            return _json({"error": refused}, 403)
        path = STATIC / request.path_params.get("name", home)
        if path.parent != STATIC or path.suffix not in KINDS or not path.is_file():
            return _json({"error": "not found"}, 404)
        return Response(path.read_bytes(), media_type=KINDS[path.suffix], headers=POLICY)

    return route


async def _in_thread(look_up: Callable[[], Any]) -> Any:
    from starlette.concurrency import run_in_threadpool

    return await run_in_threadpool(look_up)


def _json(content: Any, status: int = 200) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse(content, status, headers=POLICY)
