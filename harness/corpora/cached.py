"""Generated corpora on demand: made once per version of their generator, then read."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import harness
from harness.core import cache_root
from harness.corpora.catalogue import generate


def corpus_tasks(name: str, split: str) -> Path:
    """The task file of a split of a generated corpus, made if it is not there yet.

    Raises:
        BadInput: for an unknown corpus or split, or a public set.
    """
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
