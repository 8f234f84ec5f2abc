"""The fitted mixture: its features, its fit, the coefficients that ship, and critics on them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core import BadInput
from harness.rag.compress import Query, Unit
from harness.rag.compress.critics.features import NAMES, blocks_of, features
from harness.rag.compress.critics.mixture import COEFFICIENTS, SHORT, FittedCritic, MixCritic
from harness.rag.retrieve import open_encoder
from lab.training.mixture import Case, case_of, coefficients, fit, recall_at
from lab.training.questions import FEW, Example, Passage, read_examples, stacked_questions, units_of

PAGES = (
    ("The harbour opened in 1911.", "It has two piers.", "Ferries leave every hour."),
    ("Marta Lindqvist painted the mural.", "She was born in Oslo.", "The mural is eight metres."),
    ("Copper is mined in the hills.", "The mine closed because the pumps failed."),
)
ASKED = np.eye(8, dtype=np.float32)[0]
SHIPPED: dict[str, Any] = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))


def vectors(count: int, seed: int = 3) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def made(query: str, units: list[Unit]) -> np.ndarray:
    return features(query, units, ASKED, vectors(len(units)))


def column(matrix: np.ndarray, name: str) -> np.ndarray:
    return matrix[:, NAMES.index(name)]


def test_features_have_a_column_for_every_name() -> None:
    matrix = made("who painted the mural", units_of(PAGES, joined=False))
    assert matrix.shape == (8, len(NAMES))
    assert np.isfinite(matrix).all()


def test_scores_are_standardised_so_that_their_scale_does_not_count() -> None:
    units = units_of(PAGES, joined=True)
    one = made("mural", units)
    other = features("mural", units, ASKED, 100 * vectors(8))
    for name in ("embedding", "embedding near", "embedding wide", "embedding block"):
        assert np.allclose(column(one, name), column(other, name), atol=1e-5)


def test_blocks_end_at_blank_lines_and_documents() -> None:
    assert list(blocks_of(units_of(PAGES, joined=True))) == [0, 0, 0, 1, 1, 1, 2, 2]
    assert list(blocks_of(units_of(PAGES, joined=False))) == [0, 0, 0, 1, 1, 1, 2, 2]


def test_neighbours_of_another_document_do_not_count() -> None:
    marked = np.zeros((8, 8), dtype=np.float32)
    marked[2, 0] = 1.0
    matrix = features("mural", units_of(PAGES, joined=False), ASKED, marked)
    near = column(matrix, "embedding near")
    assert near[1] > near[0]
    assert near[3] == near[4]


def test_the_question_word_asks_for_a_kind_of_answer() -> None:
    units = units_of(PAGES, joined=True)
    when = column(made("when did the harbour open", units), "answer type")
    why = column(made("why did the mine close", units), "answer type")
    assert when.nonzero()[0].tolist() == [0]
    assert why.nonzero()[0].tolist() == [7]


def test_talk_is_recognised_by_its_speakers() -> None:
    turns = units_of([["Ana: We start.", "Ben: The battery is weak.", "Ana: Right."]], joined=True)
    gated = [name for name in NAMES if name.startswith("talk: ")]
    spoken, written = made("battery", turns), made("battery", units_of(PAGES, joined=True))
    assert any(column(spoken, name).any() for name in gated)
    assert not any(column(spoken, name).any() for name in NAMES if name not in gated)
    assert not any(column(written, name).any() for name in gated)


def cases(source: str, seed: int, count: int = 30) -> list[Case]:
    """Gold is what the embedding says; BM25 is noise."""
    rng = np.random.default_rng(seed)
    drawn: list[Case] = []
    for _ in range(count):
        matrix = rng.normal(size=(20, len(NAMES))) * 0.5
        gold = np.zeros(20, dtype=bool)
        gold[rng.integers(20)] = True
        matrix[gold, NAMES.index("embedding")] += 2.5
        drawn.append(Case(source, matrix, gold, np.ones(20)))
    return drawn


def test_the_fit_finds_the_feature_that_tells() -> None:
    fitted = fit([*cases("a", 1), *cases("b", 2)])
    weights = dict(zip(NAMES, fitted["weights"], strict=True))
    assert weights["embedding"] == max(weights.values())
    assert fitted["left_out"]["a"]["5%"]["fitted"] > 0.8


def test_a_heavy_penalty_keeps_coefficients_at_zero() -> None:
    assert np.allclose(coefficients(cases("a", 1), 1e6), 0, atol=1e-3)
    assert coefficients(cases("a", 1), 1e-3)[NAMES.index("embedding")] > 0.5


@given(st.lists(st.integers(1, 9), min_size=2, max_size=12), st.floats(0.05, 1.0))
@settings(max_examples=50, deadline=None)
def test_recall_never_spends_more_than_the_budget_behind_the_best(
    sizes: list[int], budget: float
) -> None:
    count = len(sizes)
    gold = np.ones(count, dtype=bool)
    case = Case("a", np.zeros((count, len(NAMES))), gold, np.asarray(sizes, dtype=np.float64))
    kept = round(recall_at(case, np.arange(count, dtype=np.float64), budget) * count)
    rest = sorted(sizes[:-1])
    room = budget * sum(sizes) - sizes[-1]
    most = sum(sum(rest[: at + 1]) <= room for at in range(len(rest)))
    assert 1 <= kept <= 1 + most


def example(number: int, answer: str = "x") -> Example:
    sentences = (f"Page {number} begins.", f"Fact {number} is {answer}.", "It ends.")
    passage = Passage("nq_oracle", f"group {number}", sentences)
    return Example(f"what is fact {number}", passage, frozenset({1}), (answer,))


def test_stacks_hold_the_answer_once_and_say_where() -> None:
    examples = [example(at, answer=f"value{at % 3}") for at in range(30)]
    for one in stacked_questions(examples):
        number = one.query.text.rsplit(" ", 1)[-1]
        texts = [unit.text for unit in one.units]
        (gold,) = one.gold
        assert texts[gold].startswith(f"Fact {number} is")
        assert sum(f"value{int(number) % 3}." in text for text in texts) == 1
        if one.source == "nq":
            assert len({unit.doc for unit in one.units}) == FEW + 1
    assert stacked_questions(examples) == stacked_questions(examples)


def extracts(folder: Path) -> Path:
    """The four files, twelve rows each."""
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("nq_oracle", "qed", "wice_dev", "qmsum_val")
    }
    for number in range(12):
        text = f"Mill {number} was built in {1800 + number}. It grinds rye. It has {number} wheels."
        row = {"query": f"when was mill {number} built", "context": text, "answers": [f"{number}"]}
        rows["nq_oracle"].append(row | {"spans": [[18, 27]]})
        rows["qed"].append(row | {"spans": [[18, 27]], "sentence_starts": [0, text.index("It g")]})
        evidence = [f"Line {line} of page {number} says little." for line in range(24)]
        claim = {"claim": f"Page {number} has a line 9.", "supporting_sentences": [[9]]}
        rows["wice_dev"].append(claim | {"evidence": evidence})
        talk = "\n".join(f"Chair: Point {point} of day {number} is open." for point in range(9))
        row = {"query": f"What of point 3 of day {number}?", "spans": [[talk.index("t 3"), 150]]}
        rows["qmsum_val"].append({"id": f"day {number}", "context": talk, "queries": [row]})
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


def test_files_of_extracts_are_read(tmp_path: Path) -> None:
    questions = stacked_questions(read_examples(extracts(tmp_path)))
    sources = ("nq", "nq long", "qed", "qmsum", "wice")
    assert Counter(question.source for question in questions) == dict.fromkeys(sources, 12)
    (tmp_path / "qed.jsonl").write_text('{"query": "x"}\n')
    with pytest.raises(BadInput, match=r"qed\.jsonl:1: no labelled extract"):
        read_examples(tmp_path)


@pytest.mark.full
def test_coefficients_are_fitted_from_files_of_extracts(tmp_path: Path) -> None:
    questions = stacked_questions(read_examples(extracts(tmp_path)))
    encoder = open_encoder("lexical")
    fitted = fit([case_of(question, encoder) for question in questions])
    assert fitted["cases"] == dict.fromkeys(("nq", "nq long", "qed", "qmsum", "wice"), 12)
    assert fitted["features"] == list(NAMES) and len(fitted["weights"]) == len(NAMES)
    assert fitted["left_out"]["nq"]["20%"]["fitted"] > 0.5


def test_coefficients_that_ship_are_of_these_features() -> None:
    assert tuple(SHIPPED["features"]) == NAMES
    assert len(SHIPPED["weights"]) == len(NAMES)


def test_a_needle_among_thousands_of_like_sentences_is_first() -> None:
    """A fit on some hundred units must not turn against a unit that stands out more."""
    texts = ["Snow lies on the hill.", "The fence is white.", "Smoke drifts up."] * 1500
    texts[1000] = "The display went on showing 7711118188 all night."
    units = units_of([texts], joined=True)
    cosines = np.full(len(units), 0.05)
    cosines[1000] = 0.6
    rows = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)
    query_vector = np.asarray([1.0, 0.0], np.float32)
    matrix = features("What did the display show?", units, query_vector, rows)
    assert np.argmax(matrix @ np.asarray(SHIPPED["weights"])) == 1000


@pytest.mark.parametrize("critic", [FittedCritic("lexical"), MixCritic("lexical")])
def test_the_critics_rank_the_answer_first(critic: FittedCritic | MixCritic) -> None:
    units = units_of(PAGES, joined=True)
    ranked = critic.score(Query("", "Who painted the mural?"), units)
    assert max(zip(ranked, units, strict=True), key=lambda pair: pair[0])[1].text == PAGES[1][0]
    assert critic.score(Query("", "mural"), []) == []


def test_long_inputs_and_talks_are_ranked_by_coefficients() -> None:
    filler = [[f"Line {number} says nothing of note, {'and so on ' * 9}."] for number in range(200)]
    talk = [[f"Ana: {text}" for page in PAGES for text in page]]
    query, fitted, mix = Query("", "mural"), FittedCritic("lexical"), MixCritic("lexical")
    short, spoken, long = (units_of(pages, joined=True) for pages in (PAGES, talk, filler))
    assert sum(len(unit.text) for unit in long) > SHORT
    assert mix.score(query, long) == fitted.score(query, long)
    assert mix.score(query, spoken) == fitted.score(query, spoken)
    assert mix.score(query, short) != fitted.score(query, short)
