"""A long trajectory for one prompt: what the agent did is kept, what it was shown is compressed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.core import Step, Trajectory
from harness.evolve.evidence import final_answer, said, shown, task_prompt, transcript
from harness.rag.compress import Span, compress
from harness.rag.retrieve.document import Document

MAX_CHARACTERS = 60_000
OWN_SHARE = 0.6
"""Share of the limit that the agent's own words may take before they are compressed too."""
MIN_CHARACTERS = 400
"""A shorter text is kept whole: leaving parts of it out saves next to nothing."""
KEEP = (
    "Keep what explains the outcome: errors, exceptions, warnings, tracebacks, failed checks, "
    "missing or unexpected values, and what the final answer rests on."
)


@dataclass(frozen=True)
class _Part:
    """A text of the transcript: `own` is the agent's, the rest is what it was shown."""

    step: int
    text: str
    own: bool


def extract(trajectory: Trajectory, limit: int = MAX_CHARACTERS) -> str:
    """The transcript, or what explains its outcome in at most about `limit` characters.

    Steps keep their numbers and their order. A text that was shown before is named by its step.
    What is kept of the others is chosen for the task, the answer and signs of errors, verbatim;
    a mark stands for what is left out.
    """
    whole = transcript(trajectory)
    if len(whole) <= limit:
        return whole
    parts = _without_repeats(trajectory.steps)
    own = sum(len(part.text) for part in parts if part.own)
    long = {
        str(index): part.text
        for index, part in enumerate(parts)
        if len(part.text) >= MIN_CHARACTERS and not (part.own and own <= OWN_SHARE * limit)
    }
    fixed = sum(len(part.text) for index, part in enumerate(parts) if str(index) not in long)
    texts = _compressed(long, max(limit - fixed, limit // 10), _query(trajectory))
    lines: dict[int, list[str]] = {}
    for index, part in enumerate(parts):
        lines.setdefault(part.step, []).append(texts.get(str(index), part.text))
    return "\n\n".join("\n".join(one) for one in lines.values())


def _without_repeats(steps: Sequence[Step]) -> list[_Part]:
    """What was said and shown in each step; what was shown again is named by its first step."""
    first: dict[str, int] = {}
    parts: list[_Part] = []
    for step in steps:
        parts.append(_Part(step.step_id, said(step), own=step.source == "agent"))
        for text in shown(step):
            seen = first.setdefault(text, step.step_id)
            again = seen != step.step_id and len(text) >= MIN_CHARACTERS
            mark = f"OBSERVATION [the same as in step {seen}]" if again else f"OBSERVATION {text}"
            parts.append(_Part(step.step_id, mark, own=False))
    return parts


def _query(trajectory: Trajectory) -> str:
    return f"{task_prompt(trajectory)}\n{final_answer(trajectory)}"


def _compressed(texts: Mapping[str, str], room: int, query: str) -> dict[str, str]:
    """Each text with what matters for the query, in about `room` characters together."""
    total = sum(map(len, texts.values()))
    if total <= room:
        return dict(texts)
    # A mark costs characters too: without some air the result would be longer than asked.
    found = compress(
        [Document(id=name, text=text) for name, text in texts.items()],
        query,
        instruction=KEEP,
        ratio=max(0.01, 0.9 * room / total),
        critic="lexical",
        markers="none",
        reversible=False,
    )
    kept: dict[str, list[Span]] = defaultdict(list)
    for span in found.spans:
        kept[span.doc].append(span)
    return {name: _marked(text, kept[name]) for name, text in texts.items()}


def _marked(text: str, spans: Sequence[Span]) -> str:
    """The spans of a text, with a mark for every part between them."""
    pieces: list[str] = []
    place = 0
    for span in spans:
        pieces += [_gap(span.start - place), span.text]
        place = span.end
    return "\n".join(piece for piece in (*pieces, _gap(len(text) - place)) if piece)


def _gap(characters: int) -> str:
    return f"[... {characters} characters left out ...]" if characters > 1 else ""
