"""The index on disk: what it finds, how it changes, what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from harness.core import BadInput, Unreachable, digest
from harness.core.segments import only_writer
from harness.rag.retrieve import (
    Arm,
    Chunking,
    Document,
    Encoder,
    LocalIndex,
    SearchOptions,
    create_index,
    open_encoder,
    open_index,
    parse_condition,
)
from harness.rag.retrieve import change as change_module
from tests.rag.retrieve.conftest import SMALL

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARMS: tuple[Arm, ...] = ("hybrid", "weighted", "dense", "lexical")


def snapshot(index: LocalIndex) -> object:
    """Return the index's answers to a few queries."""
    asked = ("boundary layer of a wing", "interest rate", "spring")
    return [[(hit.id, round(hit.score, 5)) for hit in index.search(one, 5)] for one in asked]


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_finds_and_cites_the_passage(index: LocalIndex, arm: Arm) -> None:
    best = index.search("which angle separates the boundary layer of a wing?", 3,
                        options=SearchOptions(arm=arm))[0]  # fmt: skip
    assert best.doc == "wings.md"
    assert "boundary-layer" in best.text
    assert best.text == index.document("wings.md").text[best.start : best.end]
    assert best.citation == f"/library/wings.md [{best.start}:{best.end}]"
    assert best.headings == ("Wings",)
    assert best.metadata["year"] == 2022
    assert json.loads(json.dumps(best.to_row()))["id"] == best.id


def test_parents_are_returned_once_around_their_chunks(index: LocalIndex) -> None:
    chunks = index.search("spring tide moon ocean", 10)
    parents = index.search("spring tide moon ocean", 10, options=SearchOptions(parents=True))
    assert len({hit.id for hit in parents}) == len(parents) < len(chunks)
    best = parents[0]
    assert best.doc == "tides.md"
    assert best.text.count(".") == 3


def test_conditions_narrow_every_arm(index: LocalIndex) -> None:
    for arm in ARMS:
        hits = index.search("spring", 20, options=SearchOptions(arm=arm),
                            where=[parse_condition("year>=2023")])  # fmt: skip
        assert {hit.doc for hit in hits} <= {"banks.md", "orbits.md"}
        assert hits[0].doc == "banks.md"
    assert index.search("spring", where=[parse_condition("year=1800")]) == []


def test_no_hit_is_an_empty_list_and_an_empty_query_an_error(index: LocalIndex) -> None:
    assert index.search("zyzzyva", options=SearchOptions(arm="lexical")) == []
    with pytest.raises(BadInput, match="expected a query"):
        index.search("  ")
    with pytest.raises(BadInput, match="k of 1 or more"):
        index.search("spring", 0)


def test_adding_in_steps_gives_what_adding_at_once_gives(
    tmp_path: Path, documents: list[Document], index: LocalIndex
) -> None:
    steps = create_index(tmp_path / "steps", open_encoder("lexical"), SMALL)
    for document in documents:
        assert steps.add([document]).added == 1
    assert len(steps.segments) == 1
    assert snapshot(steps) == snapshot(index)
    assert snapshot(open_index(tmp_path / "steps")) == snapshot(index)


def test_an_unchanged_document_costs_nothing_and_a_changed_one_replaces(
    index: LocalIndex, documents: list[Document]
) -> None:
    generation = index.manifest.generation
    again = index.add(documents)
    assert (again.unchanged, again.chunks, again.documents) == (5, 0, 5)
    assert index.manifest.generation == generation
    done = index.add([replace(documents[0], text="Corals build reefs.", headings=())])
    assert (done.added, done.replaced, done.documents) == (0, 1, 5)
    assert index.search("coral reefs", 1)[0].text == "Corals build reefs."
    lexical = SearchOptions(arm="lexical")
    assert index.search("ocean", options=lexical) == []
    with pytest.raises(BadInput, match=r"two documents are named 'bread.md'"):
        index.add([documents[1], documents[1]])


def test_an_encoder_that_fails_takes_nothing_away(
    index: LocalIndex, documents: list[Document]
) -> None:
    def unreachable(texts: list[str]) -> Any:
        raise Unreachable(f"no answer to {len(texts)} texts")

    working = index.encoder
    index.encoder = replace(working, _encode=unreachable)
    with pytest.raises(Unreachable):
        index.add([replace(documents[0], text="Corals build reefs.", headings=())])
    index.encoder = working
    assert index.document(documents[0].id).text == documents[0].text


def test_a_deleted_document_is_gone_as_if_it_had_never_been(
    tmp_path: Path, documents: list[Document], index: LocalIndex
) -> None:
    done = index.delete(["banks.md", "banks.md"])
    assert (done.deleted, done.documents) == (1, 4)
    fresh = create_index(tmp_path / "fresh", open_encoder("lexical"), SMALL)
    fresh.add([one for one in documents if one.id != "banks.md"])
    assert snapshot(index) == snapshot(fresh)
    with pytest.raises(BadInput, match=r"no document 'banks.md'"):
        index.delete(["tides.md", "banks.md"])
    assert len(index) == 4
    index.delete(index.ids())
    assert (len(index), index.search("spring")) == (0, [])
    assert index.add(documents[:1]).documents == 1


def test_large_segments_stay_and_carry_marks_of_deletion(
    tmp_path: Path, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_module, "SMALL", 0)
    monkeypatch.setattr(change_module, "_STALE", 0.5)
    index = create_index(tmp_path / "index", open_encoder("lexical"), SMALL)
    index.add(documents[:4])
    index.add(documents[4:])
    assert [one.documents for one in index.manifest.segments] == [4, 1]
    index.delete(["wings.md"])
    assert [one.deleted for one in index.manifest.segments] == [(2,), ()]
    assert "wings.md" not in index.ids()
    for arm in ARMS:
        hits = index.search("propeller slipstream", 20, options=SearchOptions(arm=arm))
        assert "wings.md" not in {hit.doc for hit in hits}
    assert index.add(documents).added == 1
    assert sorted(index.ids()) == sorted(one.id for one in documents)
    assert index.search("propeller slipstream", 1)[0].doc == "wings.md"


def test_another_encoder_is_refused_until_it_is_put_behind_the_folder(
    index: LocalIndex, documents: list[Document]
) -> None:
    other = Encoder("other", 8, lambda texts: np.ones((len(texts), 8), np.float32) / 8**0.5)
    for opened in (lambda: open_index(index.folder, other),
                   lambda: create_index(index.folder, other, SMALL)):  # fmt: skip
        with pytest.raises(BadInput, match=r"built with the encoder 'hashed.*opened with 'other'"):
            opened()
    reader = open_index(index.folder)
    before = snapshot(reader)
    done = index.reindex(other, Chunking(size=100, overlap=0, parent=100))
    assert (done.replaced, done.documents) == (5, 5)
    assert snapshot(reader) == before, "a reader goes on with the generation that it opened"
    assert open_index(index.folder, other).manifest.chunking.size == 100
    assert index.ids() == [one.id for one in documents]
    with pytest.raises(BadInput, match="opened with 'hashed"):
        reader.refresh()


def test_other_weights_under_the_same_name_are_noticed(index: LocalIndex) -> None:
    lexical = open_encoder("lexical")

    def backwards(texts: list[str]) -> NDArray[np.float32]:
        return np.ascontiguousarray(lexical.encode(texts)[:, ::-1])

    changed = replace(lexical, _encode=backwards)
    with pytest.raises(BadInput, match="other weights under the same name"):
        open_index(index.folder, changed).search("spring")


def test_other_chunking_or_a_folder_of_other_files_is_refused(
    index: LocalIndex, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="was chunked with"):
        create_index(index.folder, open_encoder("lexical"), Chunking())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(BadInput, match="holds other files"):
        create_index(tmp_path / "full", open_encoder("lexical"))
    with pytest.raises(BadInput, match="no index at"):
        open_index(tmp_path / "full")


def signed(manifest: str, **encoder: Any) -> str:
    """The manifest with other facts about its encoder, and the checksum that fits."""
    row = json.loads(manifest)
    row["encoder"] |= encoder
    row["checksum"] = digest({key: row[key] for key in row if key != "checksum"})
    return json.dumps(row)


def test_damage_is_found(index: LocalIndex) -> None:
    segment = index.segments[0].folder
    index.verify()
    name = segment / "texts.bin"
    data = name.read_bytes()
    name.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(BadInput, match=r"texts.bin.*not those that were written"):
        open_index(index.folder).verify()
    name.write_bytes(data[:-1])
    with pytest.raises(BadInput, match=r"texts.bin.*expected \d+ bytes"):
        open_index(index.folder)
    manifest = index.folder / "manifest.json"
    text = manifest.read_text()
    for changed, message in (
        (text.replace('"generation": 1', '"generation": 2'), "checksum is wrong"),
        (text.replace('"format": 1', '"format": 9'), "format 9, this version reads 1"),
        (text[:40], "is damaged"),
        ("[]", "is damaged"),
        (text.replace('"format"', '"x": 1e999, "format"'), "is damaged"),
        (text.replace('"format"', '"x": "\\ud800", "format"'), "is damaged"),
        (signed(text, probe=[0.5]), "is damaged"),
    ):
        manifest.write_text(changed)
        with pytest.raises(BadInput, match=message):
            open_index(index.folder)


def test_nothing_in_an_index_is_a_pickle(index: LocalIndex) -> None:
    for path in index.folder.rglob("*.npy"):
        np.load(path, allow_pickle=False)
    suffixes = {path.suffix for path in index.folder.rglob("*") if path.is_file()}
    assert suffixes <= {".npy", ".json", ".jsonl", ".bin", ".faiss", ".lock"}


def test_one_writer_at_a_time(index: LocalIndex, documents: list[Document]) -> None:
    with only_writer(index.folder):
        for change in (lambda: index.add(documents), lambda: index.delete(["tides.md"])):
            with pytest.raises(BadInput, match="another process is writing"):
                change()


def test_documents_in_a_language_that_the_encoder_does_not_know_are_reported(
    tmp_path: Path,
) -> None:
    english = replace(open_encoder("lexical"), languages=frozenset({"en"}))
    index = create_index(tmp_path / "index", english)
    german = "Die Wärmeübertragung ist in der Technik nicht mit dem Auge zu sehen. Wärme."
    done = index.add([Document("a", german), Document("b", "The heat of the sun is with us.")])
    assert "knows en only, but the index holds documents 1 in 'de'" in done.warnings[0]
    assert index.query_warnings("Wie ist das mit der Wärme und dem Wasser?")
    assert index.query_warnings("how is the heat") == ()
    [hit] = index.search("Wärme", options=SearchOptions(arm="lexical"))
    assert hit.doc == "a"
