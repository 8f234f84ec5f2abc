"""Loaders: the published forms of every set, and the rows of the shared data folder."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.corpora import (
    LOADERS,
    Reading,
    list_corpora,
    load_readings,
    pull,
)
from tests.corpora.recorded_agents import figures, recorded_answers

HOTPOT: dict[str, Any] = {
    "_id": "h1",
    "question": "In which town was the builder of the Salt Bell born?",
    "answer": "Brisko",
    "type": "bridge",
    "level": "easy",
    "supporting_facts": [["Salt Bell", 1], ["Ada Hask", 0], ["Ada Hask", 7]],
    "context": [
        ["Salt Bell", ["It rings.", " Ada Hask built it."]],
        ["Ada Hask", ["She was born in Brisko.", " She sang."]],
        ["Ada Hask", ["Another one."]],
    ],
}
TWOWIKI = {**HOTPOT, "context": [["Salt Bell", ["It rings.", "Ada Hask built it."]]]}
MUSIQUE: dict[str, Any] = {
    "id": "2hop__1_2",
    "question": "Where was it?",
    "answer": "Brisko",
    "answer_aliases": ["Brisko town"],
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "B", "paragraph_text": "In Brisko.", "is_supporting": True},
        {"idx": 1, "title": "A", "paragraph_text": "By B.", "is_supporting": True},
        {"idx": 2, "title": "A", "paragraph_text": "Nothing.", "is_supporting": False},
    ],
    "question_decomposition": [
        {"question": "By whom?", "answer": "B", "paragraph_support_idx": 1},
        {"question": "Where?", "answer": "Brisko", "paragraph_support_idx": 0},
    ],
}
SQUAD: dict[str, Any] = {
    "version": "v2.0",
    "data": [
        {
            "title": "Bells",
            "paragraphs": [
                {
                    "context": "Ada built it in 1871.",
                    "qas": [
                        {
                            "id": "s1",
                            "question": "When?",
                            "answers": [
                                {"text": "1871", "answer_start": 16},
                                {"text": "in 1871", "answer_start": 13},
                            ],
                        },
                        {"id": "s2", "question": "Why?", "answers": [], "is_impossible": True},
                    ],
                },
                {"context": "It rings.", "qas": []},
            ],
        }
    ],
}
QMSUM: dict[str, Any] = {
    "meeting_transcripts": [{"speaker": s, "content": f"turn {s}"} for s in "ABCD"],
    "general_query_list": [{"query": "Summarise.", "answer": "They met."}],
    "specific_query_list": [
        {"query": "What of B?", "answer": "B.", "relevant_text_span": [["1", "2"], ["3", "9"]]}
    ],
}
QUALITY: dict[str, Any] = {
    "article": "A story.",
    "questions": [
        {
            "question": "Who?",
            "question_unique_id": "q_1",
            "options": ["a", "b", "c", "d"],
            "gold_label": 3,
            "difficult": 1,
        }
    ],
}


def _read(name: str, value: Any, folder: Path, file: str = "rows.json") -> list[Reading]:
    path = folder / file
    path.write_text(json.dumps(value))
    return list(load_readings(name, path))


def test_hotpotqa(tmp_path: Path) -> None:
    (reading,) = _read("hotpotqa", [HOTPOT], tmp_path)
    assert reading.quotes() == ("Ada Hask built it.", "She was born in Brisko.")
    assert reading.meta["missing_support"] == 1
    assert [one.id for one in reading.sources] == ["Salt Bell", "Ada Hask", "Ada Hask (2)"]
    columns = {
        "title": [title for title, _ in HOTPOT["context"]],
        "sentences": [sentences for _, sentences in HOTPOT["context"]],
    }
    facts = {"title": ["Salt Bell", "Ada Hask"], "sent_id": [1, 0]}
    (other,) = _read(
        "hotpotqa", [{**HOTPOT, "context": columns, "supporting_facts": facts}], tmp_path
    )
    assert (other.sources, other.evidence) == (reading.sources, reading.evidence)


def test_twowiki_sentences_are_joined_by_spaces(tmp_path: Path) -> None:
    (reading,) = _read("twowiki", [TWOWIKI], tmp_path)
    assert reading.sources[0].text == "It rings. Ada Hask built it."
    assert reading.quotes() == ("Ada Hask built it.",)
    assert reading.id == "twowiki-h1"


def test_musique_evidence_comes_in_the_order_of_the_hops(tmp_path: Path) -> None:
    unanswerable = {**MUSIQUE, "id": "x", "answerable": False}
    (reading,) = _read("musique", [MUSIQUE, unanswerable], tmp_path)
    assert reading.quotes() == ("By B.", "In Brisko.")
    assert reading.answers == ("Brisko", "Brisko town")
    assert reading.meta["stratum"] == "2hop"


def test_questions_without_documents(tmp_path: Path) -> None:
    table = tmp_path / "b.csv"
    table.write_text('Question,Answer\n"Who, then?",Ada\n')
    (bamboogle,) = load_readings("bamboogle", table)
    assert (bamboogle.question, bamboogle.answers) == ("Who, then?", ("Ada",))
    (frames,) = _read("frames", [{"Prompt": "Who?", "Answer": "A", "wiki_links": "[x]"}], tmp_path)
    assert frames.meta["links"] == "[x]"
    rows = [{"qid": "1", "question": "Is it?", "answer": False, "facts": ["f"]}]
    (strategy,) = _read("strategyqa", rows, tmp_path)
    assert (strategy.metric, strategy.answers) == ("boolean", ("no",))


def test_squad_and_natural_questions(tmp_path: Path) -> None:
    (published,) = _read("squad", SQUAD, tmp_path)
    assert published.answers == ("1871", "in 1871")
    assert published.quotes() == ("in 1871", "1871")
    assert len(published.sources) == 2
    row = {
        "id": "s", "title": "Bells", "context": "Ada built it.", "question": "Who?",
        "answers": {"text": ["Ada"], "answer_start": [0]},
    }  # fmt: skip
    (by_row,) = _read("squad", [row], tmp_path)
    assert by_row.quotes() == ("Ada",)
    (bare,) = _read("nq", [{"question": "Who?", "answer": ["Ada", "A."]}], tmp_path)
    assert (bare.sources, bare.answers) == ((), ("Ada", "A."))
    ctxs = [{"title": "x", "text": "No."}, {"title": "y", "text": "Ada.", "isgold": True}]
    (open_book,) = _read("nq", [{"question": "?", "answers": ["Ada"], "ctxs": ctxs}], tmp_path)
    assert open_book.quotes() == ("Ada.",)


def test_leval_letters_and_texts(tmp_path: Path) -> None:
    base = {"input": "Text.", "source": "coursera_c", "evaluation": "exam"}
    options = "Which?\nA. one\nB. two\nC. three"
    exam, em = _read(
        "leval",
        [{**base, "instructions": [options, "How many?"], "outputs": ["AC", "42"]}],
        tmp_path,
    )
    assert (exam.metric, exam.answers, exam.choices) == ("exam", ("AC",), dict.fromkeys("ABC", ""))
    assert (em.metric, em.answers) == ("em", ("42",))
    row = {
        **base, "source": "quality_raw", "instructions": ["Q?\n (A) one\n (B) two"],
        "outputs": ["(B) two"],
    }  # fmt: skip
    (choice,) = _read("leval", [row], tmp_path)
    assert (choice.metric, choice.answers) == ("choice", ("B",))
    row = {**base, "evaluation": "rouge", "instructions": ["Sum up."], "outputs": ["A text."]}
    assert _read("leval", [row], tmp_path)[0].metric == "rouge"


def test_qmsum_turns_become_offsets(tmp_path: Path) -> None:
    general, specific = _read("qmsum", [QMSUM], tmp_path)
    assert general.evidence == ()
    assert specific.quotes() == ("B: turn B\nC: turn C", "D: turn D")


def test_choices(tmp_path: Path) -> None:
    (quality,) = _read("quality", [QUALITY], tmp_path)
    assert (quality.answers, quality.choices["C"]) == (("C",), "c")
    assert quality.meta["stratum"] == "hard"
    row = {
        "_id": "1", "domain": "d", "question": "Q?", "answer": "D", "context": "Text.",
        **{f"choice_{letter}": letter.lower() for letter in "ABCD"},
    }  # fmt: skip
    (longbench,) = _read("longbench2", [row], tmp_path)
    assert (longbench.answers, longbench.choices) == (("D",), quality.choices)


def test_longbench_tasks_have_their_metrics(tmp_path: Path) -> None:
    def row(task: str, **more: Any) -> dict[str, Any]:
        base = {"input": "Q", "context": "Text.", "answers": ["x"], "dataset": task, "_id": "1"}
        return {**base, **more}

    rows = [
        row("qasper"), row("gov_report", input=""), row("passage_count"),
        row("trec", all_classes=["x", "y"]),
    ]  # fmt: skip
    found = _read("longbench", rows, tmp_path)
    assert [one.metric for one in found] == ["f1", "rouge", "numbers", "classes"]
    assert found[1].question
    assert found[3].choices == {"0": "x", "1": "y"}
    with pytest.raises(BadInput, match="found 'lcc'"):
        _read("longbench", [row("lcc")], tmp_path)


def test_infinitebench_by_file_name(tmp_path: Path) -> None:
    row = {"id": 1, "context": "Text.", "input": "Key?", "answer": ["123"], "options": []}
    (passkey,) = _read("infinitebench", [row], tmp_path, "passkey.json")
    assert (passkey.metric, passkey.answers) == ("all", ("123",))
    row = {**row, "answer": ["no"], "options": ["yes", "no", "so", "lo"]}
    (choice,) = _read("infinitebench", [row], tmp_path, "longbook_choice_eng.json")
    assert (choice.metric, choice.answers) == ("choice", ("B",))
    with pytest.raises(BadInput, match="named after a task"):
        _read("infinitebench", [row], tmp_path, "other.json")


def test_narrativeqa_folder_and_rows(tmp_path: Path) -> None:
    summaries = tmp_path / "third_party/wikipedia"
    summaries.mkdir(parents=True)
    _table(summaries / "summaries.csv", ["document_id", "summary"], ["d1", "A short story."])
    fields = ["document_id", "set", "question", "answer1", "answer2"]
    _table(tmp_path / "qaps.csv", fields, ["d1", "test", "Who?", "Ada", "Ada Hask"], ["d2"] * 5)
    (reading,) = load_readings("narrativeqa", tmp_path)
    assert (reading.sources[0].text, reading.answers) == ("A short story.", ("Ada", "Ada Hask"))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp/d1.content").write_text("The whole story.")
    (whole,) = load_readings("narrativeqa", tmp_path)
    assert whole.sources[0].text == "The whole story."
    row = {
        "document": {"id": "d", "text": "Story."}, "question": {"text": "Who?"},
        "answers": [{"text": "Ada"}],
    }  # fmt: skip
    assert _read("narrativeqa", [row], tmp_path)[0].answers == ("Ada",)


def _table(path: Path, *rows: list[str]) -> None:
    with path.open("w", newline="") as handle:
        csv.writer(handle).writerows(rows)


@pytest.mark.parametrize("name", sorted(set(LOADERS) - {"infinitebench"}))
def test_another_form_is_an_error_that_names_the_record(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"rows.json: record 0: expected a record of"):
        _read(name, [{"some": "thing"}], tmp_path)
    with pytest.raises(BadInput, match="found nothing"):
        list(load_readings(name, tmp_path / "absent.json"))


def test_every_loader_has_its_entry_in_the_catalogue(tmp_path: Path) -> None:
    public = {corpus.name: corpus for corpus in list_corpora() if corpus.kind == "public"}
    assert set(LOADERS) <= set(public)
    assert all(name in public[name].note for name in LOADERS)
    with pytest.raises(BadInput, match=r"no archive .*hotpotqa/hotpot.*convert"):
        pull("hotpotqa", tmp_path / "out")


SHARED = {
    "hotpotqa": ("hotpotqa_distractor", 107, {"em"}),
    "twowiki": ("twowiki", 123, {"em"}),
    "musique": ("musique", 115, {"em"}),
    "bamboogle": ("bamboogle", 78, {"em"}),
    "frames": ("frames_questions", 477, {"em"}),
    "strategyqa": ("strategyqa", 142, {"boolean"}),
    "leval": ("leval_coursera", 106, {"exam"}),
    "qmsum": ("qmsum_test", 168, {"rouge"}),
    "longbench2": ("longbench_v2_short", 24, {"choice"}),
}


@pytest.mark.parametrize("name", SHARED)
def test_the_shared_rows(name: str, shared: Path) -> None:
    file, count, metrics = SHARED[name]
    readings = list(load_readings(name, shared / f"data/dev/{file}.jsonl"))
    assert len({one.id for one in readings}) == len(readings) == count
    assert {one.metric for one in readings} == metrics
    if name in ("hotpotqa", "musique"):
        assert all(len(one.evidence) >= 2 for one in readings)
    if name == "hotpotqa":
        answered = Counter(
            any(one.answers[0] in quote for quote in one.quotes())
            for one in readings
            if one.answers[0] not in ("yes", "no")
        )
        assert answered[True] > 0.9 * answered.total()


def test_recorded_agents_as_a_comparison(shared: Path) -> None:
    path = shared / "data/dev/hotpotqa_agent.jsonl"
    answers = recorded_answers(path)
    questions = {one.id for one in load_readings("hotpotqa", path)}
    assert {one.question for one in answers} == questions
    rows = figures(answers)
    assert [row.system for row in rows] == [
        "qwen2.5-32b-instruct_gold_context", "qwen2.5-32b-instruct_agent",
        "qwen2.5-3b_naive_rag", "qwen2.5-3b_grpo_agent",
    ]  # fmt: skip
    assert rows[1].em == pytest.approx(0.649, abs=0.001)
    assert any(one.queries for one in answers)


def test_rows_without_records_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": "1"}\n')
    with pytest.raises(BadInput, match="_recorded"):
        recorded_answers(tmp_path / "x.jsonl")
