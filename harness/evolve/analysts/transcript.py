"""Transcript of a trajectory for an analyst, and a test that its quotes stand there.

A long trajectory is shortened for one prompt: what the agent did is kept, what it was shown is
compressed by the plugin `lexical` of `harness.compressors`; without one, head and tail are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from harness.core import Step, Trajectory, grouped, plugins
from harness.trajectories import content_text

MIN_QUOTE = 8
MAX_CHARACTERS = 60_000
# Share of the limit that the agent's own words may take before they are compressed too.
OWN_SHARE = 0.6
# A shorter text is kept whole: leaving parts of it out saves next to nothing.
MIN_CHARACTERS = 400
KEEP = (
    "Keep what explains the outcome: errors, exceptions, warnings, tracebacks, failed checks, "
    "missing or unexpected values, and what the final answer rests on."
)
_GOLD = re.compile(
    r"\b(?:ground[- ]truth|gold(?:en)? (?:answer|file|output|standard)"
    r"|reference (?:answer|solution)"
    r"|expected answer|answer key|the grader)\b",
    re.IGNORECASE,
)


def transcript(trajectory: Trajectory) -> str:
    """The steps as numbered text."""
    return "\n\n".join(step_texts(trajectory))


def step_texts(trajectory: Trajectory) -> list[str]:
    """The text of every step: what it says, calls and is shown."""
    parts = (
        [_agent_text(step), *(f"OBSERVATION {text}" for text in _observations(step))]
        for step in trajectory.steps
    )
    return ["\n".join(part for part in texts if part) for texts in parts]


def _agent_text(step: Step) -> str:
    """The number and source of a step, its thoughts, its message and its tool calls."""
    thoughts = f"REASONING {step.reasoning_content}" if step.reasoning_content else ""
    parts = [f"[{step.step_id}] {step.source.upper()}", thoughts, content_text(step.message)]
    for call in step.tool_calls or ():
        arguments = "\n".join(f"{key}: {value}" for key, value in call.arguments.items())
        parts.append(f"CALL {call.function_name} {arguments}")
    return "\n".join(part for part in parts if part)


def _observations(step: Step) -> list[str]:
    """List what the tools of a step gave back."""
    results = step.observation.results if step.observation is not None else ()
    return [content_text(result.content or "") for result in results]


def unsupported(quotes: Iterable[str], transcript_text: str) -> list[str]:
    """Quotes that do not stand in the transcript (white space and outer quotes aside)."""
    text = flat(transcript_text)
    return [quote for quote in quotes if not stands_in(quote, text)]


def stands_in(quote: str, text: str) -> bool:
    """Find a quote in a text; outer quotation marks and a text of even case aside."""
    bare = flat(quote).strip(" \"'`")
    return len(bare) >= MIN_QUOTE and bare in text


def flat(text: str) -> str:
    """A text with even white space, in one case: quotes are compared so."""
    return " ".join(text.split()).casefold()


def mentions_gold(text: str) -> bool:
    """Return True if a lesson speaks of the answer key, which no agent ever sees."""
    return _GOLD.search(text) is not None


def extract(trajectory: Trajectory, limit: int = MAX_CHARACTERS) -> str:
    """The transcript, or what explains its outcome in at most about `limit` characters.

    Steps keep their numbers and their order. A text that was shown before is named by its step.
    What is kept of the others is chosen for the task, the answer and signs of errors, verbatim;
    a mark stands for what is left out.
    """
    full = transcript(trajectory)
    if len(full) <= limit:
        return full
    parts: list[tuple[int, str, bool]] = []  # step, text, whether it is the agent's own
    first_shown: dict[str, int] = {}
    for step in trajectory.steps:
        parts.append((step.step_id, _agent_text(step), step.source == "agent"))
        for text in _observations(step):
            first = first_shown.setdefault(text, step.step_id)
            again = first != step.step_id and len(text) >= MIN_CHARACTERS
            observation = f"[the same as in step {first}]" if again else text
            parts.append((step.step_id, f"OBSERVATION {observation}", False))
    own_length = sum(len(text) for _, text, by_agent in parts if by_agent)
    long = {
        str(index): text
        for index, (_, text, by_agent) in enumerate(parts)
        if len(text) >= MIN_CHARACTERS and not (by_agent and own_length <= OWN_SHARE * limit)
    }
    fixed = sum(len(text) for index, (_, text, _) in enumerate(parts) if str(index) not in long)
    query = f"{trajectory.prompt}\n{trajectory.answer}"
    shortened = _compressed(long, max(limit - fixed, limit // 10), query)
    lines = grouped(
        (number, shortened.get(str(index), text)) for index, (number, text, _) in enumerate(parts)
    )
    return "\n\n".join("\n".join(texts) for texts in lines.values())


def _compressed(texts: Mapping[str, str], room: int, query: str) -> dict[str, str]:
    """Each text with what matters for the query, in about `room` characters together.

    A mark stands for every part that is left out.
    """
    total = sum(map(len, texts.values()))
    if total <= room:
        return dict(texts)
    # A mark costs characters too: without some air the result would be longer than asked.
    ratio = max(0.01, 0.9 * room / total)
    if "lexical" in plugins.plugins("compressors"):
        compress = plugins.load("compressors", "lexical")
        spans: Mapping[str, Sequence[tuple[int, int]]] = compress(texts, query, KEEP, ratio)
    else:
        halves = {name: int(ratio * len(text) / 2) for name, text in texts.items()}
        spans = {
            name: [(0, half), (len(texts[name]) - half, len(texts[name]))]
            for name, half in halves.items()
        }
    marked: dict[str, str] = {}
    for name, text in texts.items():
        pieces: list[str] = []
        position = 0
        for start, end in [*spans.get(name, ()), (len(text), len(text))]:
            if start - position > 1:
                pieces.append(f"[... {start - position} characters left out ...]")
            pieces.append(text[start:end])
            position = end
        marked[name] = "\n".join(filter(None, pieces))
    return marked
