"""The simulated agent: answers questions about text and tables, and edits workbooks by script."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from lab.simulator.conversation import Conversation
from lab.simulator.draws import draw
from lab.simulator.lookup import look_up
from lab.simulator.orders import APPLIES, Order, answer, read_task
from lab.simulator.profile import Defect, Profile
from lab.simulator.spreadsheet import edit_script, view_script

_FILE = re.compile(r"[\w./-]+\.(?:csv|tsv|txt|md|json)\b")
_QUESTION = re.compile(r"^(?:\W*question\s*:\s*)?(.*\?)\s*$", re.IGNORECASE | re.MULTILINE)
# Words that a description must share with the task to be opened for it.
LEAST = 2
_SKILL = re.compile(r'<skill name="([^"]+)"(?: path="([^"]+)")?>(.*?)</skill>', re.DOTALL)
_WORD = re.compile(r"[a-z]{4,}")
_FILLER_WORDS = (
    "about after before from have help into make need please that their them then this what when"
    " where which with would your task tasks skill skills user users asks"
)
_FILLER = frozenset(_FILLER_WORDS.split())


@dataclass(frozen=True)
class Move:
    """Next step of the model: a text, or a call of `tool` with `code`.

    Attributes:
        text: what it says.
        tool: `bash`, `python` or `read_skill_file`, empty for a final answer.
        code: the command, program or path.
        reasoning: what it thinks beforehand.
    """

    text: str
    tool: str = ""
    code: str = ""
    reasoning: str = ""


def next_move(profile: Profile, view: Conversation, request: str, seed: int) -> Move:
    """Choose the agent's next step in this state.

    Args:
        profile: the planted failures.
        view: the conversation so far.
        request: identity of the request, for the noise.
        seed: of the request, for the noise.
    """
    if profile.orders and (task := read_task(view.task)):
        return _order_desk(profile, view, task, draw("noise", request, seed, profile.seed))
    if profile.opens_skills and view.can("read_skill_file") and not view.observations:
        offer = opened(view.task, offers(view.system), profile.blindness, profile.seed)
        if offer is not None:
            return Move(f"The skill {offer.name} is about this.", "read_skill_file", offer.path)
    defects = profile.defects(view.identity, view.skill)
    slip = draw("noise", request, seed, profile.seed) < profile.noise
    tool = next((name for name in ("bash", "python") if view.can(name)), "")
    if tool and ".xlsx" in view.task:
        return _edit_workbook(view, defects, slip)
    files = [name for name in dict.fromkeys(_FILE.findall(view.task)) if name != "SKILL.md"]
    if tool and files and not view.observations:
        code = f"for name in {files!r}:\n    print(open(name, encoding='utf-8').read())"
        return Move(
            "I read the files first.", tool, code if tool == "python" else f"cat {' '.join(files)}"
        )
    return Move(_answer(view, defects, slip))


def _order_desk(
    profile: Profile, view: Conversation, task: tuple[str, str, tuple[Order, ...]], chance: float
) -> Move:
    """One answer of the order desk, with what goes wrong in it."""
    kind, name, orders = task
    slips = profile.slips(view.identity, view.skill, APPLIES[kind])
    reasoning, text = answer(kind, name, orders, slips)
    if chance < profile.noise:
        return Move(f"{text}?", reasoning="I lost my place in the table.")
    return Move(text, reasoning=reasoning)


def _edit_workbook(view: Conversation, defects: set[Defect], slip: bool) -> Move:
    """View, then edit, then finish: one step for each observation so far."""
    tool = "python" if view.can("python") else "bash"
    step = len(view.observations)
    if step == 0:
        return Move("I look at the workbook first.", tool, _program(tool, view_script(view.task)))
    if step == 1:
        script = edit_script(view.task, defects, slip)
        return Move("Now I write the result.", tool, _program(tool, script))
    return Move(_finish(view, "The workbook is saved."))


def _program(tool: str, script: str) -> str:
    return script if tool == "python" else f"python3 - <<'PROGRAM'\n{script}\nPROGRAM"


def _answer(view: Conversation, defects: set[Defect], slip: bool) -> str:
    questions: list[str] = _QUESTION.findall(view.task)
    question = questions[-1].strip() if questions else (view.task.strip().splitlines() or [""])[-1]
    material = "\n".join(view.observations) if view.observations else view.task
    lines = [line for line in material.splitlines() if question not in line or not question]
    text = "\n".join(line for line in lines if not re.match(r"\s*(Observation|Question)\b", line))
    opening = r"^\W*(?:passage|context|text|document)\s*:\s*"
    value = look_up(question, re.sub(opening, "", text, flags=re.IGNORECASE))
    if slip:
        value = f"{value[: len(value) // 2] or 'unknown'}"
    if "unit" in defects and re.fullmatch(r"[-+]?[\d.,]+", value):
        value = f"{value} units"
    if "sentence" in defects:
        value = f"The answer to the question is {value}."
    if "no_final_line" in defects:
        return f"I looked at the material. It seems to be {value}, as far as I can tell."
    labelled = view.task.rstrip().endswith(f"{view.label}:")
    return _finish(view, value if labelled else f"{view.label}: {value}")


def _finish(view: Conversation, text: str) -> str:
    signal = "ACTION: TASK_COMPLETE"
    return f"{text}\n{signal}" if signal in view.instructions else text


class Offer(NamedTuple):
    """A skill of a catalogue: its name, the path that opens it, and its description."""

    name: str
    path: str
    description: str


def offers(system: str) -> tuple[Offer, ...]:
    """The skills that a system prompt lists by description."""
    return tuple(
        Offer(name, path or "SKILL.md", text) for name, path, text in _SKILL.findall(system)
    )


def opened(task: str, listed: tuple[Offer, ...], blindness: float, seed: int) -> Offer | None:
    """The skill that is opened for a task: one that it names, else the one that shares most words.

    Args:
        task: the user's text.
        listed: the catalogue.
        blindness: share of tasks, drawn by a hash of the task, on which descriptions are not
            looked at; a name is always seen.
        seed: of that draw.
    """
    for offer in listed:
        if offer.name in task:
            return offer
    if draw("blind", task, seed) < blindness:
        return None
    words = _words(task)
    shared = [len(words & _words(offer.description)) for offer in listed]
    most = max(shared, default=0)
    return listed[shared.index(most)] if most >= LEAST else None


def _words(text: str) -> frozenset[str]:
    """Words of four letters or more, without a plural s."""
    words = _WORD.findall(text.lower())
    return frozenset(word.rstrip("s") for word in words if word not in _FILLER)
