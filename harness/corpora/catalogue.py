"""Catalogue of corpora: generated ones, and manifests of public sets."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, ValidationError

import harness
from harness.core import BadInput, Task, Value, assets, cache_root, read_json
from harness.core.plugins import load, plugins
from harness.corpora.reading import write_tasks

Split = Literal["train", "selection", "test"]
SPLITS = (*get_args(Split), "all")


class Corpus(Value):
    """A set of tasks that is generated or pulled.

    Attributes:
        name: as in commands.
        title: one line for people.
        kind: `generated` by us on demand, or `public`, to be pulled.
        licence: of the data.
        tasks: number of tasks.
        homepage: where a public set is described.
        url: archive of a public set.
        sha256: of the archive; None where none is pinned, and the user must give one.
        note: what a user must know.
    """

    name: str
    title: str
    kind: Literal["generated", "public"]
    licence: str
    tasks: int = Field(ge=1)
    homepage: str | None = None
    url: str | None = None
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    note: str = ""


class Generated(Value):
    """The result of :func:`generate`: task files by split, and how many tasks each holds."""

    corpus: str
    out: str
    tasks: dict[str, int]
    files: dict[str, str]


@dataclass(frozen=True)
class Generator:
    """A corpus that is generated on demand, the same bytes every time.

    Attributes:
        corpus: its facts.
        write: writes one split, at most `limit` tasks of it, into a folder.
    """

    corpus: Corpus
    write: Callable[[Split, Path, int | None], list[Task]]


def generated_corpus(name: str, title: str, tasks: int, more: str = "") -> Corpus:
    """A corpus of ours; `more` is appended to the command that generates it."""
    return Corpus(
        name=name,
        title=title,
        kind="generated",
        licence="CC0-1.0",
        tasks=tasks,
        note=f"harness corpora generate {name} --out DIR{more}",
    )


def _write_almanac(split: Split, out: Path, limit: int | None = None) -> list[Task]:
    generator = assets.load_module(assets.find("corpora/almanac/generate.py"))
    tasks = [Task.model_validate(row) for row in generator.tasks(split)][:limit]
    write_tasks(tasks, out, split)
    return tasks


def generators() -> dict[str, Generator]:
    """Generated corpora by name: the demo's, and those of plugins (`harness.corpora`).

    A plugin is a dictionary from names to :class:`Generator`.
    """
    title = "Short invented texts and tables with one question each, for the demo"
    almanac = Generator(generated_corpus("almanac", title, 800), _write_almanac)
    corpora = {"almanac": almanac}
    for provider in plugins("corpora"):
        corpora |= load("corpora", provider)
    return corpora


def list_corpora() -> list[Corpus]:
    """All corpora: ours first, then the public ones by name.

    Raises:
        BadInput: if a manifest is malformed (the file is named).
    """
    folder = assets.find("corpora/manifests")
    generated = (generator.corpus for generator in generators().values())
    return [*generated, *(read_manifest(path) for path in sorted(folder.glob("*.json")))]


def find_corpus(name: str) -> Corpus:
    """The corpus of that name.

    Raises:
        BadInput: if there is none; the known names are listed.
    """
    corpora = {corpus.name: corpus for corpus in list_corpora()}
    if name not in corpora:
        raise BadInput(f"no corpus {name!r}; known are {', '.join(corpora)}")
    return corpora[name]


def show(name: str) -> tuple[Corpus, str]:
    """A corpus and its card in Markdown (empty for a public set, whose homepage describes it).

    Raises:
        BadInput: as :func:`find_corpus`.
    """
    corpus = find_corpus(name)
    card = assets.root() / "corpora" / name / "README.md"
    return corpus, card.read_text("utf-8") if card.is_file() else ""


def generate(name: str, out: Path, split: str = "all", limit: int | None = None) -> Generated:
    """Write a generated corpus: `<split>.jsonl` and its files, the same bytes every time.

    Args:
        name: of a generated corpus.
        out: folder to write into.
        split: train, selection, test or all.
        limit: only so many tasks of each split.

    Raises:
        BadInput: if the corpus is not a generated one, or the split is unknown.
    """
    generator = _generator(name)
    if split not in SPLITS:
        raise BadInput(f"expected a split out of {', '.join(SPLITS)}, got {split!r}")
    splits: list[Split] = [part for part in get_args(Split) if split in ("all", part)]
    counts: dict[str, int] = {part: len(generator.write(part, out, limit)) for part in splits}
    files = {part: str(out / f"{part}.jsonl") for part in splits}
    return Generated(corpus=name, out=str(out), tasks=counts, files=files)


def _generator(name: str) -> Generator:
    generator = generators().get(name)
    if generator is None:
        find_corpus(name)
        raise BadInput(f"{name!r} is a public set: `harness corpora pull {name}` fetches it")
    return generator


def read_manifest(path: Path) -> Corpus:
    """Read the manifest of a public set.

    Raises:
        BadInput: if the file is no manifest.
    """
    try:
        return Corpus.model_validate({"kind": "public", **read_json(path)})
    except (OSError, ValueError, TypeError) as error:
        detail = error.errors()[0] if isinstance(error, ValidationError) else error
        raise BadInput(f"{path}: not a corpus manifest: {detail}") from error


def corpus_tasks(name: str, split: str) -> Path:
    """The task file of a split of a generated corpus, made if it is not there yet.

    Raises:
        BadInput: for an unknown corpus or split, or a public set.
    """
    _generator(name)  # a name that leads out of the cache is none
    folder = cache_root() / "corpora" / f"{name}-{harness.__version__}"
    target = folder / split / f"{split}.jsonl"
    if target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    # Made aside and moved: two processes may want it at once, and one may be killed.
    draft = Path(tempfile.mkdtemp(dir=folder, prefix=f".{split}-"))
    try:
        generate(name, draft, split)
        if not target.is_file():
            draft.rename(target.parent)
    except OSError:
        if not target.is_file():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target
