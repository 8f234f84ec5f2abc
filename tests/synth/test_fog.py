"""Fog: 1,000 questions, each with one answer, each constraint needed, by another way of solving."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.synth.fog import plain
from harness.core import BadInput
from harness.core.rundir import RunReader, RunWriter
from harness.synth.fog.graph import EntityGraph, graph_of_table
from harness.synth.fog.proposer import FogProposer, Unique
from harness.synth.fog.solving import Link, Span, fault_of, has_cycle, solutions, without_each
from harness.synth.fog.writing import Question, draw
from harness.synth.session import run_factory
from harness.synth.tables.table import read_table
from harness.synth.types import Record
from tests.synth.cases import documents, factory, materials, run


def registry(folder: Path, size: int = 150) -> Path:
    """A table of people with towns, guilds, mentors, founding years and heights."""
    rng = Random(3)
    names = [f"Person {a}{b}" for a in "ABCDEFGHIJKLMNO" for b in "abcdefghij"][:size]
    towns = [f"Town {n}" for n in range(size // 6)]
    guilds = [f"Guild {n}" for n in range(size // 10)]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "town", "guild", "mentor", "joined", "height", "note"])
        for name in names:
            writer.writerow(
                [name, rng.choice(towns), rng.choice(guilds), rng.choice(names[: size // 2]),
                 rng.randrange(1900, 2000), rng.randrange(1500, 2100) / 10, f"note on {name}"]
            )  # fmt: skip
    return path


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> EntityGraph:
    return graph_of_table(read_table(registry(tmp_path_factory.mktemp("fog"))))


def questions_of(graph: EntityGraph, count: int) -> list[Question]:
    drawn = (draw(graph, Random(f"7 {number}")) for number in itertools.count())
    return list(itertools.islice(filter(None, drawn), count))


@pytest.fixture(scope="module")
def questions(graph: EntityGraph) -> list[Question]:
    return questions_of(graph, 200)


def brute(graph: EntityGraph, constraints: list[Link | Span]) -> set[str]:
    """Every answer, by joining rows of bindings; nothing of the solver's is used."""
    rows: list[dict[int, str]] = [{}]
    for row in sorted(constraints, key=lambda row: (row.kind == "link", row.start)):
        if isinstance(row, Span):
            pairs = [
                ((row.start, name),)
                for name, values in graph.values[row.attribute].items()
                if any(row.low <= value <= row.high for value in values)
            ]
        else:
            pairs = [
                ((row.start, a), (row.end, b))
                for a, others in graph.links[row.relation].items()
                for b in others
            ]
        joined: list[dict[int, str]] = []
        for bound in rows:
            for pair in pairs:
                new = {**bound, **dict(pair)}
                fits = all(new[end] == name for end, name in bound.items())
                if fits and dict(pair).items() <= new.items() and len({*new.values()}) == len(new):
                    joined.append(new)
        rows = [dict(items) for items in {tuple(sorted(bound.items())) for bound in joined}]
    return {bound[0] for bound in rows}


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.full)])
def test_exactly_one_entity_fits_and_each_constraint_is_needed(
    graph: EntityGraph, count: int
) -> None:
    for question in questions_of(graph, count):
        assert solutions(graph, question.constraints) == {question.answer}
        for _, others in without_each(question.constraints):
            assert solutions(graph, others) > {question.answer}
        assert has_cycle([row for row in question.constraints if isinstance(row, Link)])
        assert question.answer not in question.text


def small(seed: int) -> EntityGraph:
    """A random graph of nine entities."""
    rng, graph = Random(seed), EntityGraph()
    names = [f"E{n}" for n in range(9)]
    for _ in range(18):
        graph.link(rng.choice("rs"), *rng.sample(names, 2))
    for name in names:
        graph.value("size", name, rng.randrange(6))
    graph.targets = names
    return graph


@given(st.integers(0, 10_000))
def test_the_solver_agrees_with_joining_everything(seed: int) -> None:
    rng, graph = Random(seed), small(seed)
    constraints: list[Link | Span] = [Link(relation=rng.choice("rs"), start=0, end=1)]
    for _ in range(rng.randrange(4)):
        start, end = rng.sample(range(4), 2)
        constraints.append(Link(relation=rng.choice("rs"), start=start, end=end))
    low = rng.randrange(5)
    constraints.append(
        Span(attribute="size", start=rng.randrange(3), low=low, high=low + 1, words="")
    )
    assert solutions(graph, constraints) == brute(graph, constraints)


def test_names_and_values_are_hidden(questions: list[Question]) -> None:
    for question in questions:
        assert not any(name in question.text for name in question.names)
        spans = [row for row in question.constraints if isinstance(row, Span)]
        assert all(row.high > row.low for row in spans)


def test_a_question_that_is_not_unique_or_not_minimal_is_named(
    graph: EntityGraph, questions: list[Question]
) -> None:
    question = questions[0]
    assert fault_of(graph, question.constraints, question.answer) == ""
    assert "alone to fit" in fault_of(graph, question.constraints[1:], question.answer)
    assert "alone to fit" in fault_of(graph, question.constraints, "Nobody")
    more = [*question.constraints, question.constraints[0]]
    assert "not needed" in fault_of(graph, more, question.answer)


def test_a_plain_question_gives_everything(graph: EntityGraph) -> None:
    target = graph.targets[0]
    assert all(
        other in plain(graph, target)
        for row in graph.edges(target)
        for other in row[1:]
        if other != target
    )


def test_the_kind_makes_searchable_tasks(tmp_path: Path) -> None:
    stuff = materials(registry(tmp_path / "table", 60), tmp_path / "out")
    proposer = FogProposer(stuff)
    with RunWriter(tmp_path / "out", {"kind": "synth"}) as writer:
        made = factory(stuff, proposer, writer, want=6, most=40)
        run(run_factory(made))
        assert sum(made.write_suite().values()) == 6
        rows = [Record.model_validate(row["record"]) for row in RunReader(tmp_path / "out").items()]
    kept = [row for row in rows if row.decision == "accepted"]
    assert len({row.proposal.question for row in kept}) == len(kept) >= 6
    wrong = kept[0].proposal.model_copy(update={"answers": ("Person Aa",)})
    assert "alone to fit" in run(Unique(stuff).fault(wrong, [])) or kept[0].proposal.answers == (
        "Person Aa",
    )


def test_a_source_without_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,note\nAnn,x\nBob,y\n")
    with pytest.raises(BadInput, match="not linked"):
        FogProposer(materials(tmp_path / "t.csv", tmp_path / "out"))
    with pytest.raises(BadInput, match="table"):
        FogProposer(materials(documents(tmp_path / "docs", "One."), tmp_path / "out"))
