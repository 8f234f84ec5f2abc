"""Verdicts on values from tables and prose, and values that must be computed."""

from __future__ import annotations

import pytest

from harness.rag.check.numbers import Cell, open_sources
from harness.rag.check.rules import judge_claim as judge
from harness.rag.check.types import Claim, Finding, Verdict
from harness.rag.retrieve import Document

TABLE = """Results of the brewery ($ in thousands)

| | 2019 | 2018 | Change (%) |
| --- | --- | --- | --- |
| Revenue: | | | |
| Beer | 4,200.5 | 3,910.0 | 7.4 |
| Cider | 812.0 | 1,044.0 | (22.2) |
| Total revenue | 5,012.5 | 4,954.0 | 1.2 |
| Net loss | (310.0) | (95.5) | |
| Loss per share | (0.31) | (0.10) | |

The brewery opened in 1931 and employs about 240 people in Ulm.
"""
TSV = "Town\tInhabitants\nUlm\t126,329\nAalen\t68,456\n"


def cells(text: str) -> list[Cell]:
    [source] = open_sources([Document("doc", text)])
    return list(source.cells)


def verdict(sentence: str, value: str, text: str = TABLE) -> Finding:
    start = sentence.index(value)
    claim = Claim(
        text=value, type="cell", start=start, end=start + len(value), sentence=sentence
    )  # fmt: skip
    document = Document("doc", text)
    found = judge(claim, open_sources([document]))
    assert found is not None
    assert found.reason
    for one in found.evidence:
        assert text[one.start : one.end] == one.quote
    return found


def test_cells_carry_labels_scale_and_place() -> None:
    beer = cells(TABLE)[0]
    assert (beer.row, beer.column, beer.section) == ("Beer", "2019", "Revenue:")
    assert (beer.value.value, beer.value.unit) == (4_200_500, "USD")
    assert TABLE[beer.start : beer.end] == "4,200.5"
    per_share = next(one for one in cells(TABLE) if one.row == "Loss per share")
    assert per_share.value.value == per_share.plain.value


def test_tab_separated_tables() -> None:
    assert verdict("Aalen has 68,456 inhabitants.", "68,456", TSV).verdict is Verdict.SUPPORTED
    assert verdict("Aalen has 126,329 inhabitants.", "126,329", TSV).verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("sentence", "value", "expected"),
    [
        ("Beer revenue was $4.2 million in 2019.", "$4.2 million", "SUPPORTED"),
        ("Beer revenue was $4,200.5 thousand in fiscal 2019.", "$4,200.5 thousand", "SUPPORTED"),
        ("Beer revenue was $4.2 million in 2018.", "$4.2 million", "CONTRADICTED"),
        ("Beer revenue was $4.2 billion in 2019.", "$4.2 billion", "CONTRADICTED"),
        ("Beer revenue was €4.2 million in 2019.", "€4.2 million", "CONTRADICTED"),
        ("Beer revenue was $4.9 million in 2019.", "$4.9 million", "CONTRADICTED"),
        ("The net loss was $310 thousand in 2019.", "$310 thousand", "SUPPORTED"),
        ("The change of cider revenue was -22.2%.", "-22.2%", "SUPPORTED"),
        ("Cider revenue grew by 22.2%.", "22.2%", "CONTRADICTED"),
        ("The brewery employs roughly 240 people.", "240", "SUPPORTED"),
        ("The brewery employs 420 people in Ulm.", "420", "CONTRADICTED"),
        ("The brewery opened in 1931.", "1931", "SUPPORTED"),
        ("The brewery opened in 1913.", "1913", "CONTRADICTED"),
        ("A lighthouse is 420 metres tall.", "420 metres", "NOT_FOUND"),
    ],
)
def test_verdicts(sentence: str, value: str, expected: str) -> None:
    assert verdict(sentence, value).verdict == expected


@pytest.mark.parametrize(
    ("sentence", "value", "operation"),
    [
        (
            "Beer revenue rose by $290.5 thousand from 2018 to 2019.",
            "$290.5 thousand",
            "difference",
        ),
        ("Average beer revenue of 2018 and 2019 was $4,055 thousand.", "$4,055 thousand", "mean"),
        ("Beer revenue of both years combined was $8.11 million.", "$8.11 million", "sum"),
        ("Net loss was 3.2 times that of 2018.", "3.2 times", "ratio"),
        ("Beer made up 83.8% of total revenue in 2019.", "83.8%", "share"),
    ],
)
def test_derived_values_are_recomputed(sentence: str, value: str, operation: str) -> None:
    found = verdict(sentence, value)
    assert (found.verdict, found.reason.split(":")[0]) == (Verdict.DERIVED, operation)
    assert len(found.evidence) >= 2 or operation in ("growth", "difference", "share", "ratio")


def test_what_no_computation_gives_is_not_derived() -> None:
    assert verdict("Beer made up 38.8% of total revenue in 2019.", "38.8%").verdict in (
        Verdict.CONTRADICTED,
        Verdict.NOT_FOUND,
    )


def test_rows_without_cells_are_no_rows() -> None:
    assert cells("|\n|\n") == []
    assert verdict("Ulm has 126,329 inhabitants.", "126,329", f"|\n|\n\n{TSV}").evidence


def test_growth_is_recomputed_where_no_column_states_it() -> None:
    sentence = "Total revenue grew 1.18% in 2019."
    assert verdict(sentence, "1.18%").verdict is Verdict.SUPPORTED
    found = verdict(sentence, "1.18%", TABLE.replace("| 1.2 |", "| |"))
    assert (found.verdict, found.reason.split(":")[0]) == (Verdict.DERIVED, "growth")


def test_no_other_document_takes_support_away() -> None:
    noise = Document("noise", "Lighthouses stood in 1850. A sloop carried 12 guns and 90 men.")
    rival = Document("rival", "| | 2019 |\n| --- | --- |\n| Beer revenue of the brewery | 7.5 |\n")
    sentence, value = "Beer revenue of the brewery was $4.2 million in 2019.", "$4.2 million"
    start = sentence.index(value)
    claim = Claim(
        text=value, type="cell", start=start, end=start + len(value), sentence=sentence
    )  # fmt: skip
    alone = judge(claim, open_sources([Document("doc", TABLE)]))
    among = judge(claim, open_sources([noise, rival, Document("doc", TABLE), noise]))
    assert alone is not None
    assert alone.verdict is Verdict.SUPPORTED
    assert alone == among
    against = judge(claim, open_sources([noise, rival]))
    assert against is not None
    assert against.verdict is Verdict.CONTRADICTED
