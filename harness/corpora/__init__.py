"""Corpora: our own, generated on demand, and public ones, pulled with a checksum."""

from __future__ import annotations

from harness.corpora.cached import corpus_tasks
from harness.corpora.catalogue import (
    SPLITS,
    Corpus,
    Generated,
    find_corpus,
    generate,
    list_corpora,
    read_manifest,
    show,
)
from harness.corpora.download import Pulled, pull

__all__ = [
    "SPLITS",
    "Corpus",
    "Generated",
    "Pulled",
    "corpus_tasks",
    "find_corpus",
    "generate",
    "list_corpora",
    "pull",
    "read_manifest",
    "show",
]
