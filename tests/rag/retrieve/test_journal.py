"""Vectors of a killed build are found again; a torn record is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from harness.core import BadInput
from harness.rag.retrieve import Document, Encoder, Page, create_index, open_encoder, open_index
from harness.rag.retrieve.change import VectorJournal
from tests.rag.retrieve.conftest import SMALL

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXTS = [f"text number {number} " + "word " * (number % 7) for number in range(150)]
LEXICAL = open_encoder("lexical")


def counting(most: int) -> tuple[Encoder, list[int]]:
    """An encoder that notes how much it embeds, and gives up after `most` texts."""
    seen: list[int] = []

    def encode(texts: list[str]) -> NDArray[np.float32]:
        if sum(seen) + len(texts) > most:
            raise KeyboardInterrupt
        seen.append(len(texts))
        return LEXICAL.encode(texts)

    return replace(LEXICAL, _encode=encode), seen


def test_what_was_embedded_is_not_embedded_again(tmp_path: Path) -> None:
    path = tmp_path / "vectors.journal"
    encoder, first = counting(100)
    with pytest.raises(KeyboardInterrupt):
        VectorJournal(path, encoder).embed(TEXTS)
    assert first == [64]
    with path.open("r+b") as stream:  # the last record is torn, as by a kill while it was written
        stream.truncate(path.stat().st_size - 5)
    encoder, second = counting(1000)
    journal = VectorJournal(path, encoder)
    told: list[tuple[int, int]] = []
    found = journal.embed([*TEXTS, TEXTS[3]], lambda done, total: told.append((done, total)))
    assert np.allclose(found, LEXICAL.encode([*TEXTS, TEXTS[3]]), atol=1e-6)
    assert sum(second) == len(TEXTS) - 63
    assert told[-1] == (151, 151)
    assert np.array_equal(VectorJournal(path, counting(0)[0]).embed(TEXTS), found[:-1])
    journal.remove()
    assert not path.exists()
    assert journal.embed([]).shape == (0, LEXICAL.dimension)


def test_a_damaged_record_ends_what_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "vectors.journal"
    VectorJournal(path, LEXICAL).embed(TEXTS[:10])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    encoder, seen = counting(100)
    found = VectorJournal(path, encoder).embed(TEXTS[:10])
    assert np.allclose(found, LEXICAL.encode(TEXTS[:10]), atol=1e-6)
    assert sum(seen) == 5


def test_an_interrupted_build_leaves_no_index_and_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    documents = [Document(f"d{number}", text) for number, text in enumerate(TEXTS)]
    encoder, _ = counting(101)  # the first text is that of the probe
    with pytest.raises(KeyboardInterrupt):
        create_index(folder, encoder, SMALL).add(documents)
    with pytest.raises(BadInput, match="no index at"):
        open_index(folder)
    encoder, seen = counting(1000)
    assert create_index(folder, encoder, SMALL).add(documents).added == 150
    assert sum(seen) == 1 + 150 - 64
    assert not list(folder.glob("*.journal"))


def test_pages_are_cited(tmp_path: Path) -> None:
    text = "The first page is about seals.\n\nThe second one is about orbits."
    paged = Document("a.pdf", text, "a.pdf", pages=(Page(1, 0), Page(2, 32)))
    index = create_index(tmp_path / "index", LEXICAL, SMALL.model_copy(update={"size": 8}))
    index.add([paged])
    [best] = index.search("orbits", 1)
    assert (best.page, best.citation) == (2, "a.pdf, p. 2 [32:63]")
