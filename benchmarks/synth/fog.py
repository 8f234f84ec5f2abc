"""Share of answers that a single search finds: fog questions beside plain ones.

    python -m benchmarks.synth.fog [--count 200] [--table FILE] [--out FILE]

For the same answers: hit@5 of BM25 with the question as the query. Without a table, one of 150 rows
is made up.
"""

from __future__ import annotations

import asyncio
import csv
import itertools
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.reports import Options, Result, benchmark, option, share_interval
from harness.synth.documents import Library
from harness.synth.fog.graph import EntityGraph, graph_of_table
from harness.synth.fog.writing import draw
from harness.synth.tables.table import read_table


def people(path: Path, size: int = 150) -> Path:
    """A table of people with towns, guilds, mentors, years and heights."""
    rng = Random(3)
    names = [f"Person {a}{b}" for a in "ABCDEFGHIJKLMNO" for b in "abcdefghij"][:size]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "town", "guild", "mentor", "joined", "height"])
        for name in names:
            town, guild = rng.randrange(size // 6), rng.randrange(size // 10)
            writer.writerow(
                [name, f"Town {town}", f"Guild {guild}", rng.choice(names[: size // 2]),
                 rng.randrange(1900, 2000), rng.randrange(1500, 2100) / 10]
            )  # fmt: skip
    return path


def plain(graph: EntityGraph, target: str) -> str:
    """A question of level 1 on an entity, for comparison: all names and values are given."""
    parts = [
        f"{relation} {end if start == target else start}"
        for relation, start, end in graph.edges(target)
    ]
    parts += [
        f"{name} {number:g}"
        for name, rows in sorted(graph.values.items())
        for number in sorted(rows.get(target, ()))
    ]
    return f"Which entry has {', '.join(parts)}?"


async def hits(library: Library, queries: list[tuple[str, str]]) -> int:
    """Count the answers among the five best passages of their query."""
    ranked = [await library.search(query, 5) for query, _ in queries]
    rows = zip(ranked, queries, strict=True)
    return sum(answer in {hit.doc for hit in ranking} for ranking, (_, answer) in rows)


@benchmark(count=200, table=option(type=Path), out=option(type=Path))
def main(options: Options) -> Result:
    """Print hit@5 of both with its interval."""
    result: dict[str, Any] = {"simulated": True}
    with tempfile.TemporaryDirectory() as directory:
        path = options.table or people(Path(directory) / "people.csv")
        library, graph = (
            Library.read(path, Path(directory) / "library"),
            graph_of_table(read_table(path)),
        )
        drawn = (draw(graph, Random(f"7 {number}")) for number in itertools.count())
        questions = [*itertools.islice(filter(None, drawn), options.count)]
        for name, queries in (
            ("plain", [(plain(graph, row.answer), row.answer) for row in questions]),
            ("fog", [(row.text, row.answer) for row in questions]),
        ):
            count = asyncio.run(hits(library, queries))
            n = len(queries)
            ci95 = share_interval(count, n)
            result[name] = {"share": count / n, "hit@5": count, "of": n, "ci95": ci95}
    return result
