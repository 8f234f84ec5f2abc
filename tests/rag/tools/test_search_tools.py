"""search, read, expand and context on a work folder."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.rag.retrieve import Document
from harness.rag.tools.context import ContextStage, Gathered
from harness.rag.tools.documents import read_documents
from harness.rag.tools.passages import attribute
from harness.tools import Bench, ToolArgumentError, get_tools
from lab.corpora.institute import institute_readings


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own."""
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A work folder with the institute."""
    work = tmp_path / "work"
    work.mkdir()
    rows = [json.dumps(one.model_dump()) for one in institute_readings("train")[0].sources]
    (work / "documents.jsonl").write_text("\n".join(rows) + "\n")
    return Bench(work)


def _call(tool: str, bench: Bench, **arguments: Any) -> str:
    async def run() -> str:
        return await get_tools([tool])[0].run(arguments, bench)

    return asyncio.run(run())


def test_search_finds_the_document_and_cites_it(bench: Bench) -> None:
    documents = {one.id: one for one in read_documents(bench.workdir)}
    name = next(iter(documents))
    found = _call("search:lexical", bench, query=f"who is {name.replace('-', ' ')}")
    cited = re.findall(r"\[([^\]\n]+):(\d+)-(\d+)\]", found)
    assert name in {doc for doc, _, _ in cited}
    for doc, start, end in cited:
        assert documents[doc].text[int(start) : int(end)] in found
    assert list((bench.workdir.parent / "cache/lookups").iterdir())


def test_search_reads_the_index_again_from_disk(bench: Bench) -> None:
    first = _call("search:lexical", bench, query="mentor")
    from harness.rag.tools import documents

    documents._opened.cache_clear()  # pyright: ignore[reportPrivateUsage]  # as in a new process
    assert _call("search:lexical", bench, query="mentor") == first


def test_read_by_name_or_title_page_by_page(bench: Bench) -> None:
    (bench.workdir / "long.txt").write_text("".join(f"line {n}\n" for n in range(1000)))
    first = _call("read", bench, document="long.txt")
    assert first.startswith("[long.txt:0-4000]\nline 0\n")
    start = int(re.findall(r"start=(\d+)", first)[0])
    assert _call("read", bench, document="LONG.TXT", start=start).startswith("[long.txt:4000-8000]")
    titled = next(one for one in read_documents(bench.workdir) if one.metadata.get("title"))
    assert titled.text in _call("read", bench, document=str(titled.metadata["title"]))


def test_expand_a_citation_and_a_marker(bench: Bench) -> None:
    lines = [f"Entry {n} speaks of rope." for n in range(400)] + ["The Heron has a red keel."]
    (bench.workdir / "documents.jsonl").unlink()
    (bench.workdir / "log.txt").write_text("\n".join(lines))
    around = _call("expand", bench, id="[log.txt:2000-2010]")
    assert around.startswith("[log.txt:1400-2610]")
    context = _call("context:compress:2000", bench, query="What colour is the keel of the Heron?")
    assert "red keel" in context
    markers = re.findall(r"expand ([0-9a-f]{10})", context)
    left_out = "".join(_call("expand", bench, id=marker) for marker in markers)
    assert "Entry 7 speaks of rope." in context + left_out
    assert "Entry 390 speaks of rope." in context + left_out
    assert markers


def test_context_takes_arm_and_budget_from_its_name(bench: Bench) -> None:
    short = _call("context:truncate:100", bench, query="x")
    long = _call("context:truncate:1000", bench, query="x")
    assert len(short) * 4 < len(long)


def test_a_context_that_is_asked_for_again_is_chosen_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    gather = ContextStage.gather

    def counted(stage: ContextStage, query: str, *rest: Any) -> Gathered:
        asked.append(query)
        return gather(stage, query, *rest)

    monkeypatch.setattr(ContextStage, "gather", counted)
    [tool] = get_tools(["context:truncate:100"])

    async def call(query: str) -> str:
        return await tool.run({"query": query}, bench)

    texts = [asyncio.run(call(query)) for query in ("x", "x", "y")]
    (bench.workdir / "new.txt").write_text("Another document.")
    asyncio.run(call("x"))
    assert asked == ["x", "y", "x"]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("search:lexical", {"query": " "}, "at least one word"),
        ("search:lexical", {}, "text argument 'query'"),
        ("read", {"document": "nothing"}, "no document 'nothing'; there are"),
        ("read", {"document": "a.txt", "start": 99}, "from 0 to 4"),
        ("read", {"document": "a.txt", "start": "x"}, "found 'x'"),
        ("expand", {"id": "there"}, "expected the ID"),
        ("expand", {"id": "0123456789"}, "compressed|no part"),
    ],
)
def test_what_the_model_gets_wrong_goes_back_to_it(
    tool: str, arguments: dict[str, Any], message: str, bench: Bench
) -> None:
    (bench.workdir / "a.txt").write_text("text.")
    with pytest.raises(ToolArgumentError, match=message):
        _call(tool, bench, **arguments)


@pytest.mark.parametrize(
    "name", ["search:fast", "context:none", "context:both:many", "context:both:0", "read:all"]
)
def test_unknown_settings_are_bad_input(name: str) -> None:
    with pytest.raises(BadInput, match=name.split(":")[0]):
        get_tools([name])


def test_an_empty_work_folder_and_a_broken_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="found none"):
        read_documents(tmp_path)
    (tmp_path / ".hidden.txt").write_text("x")
    with pytest.raises(BadInput, match="found none"):
        read_documents(tmp_path)
    (tmp_path / "documents.jsonl").write_text("{broken\n")
    with pytest.raises(BadInput, match="one JSON object a line"):
        read_documents(tmp_path)


def test_other_formats_are_parsed(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<h1>Bells</h1><p>The bell is red.</p>")
    (found,) = read_documents(tmp_path)
    assert found.id == "page.html"
    assert "The bell is red." in found.text


def test_attribution_names_the_sentence_that_fits_the_question() -> None:
    text = "Ada saw the mill. Ada founded the brewery in 1871. Rain fell on Ada in 1871."
    documents = [Document(id="a", text=text)]
    cited = attribute("Ada", "Who founded the brewery?", documents)
    start, end = map(int, re.findall(r"\[a:(\d+)-(\d+)\]", cited)[0])
    assert text[start:end] == "Ada founded the brewery in 1871."
    assert attribute("Ada [a:0-3]", "Who?", documents) == "Ada [a:0-3]"
    assert attribute("Bela", "Who?", documents) == "Bela"
    assert attribute("", "Who?", documents) == ""
