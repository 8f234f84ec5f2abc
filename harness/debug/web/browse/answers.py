"""Answers to the page about finished work, as JSON values; nothing is changed by asking."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any

from harness.core import BadInput, Step, Trajectory
from harness.debug.engine.usage import mapping
from harness.debug.web.browse.evolutions import evolution, lineage
from harness.debug.web.browse.library import TASK, Library, clean_text
from harness.debug.web.values import TEXT, tree
from harness.trajectories import content_text

PAGE = 5000
"""Samples in one answer."""
REASON = 300
"""Characters of a reason in the list of samples."""
DATA = re.compile(r"data:image/(?:png|jpe?g|gif|webp);base64,[A-Za-z0-9+/=]+")
UNCUT = 2_000_000
"""Characters of one text that are shown where the whole of a step was asked for."""
Query = Mapping[str, str]


class Browsing:
    """Answers about a library, from the parameters of an address."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.questions: dict[str, Callable[[Query], Any]] = {
            "runs": self.runs,
            "run": self.run,
            "samples": self.samples,
            "tasks": self.tasks,
            "item": self.item,
            "evolution": self.evolution,
            "lineage": self.lineage,
            "matrix": self.matrix,
        }

    def about(self, *, debugger: bool = False, copy: bool = False) -> Any:
        """Describe this page: beside a debugger, a static copy; `at` is what it begins with."""
        return {"debugger": debugger, "copy": copy, "at": self.library.whole()}

    def runs(self, _: Query) -> Any:
        """All runs, matrices and evolutions, the latest first; one that cannot be read says why."""
        rows: list[dict[str, Any]] = []
        for entry in self.library.places():
            row: dict[str, Any] = {
                "name": entry.name,
                "kind": entry.kind,
                "changed": entry.changed,
            }
            try:
                if entry.kind == "eval":
                    row["report"] = self.library.run(entry.name).report().model_dump(mode="json")
                elif entry.kind == "matrix":
                    from harness.evals.matrix.spec import read_lock

                    lock = read_lock(entry.path)
                    begun = [
                        (entry.path / cell.folder / "run.json").is_file() for cell in lock.cells
                    ]
                    row["matrix"] = {"title": lock.name, "cells": len(begun), "begun": sum(begun)}
                else:
                    row["result"] = evolution(entry)["result"]
            except (BadInput, KeyError, OSError) as error:
                row["error"] = str(error)
            rows.append(row)
        return {"root": self.library.root.name or str(self.library.root), "rows": rows}

    def run(self, query: Query) -> Any:
        """Report and lock of a `run`, and the reports of its arms."""
        name = needed(query, "run")
        arms = [
            {"name": arm, **self.library.run(arm).report().model_dump(mode="json")}
            for arm in self.library.arms(name)
        ]
        return {"name": name, "lock": self.library.run(name).lock, "arms": arms}

    def samples(self, query: Query) -> Any:
        """Attempts of a `run` and its arms, :data:`PAGE` of them `from` a number on.

        A cell is [outcome, value, reason, tokens, seconds, answer if it failed]; None where an arm
        has no such attempt.
        """
        arms = [self.library.run(arm).items() for arm in self.library.arms(needed(query, "run"))]
        ids = list(dict.fromkeys(name for items in arms for name in items))
        start = whole(query, "from", 0)
        rows: list[dict[str, Any]] = []
        for name in ids[start : start + PAGE]:
            attempts = [items.get(name) for items in arms]
            cells = [
                item
                and [
                    item.outcome,
                    item.value,
                    clean_text(item.reason)[:REASON],
                    item.usage.tokens,
                    round(item.usage.seconds, 2),
                    clean_text(item.answer or "")[:REASON] if item.outcome == "fail" else "",
                ]
                for item in attempts
            ]
            rows.append({"id": name, "cells": cells})
        following = start + PAGE
        return {"rows": rows, "next": following if following < len(ids) else None}

    def tasks(self, query: Query) -> Any:
        """Return the tasks of all attempts of a `run`, by id; texts are cut at `most`."""
        return {"most": TASK, "texts": self.library.run(needed(query, "run")).texts()}

    def item(self, query: Query) -> Any:
        """Record and transcript of an `item` of a `run` or of an `evolution`; `whole` is a step."""
        name, step = needed(query, "item"), whole(query, "whole", 0) or None
        if "evolution" in query:
            trajectory = self.library.taught(query["evolution"], name)
            return {"record": None, "transcript": transcript(trajectory, step)}
        run = self.library.run(needed(query, "run"))
        record = run.items().get(name)
        if record is None and not run.has(name):
            raise BadInput(f"run {query['run']!r} has no item {name!r}")
        return {
            "record": None if record is None else record.model_dump(mode="json"),
            "transcript": transcript(run.trajectory(name), step) if run.has(name) else None,
        }

    def evolution(self, query: Query) -> Any:
        """Verdict, skill and what was left out of an `evolution`."""
        return evolution(self.library.place(needed(query, "evolution"), "evolution"))

    def lineage(self, query: Query) -> Any:
        """Trace an `edit` of an `evolution` to its origin."""
        return lineage(self.library, needed(query, "evolution"), whole(query, "edit", -1))

    def matrix(self, query: Query) -> Any:
        """The table of a `matrix`, each cell with the address of its run, and its plots as images.

        Raises:
            BadInput: if its lock cannot be read.
        """
        from harness.evals.matrix.report import matrix_report

        entry = self.library.place(needed(query, "matrix"), "matrix")
        report = matrix_report(entry.path).model_dump(mode="json")
        below = "" if entry.name == "." else f"{entry.name}/"
        for cell in report["cells"]:
            cell["run"] = f"{below}{cell['run']}"
            if cell["versus_base"]:
                del cell["versus_base"]["fixed"], cell["versus_base"]["broken"]
        plots = [
            [suite, f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"]
            for suite, drawn in report.pop("plots").items()
        ]
        return {**report, "plots": plots, "changed": entry.changed}


def needed(query: Query, name: str) -> str:
    """A parameter of the address that must be there."""
    value = query.get(name)
    if not value:
        raise BadInput(f"expected {name!r} in the address")
    return value


def whole(query: Query, name: str, default: int) -> int:
    """A parameter that is a whole number."""
    value = query.get(name)
    if value is None:
        return default
    if not value.isdecimal():
        raise BadInput(f"expected a whole number as {name!r}, found {value!r}")
    return int(value)


def transcript(trajectory: Trajectory, uncut: int | None = None) -> dict[str, Any]:
    """A trajectory as the page reads it: messages, thoughts, tool calls and what they gave back.

    Args:
        trajectory: what to show.
        uncut: number of a step whose texts are not cut.
    """
    agent = trajectory.agent
    task = mapping(mapping(mapping(trajectory.extra).get("harness")).get("task"))
    return {
        "agent": f"{agent.name} {agent.version}".strip(),
        "model": agent.model_name,
        "notes": trajectory.notes,
        "expected": clean_text(str(task.get("expected") or "")),
        "steps": [
            _step(step, UNCUT if step.step_id == uncut else TEXT) for step in trajectory.steps
        ],
    }


def _step(step: Step, most: int) -> dict[str, Any]:
    def cut(text: str) -> dict[str, Any]:
        clean, end = clean_text(text), most
        for image in DATA.finditer(
            clean
        ):  # is shown, or it is a wall of letters: it counts nothing
            end += len(image[0]) if image.start() < end else 0
        return {"kind": "text", "value": clean[: min(end, UNCUT)], "size": len(clean)}

    results = step.observation.results if step.observation is not None else ()
    metrics = step.metrics
    return {
        "step": step.step_id,
        "source": step.source,
        "time": step.timestamp,
        "model": step.model_name,
        "reasoning": cut(step.reasoning_content or ""),
        "message": cut(content_text(step.message)),
        "calls": [
            {
                "name": call.function_name,
                "arguments": [
                    [name, cut(value) if isinstance(value, str) else tree(value)]
                    for name, value in call.arguments.items()
                ],
            }
            for call in step.tool_calls or ()
        ],
        "results": [cut(content_text(result.content or "")) for result in results],
        "tokens": None
        if metrics is None
        else (metrics.prompt_tokens or 0) + (metrics.completion_tokens or 0),
        "cost_usd": None if metrics is None else metrics.cost_usd,
    }
