"""A model words the question; what it is about, and whether it may stand, is not left to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.evals import load_suite
from harness.synth.proposers.fact import FactProposer, whole
from harness.synth.session import SynthCommand, synthesise
from tests.synth.cases import asked, documents, materials, run

TEXT = "Harbour notes.\nThe ferry Grey Heron was built in 1931 by Ada Quill.\nIt sails twice a day."


@pytest.mark.parametrize(
    ("reply", "question", "fault"),
    [
        (
            "Question: In which year was the ferry Grey Heron built?\nA: 1931",
            "In which year was the ferry Grey Heron built?",
            "",
        ),
        ("I cannot say.", "", "no question"),
        ("Built in which year?", "Built in which year?", "no question"),
        # Small models write the prompt's own example again.
        ("In which year was the bridge at Orvik closed?",) * 2 + ("do not hold all",),
        ("What year does the given passage mention?",) * 2 + ("do not hold all",),
    ],
)
def test_the_first_question_counts(tmp_path: Path, reply: str, question: str, fault: str) -> None:
    def propose(messages: list[Any], sampling: Any) -> str:
        return reply

    stuff = materials(documents(tmp_path / "docs", TEXT), tmp_path / "out", propose)
    proposer = FactProposer(stuff)
    number = next(n for n in range(9) if run(proposer.propose(n, [])).answers == ("1931",))
    proposal = run(proposer.propose(number, []))
    assert proposal.question == question
    assert fault in proposal.fault
    assert bool(proposal.fault) is bool(fault)
    (passage,) = proposal.passages
    assert "1931" in stuff.library.text(passage)
    assert "1931" in asked(stuff.proposer).requests[-1][0]["content"]


def test_without_a_model_the_question_is_a_sentence_up_to_its_answer(tmp_path: Path) -> None:
    texts = [
        TEXT, "The Ivy Inn has 31 beds.\n", "The tank weighs 1,931 kg. The tank holds 617 litres.",
        "The shed holds 55 cans. The shed holds 66 jars.\nUse at most 77 now.\nAfter 88",
    ]  # fmt: skip
    settings = SynthCommand(
        source=documents(tmp_path / "docs", *texts), kind="fact", n=12, models=("none",),
        out=tmp_path / "out",
    )  # fmt: skip
    report = run(synthesise(settings))
    # Not "After 88", which is no sentence; "Grey Heron" has two words before it.
    assert (report.accepted, report.proposed, report.rejected) == (6, 9, {"proposer": 3})
    suites = [load_suite(str(tmp_path / "out"), split) for split in ("train", "test", "selection")]
    tasks = {task.answer: task for suite in suites for task in suite.tasks}
    assert set(tasks) == {"1931", "Ada Quill", "31", "1,931", "617", "77"}
    task = tasks["1931"]
    assert "How does this go on: The ferry Grey Heron was built in ...?" in task.prompt
    assert task.prompt.startswith("Text: " + " ".join(TEXT.split("\n")[:2]) + "\nQ")
    assert (task.check, task.files, suites[0].suite.agent) == ("em", {}, "graph:answer")


def test_rules_against_a_question(tmp_path: Path) -> None:
    texts = [TEXT, "The ferry Grey Heron carries 190 people.", "Bo Quill was born in 1931."]
    stuff = materials(documents(tmp_path / "docs", *texts), tmp_path / "out")
    proposer, sources = FactProposer(stuff), stuff.library.sources
    year, people = sources["d0.txt"], sources["d1.txt"]
    asked_for = "In which year was the ferry Grey Heron built?"
    assert proposer.fault(asked_for, "1931", year) == ""
    assert "asks for a year" in proposer.fault(asked_for, "190", people)
    at_the_end = "The ferry Grey Heron carries people since what year?"
    assert "asks for a year" in proposer.fault(at_the_end, "190", people)
    assert proposer.fault("How many people does the ferry Grey Heron carry?", "190", people) == ""
    assert "another sentence" in proposer.fault(
        "What is it with the ferry Grey Heron?", "190", people
    )
    assert "two things" in proposer.fault(
        "Who knows how many people the ferry Grey Heron carries?", "190", people
    )


def titled(folder: Path, rows: list[tuple[str, str]]) -> Path:
    """A file of documents with titles."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps({"id": t, "title": t, "text": x}) + "\n" for t, x in rows))
    return path


def test_rules_against_what_the_sentence_does_not_say(tmp_path: Path) -> None:
    rows = [
        (
            "Ada Quill",
            "Our colleague taught Bo Marsh to sail. Our colleague taught Cy Lund rowing.",
        ),
        (
            "Dune Bureau",
            "The bureau has been open since 1931. It pays 210 thousand crowns for sand.",
        ),
        ("Cy Lund", "Cy Lund taught Dot Orm to sail. This colleague taught Eve Vik to sail."),
    ]
    stuff = materials(titled(tmp_path, rows), tmp_path / "out")
    proposer, sources = FactProposer(stuff), stuff.library.sources
    for question, answer, title, fault in [
        ("Who was it that Quill taught rowing?", "Cy Lund", "Ada Quill", ""),
        ("Whom was it that Cy Lund taught?", "Dot Orm", "Cy Lund", "another sentence"),
        ("Who was it that a colleague taught rowing?", "Cy Lund", "Ada Quill", "names nothing"),
        ("Who was it that Quill of Orm taught rowing?", "Cy Lund", "Ada Quill", "does not name"),
        ("Who taught the colleague of Ada Quill rowing?", "Cy Lund", "Ada Quill", "for another"),
        ("In which year was the Dune Bureau open?", "1931", "Dune Bureau", "any year since"),
        ("Since which year is the Dune Bureau open?", "1931", "Dune Bureau", ""),
        ("How much does the Dune Bureau pay for sand?", "210 thousand", "Dune Bureau", ""),
    ]:
        assert fault in (said := proposer.fault(question, answer, sources[title])), question
        assert bool(fault) is bool(said), (question, said)


def test_only_sentences_that_say_what_they_are_on_are_asked_about(tmp_path: Path) -> None:
    text = "In 1931 it was sold.\n\nThe ferry Grey Heron was\nlaunched in 1929 and sank.\n\nIn 1944"
    stuff = materials(documents(tmp_path / "docs", text), tmp_path / "out")
    answers = [run(FactProposer(stuff).propose(n, [])).answers[0] for n in range(9)]
    assert set(answers) == {"1929"}
    prompt = asked(stuff.proposer).prompts[answers.index("1929")]
    assert "\nThe ferry Grey Heron was launched in 1929 and sank.\n" in prompt
    assert "1931" not in prompt


def test_rules_against_names(tmp_path: Path) -> None:
    rows = [
        ("Gull Optics", "Ada Quill owns Gull Optics. Invoices of Gull Optics are yellow."),
        ("Heron Office", "The Heron Office finances Project Eel."),
        ("Project Crab", "The costs of Project Crab are carried by the Heron Office."),
        ("Ada Quill", "Ada Quill learned the trade from Ivo Bell."),
        ("Bo Quill", "Bo Quill was trained by Una Marsh."),
    ]
    stuff = materials(titled(tmp_path, rows), tmp_path / "out")
    proposer, sources = FactProposer(stuff), stuff.library.sources
    for question, answer, title, fault in [
        ("Who is it that owns Gull Optics?", "Ada Quill", "Gull Optics", ""),
        (
            "Who is it that owns Gull Optics, Quill?",
            "Ada Quill",
            "Gull Optics",
            "part of the answer",
        ),
        (
            "Which project is it that the Heron Office finances?",
            "Project Eel",
            "Heron Office",
            "another Project speaks of Heron Office",
        ),
        ("From whom was it that Quill learned the trade?", "Ivo Bell", "Ada Quill", "namesake"),
        ("From whom did Ada Quill learn the trade?", "Ivo Bell", "Ada Quill", ""),
    ]:
        assert fault in (said := proposer.fault(question, answer, sources[title]))
        assert bool(fault) is bool(said)


def test_no_answer_is_asked_for_twice(tmp_path: Path) -> None:
    stuff = materials(documents(tmp_path / "docs", TEXT), tmp_path / "out")
    proposer = FactProposer(stuff)
    first = run(proposer.propose(0, []))
    assert all(run(proposer.propose(n, [first])).answers != first.answers for n in range(5))


def test_an_answer_within_another_number_is_not_it(tmp_path: Path) -> None:
    text = f"Of 1945 nothing is known.\n{'So it is.' * 99}\nThe tower of Orm has 45 steps."
    stuff = materials(documents(tmp_path / "docs", text), tmp_path / "out")
    proposer, (source,) = FactProposer(stuff), stuff.library.sources.values()
    question = "How many steps does the tower of Orm have?"
    assert proposer.fault(question, "45", source) == ""
    number = next(n for n in range(9) if run(proposer.propose(n, [])).answers == ("45",))
    (passage,) = run(proposer.propose(number, [])).passages
    assert stuff.library.text(passage).endswith("has 45 steps.")


@pytest.mark.parametrize(
    "text", ["1945", "£45", "10:45", "45:10", "45%", "No. 45", "4.45", "45-50"]
)
def test_a_part_of_an_amount_or_a_time_is_no_answer(text: str) -> None:
    assert not whole("45").search(f"It is {text} there.")
    assert whole("45").search(f"It is {text}, then 45, or so.")


def test_the_passage_keeps_whole_lines(tmp_path: Path) -> None:
    lines = [
        f"Line {number} is here to make the document longer than that." for number in range(40)
    ]
    text = "\n".join([*lines, TEXT, *lines])
    stuff = materials(documents(tmp_path / "docs", text), tmp_path / "out")
    for number in range(4):
        proposal = run(FactProposer(stuff).propose(number, []))
        shown = stuff.library.text(proposal.passages[0])
        assert set(shown.splitlines()) <= set(text.splitlines())
        assert proposal.answers[0] in shown


def test_documents_without_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no rare name"):
        FactProposer(materials(documents(tmp_path / "docs", "nothing here"), tmp_path / "out"))
