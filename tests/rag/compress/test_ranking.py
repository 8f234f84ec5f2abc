"""The pre-filter, bridges, questions about the whole, and critics behind one interface."""

from __future__ import annotations

import doctest
import json
from collections.abc import Sequence
from typing import Any

import pytest

import harness.rag.compress
from harness.core import BadInput
from harness.models import open_model
from harness.rag.compress import Query, TextSource, Unit, compress, open_critic, open_tokenizer
from harness.rag.compress.critics.llm import ModelCritic, read_needed
from harness.rag.compress.pool import dense_pool
from harness.rag.compress.prefilter import ROOM, by_meaning, passing
from harness.rag.compress.ranking import asks_for_whole
from harness.rag.retrieve import Document, words
from tests.models.http_server import Answer, completion, serve


class Counting:
    """A critic that remembers what it read."""

    name = "counting"

    def __init__(self) -> None:
        self.read: list[Unit] = []

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """1 for a unit that ends with the query."""
        self.read = list(units)
        return [1.0 if query.query in unit.text else 0.1 for unit in units]


def test_a_slow_critic_reads_what_the_filter_lets_through() -> None:
    filler = " ".join(f"Line {number} speaks of weather and wind." for number in range(6000))
    text = f"{filler} The turbine number seven failed. {filler}"
    critic = Counting()
    result = compress(text, "turbine", budget=300, critic=critic, reversible=False)
    assert "The turbine number seven failed." in result.text
    assert 100 < len(critic.read) < 3000
    assert sum(len(unit.text) for unit in critic.read) < 8 * ROOM
    assert [unit.start for unit in critic.read] == sorted(unit.start for unit in critic.read)


@pytest.mark.parametrize(
    ("question", "meaning"),
    [
        ("Which turbines were failing?", False),  # the beginnings of the words
        ("What happened in the engine room?", False),  # words of the sentence before
        ("Whose motor broke?", True),  # other words for it
    ],
)
def test_what_passes_shares_beginnings_paragraph_or_meaning(question: str, meaning: bool) -> None:
    filler = [f"Line {number} speaks of weather and wind.\n\n" for number in range(2000)]
    gold = "The turbine failed on the ninth."
    filler[700] = f"We went down to the engine room. {gold}\n\n"
    source = TextSource(Document("d", "".join(filler)))
    pool = dense_pool([source], open_tokenizer("minilm"), "sentence", "en")
    tokens = [words(unit.text) for unit in pool.units]
    query = Query("", question)
    read = passing(pool, query, tokens, meaning=meaning, room=200)
    assert gold in [pool.units[at].text for at in read]
    assert sum(pool.tokens[at] for at in read) <= 200
    assert read == sorted(read)
    if meaning:
        without = passing(pool, query, tokens, meaning=False, room=200)
        assert gold not in [pool.units[at].text for at in without]


def test_critics_without_the_packaged_encoder_are_filtered_for_by_words() -> None:
    assert by_meaning(open_critic("embedding"))
    assert not by_meaning(open_critic("lexical"))
    assert not by_meaning(Counting())


@pytest.mark.parametrize(
    ("speaker", "meaning", "count", "share"),
    [("", True, 60, 1.0), ("", True, 600, 0.4), ("", False, 600, 1.0), ("Ann: ", True, 600, 1.0)],
)
def test_only_prose_that_is_filtered_by_meaning_is_filtered_early(
    speaker: str, meaning: bool, count: int, share: float
) -> None:
    text = "\n\n".join(f"{speaker}Line {n} speaks of weather and wind." for n in range(count))
    pool = dense_pool([TextSource(Document("d", text))], open_tokenizer("minilm"), "sentence", "en")
    tokens = [words(unit.text) for unit in pool.units]
    read = passing(pool, Query("", "wind"), tokens, meaning=meaning)
    assert sum(pool.tokens[at] for at in read) == pytest.approx(share * sum(pool.tokens), rel=0.02)


def test_one_unit_passes_whatever_its_length() -> None:
    source = TextSource(Document("d", "A wheel turns " * 50 + "slowly.\n\n12 ? 中 \u0377\n\nNo."))
    pool = dense_pool([source], open_tokenizer("minilm"), "sentence", "en")
    tokens = [words(unit.text) for unit in pool.units]
    assert len(passing(pool, Query("", "wheel"), tokens, meaning=True, room=5)) >= 1
    assert len(passing(pool, Query("", "nothing"), tokens, meaning=False, room=5)) >= 1


def test_a_bridge_is_followed_to_another_document() -> None:
    noise = [
        Document(f"n{n}", f"Harbour {n} was built of stone. It had {n} gates. " * 3)
        for n in range(30)
    ]
    first = Document("film", "The film Blue Lantern was directed by Ilse Varga.")
    second = Document("life", "In 1931 Varga came into the world in Szeged.")
    documents = [*noise[:15], first, *noise[15:], second]
    question = "Where was the director of Blue Lantern born?"
    result = compress(documents, question, budget=120, critic="lexical", reversible=False)
    assert "Szeged" in result.text
    flat = compress(
        documents, question, budget=120, critic="lexical", reversible=False, expand_entities=False
    )
    assert "Szeged" not in flat.text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Summarize the meeting.", "summary"),
        ("What are the main findings?", "summary"),
        ("总结这篇文章", "summary"),
        ("", "no query"),
        ("How many times does the word 'pump' occur?", "count"),
        ("What are the ten most common words?", "count"),
        ("Summarize the discussion about the remote control.", None),
        ("How many points did the Panthers defense surrender?", None),
        ("When was the pump replaced?", None),
        ("List every code of amber-otter.", None),
    ],
)
def test_questions_about_the_whole_text(query: str, expected: str | None) -> None:
    assert asks_for_whole(query) == expected


def test_a_summary_covers_the_length_of_the_text() -> None:
    parts = [f"Chapter {n} tells of the {n}th voyage to the island. " * 12 for n in range(10)]
    result = compress(
        "\n\n".join(parts), "Summarise this.", ratio=0.2, critic="lexical", reversible=False
    )
    assert result.critic == "coverage (summary)"
    missing = [n for n in range(10) if f"Chapter {n} " not in result.text]
    assert len(missing) <= 1, missing
    assert any("whole" in warning for warning in result.warnings)


@pytest.mark.slow  # loads the encoder
def test_the_embedding_critic_finds_what_shares_no_word() -> None:
    calm = "The cat slept on the warm stones. Prices of grain rose again in the spring. " * 3
    text = f"{calm}Physicians treated the patient. {calm}"
    result = compress(
        text, "doctors in a hospital", budget=30, critic="embedding", reversible=False
    )
    assert "Physicians treated the patient." in result.text


def test_the_model_critic_reads_the_numbers_of_each_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def answer(body: dict[str, Any]) -> Answer:
        lines = str(body["messages"][0]["content"]).partition("<parts>")[2].splitlines()
        hits = [line.split(".")[0] for line in lines if "zebra" in line]
        return completion("Here: " + json.dumps({"needed": dict.fromkeys(hits, 3)}))

    sentences = [f"Sentence {number} is calm." for number in range(300)]
    sentences[137] = "A zebra stood there."
    with serve(answer) as served:
        critic = ModelCritic(
            open_model("openai/judge", base_url=served.url), window=500, overlap=60
        )
        text = " ".join(sentences)
        result = compress(text, "animal", budget=60, critic=critic, reversible=False)
    assert "A zebra stood there." in result.text
    assert len(served.bodies) > 3, "one window for everything"
    assert "judge" in result.critic


def test_replies_that_name_no_parts() -> None:
    assert read_needed('{"needed": {"2": 9, "7": 1}}', 3) == [0.0, 3.0, 0.0]
    assert read_needed("no idea", 3) is None
    assert read_needed('{"needed": [1]}', 3) is None


def test_an_unknown_critic_is_named() -> None:
    with pytest.raises(BadInput, match="'psychic'"):
        open_critic("psychic")


def test_the_example_of_the_docstring() -> None:
    assert doctest.testmod(harness.rag.compress).failed == 0
