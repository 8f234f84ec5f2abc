"""The learned fusion: its features, its fit, and the critic that uses both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core import BadInput
from harness.rag.compress import Query, Unit
from harness.rag.compress.critics.features import NAMES, Scores, blocks_of, features
from harness.rag.compress.critics.fused import FUSION, READS, FusedCritic
from lab.training.base_fusion import fit
from lab.training.compressor.evaluation import FEW, stacked_questions, units_of
from lab.training.compressor.examples import Example, Passage
from lab.training.compressor.fusion import Case, coefficients, recall_at

PAGES = (
    ("The harbour opened in 1911.", "It has two piers.", "Ferries leave every hour."),
    ("Marta Lindqvist painted the mural.", "She was born in Oslo.", "The mural is eight metres."),
    ("Copper is mined in the hills.", "The mine closed because the pumps failed."),
)


def vectors(count: int, seed: int = 3) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def scores(units: list[Unit], critic: np.ndarray | None = None) -> Scores:
    rows = vectors(len(units) + 1)
    return Scores(critic, rows[0], rows[1:])


def column(matrix: np.ndarray, name: str) -> np.ndarray:
    return matrix[:, NAMES.index(name)]


def test_features_have_a_column_for_every_name() -> None:
    units = units_of(PAGES, joined=False)
    matrix = features("who painted the mural", units, scores(units, np.arange(8.0)))
    assert matrix.shape == (8, len(NAMES))
    assert np.isfinite(matrix).all()


def test_scores_are_standardised_so_that_their_scale_does_not_count() -> None:
    units = units_of(PAGES, joined=True)
    one = features("mural", units, scores(units, np.arange(8.0)))
    other = features("mural", units, scores(units, 100 * np.arange(8.0) - 7))
    for name in ("critic", "critic near", "critic wide", "critic block"):
        assert np.allclose(column(one, name), column(other, name))


def test_without_a_token_critic_its_columns_are_zero() -> None:
    units = units_of(PAGES, joined=True)
    matrix = features("mural", units, scores(units))
    assert not any(column(matrix, name).any() for name in NAMES if "critic" in name)


def test_blocks_end_at_blank_lines_and_documents() -> None:
    assert list(blocks_of(units_of(PAGES, joined=True))) == [0, 0, 0, 1, 1, 1, 2, 2]
    assert list(blocks_of(units_of(PAGES, joined=False))) == [0, 0, 0, 1, 1, 1, 2, 2]


def test_neighbours_of_another_document_do_not_count() -> None:
    units = units_of(PAGES, joined=False)
    marked = np.zeros(8)
    marked[2] = 1.0
    near = column(features("mural", units, scores(units, marked)), "critic near")
    assert near[1] > near[0]
    assert near[3] == near[4]


def test_the_question_word_asks_for_a_kind_of_answer() -> None:
    units = units_of(PAGES, joined=True)
    when = column(features("when did the harbour open", units, scores(units)), "answer type")
    why = column(features("why did the mine close", units, scores(units)), "answer type")
    assert when.nonzero()[0].tolist() == [0]
    assert why.nonzero()[0].tolist() == [7]


def test_talk_is_recognised_by_its_speakers() -> None:
    turns = units_of([["Ana: We start.", "Ben: The battery is weak.", "Ana: Right."]], joined=True)
    prose = units_of(PAGES, joined=True)
    gated = [name for name in NAMES if name.startswith("talk: ")]
    spoken = features("battery", turns, scores(turns))
    written = features("battery", prose, scores(prose))
    assert any(column(spoken, name).any() for name in gated)
    assert not any(column(spoken, name).any() for name in NAMES if name not in gated)
    assert not any(column(written, name).any() for name in gated)


def cases(source: str, seed: int, count: int = 30) -> list[Case]:
    """Gold is what the embedding says; BM25 is noise."""
    rng = np.random.default_rng(seed)
    found: list[Case] = []
    for _ in range(count):
        matrix = rng.normal(size=(20, len(NAMES))) * 0.5
        gold = np.zeros(20, dtype=bool)
        gold[rng.integers(20)] = True
        matrix[gold, NAMES.index("embedding")] += 2.5
        found.append(Case(source, matrix, gold, np.ones(20)))
    return found


def test_the_fit_finds_the_feature_that_tells() -> None:
    fitted = fit([*cases("a", 1), *cases("b", 2)])
    weights = dict(zip(NAMES, fitted["weights"], strict=True))
    assert weights["embedding"] == max(weights.values())
    assert fitted["left_out"]["a"]["5%"]["fused"] > 0.8
    assert fitted["margins"]["0.9"] <= fitted["margins"]["0.99"]


def test_a_heavy_penalty_keeps_the_prior() -> None:
    prior = np.zeros(len(NAMES))
    prior[NAMES.index("lexical")] = 1.0
    held = coefficients(cases("a", 1), prior, 1e6)
    free = coefficients(cases("a", 1), prior, 1e-3)
    assert np.allclose(held, prior, atol=1e-3)
    assert free[NAMES.index("embedding")] > 0.5


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


def weights_folder(folder: Path, names: tuple[str, ...] = NAMES) -> Path:
    """A fusion that trusts the encoder and BM25 alike."""
    chosen = [float(name in ("embedding", "lexical")) for name in names]
    plain = {"weights": chosen, "margins": {"0.95": 1.0, "0.9": 0.5}}
    facts = {"features": list(names), "without critic": plain}
    (folder / FUSION).write_text(json.dumps(facts), encoding="utf-8")
    return folder


def test_the_critic_ranks_the_answer_first(tmp_path: Path) -> None:
    critic = FusedCritic(weights_folder(tmp_path), "lexical")
    units = units_of(PAGES, joined=True)
    ranked = critic.score(Query("", "Who painted the mural?"), units)
    assert max(zip(ranked, units, strict=True), key=lambda pair: pair[0])[1].text == PAGES[1][0]
    assert "token critic" not in critic.name
    assert critic.score(Query("", "mural"), []) == []


def test_thresholds_fall_with_the_recall_asked_for(tmp_path: Path) -> None:
    critic = FusedCritic(weights_folder(tmp_path), "lexical")
    assert critic.threshold(0.9, [1.0, 3.0]) == 2.5
    assert critic.threshold(0.93, [1.0, 3.0]) == 2.0
    with pytest.raises(BadInput, match=r"up to 0\.95, got 0\.99"):
        critic.threshold(0.99, [1.0])


def test_missing_and_foreign_coefficients_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=FUSION):
        FusedCritic(tmp_path, "lexical")
    with pytest.raises(BadInput, match="expected the features"):
        FusedCritic(weights_folder(tmp_path, NAMES[1:]), "lexical")


class Lengths:
    """A critic that remembers what it read and scores by length."""

    name = "lengths"

    def __init__(self) -> None:
        self.read: list[str] = []

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        self.read = [unit.text for unit in units]
        return [float(len(unit.text)) for unit in units]


def test_the_token_critic_takes_part_where_it_can_read_everything(tmp_path: Path) -> None:
    folder = weights_folder(tmp_path)
    facts = json.loads((folder / FUSION).read_text(encoding="utf-8"))
    logit = [float(name == "critic logit") for name in NAMES]
    facts["with critic"] = {"weights": logit, "margins": {"0.95": 1.0}}
    (folder / FUSION).write_text(json.dumps(facts), encoding="utf-8")
    filler = [[f"Line {number} says nothing of note, {'and so on ' * 9}."] for number in range(200)]
    query, reader = Query("", "who painted a mural"), Lengths()
    critic = FusedCritic(folder, "lexical", reader)
    short, long = (units_of(pages, joined=True) for pages in (PAGES, [*filler, *PAGES]))
    assert critic.score(query, short) == [float(len(unit.text)) for unit in short]
    assert reader.read == [unit.text for unit in short]
    ranked = critic.score(query, long)
    assert sum(len(unit.text) for unit in long) > READS
    assert reader.read == [unit.text for unit in short]  # the long input was not read
    assert ranked == FusedCritic(folder, "lexical", None).score(query, long)
