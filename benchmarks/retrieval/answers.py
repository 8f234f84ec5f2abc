"""`ask --extract` over an index of files, on questions that they answer and on others.

    python -m benchmarks.retrieval.answers FOLDER QUESTIONS.jsonl

`harness index build` reads the folder, and `harness.api.ask` answers from the index with its
defaults. A row of questions is `{"question", "answers"}`: every answer is a list of texts that must
all stand in the quote, in any case; without answers the files do not say it. Right is a quote that
holds an answer; declined, no quote. Counts with Wilson intervals in percent.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from benchmarks.reports import Options, benchmark, read_jsonl, share_interval
from harness.api import ask
from harness.core import digest_file
from harness.rag.cli.index import build


def plain(text: str) -> str:
    """Lower case and single blanks, without the marks of Markdown."""
    return " ".join(text.casefold().replace("`", "").replace("*", "").split())


@benchmark("files", "questions", out=Path("evals/results/retrieval_answers.json"))
def main(options: Options) -> dict[str, Any]:
    """Ask everything, and count."""
    counts = {kind: Counter[str]() for kind in ("answerable", "unanswerable")}
    with TemporaryDirectory() as scratch:
        index = Path(scratch, "index")
        words = [str(options.files), "--index", str(index)]
        CliRunner().invoke(build, words, catch_exceptions=False)
        for row in read_jsonl(options.questions):
            answer = ask(row["question"], index=index, extract=True)
            quote = plain(answer.answer or "")
            right = any(all(plain(part) in quote for part in parts) for parts in row["answers"])
            outcome = {"asked": 1, "right": right, "declined": not quote}
            outcome["with a verdict"] = answer.verdict is not None
            counts["answerable" if row["answers"] else "unanswerable"].update(outcome)
    return {
        "files": {path.name: digest_file(path) for path in sorted(options.files.iterdir())},
        **{
            kind: {
                name: [hits, share_interval(hits, counter["asked"], 1, 100)]
                for name, hits in counter.items()
            }
            for kind, counter in counts.items()
        },
    }
