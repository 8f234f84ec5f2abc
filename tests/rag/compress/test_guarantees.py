"""The hard guarantees, on drawn texts: verbatim, in order, within the budget, never longer."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness.core import BadInput
from harness.rag.compress import Choice, Compressed, Style, compress, open_tokenizer, segment
from harness.rag.compress.markers import visible
from harness.rag.compress.segment import atoms
from harness.rag.retrieve import Document

_MIXED = (
    "the pump cooled 5 mg 3.14 12.5 % not effective X_17 SARS-CoV-2 $3.5 million never failed Oslo "
    "Dr. Ann e.g. 10:30 a.m. without doubt no evidence 1,200 km 圆周率是3.14。 不可以"
)
WORDS = st.sampled_from(_MIXED.split())
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(lambda words: " ".join(words) + ". ")
PROSE = st.lists(st.one_of(SENTENCES, st.just("\n"), st.just("\n\n")), max_size=25).map("".join)
RECORDS = st.lists(
    st.fixed_dictionaries({"id": st.integers(0, 9999), "name": WORDS, "note": SENTENCES}),
    min_size=1,
    max_size=25,
)
JSON = st.one_of(
    RECORDS.map(json.dumps),
    RECORDS.map(lambda rows: json.dumps({"total": len(rows), "items": rows}, indent=1)),
    RECORDS.map(lambda rows: "\n".join(map(json.dumps, rows))),
)
TABLES = RECORDS.map(
    lambda rows: (
        "| id | name |\n|---|---|\n" + "\n".join(f"| {row['id']} | {row['name']} |" for row in rows)
    )
)
TEXTS = st.one_of(
    PROSE, JSON, TABLES, st.text(max_size=200), st.tuples(PROSE, TABLES).map("\n\n".join)
)
GRANULARITIES = st.sampled_from(["auto", "word", "sentence", "paragraph", "row", "record", "code"])
TOKENIZERS = st.sampled_from(["estimate", "minilm"])
QUERIES = st.sampled_from(["Oslo", "what cooled the pump", "X_17", "", "summarise this", "zzz"])
PROPERTY = settings(suppress_health_check=[HealthCheck.filter_too_much])


def squeezed(
    texts: list[str],
    query: str,
    granularity: Choice = "auto",
    tokenizer: str = "estimate",
    budget: int | None = None,
    ratio: float | None = None,
    markers: Style = "auto",
) -> Compressed:
    """Compressed, or the example given up where the budget holds nothing."""
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    try:
        return compress(
            documents,
            query,
            budget=budget,
            ratio=ratio,
            critic="lexical",
            granularity=granularity,
            tokenizer=tokenizer,
            markers=markers,
            reversible=False,
        )
    except BadInput:
        assume(False)
        raise


@PROPERTY
@given(
    st.lists(TEXTS, min_size=1, max_size=3), QUERIES, GRANULARITIES, TOKENIZERS, st.integers(1, 300)
)
def test_verbatim_ordered_within_budget_and_never_longer(
    texts: list[str], query: str, granularity: Choice, tokenizer: str, budget: int
) -> None:
    result = squeezed(texts, query, granularity, tokenizer=tokenizer, budget=budget)
    count = open_tokenizer(tokenizer).count
    assert result.spans
    assert result.tokens.output == count(result.text) <= budget
    assert result.tokens.output <= max(
        result.tokens.input, sum(map(count, texts)) + 40 * len(texts)
    )
    place = {"": 0}
    for span in result.spans:
        text = texts[int(span.doc[1:])]
        assert span.text == text[span.start : span.end]
        assert span.text in result.text
        assert span.start >= place.get(span.doc, 0), "spans out of order"
        place = {span.doc: span.end}
    assert [span.doc for span in result.spans] == sorted(span.doc for span in result.spans)


@PROPERTY
@given(TEXTS, GRANULARITIES)
def test_units_are_disjoint_and_cover_the_visible_text(text: str, granularity: Choice) -> None:
    place = 0
    for unit in segment(Document("d", text), granularity):
        assert unit.text == text[unit.start : unit.end]
        assert place <= unit.start < unit.end
        assert not visible(text[place : unit.start]).strip()
        place = unit.end
    assert not visible(text[place:]).strip()


@PROPERTY
@given(PROSE, GRANULARITIES)
def test_numbers_identifiers_units_and_negations_are_whole(text: str, granularity: Choice) -> None:
    borders = {
        border
        for unit in segment(Document("d", text), granularity)
        for border in (unit.start, unit.end)
    }
    for start, end in atoms(text):
        split = [border for border in borders if start < border < end]
        assert not split, text[start:end]


@PROPERTY
@given(
    TEXTS,
    QUERIES,
    # Of a share, markers say what it is a share of.
    st.sampled_from([(30, None), (90, None), (None, 0.2), (None, 0.5)]),
    st.sampled_from(["auto", "full", "short"]),
)
def test_compressing_the_result_again_changes_nothing(
    text: str, query: str, size: tuple[int | None, float | None], markers: Style
) -> None:
    budget, ratio = size
    assume(budget or markers != "auto")
    once = squeezed([text], query, budget=budget, ratio=ratio, markers=markers)
    again = squeezed([once.text], query, budget=budget, ratio=ratio, markers=markers)
    assert again.text == once.text


@PROPERTY
@given(PROSE, QUERIES, st.integers(8, 60))
def test_a_sentence_that_does_not_fit_is_cut_between_atoms(
    text: str, query: str, budget: int
) -> None:
    borders = {
        border
        for span in squeezed([text], query, budget=budget).spans
        for border in (span.start, span.end)
    }
    for start, end in atoms(text):
        assert not [border for border in borders if start < border < end], text[start:end]


def test_the_budget_is_spent_on_the_beginning_of_a_sentence() -> None:
    text = f"The pump of {'the old ' * 40}mill was mended in 1931. Nobody was there."
    result = compress(text, "When was the pump mended?", budget=30, critic="lexical")
    assert [span.granularity for span in result.spans] == ["word"]
    assert 20 <= result.tokens.output <= 30 and result.text.startswith("The pump of the old")
    assert result.text.endswith(" …"), "a sentence is cut without a mark"


@pytest.mark.parametrize(
    "atom",
    ["5 mg", "12.5 %", "$3.5 million", "not effective", "no evidence", "never failed", "X_17",
     "SARS-CoV-2", "1,200 km", "10:30 a.m.", "3.14", "didn't help", "not at all effective",
     "https://a.org/b?c=1.5", "95 % CI" , "model.layers.2.weight", "2021-05-03"],
)  # fmt: skip
def test_words_that_belong_together(atom: str) -> None:
    units = segment(Document("d", f"We saw {atom} here again"), "word")
    first = atom.removesuffix(" CI")
    assert any(first in unit.text for unit in units), [unit.text for unit in units]


def test_a_block_of_code_begins_behind_blank_lines() -> None:
    text = "\n\n  return 0.5\n\nprint(1)\n"
    units = segment(Document("d", text), "code")
    assert [unit.text for unit in units] == ["  return 0.5", "print(1)"]


def test_a_budget_below_the_smallest_unit_names_the_minimum() -> None:
    text = "Pumps were cooled by water from the lake. The turbine stood still for days."
    with pytest.raises(BadInput, match=r"smallest unit needs (\d+)") as caught:
        compress(text, "turbine", budget=2, critic="lexical", reversible=False)
    match = re.search(r"needs (\d+)", str(caught.value))
    assert match
    least = int(match[1])
    assert compress(text, "turbine", budget=least, critic="lexical", reversible=False).spans
    with pytest.raises(BadInput):
        compress(text, "turbine", budget=least - 1, critic="lexical", reversible=False)


@pytest.mark.parametrize("budget", [{"budget": 0}, {"ratio": 0.0}, {"ratio": 1.5}, {}])
def test_budgets_out_of_range(budget: dict[str, float]) -> None:
    with pytest.raises(BadInput, match="expected"):
        compress("Some text.", "text", critic="lexical", **budget)  # pyright: ignore[reportArgumentType]  # wrong on purpose


def test_without_a_hit_the_best_unit_is_kept() -> None:
    text = "Pumps were cooled. " * 40
    result = compress(text, "zebra", budget=40, critic="lexical", reversible=False)
    assert len(result.spans) == 1
    assert any("nothing" in warning for warning in result.warnings)


def test_text_without_content_is_refused() -> None:
    with pytest.raises(BadInput, match="no visible character"):
        compress(" \n ", "x", budget=10, critic="lexical")
