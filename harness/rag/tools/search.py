"""Tools that look into the documents of the work folder: search, read, expand, context."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from pydantic import JsonValue

from harness.core import BadInput, digest
from harness.rag.compress import expand
from harness.rag.retrieve import Document
from harness.rag.tools.context import ARMS, BUDGET, ContextArm, ContextStage
from harness.rag.tools.documents import (
    SEARCH_ARMS,
    document_named,
    read_documents,
    search_documents,
)
from harness.rag.tools.passages import Passage
from harness.tools import Arguments, Bench, Tool, ToolArgumentError, text_argument

# Passages that a search shows.
HITS = 5
# Characters of a document that one `read` shows; whole documents below that.
PAGE = 4000
# Contexts that a tool remembers.
KEPT = 64
# Characters that `expand` shows before and behind a passage.
AROUND = 600
_PLACE = re.compile(r"\[?(.+?):(\d+)-(\d+)\]?")
_MARKER = re.compile(r"[0-9a-f]{10}")
Run = Callable[[Arguments, Bench], Awaitable[str]]


def document_tool(name: str, setting: str = "") -> Tool:
    """A tool by its name and setting.

    Raises:
        BadInput: for a setting that the tool does not know.
    """
    if name == "search":
        return search_tool(setting)
    if name == "context":
        return context_tool(setting)
    if setting:
        raise BadInput(f"the tool {name!r} has no settings, got '{name}:{setting}'")
    return {"read": READ, "expand": EXPAND}[name]


def search_tool(arm: str = "") -> Tool:
    """The tool `search`.

    Args:
        arm: `weighted` (the default), `hybrid`, `dense`, or `lexical`, which needs no encoder.

    Raises:
        BadInput: for another arm.
    """
    selected_arm = SEARCH_ARMS.get(arm or "weighted")
    if selected_arm is None:
        raise BadInput(f"expected search:{'|'.join(SEARCH_ARMS)}, got 'search:{arm}'")

    def run(arguments: Arguments, documents: list[Document]) -> str:
        query = text_argument(arguments, "query").strip()
        if not query:
            raise ToolArgumentError("expected a query of at least one word, found an empty one")
        hits = search_documents(documents, query, HITS, selected_arm)
        passages: list[str] = []
        for hit in hits:
            passage = Passage(hit.doc, hit.start, hit.end, hit.text, hit.score)
            title = hit.metadata.get("title")
            titled = isinstance(title, str) and title and title != hit.doc
            passages.append(f"{passage.citation} {title}\n{hit.text}" if titled else passage.shown)
        return "\n\n".join(passages) or "[Nothing found: try other words]"

    return Tool(
        name="search",
        description="Search the documents. Returns the best passages, each with its citation "
        "[document:start-end].",
        parameters=_parameters(query="What to look for."),
        run=_threaded(run),
    )


def _read(arguments: Arguments, documents: list[Document]) -> str:
    name = text_argument(arguments, "document")
    document = document_named(documents, name)
    if document is None:
        names = ", ".join(document.id for document in documents[:20])
        more = "" if len(documents) <= 20 else f" and {len(documents) - 20} more"
        raise ToolArgumentError(f"no document {name!r}; there are {names}{more}")
    start, last = arguments.get("start", 0), max(0, len(document.text) - 1)
    if isinstance(start, bool) or not isinstance(start, int) or not 0 <= start <= last:
        raise ToolArgumentError(
            f"expected a start from 0 to {last} in {document.id!r}, found {start!r}"
        )
    end = min(len(document.text), start + PAGE)
    following = len(document.text) - end
    note = f"\n[{following} characters follow: start={end}]" if following else ""
    return Passage.of(document, start, end).shown + note


def _expand(arguments: Arguments, documents: list[Document]) -> str:
    id_ = text_argument(arguments, "id").strip()
    if _MARKER.fullmatch(id_):
        try:
            return expand(id_)
        except BadInput as error:
            raise ToolArgumentError(str(error)) from error
    match = _PLACE.fullmatch(id_)
    document = document_named(documents, match[1]) if match else None
    if match is None or document is None:
        raise ToolArgumentError(
            f"expected the ID of a marker or a citation document:start-end, found {id_!r}"
        )
    start = max(0, min(int(match[2]), len(document.text)) - AROUND)
    end = min(len(document.text), int(match[3]) + AROUND)
    return Passage.of(document, start, end).shown


def context_tool(setting: str = "") -> Tool:
    """The tool `context`: one call of a context stage.

    Args:
        setting: `ARM` or `ARM:BUDGET`, such as `compress:800`; default `both`.

    Raises:
        BadInput: for another arm, or a budget that is no number above 0.
    """
    name, _, tokens = (setting or "both").partition(":")
    arms: dict[str, ContextArm] = {arm: arm for arm in ARMS}
    arm = arms.get(name)
    if arm is None or (tokens and not (tokens.isdecimal() and int(tokens))):
        raise BadInput(
            f"expected context:{'|'.join(ARMS)}, with :TOKENS behind it or not, got "
            f"'context:{setting}'"
        )
    budget, stage = int(tokens or BUDGET), ContextStage(arm)
    chosen: dict[str, str] = {}

    def run(arguments: Arguments, documents: list[Document]) -> str:
        query = text_argument(arguments, "query")
        key = digest([query, [[document.id, document.digest] for document in documents]])
        # A graph asks where it gathers, and again where it answers: long inputs take seconds.
        text = chosen.get(key) or stage.gather(query, documents, budget).text
        if len(chosen) >= KEPT:
            chosen.clear()
        chosen[key] = text
        return text

    return Tool(
        name="context",
        description="The parts of the documents that matter for a question, within a budget.",
        parameters=_parameters(query="The question."),
        run=_threaded(run),
    )


def _threaded(run: Callable[[Arguments, list[Document]], str]) -> Run:
    """Off the event loop: reading and searching take time."""

    def work(arguments: Arguments, bench: Bench) -> str:
        return run(arguments, read_documents(bench.workdir))

    async def threaded(arguments: Arguments, bench: Bench) -> str:
        return await asyncio.to_thread(work, arguments, bench)

    return threaded


def _parameters(**texts: str) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": text} for name, text in texts.items()
        },
        "required": list(texts),
    }


READ = Tool(
    name="read",
    description="Read a document from a character on; long ones come page by page.",
    parameters={
        "type": "object",
        "properties": {
            "document": {"type": "string", "description": "Its name or title."},
            "start": {"type": "integer", "description": "First character, default 0."},
        },
        "required": ["document"],
    },
    run=_threaded(_read),
)
EXPAND = Tool(
    name="expand",
    description="Show what a marker [… expand ID] left out, or what stands around a citation.",
    parameters=_parameters(id="ID of the marker, or the citation document:start-end."),
    run=_threaded(_expand),
)
