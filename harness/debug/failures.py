"""Exceptions of nodes, with the local variables of the code that raised them."""

from __future__ import annotations

import linecache
import reprlib
import traceback
from types import FrameType

from harness.debug.types import Failure, SourceFrame

_MACHINERY = ("/langgraph/", "/langchain_core/", "/harness/debug/", "/concurrent/", "/asyncio/")
_SHOWN = 400
"""Characters of a local variable."""


def describe_failure(error: BaseException) -> Failure:
    """The exception's type, message and frames, LangGraph's own frames left out."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [frame for frame in frames if not _is_machinery(frame)]
    lines = {id(frame): line for frame, line in traceback.walk_tb(error.__traceback__)}
    return Failure(
        type(error).__name__,
        str(error),
        tuple(_source(frame, lines[id(frame)]) for frame in own or frames),
    )


def _is_machinery(frame: FrameType) -> bool:
    file = frame.f_code.co_filename.replace("\\", "/")
    return any(part in file for part in _MACHINERY)


def _source(frame: FrameType, line: int) -> SourceFrame:
    code = frame.f_code
    shown = reprlib.Repr()
    shown.maxstring = shown.maxother = _SHOWN
    return SourceFrame(
        code.co_filename,
        line,
        code.co_name,
        linecache.getline(code.co_filename, line).strip(),
        {name: shown.repr(value) for name, value in frame.f_locals.items()},
    )
