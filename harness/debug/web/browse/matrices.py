"""A matrix of eval runs as the page asks for it."""

from __future__ import annotations

import base64
from typing import Any

from harness.debug.web.browse.library import Place
from harness.evals.matrix.report import matrix_report
from harness.evals.matrix.spec import read_lock


def matrix(place: Place) -> dict[str, Any]:
    """The table of a matrix, each cell with the address of its run, and its plots as images.

    Raises:
        BadInput: if its lock cannot be read.
    """
    report = matrix_report(place.path).model_dump(mode="json")
    below = "" if place.name == "." else f"{place.name}/"
    for cell in report["cells"]:
        cell["run"] = f"{below}{cell['run']}"
        if cell["versus_base"]:
            del cell["versus_base"]["fixed"], cell["versus_base"]["broken"]
    plots = report.pop("plots")
    images = [[suite, _image(drawn)] for suite, drawn in plots.items()]
    return {**report, "plots": images, "changed": place.changed}


def headline(place: Place) -> dict[str, Any]:
    """What the list says of a matrix."""
    lock = read_lock(place.path)
    begun = sum((place.path / cell.folder / "run.json").is_file() for cell in lock.cells)
    return {"title": lock.name, "cells": len(lock.cells), "begun": begun}


def _image(drawn: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"
