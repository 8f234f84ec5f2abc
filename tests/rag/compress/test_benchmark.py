"""benchmarks/compression/quality.py calls the command as users do, and holds all to one budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.compression.cases import Case, covered
from benchmarks.compression.quality import DEFAULT, Arm, arms_of, recall
from harness.api import compress
from harness.corpora import Evidence
from harness.rag.compress import Query, Store, Unit
from harness.rag.retrieve import Document, open_encoder, sentence_spans

TEXT = (
    "The ferry to Orsk leaves at six. Its captain is Mrs. Lund. "
    "Nobody fishes on the northern pier in winter, since the planks are slippery and the railing "
    "was carried away by the storm of that memorable night in the month of March. "
    "A crane stands on the quay. Mrs. Lund learned her trade on a tug called the Petrel. "
    "Tea is served in the hall. The tug was sold for scrap when its boiler burst."
)
ANSWER = "a tug called the Petrel"
QUESTION = "On which boat did the captain of the ferry to Orsk learn her trade?"


def case() -> Case:
    units = [Unit("d", start, end, TEXT[start:end], "sentence")
             for start, end in sentence_spans(TEXT, "en")]  # fmt: skip
    start = TEXT.index(ANSWER)
    answer = Evidence(doc="d", start=start, end=start + len(ANSWER))
    documents = (Document("d", TEXT),)
    return Case("1", "d", Query("", QUESTION), documents, tuple(units), (answer,))


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Arm]:
    return arms_of(open_encoder("encoder"), tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("budget", [0.3, 0.6])
def test_the_default_is_what_the_command_keeps(
    budget: float, arms: dict[str, Arm], tmp_path: Path
) -> None:
    result = compress(case().documents, QUESTION, ratio=budget, store=Store(tmp_path))
    row = arms[DEFAULT](case())(budget)
    share = result.tokens.output / result.tokens.input
    assert row == {"kept": recall(case(), result.spans), "refused": 0.0, "tokens": share}


def test_a_budget_that_the_command_refuses_keeps_nothing(arms: dict[str, Arm]) -> None:
    assert arms[DEFAULT](case())(0.02) == {"kept": 0.0, "refused": 1.0, "tokens": 0.0}


@pytest.mark.parametrize("budget", [0.02, 0.1, 0.3])
def test_no_way_overruns_the_budget(budget: float, arms: dict[str, Arm]) -> None:
    rows = {name: prepare(case())(budget) for name, prepare in arms.items()}
    assert {name: row["tokens"] for name, row in rows.items() if row["tokens"] > budget} == {}


def test_an_answer_that_is_cut_counts_as_some_of_it_alone() -> None:
    start = TEXT.index(ANSWER)
    kept = [Unit("d", start - 9, start + 5, TEXT[start - 9 : start + 5], "sentence")]
    assert recall(case(), kept) == 0
    rest = Unit("d", start + 6, start + 40, TEXT[start + 6 : start + 40], "sentence")
    assert recall(case(), [*kept, rest]) == 1  # a blank lies between
    other = Unit("another", start - 9, start + 40, "", "sentence")
    assert recall(case(), [other]) == 0
    assert not covered(case().answers[0], [rest], TEXT)
