"""The order desk's entailment, on wordings by an author who never saw its word lists.

The figures are what the decider reached on first sight; it was not tuned on this file.
"""

from __future__ import annotations

import json
from pathlib import Path

from lab.simulator import load_profile
from lab.simulator.orders import OrderMode

WORDINGS: dict[str, dict[str, list[str]]] = json.loads(
    (Path(__file__).parent / "order_paraphrases.json").read_text()
)
MODES: dict[str, OrderMode] = {
    mode.slip: mode for mode in load_profile("orders").orders if mode.remedy is not None
}


def heard(slip: str, kind: str) -> list[str]:
    """The wordings of a kind that count as the remedy."""
    remedy = MODES[slip].remedy
    assert remedy is not None
    return [line for line in WORDINGS[slip][kind] if remedy.said_in(f"- {line}")]


def test_every_mode_has_unseen_wordings() -> None:
    assert WORDINGS.keys() == MODES.keys()
    assert all(len(one["entails"]) >= 8 for one in WORDINGS.values())


def test_first_sight_accuracy() -> None:
    """Measured: 105 of 120 heard; 4 of 96 negated or decoy rules taken for the remedy.

    The lists were extended on another author's sentences (`order_paraphrases_tuning.json`), and
    this file was read once, afterwards.
    """
    right = sum(len(heard(slip, "entails")) for slip in MODES)
    wrong = sum(len(heard(slip, kind)) for slip in MODES for kind in ("negated", "decoys"))
    assert right >= 105
    assert wrong <= 4


def test_a_wording_of_one_remedy_is_never_heard_as_another() -> None:
    crossed = [
        (slip, other)
        for slip in MODES
        for line in WORDINGS[slip]["entails"]
        for other, mode in MODES.items()
        if other != slip and mode.remedy is not None and mode.remedy.said_in(f"- {line}")
    ]
    assert crossed == []


def test_the_analysts_own_wordings_are_understood() -> None:
    analyst = load_profile("orders-analyst").analyst
    assert analyst is not None
    for symptom in analyst.symptoms:
        found = [
            {
                slip
                for slip, mode in MODES.items()
                if mode.remedy and mode.remedy.said_in(f"- {one}")
            }
            for one in symptom.wordings
        ]
        assert all(one == found[0] and len(one) == 1 for one in found)


def test_the_profiles_share_no_four_words(repository: Path) -> None:
    folder = repository / "lab" / "simulator" / "profiles"
    texts = [(folder / name).read_text().split() for name in ("orders.json", "orders-analyst.json")]
    shared = {tuple(texts[0][i : i + 4]) for i in range(len(texts[0]) - 3)} & {
        tuple(texts[1][i : i + 4]) for i in range(len(texts[1]) - 3)
    }
    assert not {four for four in shared if sum(word.isalpha() for word in four) >= 4}


def test_settings_behind_a_question_mark() -> None:
    profile = load_profile("orders-analyst?error=0.3&seed=7")
    assert profile.analyst is not None
    assert (profile.analyst.error, profile.analyst.seed) == (0.3, 7)
