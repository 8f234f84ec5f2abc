"""Materials, factories and endpoints that answer by the script of a planted world."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from harness.core import Unreachable
from harness.core.plugins import load
from harness.core.rundir import RunWriter
from harness.models import Message, Model, Sampling
from harness.synth.factory import Factory, Solver, open_validators
from harness.synth.types import Materials, Proposer
from lab.worlds.models import Decide, FunctionModel
from lab.worlds.proposals import Fault, World

T = TypeVar("T")
FEW: dict[Fault, int] = {
    "good": 10, "leaked search": 2, "duplicate": 2, "unanswerable": 2, "ambiguous": 2,
    "in question": 2, "wrong gold": 2, "suite leak": 2, "repeated search": 2,
}  # fmt: skip


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of asynchronous work."""
    return asyncio.run(work)


def silent(messages: list[Any], sampling: Any) -> str:
    """A model that says nothing of use."""
    return "well"


def materials(
    source: Path, out: Path, propose: Decide = silent, check: Decide = silent, **settings: Any
) -> Materials:
    """Materials with models that are functions."""
    models = FunctionModel(propose), FunctionModel(check)
    return Materials(source, out, *models, **settings)


def world(folder: Path, faults: dict[Fault, int] | None = None) -> World:
    """A planted world, written to `folder/documents`."""
    planted = World(faults or FEW)
    planted.write(folder / "documents")
    return planted


def documents(folder: Path, *texts: str) -> Path:
    """A folder of documents d0.txt, d1.txt, ..."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"d{number}.txt").write_text(text)
    return folder


def factory(
    made_of: Materials,
    proposer: Proposer,
    writer: RunWriter,
    *,
    want: int,
    most: int,
    solve: Solver | None = None,
    **settings: Any,
) -> Factory:
    """A factory with the proposer's validators and band."""
    return Factory(
        materials=made_of, proposer=proposer, run=writer, want=want, most=most, solve=solve,
        validators=open_validators(made_of, proposer.validators),
        band=load("bands", proposer.band), **settings,
    )  # fmt: skip


def asked(model: Model) -> FunctionModel:
    """A model of a test, with what it was asked."""
    assert isinstance(model, FunctionModel)
    return model


def down(messages: list[Message], sampling: Sampling | None) -> Exception:
    """A model that cannot be reached."""
    return Unreachable("down")


def acts(script: list[str], *, wrong: str, keep: tuple[str, str]) -> Decide:
    """A model that sees: decides by a script, calls a screen that has `wrong` a wrong page, and
    keeps the second text of `keep` where the screen has the first."""
    position = {"next": 0}

    def answer(messages: list[Message], sampling: Sampling | None) -> str:
        content = messages[-1]["content"]
        prompt = content if isinstance(content, str) else content[0]["text"]
        if "Reply with three lines" in prompt:
            step = script[position["next"]]
            position["next"] += 1
            return f"Thought: A Capital.\nAction: {step}\nOperation: do {step}"
        if "Result: " in prompt:
            before, after = re.findall(r"<(?:before|after)>\n(.*?)\n</", prompt, re.DOTALL)
            if before == after:
                return "A clear case. Nothing happened.\nResult: C"
            return f"A page came up.\nResult: {'B' if wrong in after else 'A'}"
        return keep[1] if keep[0] in prompt else "None"

    return answer
