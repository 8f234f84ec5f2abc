"""Figures of papers beside ours: what was published, what we measured, how far apart, at what cost.

A file of `evals/paper/` holds one paper. A figure of ours names the result file that contains it,
and is read from there: it cannot be written by hand. A figure that we have not measured says why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from pydantic import Field, JsonValue, ValidationError, model_validator

from harness.core import BadInput, Value, assets, first_fault, read_yaml
from harness.evals.suite import SplitBy

FOLDER = "evals/paper"
IN_DOMAIN = ("Vrf", "Soft", "Hard")
OUT_OF_DOMAIN = ("WikiTQ", "HiTab")
Comparison = Literal["same", "close", "other"]


class Measured(Value):
    """Where a figure of ours stands.

    Attributes:
        file: JSON file in the repository.
        at: keys and indexes that lead to the number.
        times: what the number is multiplied by (100 for points).
        command: what made the file.
    """

    file: str
    at: tuple[str | int, ...] = Field(min_length=1)
    times: float = 1.0
    command: str = Field(min_length=1)

    def value(self) -> float:
        """The number.

        Raises:
            BadInput: if the file or the number is not there.
        """
        path = assets.root() / self.file
        try:
            number: Any = reduce(lambda node, key: node[key], self.at, json.loads(path.read_text()))
            return round(float(number) * self.times, 6)
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            raise BadInput(
                f"{self.file}: expected a number at {list(self.at)!r}: {error}"
            ) from error


class Figure(Value):
    """One published figure beside ours.

    Attributes:
        name: short and unique within its paper.
        dataset: name of one of the paper's data sets.
        metric: what is counted, with its unit.
        setting: model and method, as published.
        published: the figure.
        spread: standard deviation or half-width as published, or None.
        ours: where ours stands, or None.
        compared: whether ours was measured in the same setting, a close one, or another.
        why: why there is none of ours, or in what ours differs.
    """

    name: str = Field(min_length=1)
    dataset: str
    metric: str
    setting: str
    published: float
    spread: float | None = None
    ours: Measured | None = None
    compared: Comparison | None = None
    why: str = ""

    @model_validator(mode="after")
    def _explained(self) -> Figure:
        if self.ours is None and (not self.why or self.compared is not None):
            raise ValueError(f"{self.name}: without 'ours' it needs 'why', and no 'compared'")
        if self.ours is not None and self.compared is None:
            raise ValueError(f"{self.name}: with 'ours' it needs 'compared'")
        if self.compared in ("close", "other") and not self.why:
            raise ValueError(f"{self.name}: it needs 'why': in what does ours differ?")
        return self

    def deviation(self) -> float | None:
        """Ours minus the published figure; None without ours, or in another setting."""
        if self.ours is None or self.compared == "other":
            return None
        return round(self.ours.value() - self.published, 6)


class PaperData(Value):
    """A data set of a paper.

    Attributes:
        name: as in the paper.
        corpus: what it is called in our catalogue, or None where we have no loader.
        licence: of the data.
        use: what it is for.
        size: questions, None where it is not said.
        split_by: how a suite divides it, where it is divided.
    """

    name: str
    corpus: str | None = None
    licence: str
    use: str
    size: int | None = Field(default=None, ge=1)
    split_by: tuple[SplitBy, ...] = ()


class Budget(Value):
    """What the paper took, and what taking it again would take.

    Attributes:
        published: in the paper's words and units.
        gpu_hours: published, or None.
        tokens: published, or None.
        attempts: agent attempts, or generations, of all published cells with their seeds.
        tokens_per_attempt: estimated, prompts included, or None.
        basis: where the estimates come from.
    """

    published: str
    gpu_hours: float | None = None
    tokens: float | None = None
    attempts: int | None = Field(default=None, ge=1)
    tokens_per_attempt: int | None = Field(default=None, ge=1)
    basis: str

    def estimated_tokens(self) -> int | None:
        """Attempts times tokens of each; None where either is unknown."""
        if self.attempts is None or self.tokens_per_attempt is None:
            return None
        return self.attempts * self.tokens_per_attempt


class Paper(Value):
    """The settings of one paper."""

    name: str
    title: str
    arxiv: str = Field(pattern=r"^\d{4}\.\d{5}(v\d+)?$")
    models: tuple[str, ...] = Field(min_length=1)
    seeds: tuple[int, ...] = Field(min_length=1)
    settings: dict[str, JsonValue]
    data: tuple[PaperData, ...] = Field(min_length=1)
    budget: Budget
    figures: tuple[Figure, ...] = Field(min_length=1)
    differs: tuple[str, ...]
    commands: tuple[str, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Paper:
        names = [figure.name for figure in self.figures]
        datasets = {data.name for data in self.data}
        if len(set(names)) < len(names):
            raise ValueError("figures: a name stands there twice")
        if strange := sorted({figure.dataset for figure in self.figures} - datasets):
            raise ValueError(f"figures name data sets that are not listed: {', '.join(strange)}")
        return self


def load_paper(path: Path) -> Paper:
    """Read and check a file of settings; every figure of ours is looked up.

    Raises:
        BadInput: if it is no such file, or a figure of ours does not stand where it says.
    """
    try:
        paper = Paper.model_validate(read_yaml(path))
    except ValidationError as error:
        raise BadInput(f"{path}: {first_fault(error, 'paper')}") from error
    for figure in paper.figures:
        if figure.ours is not None:
            figure.ours.value()
    return paper


def load_papers(name: str | None = None) -> list[Paper]:
    """The papers whose settings ship, or one of them.

    Raises:
        BadInput: for a name that is not among them, or a file that cannot be used.
    """
    files = sorted(assets.find(FOLDER).glob("*.yaml"))
    chosen = [file for file in files if name in (None, file.stem)]
    if not chosen:
        raise BadInput(f"no paper {name!r}: expected {', '.join(file.stem for file in files)}")
    return [load_paper(file) for file in chosen]


def rows(paper: Paper) -> list[dict[str, Any]]:
    """A row a figure, for tables and JSON."""
    return [
        {
            "figure": figure.name, "data": figure.dataset, "metric": figure.metric,
            "setting": figure.setting, "published": figure.published, "spread": figure.spread,
            "ours": None if figure.ours is None else figure.ours.value(),
            "compared": figure.compared, "deviation": figure.deviation(), "why": figure.why,
        }
        for figure in paper.figures
    ]  # fmt: skip


def table(paper: Paper) -> str:
    """The figures as a table in Markdown."""
    lines = [
        "| figure | published | ours | deviation | how ours was measured, or why not |",
        "|---|---|---|---|---|",
    ]
    for row in rows(paper):
        spread = "" if row["spread"] is None else f" ± {row['spread']:g}"
        ours = "-" if row["ours"] is None else f"{row['ours']:g}"
        apart = "-" if row["deviation"] is None else f"{row['deviation']:+g}"
        measure = f"{row['data']}, {row['metric']}: {row['setting']}"
        why = row["why"] or "in the same setting"
        lines.append(f"| {measure} | {row['published']:g}{spread} | {ours} | {apart} | {why} |")
    return "\n".join(lines)


def page(paper: Paper) -> str:
    """The settings and figures of a paper in Markdown."""
    budget, estimate = paper.budget, paper.budget.estimated_tokens()
    again = "unknown" if estimate is None else f"about {estimate:,} tokens"
    parts = [
        f"## {paper.title} (arXiv {paper.arxiv})",
        f"Models: {', '.join(paper.models)}. Seeds: {', '.join(map(str, paper.seeds))}.",
        f"Published cost: {budget.published}. All of it again: {again} ({budget.basis}).",
        table(paper),
        "What differs:\n\n" + "\n".join(f"- {line}" for line in paper.differs),
        "Commands:\n\n```\n" + "\n".join(paper.commands) + "\n```",
    ]
    return "\n\n".join(parts)


def trace2skill_average(users: Mapping[str, Mapping[str, float]]) -> float:
    """The `Avg` of Trace2Skill (arXiv 2603.25158v2, table 1), in points.

    Avg = (ID + OOD) / 2, where ID is the mean of Vrf, Soft and Hard over all user models and OOD
    that of WikiTQ and HiTab: both halves weigh the same although they have six and four cells.

    Args:
        users: user model -> score of each of the five benchmarks, in points.

    Raises:
        BadInput: if there is no user model, or one lacks a benchmark.
    """
    if not users:
        raise BadInput("expected the scores of at least one user model, got none")
    for user, scores in users.items():
        if missing := [name for name in (*IN_DOMAIN, *OUT_OF_DOMAIN) if name not in scores]:
            raise BadInput(f"user model {user!r} lacks {', '.join(missing)}")
    halves = (
        fmean(scores[name] for scores in users.values() for name in names)
        for names in (IN_DOMAIN, OUT_OF_DOMAIN)
    )
    return fmean(halves)
