"""Our generated corpora, as the plugin `lab` of `harness.corpora`."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from harness.core import Task
from harness.corpora import Generator, Split, generated_corpus, write_readings
from lab.corpora import dossier, institute, ruler
from lab.corpora.drafts import FileCorpus
from lab.corpora.ledger import LEDGER
from lab.corpora.roster import ROSTER
from lab.corpora.wire import WIRE


def _ruler(length: str) -> Generator:
    """RULER of one length; `ruler-` is followed by a name of its lengths."""
    tokens = ruler.LENGTHS[length]
    per_task = sum(ruler.split_size(split, tokens) for split in LEDGER.per_stratum)
    corpus = generated_corpus(
        f"ruler-{length}",
        f"RULER and InfiniteBench retrieval of our own, {tokens:,} tokens a sample",
        per_task * len(ruler.TASKS),
        f" --limit {len(ruler.TASKS)}",
    )

    def write(split: Split, out: Path, limit: int | None = None) -> list[Task]:
        return write_readings(islice(ruler.ruler_readings(tokens, split), limit), out, split)

    return Generator(corpus, write)


def _files(corpus: FileCorpus, title: str) -> Generator:
    """A corpus of tasks on plain files."""
    tasks = sum(map(corpus.split_size, corpus.per_stratum))
    return Generator(generated_corpus(corpus.name, title, tasks), corpus.write_split)


_OURS = (
    _files(LEDGER, "Workbooks of invented companies, 11 kinds of manipulation, three difficulties"),
    _files(ROSTER, "Dirty tables, 12 kinds of dirt, of which train has 8, three difficulties"),
    _files(WIRE, "Logs and JSON, 12 kinds of wrangling, of which train has 8, three difficulties"),
    Generator(
        generated_corpus(
            "institute",
            "Questions of two and three hops over the documents of an invented institute",
            sum(institute.SIZES.values()),
        ),
        institute.write_split,
    ),
    Generator(
        generated_corpus(
            "dossier",
            "Long invented manuals, minutes and logs, questions of one place and of two",
            sum(dossier.SIZES.values()),
        ),
        dossier.write_split,
    ),
    *map(_ruler, ruler.LENGTHS),
)
CORPORA = {generator.corpus.name: generator for generator in _OURS}
if find_spec("harness.vision") is not None:  # the pictures are tasks of that wing
    from lab.corpora import folio

    CORPORA["folio"] = Generator(
        generated_corpus(
            "folio",
            "Charts, receipts, pages and diagrams drawn by us, with exact answers",
            sum(folio.SIZES.values()),
            " (needs the extra vqa)",
        ),
        folio.write_split,
    )
