"""One contract for every index: on local disk, and in Qdrant (its local mode)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, Unreachable
from harness.rag.retrieve import (
    Arm,
    Chunking,
    Document,
    Encoder,
    Index,
    SearchOptions,
    create_index,
    open_encoder,
    parse_condition,
)
from harness.rag.retrieve.stores import open_qdrant
from tests.rag.retrieve.conftest import SMALL

Opener = Callable[[Path, Encoder, Chunking], Index]


def in_qdrant(folder: Path, encoder: Encoder, chunking: Chunking) -> Index:
    pytest.importorskip("qdrant_client")
    return open_qdrant(str(folder), "notes", encoder, chunking)


OPENERS: dict[str, Opener] = {"local": create_index, "qdrant": in_qdrant}
ARMS: tuple[Arm, ...] = ("hybrid", "weighted", "dense", "lexical")


@pytest.fixture(params=OPENERS)
def opener(request: pytest.FixtureRequest) -> Opener:
    return OPENERS[request.param]


@pytest.fixture
def filled(opener: Opener, tmp_path: Path, documents: list[Document]) -> Iterator[Index]:
    index = opener(tmp_path / "store", open_encoder("lexical"), SMALL)
    done = index.add(documents)
    assert (done.added, done.documents) == (5, 5)
    yield index
    index.close()


def test_searches_filters_and_cites(filled: Index) -> None:
    for arm in ARMS:
        options = SearchOptions(arm=arm)
        best = filled.search("propeller slipstream of a wing", 2, options=options)[0]
        assert best.doc == "wings.md"
        assert best.text == filled.document("wings.md").text[best.start : best.end]
        assert best.headings == ("Wings",)
        later = filled.search("spring", options=options, where=[parse_condition("year>=2023")])
        assert {hit.doc for hit in later} <= {"banks.md", "orbits.md"}
        assert later[0].doc == "banks.md"
        assert filled.search("spring", where=[parse_condition("year=1")]) == []
    parents = filled.search("spring tide", 9, options=SearchOptions(parents=True))
    assert parents[0].text.count(".") == 3
    assert len({hit.id for hit in parents}) == len(parents)
    with pytest.raises(BadInput, match="expected a query"):
        filled.search(" ")


def test_adds_replaces_and_deletes(filled: Index, documents: list[Document]) -> None:
    changed = replace(documents[0], text="Corals build reefs.", headings=())
    done = filled.add([changed, documents[1]])
    assert (done.added, done.replaced, done.unchanged, done.documents) == (0, 1, 1, 5)
    assert filled.search("coral reefs", 1)[0].text == "Corals build reefs."
    lexical = SearchOptions(arm="lexical")
    assert filled.search("ocean", options=lexical) == []
    assert filled.delete(["bread.md"]).documents == 4
    assert filled.search("yeast dough", options=lexical) == []
    assert "bread.md" not in filled.ids()
    for gone in (lambda: filled.delete(["bread.md"]), lambda: filled.document("bread.md")):
        with pytest.raises(BadInput, match=r"no document 'bread.md'"):
            gone()


def test_an_encoder_that_fails_takes_nothing_away(filled: Index, documents: list[Document]) -> None:
    def unreachable(texts: list[str]) -> Any:
        raise Unreachable(f"no answer to {len(texts)} texts")

    working = filled.encoder
    filled.encoder = replace(working, _encode=unreachable)
    with pytest.raises(Unreachable):
        filled.add([replace(documents[0], text="Corals build reefs.", headings=())])
    filled.encoder = working
    assert filled.document(documents[0].id).text == documents[0].text
    assert filled.search("ocean", 1, options=SearchOptions(arm="lexical"))[0].doc == "tides.md"


def test_another_encoder_or_chunking_is_refused(
    opener: Opener, tmp_path: Path, documents: list[Document]
) -> None:
    lexical = open_encoder("lexical")
    index = opener(tmp_path / "store", lexical, SMALL)
    index.add(documents[:1])
    index.close()
    again = opener(tmp_path / "store", lexical, SMALL)
    assert again.ids() == ["tides.md"]
    again.close()
    for encoder, chunking in ((replace(lexical, name="other"), SMALL), (lexical, Chunking())):
        with pytest.raises(BadInput, match=r"was (?:built|made|chunked) with"):
            opener(tmp_path / "store", encoder, chunking)
