"""`expand ID` restores what was left out, nested and across documents."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cli import cli
from harness.core import BadInput
from harness.rag.compress import Store, compress, expand
from harness.rag.compress.markers import EXPANDABLE
from harness.rag.compress.store import BLOCK, part_id, text_digest
from harness.rag.retrieve import Document

TEXT = " ".join(f"Sentence number {number} is about thing {number}." for number in range(200))


def test_every_part_left_out_comes_back_verbatim(tmp_path: Path) -> None:
    store = Store(tmp_path)
    found = compress(TEXT, "thing 50", budget=200, critic="lexical", markers="full", store=store)
    assert found.omitted
    for omission in found.omitted:
        assert f"expand {omission.id}]" in found.text
        assert expand(omission.id, store=store) == TEXT[omission.start : omission.end]


def test_the_whole_is_the_spans_and_what_was_left_out(tmp_path: Path) -> None:
    found = compress(TEXT, "thing 50", budget=200, critic="lexical", store=Store(tmp_path))
    covered = sorted(
        [(s.start, s.end) for s in found.spans] + [(o.start, o.end) for o in found.omitted]
    )
    assert covered[0][0] == 0
    assert covered[-1][1] == len(TEXT)
    for (_, end), (start, _) in pairwise(covered):
        assert not TEXT[end:start].strip()


def test_parts_left_out_twice_are_expanded_to_the_first_text(tmp_path: Path) -> None:
    store = Store(tmp_path)
    once = compress(TEXT, "thing 50", budget=400, critic="lexical", markers="full", store=store)
    twice = compress(
        once.text, "thing 50", budget=120, critic="lexical", markers="full", store=store
    )
    assert len(twice.text) < len(once.text)
    restored = EXPANDABLE.sub(lambda marker: expand(marker[1], store=store), twice.text)
    assert restored.split() == TEXT.split()


def test_documents_left_out_whole_share_one_marker(tmp_path: Path) -> None:
    store = Store(tmp_path)
    documents = [Document(f"d{n}", f"Words about {n}. " * 20) for n in range(6)]
    documents.append(Document("hit", "The zebra is here."))
    found = compress(documents, "zebra", budget=80, critic="lexical", markers="full", store=store)
    assert "The zebra is here." in found.text
    assert len(found.omitted) == 1
    assert expand(found.omitted[0].id, store=store).count("Words about") == 120


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=50), st.integers(0, 3 * BLOCK), st.integers(0, 3 * BLOCK))
def test_any_range_of_a_long_source(
    tmp_path_factory: pytest.TempPathFactory, seed: str, a: int, b: int
) -> None:
    text = (seed + "0123456789") * (3 * BLOCK // (len(seed) + 10) + 1)
    start, end = sorted((a, b))
    store = Store(tmp_path_factory.mktemp("store"))
    digest = text_digest([text])
    store.put_source(digest, [text[:7], text[7:]])
    store.put_omissions([[(digest, start, end)]])
    assert store.expand(part_id([(digest, start, end)])) == text[start:end]


def test_unknown_ids_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing was compressed"):
        expand("0123456789", store=Store(tmp_path / "none"))
    store = Store(tmp_path)
    compress(TEXT, "thing 50", budget=200, critic="lexical", store=store)
    with pytest.raises(BadInput, match="'0123456789'"):
        expand("0123456789", store=store)


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "report.txt").write_text(TEXT)
    options = ["--query", "thing 50", "--budget", "200", "--critic", "lexical", "--markers", "full"]
    ran = CliRunner().invoke(cli, ["compress", *options, str(tmp_path / "report.txt")])
    assert ran.exit_code == 0, ran.output
    id_ = ran.stdout.partition("expand ")[2][:10]
    expanded = CliRunner().invoke(cli, ["compress", "expand", id_])
    assert expanded.stdout.strip() in TEXT
    as_json = CliRunner().invoke(
        cli, ["compress", *options, "--json", str(tmp_path / "report.txt")]
    )
    assert '"omitted"' in as_json.stdout
