"""The documents of a work folder, and an index over them that is made once."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import get_args

from harness.core import BadInput, UnfitFile, cache_root, digest, read_work_file, work_files
from harness.corpora import SOURCES, parse_sources
from harness.rag.retrieve import (
    Arm,
    Document,
    Hit,
    LocalIndex,
    SearchOptions,
    create_index,
    encoder_for,
    open_encoder,
    open_index,
    parse_bytes,
)

SEARCH_ARMS: dict[str, Arm] = {arm: arm for arm in get_args(Arm)}
_PLAIN = (".txt", ".log", ".md", ".jsonl", ".json")
_PARSED = (
    ".html", ".htm", ".pdf", ".docx", ".pptx", ".xlsx", ".csv", ".tsv", ".ods", ".odt", ".ipynb",
)  # fmt: skip
_KNOWN = _PLAIN + _PARSED
_lock = Lock()


def read_documents(workdir: Path) -> list[Document]:
    """The documents that lie in a work folder, by name.

    Plain text is taken as it is, so that offsets count its characters; other formats are parsed.
    A file `documents.jsonl` holds many documents. Hidden files are passed over.

    Raises:
        BadInput: if there is none, or one cannot be read.
    """
    documents: list[Document] = []
    for name in work_files(workdir):
        path = Path(name)
        if any(part.startswith(".") for part in path.parts):
            continue
        try:
            data = read_work_file(workdir, name) if path.suffix.lower() in _KNOWN else b""
        except (FileNotFoundError, UnfitFile) as error:
            raise BadInput(f"expected documents in the work folder: {error}") from error
        if path.suffix.lower() in _PARSED:
            documents += parse_bytes(name, data)
        elif path.suffix.lower() in _PLAIN:
            try:
                sources = parse_sources(path.name, data.decode(errors="replace"))
            except (OSError, ValueError) as error:
                raise BadInput(
                    f"expected documents, one JSON object a line, in {name!r}: {error}"
                ) from error
            for source in sources:
                id_ = source.id if path.name == SOURCES else name
                titled = path.name == SOURCES and source.title
                metadata = {"title": source.title} if titled else {}
                documents.append(Document(id_, source.text, id_, metadata=metadata))
    if not documents:
        raise BadInput(f"expected documents in the work folder, found none in {str(workdir)!r}")
    return documents


def document_named(documents: Sequence[Document], name: str) -> Document | None:
    """The document of that id or title, in any case."""
    lowered = name.strip().lower()
    for document in documents:
        title = document.metadata.get("title")
        if lowered in (document.id.lower(), str(title or document.id).lower()):
            return document
    return None


def search_documents(
    documents: Sequence[Document], query: str, k: int, arm: Arm = "weighted"
) -> list[Hit]:
    """The `k` best passages; the index over the documents is made at the first search.

    Args:
        documents: what to search.
        query: not empty.
        k: passages.
        arm: `lexical` needs no encoder.

    Raises:
        BadInput: if the query is empty, or an arm's packages are not installed.
    """
    return index_of(documents, arm, query).search(query, k, options=SearchOptions(arm=arm))


def index_of(documents: Sequence[Document], arm: Arm, query: str) -> LocalIndex:
    """The index over these documents for a query, from memory, from disk, or new."""
    # "e5", which comes before "local", is taken for either.
    kind = (
        "lexical"
        if arm == "lexical"
        else min(encoder_for([query]), encoder_for(document.text for document in documents))
    )
    key = digest([kind, [[document.id, document.digest] for document in documents]])[:32]
    root = cache_root() / "lookups"
    with _lock:
        if not (root / key).is_dir():
            root.mkdir(parents=True, exist_ok=True)
            # Made aside and moved: two processes may want it at once, and one may be killed.
            draft = Path(tempfile.mkdtemp(dir=root, prefix=f".{key}-"))
            try:
                create_index(draft / "index", open_encoder(kind)).add(documents)
                (draft / "index").rename(root / key)
            except OSError:
                if not (root / key).is_dir():
                    raise
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        return _opened(root / key)


@lru_cache(maxsize=8)
def _opened(folder: Path) -> LocalIndex:
    return open_index(folder)
