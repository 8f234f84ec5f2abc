"""Shared parts of the graphs that look at pictures: state, packed images, a call, readers alone."""

from __future__ import annotations

import asyncio
import json
import re
from operator import add
from typing import Annotated, Any, TypedDict

from harness.agents import ReactContext, TurnLimit
from harness.core import BadInput, Unreachable, render
from harness.models import Reply, Sampling
from harness.tools import ToolArgumentError, get_tools, truncate
from harness.vision.images import Packed, image_files, pack_files
from harness.vision.profiles import vision_profile

READERS = ("chart", "table", "receipt", "ocr", "shapes")
"""Tools that take a whole picture; `survey` uses those that the suite offers."""
DEFAULT_READERS = ("chart", "table", "shapes")
"""What `survey` uses where the suite offers none: `table` gives all text, row by row."""
_TEXT_ONLY = "for a model without eyes use --agent graph:vqa_text"


class _Question(TypedDict):
    """The part of the state that every input has."""

    messages: Annotated[list[dict[str, Any]], add]


class VisualState(_Question, total=False):
    """Content of a checkpoint of `graphs/vqa.py`.

    Attributes:
        blind: whether the model is sent no images.
        description: what the image shows.
        checklist: what to look at.
        seen: what was seen, one observation per line of the checklist.
        dialogue: tool calls and results of the line that is looked at.
        pending: tool calls to run.
        turns: model calls so far.
        format_errors: replies in a row that could not be read.
        solution: steps and answer, as JSON.
        answer: the final answer.
    """

    blind: bool
    description: str
    checklist: list[str]
    seen: Annotated[list[str], add]
    dialogue: list[dict[str, Any]]
    pending: list[dict[str, Any]]
    turns: Annotated[int, add]
    format_errors: int
    solution: dict[str, Any]
    answer: str


def question_of(state: VisualState) -> str:
    """The prompt that the task family made."""
    return state["messages"][0]["content"]


def solving_prompt(state: VisualState) -> str:
    """The prompt that asks for steps and answer."""
    description, seen = state.get("description", ""), seen_so_far(state)
    return render("vqa_reason", question=question_of(state), description=description, seen=seen)


def seen_so_far(state: VisualState) -> list[tuple[str, str]]:
    """The checklist with what was seen; lines that were not looked at are left out."""
    return list(zip(state.get("checklist", []), state.get("seen", []), strict=False))


async def packed_images(context: ReactContext) -> Packed:
    """The images of the work folder, within the limits of the model's profile.

    Raises:
        BadInput: if one cannot be read.
    """
    workdir = context.bench.workdir
    files = image_files(workdir)
    if not files:
        return Packed(())
    names = [path.relative_to(workdir).as_posix() for path in files]
    limits = vision_profile(context.model.spec).images
    return await asyncio.to_thread(pack_files, files, limits, names, workdir)


async def ask(
    context: ReactContext,
    prompt: str,
    packed: Packed,
    *,
    turns: int,
    dialogue: list[dict[str, Any]] | None = None,
    tools: list[dict[str, Any]] | None = None,
    sampling: Sampling | None = None,
) -> tuple[str, Reply]:
    """One call: images, then the prompt, then what was said since; the text without reasoning.

    Args:
        context: of the attempt.
        prompt: text behind the images.
        packed: images; without any the message is plain text.
        turns: calls of the attempt so far.
        dialogue: messages behind the first one.
        tools: schemas of tools that may be called.
        sampling: in place of that of the attempt.

    Raises:
        TurnLimit: if all turns are used.
        BadInput: if the endpoint takes no images; the message says what to do.
    """
    if turns >= context.max_turns:
        raise TurnLimit(f"turn limit of {context.max_turns} reached")
    content = [*packed.parts(), {"type": "text", "text": prompt}] if packed.images else prompt
    system = [{"role": "system", "content": context.skill}] if context.skill else []
    messages = [*system, {"role": "user", "content": content}, *(dialogue or [])]
    try:
        reply = await context.model.complete(
            messages, tools=tools or None, sampling=sampling or context.sampling
        )
    except (BadInput, Unreachable) as error:
        # Servers answer HTTP 400, and llama.cpp's 500, to images that they cannot take.
        count, problem = len(packed.images), str(error)
        about_images = re.search("image|multi-?modal", problem, re.IGNORECASE)
        if not count or not (isinstance(error, BadInput) or about_images):
            raise
        raise BadInput(
            f"{problem}; the request held {count} image{'s' * (count != 1)} (profile "
            f"{vision_profile(context.model.spec).name!r}): {_TEXT_ONLY}; for one that sees, serve "
            f"it with room for them (vLLM: --limit-mm-per-prompt '{{\"image\": {count}}}')"
        ) from error
    context.tell({"type": "reply", "text": reply.text, "reply": reply})
    return reply.text.strip(), reply


async def survey(context: ReactContext) -> str:
    """Describe what readers find in the pictures, without a model.

    Raises:
        BadInput: if there is no sandbox for them.
    """
    files = image_files(context.bench.workdir)
    offered = [tool for name in READERS for tool in context.tools if tool.name == name]
    readers = offered or get_tools(DEFAULT_READERS)
    reports: list[str] = []
    for path in files:
        name = path.relative_to(context.bench.workdir).as_posix()
        for tool in readers:
            try:
                report = await tool.call({"file": name}, context.bench)
            except ToolArgumentError as error:
                report = json.dumps({"error": str(error)})
            reports.append(f"{tool.name} of {name}: {truncate(report)}")
    context.tell({"type": "survey", "text": "\n".join(reports)})
    return "\n".join(reports)
