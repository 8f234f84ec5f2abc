"""RULER: lengths, gold offsets, solvable from the document alone, needles at every offset."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from harness.core import BadInput, Task, read_models
from harness.corpora import Reading, count_tokens, write_readings
from harness.rag.tasks.reading import judge
from lab.corpora.ruler import NIAH, TASKS, boundary_readings, ruler_reading, ruler_readings
from lab.corpora.ruler.infinite import key_value
from lab.corpora.ruler.niah import REPLY

LENGTH = 4096


@pytest.fixture(scope="module")
def samples() -> dict[str, Reading]:
    """One sample of every task."""
    return {task: ruler_reading(task, LENGTH) for task in TASKS}


def test_the_tasks_are_those_of_the_benchmarks() -> None:
    assert len(NIAH) == 8
    assert set(TASKS) - set(NIAH) == {
        *("vt", "cwe", "fwe", "qa_1", "qa_2"),
        *("passkey", "number", "kv"),
    }


@pytest.mark.parametrize("task", TASKS)
def test_length_is_kept_and_used(task: str, samples: dict[str, Reading]) -> None:
    reading = samples[task]
    used = count_tokens(reading.sources[0].text) + count_tokens(reading.question)
    assert (
        LENGTH - REPLY - (250 if task in ("fwe", "qa_1", "qa_2") else 90) <= used <= LENGTH - REPLY
    )


@pytest.mark.parametrize("task", [*NIAH, "passkey", "number", "kv"])
def test_every_answer_stands_in_its_evidence_and_nowhere_else(
    task: str, samples: dict[str, Reading]
) -> None:
    reading = samples[task]
    text, quotes = reading.sources[0].text, reading.quotes()
    assert len(quotes) == len(reading.answers)
    for answer, quote in zip(reading.answers, quotes, strict=True):
        assert answer in quote
        assert text.count(answer) == quote.count(answer)


@pytest.mark.parametrize("task", NIAH)
def test_the_key_of_a_question_leads_to_its_needles(task: str, samples: dict[str, Reading]) -> None:
    reading = samples[task]
    keys = re.findall(r"[0-9a-f]{8}-[-0-9a-f]{27}|[a-z]+-[a-z]+(?:-[a-z]+)?", reading.question)
    text = reading.sources[0].text
    assert keys
    for quote in reading.quotes():
        assert any(key in quote for key in keys)
    assert sum(text.count(key) for key in keys) == len(reading.answers)


def test_multiplicities(samples: dict[str, Reading]) -> None:
    counts = {task: len(samples[task].answers) for task in NIAH}
    assert counts == {
        **dict.fromkeys(NIAH, 1), "niah_multivalue": 4, "niah_multiquery": 4,
    }  # fmt: skip
    label = re.compile(r"\b(?:pass phrase|call sign|mark|code)\b")
    assert len(label.findall(samples["niah_multikey_1"].sources[0].text)) == 4
    assert len(label.findall(samples["niah_multikey_2"].sources[0].text)) > 100
    assert len(label.findall(samples["niah_multikey_3"].sources[0].text)) > 40


def test_variables_can_be_followed_in_the_order_of_the_text(samples: dict[str, Reading]) -> None:
    reading = samples["vt"]
    value = re.findall(r"\d{5}", reading.question)[0]
    known = {value}
    for quote in reading.quotes():
        names = re.findall(r"\b[A-Z]{5}\b|\d{5}", quote)
        assert known & {*names}
        known |= {*names}
    assert known - {value} == {*reading.answers}
    assert len(reading.answers) == 5
    starts = [one.start for one in reading.evidence]
    assert starts == sorted(starts)


def test_common_and_frequent_words_are_the_most_common(samples: dict[str, Reading]) -> None:
    listed = Counter(re.findall(r"\d+\. (\w+)", samples["cwe"].sources[0].text))
    assert {*listed.values()} == {30, 3}
    top = {word for word, count in listed.items() if count == 30}
    assert top == {*samples["cwe"].answers}
    coded = Counter(samples["fwe"].sources[0].text.split())
    (pad, _), *ranked = coded.most_common(4)
    assert pad == "...."
    assert tuple(word for word, _ in ranked) == samples["fwe"].answers


@pytest.mark.parametrize("hops", [1, 2])
def test_questions_have_their_gold_among_documents_that_do_not_contradict(hops: int) -> None:
    for number in range(3):
        reading = ruler_reading(f"qa_{hops}", 16_384, number)
        quotes = reading.quotes()
        assert len(quotes) == hops
        assert all(quote.endswith(".") for quote in quotes)
        text = reading.sources[0].text
        titles = re.findall(r"^Document \d+: (.+)$", text, re.MULTILINE)
        assert len(titles) == reading.meta["documents"]
        hosts = [text.rfind("\nDocument ", 0, one.start) for one in reading.evidence]
        assert all(titles.count(text[at:].split(": ", 1)[1].split("\n")[0]) == 1 for at in hosts)
        assert reading.answers[0] in text
        assert len(titles) > 153


def test_key_values(samples: dict[str, Reading]) -> None:
    reading = samples["kv"]
    records = json.loads(reading.sources[0].text)
    assert records[re.findall(r'"(.+?)"', reading.question)[0]] == reading.answers[0]
    assert len(records) == reading.meta["pairs"]


@pytest.mark.parametrize("pairs", [75, 140])
def test_key_values_of_a_given_number(pairs: int) -> None:
    from random import Random

    assert len(json.loads(key_value(0, Random(1), "kv", pairs).sources[0].text)) == pairs


def test_hints_name_the_needles_and_the_unhinted_instruction_does_not(
    samples: dict[str, Reading],
) -> None:
    for task in (*NIAH, "vt", "passkey", "number"):
        hinted, unhinted = (str(samples[task].meta[name]) for name in ("hinted", "unhinted"))
        assert hinted.startswith(unhinted)
        assert len(hinted) > len(unhinted) + 20
        assert unhinted == "Keep the text that is needed to answer the question."


def test_templates_and_fillers_vary() -> None:
    readings = list(ruler_readings(1024, samples=12, tasks=["niah_single_1"]))
    assert len({one.sources[0].text.split("\n")[0] for one in readings}) >= 4
    forms = {re.sub(r"[a-z]+-[a-z]+|\d+", "#", one.quotes()[0]) for one in readings}
    assert len(forms) >= 8
    depths = [one.evidence[0].start / len(one.sources[0].text) for one in readings]
    assert min(depths) < 0.25
    assert max(depths) > 0.75


def test_the_same_again_and_other_splits_and_seeds_differ() -> None:
    first = ruler_reading("niah_single_2", 2048)
    assert ruler_reading("niah_single_2", 2048) == first
    others = [
        ruler_reading("niah_single_2", 2048, 1),
        ruler_reading("niah_single_2", 2048, split="train"),
        ruler_reading("niah_single_2", 2048, seed=7),
    ]
    texts = {one.sources[0].text for one in [first, *others]}
    assert len(texts) == 4


def test_a_needle_begins_at_every_token_around_a_boundary() -> None:
    found = list(boundary_readings(512, 20, 2048))
    assert len(found) == 41
    for token, reading in enumerate(found, 512 - 20):
        (spot,) = reading.evidence
        text = reading.sources[0].text
        assert count_tokens(text[: spot.start]) == token == reading.meta["token"]
        assert reading.answers[0] in text[spot.start : spot.end]


def test_tasks_on_disk_can_be_judged(tmp_path: Path) -> None:
    readings = list(ruler_readings(1024, samples=1, tasks=["niah_multivalue", "vt"]))
    written = write_readings(iter(readings), tmp_path, "test")
    tasks = read_models(tmp_path / "test.jsonl", Task)
    assert tasks == written
    for task, reading in zip(tasks, readings, strict=True):
        assert (tmp_path / task.files["document.txt"]).read_text() == reading.sources[0].text
        assert judge(task, ", ".join(reading.answers)).outcome == "pass"
        assert judge(task, reading.answers[0]).outcome == "fail"


def test_bad_arguments() -> None:
    with pytest.raises(BadInput, match="niah_single_1"):
        ruler_reading("niah", 4096)
    with pytest.raises(BadInput, match="at least 4096"):
        ruler_reading("cwe", 2048)
    with pytest.raises(BadInput, match="inside 1024"):
        next(boundary_readings(1000, 100, 1024))


@pytest.mark.full
def test_a_million_tokens() -> None:
    reading = ruler_reading("niah_single_2", 1 << 20)
    assert count_tokens(reading.sources[0].text) > (1 << 20) - 200
    assert reading.answers[0] in reading.quotes()[0]
