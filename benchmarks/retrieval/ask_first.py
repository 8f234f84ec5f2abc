"""Wait of a new user: 20 PDFs, a fresh process, empty caches, one cited answer.

    python -m benchmarks.retrieval.ask_first [--model local/smollm2-135m]

Writes 20 PDFs of our own `dossier` corpus (test wordings) with a writer of a few lines, then runs
`harness ask` on the folder as a process of its own, with an empty cache folder: without a model
(`--extract`), with one (where it is named), and once more over an index that was built in between.
`cpu_s` counts processor seconds of that process. Documents of one kind are alike and the questions
do not name one, so whether answers are right is measured apart: each question asked of its own PDF,
`harness.api.ask` with `extract`; `right` counts answers that hold an accepted one, `in_passages`
those whose passages do.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import harness.api
from benchmarks.reports import Options, Result, benchmark, option
from harness.core import cache_root
from harness.corpora import Reading
from harness.rag.tasks.reading import official_normal
from harness.stats import wilson
from lab.corpora.dossier import dossier_readings
from lab.corpora.folio.canvas import pdf_file

DOCUMENTS = 20
QUESTIONS = 10
OWN = 40
WIDTH, LINES = 88, 52
Row = dict[str, Any]


def pdf(text: str) -> bytes:
    """A PDF of plain lines: Helvetica, 52 lines of at most 88 characters a page."""
    wrap = textwrap.TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False).wrap
    lines = [line for paragraph in text.splitlines() for line in wrap(paragraph) or [""]]
    pages = [lines[start : start + LINES] for start in range(0, len(lines), LINES)]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in enumerate(pages):
        escaped = (re.sub(r"([\\()])", r"\\\1", line) for line in page)
        shown = "\n".join(f"({line}) Tj T*" for line in escaped)
        stream = f"BT /F1 10 Tf 14 TL 50 790 Td\n{shown}\nET"
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    return pdf_file([content.encode("cp1252", "replace") for content in objects])


def write_library(folder: Path) -> list[tuple[Reading, Path]]:
    """Twenty PDFs; questions of one place about them, each with its PDF, documents in turn."""
    folder.mkdir(parents=True)
    files: dict[str, Path] = {}
    samples: list[tuple[Reading, Path]] = []
    for seed in range(1, 10):
        for reading in dossier_readings("test", seed):
            [source] = reading.sources
            if source.text not in files:
                if len(files) >= DOCUMENTS:
                    continue
                name = f"{len(files):02}-{source.id.removesuffix('.txt')}.pdf"
                files[source.text] = folder / name
                files[source.text].write_bytes(pdf(source.text))
            if len(reading.evidence) == 1:
                samples.append((reading, files[source.text]))
    step = len(samples) // OWN
    return samples[:: max(1, step)][:OWN]


def run(arguments: list[str], cache: Path) -> tuple[Row, Any]:
    """One process of the command line: seconds, processor seconds, what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-m", "harness", *arguments, "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HARNESS_CACHE": str(cache)},
    )
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"{arguments}: exit {process.returncode}: {process.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": round(seconds, 1), "cpu_s": round(cpu, 1)}, json.loads(process.stdout)


def ask(reading: Reading, arguments: list[str], cache: Path) -> Row:
    """One question by one process."""
    times, answer = run(["ask", reading.question, *arguments], cache)
    return times | {"cited": bool(answer["citations"])}


def own(reading: Reading, path: Path) -> tuple[bool, bool]:
    """Look for the answer in the best sentences of a question's own PDF, and in its passages."""
    answer = harness.api.ask(reading.question, path, extract=True)
    accepted = [f" {official_normal(text)} " for text in reading.answers]
    read = " ".join(passage.text for passage in answer.passages)
    reply, seen = (f" {official_normal(text)} " for text in (answer.answer or "", read))
    return any(text in reply for text in accepted), any(text in seen for text in accepted)


def summary(rows: list[Row]) -> Row:
    """The first process, with empty caches, and the middle of those after it."""
    later = sorted(rows[1:], key=lambda row: row["cpu_s"]) or rows
    first = {key: rows[0][key] for key in ("wall_s", "cpu_s")}
    middle = {key: later[len(later) // 2][key] for key in ("wall_s", "cpu_s")}
    cited = sum(row["cited"] for row in rows)
    return {"questions": len(rows), "cited": cited, "first": first, "median after": middle}


@benchmark(
    model=option(),
    questions=QUESTIONS,
    build=option(action="store_true", help="Build an index too, and ask that."),
    out=Path("evals/results/ask_first.json"),
)
def main(chosen: Options) -> Result:
    """Measure and write the report."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, cache, index = (Path(scratch) / name for name in ("pdfs", "cache", "index"))
        cache.mkdir()
        if (cache_root() / "models").is_dir():  # weights that were pulled are part of installing
            (cache / "models").symlink_to(cache_root() / "models")
        pairs = write_library(folder)
        questions = [reading for reading, _ in pairs[: chosen.questions]]
        size = sum(path.stat().st_size for path in folder.iterdir())
        result: Row = {"command": "python -m benchmarks.retrieval.ask_first", "bytes": size}
        outcomes = [own(*pair) for pair in pairs]
        right, seen = (sum(column) for column in zip(*outcomes, strict=True))
        result["own PDF, extract"] = {
            "questions": len(pairs),
            "right": [right, *(wilson(right, len(pairs)) or ())],
            "in_passages": [seen, *(wilson(seen, len(pairs)) or ())],
        }
        files = [str(folder), "--extract"]
        result["files, extract"] = summary([ask(question, files, cache) for question in questions])
        if chosen.model:
            files = [str(folder), "--model", chosen.model]
            result[f"files, {chosen.model}"] = summary(
                [ask(question, files, cache) for question in questions]
            )
        if chosen.build:
            times, built = run(["index", "build", str(folder), "--index", str(index)], cache)
            result["index build"] = times | {
                "documents": built["documents"],
                "chunks": built["chunks"],
            }
            over = ["--index", str(index), "--extract"]
            result["index, extract"] = summary(
                [ask(question, over, cache) for question in questions]
            )
    return result
