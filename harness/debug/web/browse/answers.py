"""What the page is told of finished work; nothing is changed by asking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.core import BadInput
from harness.core.redaction import redact
from harness.debug.web.browse.evolutions import evolution, lineage
from harness.debug.web.browse.library import Library, Place
from harness.debug.web.browse.matrices import headline, matrix
from harness.debug.web.browse.runs import TASK
from harness.debug.web.browse.transcript import transcript

PAGE = 5000
"""Samples in one answer."""
REASON = 300
Query = Mapping[str, str]


class Browsing:
    """Answers about a library, as JSON values, from the parameters of an address."""

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
        """What this page is: beside a debugger, a static copy; `at` is what it begins with."""
        return {"debugger": debugger, "copy": copy, "at": self.library.whole()}

    def runs(self, _: Query) -> Any:
        """All runs, matrices and evolutions, the latest first; one that cannot be read says why."""
        rows = [_row(self.library, place) for place in self.library.places()]
        return {"root": self.library.root.name or str(self.library.root), "rows": rows}

    def run(self, query: Query) -> Any:
        """Report and lock of a `run`, and the reports of its arms."""
        name = needed(query, "run")
        arms = [
            {"name": one, **self.library.run(one).report().model_dump(mode="json")}
            for one in self.library.arms(name)
        ]
        return {"name": name, "lock": self.library.run(name).lock, "arms": arms}

    def samples(self, query: Query) -> Any:
        """Attempts of a `run` and its arms, :data:`PAGE` of them `from` a number on.

        A cell is [outcome, value, reason, tokens, seconds]; None where an arm has no such attempt.
        """
        arms = self.library.arms(needed(query, "run"))
        items = [self.library.run(one).items() for one in arms]
        ids = list(dict.fromkeys(name for one in items for name in one))
        start = whole(query, "from", 0)
        rows: list[dict[str, Any]] = []
        for name in ids[start : start + PAGE]:
            found = [one.get(name) for one in items]
            known = next(one for one in found if one is not None)
            cells = [
                one
                and [
                    one.outcome,
                    one.value,
                    redact(one.reason)[:REASON],
                    one.usage.tokens,
                    round(one.usage.seconds, 2),
                ]
                for one in found
            ]
            rows.append({"id": name, "stratum": known.stratum, "cells": cells})
        following = start + PAGE
        return {"rows": rows, "next": following if following < len(ids) else None}

    def tasks(self, query: Query) -> Any:
        """What was asked in every attempt of a `run`, by id; texts are cut at `most`."""
        return {"most": TASK, "texts": self.library.run(needed(query, "run")).texts()}

    def item(self, query: Query) -> Any:
        """Record and transcript of an `item` of a `run` or of an `evolution`; `whole` is a step."""
        name, step = needed(query, "item"), whole(query, "whole", 0) or None
        if "evolution" in query:
            found = self.library.taught(query["evolution"], name)
            return {"record": None, "transcript": transcript(found, step)}
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
        """Where an `edit` of an `evolution` came from."""
        return lineage(self.library, needed(query, "evolution"), whole(query, "edit", -1))

    def matrix(self, query: Query) -> Any:
        """The table of a `matrix` and its plots."""
        return matrix(self.library.place(needed(query, "matrix"), "matrix"))


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


def _row(library: Library, place: Place) -> dict[str, Any]:
    head = {"name": place.name, "kind": place.kind, "changed": place.changed}
    try:
        if place.kind == "eval":
            run = library.run(place.name)
            return {**head, "report": run.report().model_dump(mode="json")}
        if place.kind == "matrix":
            return {**head, "matrix": headline(place)}
        found = evolution(place)
    except (BadInput, KeyError, OSError) as error:
        return {**head, "error": str(error)}
    return {**head, "result": found["result"]}
