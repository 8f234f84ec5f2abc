"""`harness ask` as a user types it: citations that exist, refusals, no call for bad input."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pydantic import JsonValue

from harness.cli import cli
from harness.core import BadInput, LimitReached, Unreachable
from harness.rag.ask import Answer, AskSettings, Citation, ask
from harness.rag.ask.answering import check_citations
from harness.rag.retrieve import create_index, open_encoder, parse_paths
from tests.acceptance.conftest import ChatServer, Harness

QUESTION = "When does the seal of pump P-101 wear out?"
NOTES = {
    "pumps.md": "# Pumps\n\nThe seal of pump P-101 wears out within 14 months. "
    "Replace it every year in the spring maintenance.\n\n# Valves\n\nOpen valves slowly.\n",
    "bank.txt": "The central bank raised its interest rate to 4.25 percent this week. "
    "Inflation had reached six percent before that decision of the council.\n",
}
Says = Callable[[str], None]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def says(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Says:
    """Let the server reply with a text."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)

    def reply_with(text: str) -> None:
        def answer(body: dict[str, Any]) -> str:
            return text

        monkeypatch.setattr(chat_server, "answer", answer)

    return reply_with


def typed(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["ask", *map(str, arguments)])


def answered(*arguments: object) -> Any:
    done = typed(*arguments, "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)


def lexical(library: Path, *more: object) -> tuple[object, ...]:
    return (QUESTION, library, "--arm", "lexical", *more)


def test_citations_of_a_model_that_exist_are_kept_and_the_others_dropped_and_said(
    library: Path, says: Says, chat_server: ChatServer
) -> None:
    says("Within 14 months [1][7]. Replace it in spring [1, 9].")
    found = answered(*lexical(library, "--model", "openai/x"))
    assert found["answer"] == "Within 14 months [1]. Replace it in spring [1]."
    assert any("[7], [9]" in one and "dropped" in one for one in found["warnings"])
    [citation] = found["citations"]
    text = (library / "pumps.md").read_text()
    assert citation["text"] == text[citation["start"] : citation["end"]]
    assert citation["uri"] == (library / "pumps.md").as_uri()
    assert found["usage"]["prompt_tokens"] == 20
    [request] = chat_server.requests
    prompt = request["messages"][-1]["content"]
    assert "[1] " in prompt
    assert QUESTION in prompt


def test_an_answer_without_citations_gets_one_by_its_words_or_a_warning(
    library: Path, says: Says
) -> None:
    says("within 14 months")
    found = answered(*lexical(library, "--model", "openai/x"))
    assert found["answer"] == "within 14 months [1]"
    [citation] = found["citations"]
    assert citation["post_hoc"] is True
    assert citation["text"] == "The seal of pump P-101 wears out within 14 months."
    text = (library / "pumps.md").read_text()
    assert citation["text"] == text[citation["start"] : citation["end"]]
    says("According to the passages, it was within 14 months.")
    framed = answered(*lexical(library, "--model", "openai/x"))
    assert framed["answer"] == "According to the passages, it was within 14 months. [1]"


def test_an_answer_that_no_passage_says_stays_with_the_nearest_sentences_beside_it(
    library: Path, says: Says
) -> None:
    says("After nineteen years of service.")
    invented = answered(*lexical(library, "--model", "openai/x"))
    assert (invented["method"], invented["citations"]) == ("model", [])
    assert invented["answer"] == "After nineteen years of service."
    assert invented["verdict"]["verdict"] != "PASS"
    assert invented["nearest"][0]["text"] in (library / "pumps.md").read_text()
    assert any("cites nothing" in warning for warning in invented["warnings"])
    page = library.parent / "answer.html"
    shown = typed(*lexical(library, "--model", "openai/x", "--out", str(page)))
    assert "closest to the question:\n\n[1] " in shown.stdout
    assert "The seal of pump P-101 wears out" in shown.stdout
    assert "Close to the question: The seal of pump P-101" in page.read_text()


def test_no_answer_is_overwritten_and_what_a_passage_says_is_cited(library: Path) -> None:
    """Five hundred facts, each answered in four wordings."""
    frames = ("{}", "The answer is {}.", "It was {}, as the text states.", "Seal {1} lasts {0}.")
    for number in range(125):
        texts = [
            f"Seal S-{n} wears out within {n + 7} weeks of work." for n in range(number, number + 5)
        ]
        passages = tuple(
            Citation(number=place, doc=f"{place}", source="", start=0, end=len(text), text=text)
            for place, text in enumerate(texts, start=1)
        )
        read = Answer(
            question=f"How long does seal S-{number} last?", passages=passages, context="retrieve",
            arm="lexical", budget=9, tokens=9, tokenizer="",
        )  # fmt: skip
        for frame in frames:
            reply = frame.format(f"{number + 7} weeks", f"S-{number}")
            text, [citation], _ = check_citations(reply, read)
            assert text == f"{reply} [1]"
            assert (citation.number, citation.text) == (1, texts[0])


def test_a_model_that_finds_no_answer_has_not_answered(library: Path, says: Says) -> None:
    says("The passages do not answer this. [1]")
    found = answered(*lexical(library, "--model", "openai/x"))
    assert (found["answered"], found["citations"]) == (False, [])
    assert found["verdict"] is None
    assert "14 months" in found["nearest"][0]["text"]


def test_a_refusal_is_offered_where_no_span_seems_to_answer(
    library: Path, says: Says, chat_server: ChatServer
) -> None:
    for question in (QUESTION, "Which firm made the motor of the pump in its old hall?"):
        says("Yes [1].")
        answered(question, library, "--arm", "lexical", "--model", "openai/x")
    sure, open_ = (str(request) for request in chat_server.requests)
    assert "Closest to the question:" in sure
    assert "do not answer this" not in sure
    assert "Closest to the question:" not in open_
    assert "do not answer this" in open_


def test_without_a_hit_no_model_is_called(
    library: Path, says: Says, chat_server: ChatServer
) -> None:
    says("Surely 42 [1].")
    found = answered("zyzzyva quux", library, "--arm", "lexical", "--model", "openai/x")
    assert (found["answer"], found["method"], found["passages"]) == (None, "none", [])
    assert any("anything to do" in one for one in found["warnings"])
    assert chat_server.requests == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("", "PATH"), "expected a question"),
        ((QUESTION, "PATH", "--budget", "0"), "budget of 1"),
        ((QUESTION, "PATH", "--budget", "5"), "raise --budget"),
        ((QUESTION, "PATH", "--context", "compress", "--budget", "1"), "smallest unit"),
        ((QUESTION,), "not both"),
        ((QUESTION, "PATH", "--index", "PATH"), "not both"),
        ((QUESTION, "nowhere.pdf"), "nowhere.pdf"),
        ((QUESTION, "--index", "nowhere"), "no index at"),
        ((QUESTION, "PATH", "--model", "gpt9"), "gpt9"),
    ],
)
def test_bad_input_costs_no_call(
    options: tuple[str, ...], words: str, library: Path, says: Says, chat_server: ChatServer
) -> None:
    says("14 months [1]")
    given = [str(library) if one == "PATH" else one for one in options]
    arm = () if {"--arm", "--index"} & set(options) else ("--arm", "lexical")
    model = () if "--model" in options else ("--model", "openai/x")
    done = typed(*given, *arm, *model)
    assert isinstance(done.exception, BadInput), done.output
    assert words in str(done.exception)
    assert chat_server.requests == []


def test_an_unreachable_model_is_exit_4_with_the_passages(harness: Harness, library: Path) -> None:
    done = harness(
        "ask", QUESTION, library, "--arm", "lexical", "--json",
        "--model", "vllm/x", "--base-url", "http://127.0.0.1:9/v1",
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    found = json.loads(done.stdout)
    assert found["answer"] is None
    assert "127.0.0.1:9" in found["error"]
    assert "14 months" in found["passages"][0]["text"]
    assert "Traceback" not in done.stderr


def test_a_spent_budget_shows_the_passages_too(
    library: Path, says: Says, chat_server: ChatServer
) -> None:
    says("14 months [1]")
    done = typed(*lexical(library, "--model", "openai/x", "--budget-calls", 0))
    assert isinstance(done.exception, LimitReached)
    assert "No model answered" in done.stdout
    assert "14 months" in done.stdout
    assert chat_server.requests == []


def test_the_best_sentence_needs_no_model(library: Path) -> None:
    found = answered(*lexical(library, "--extract"))
    assert (found["method"], found["verdict"]) == ("extract", None)
    assert found["answer"].startswith(
        "Pumps: The seal of pump P-101 wears out within 14 months. Replace it every year in the "
        "spring maintenance. [1]"
    )
    citation = found["citations"][0]
    text = (library / "pumps.md").read_text()
    assert citation["text"] == text[citation["start"] : citation["end"]]
    far = answered("who wrote the operas of Bayreuth?", library, "--arm", "lexical", "--extract")
    assert (far["answered"], far["answer"]) == (False, None)


@pytest.mark.parametrize("context", ["retrieve", "compress", "both", "truncate"])
def test_every_stage_cites_verbatim(library: Path, context: str) -> None:
    found = answered(*lexical(library, "--extract", "--context", context, "--budget", 250))
    assert found["tokens"] <= 250
    for one in found["passages"]:
        text = Path(one["source"]).read_text()
        assert one["text"] == text[one["start"] : one["end"]]
    if context != "truncate":
        assert "14 months" in found["answer"]


def test_an_index_is_asked_like_files(library: Path, tmp_path: Path) -> None:
    create_index(tmp_path / "index", open_encoder("lexical")).add(parse_paths([library]).documents)
    for context in ("retrieve", "compress", "truncate"):
        found = answered(QUESTION, "--index", tmp_path / "index", "--extract", "--context", context)
        assert "14 months" in found["answer"], context
        assert found["citations"][0]["doc"].endswith("pumps.md")


def test_the_page_opens_the_passage_and_escapes_it(
    library: Path, tmp_path: Path, says: Says
) -> None:
    (library / "pumps.md").write_text(NOTES["pumps.md"] + "\n<script>alert(1)</script>\n")
    says("Within 14 months [1]. <b>Sure</b>")
    out = tmp_path / "answer.html"
    typed(*lexical(library, "--model", "openai/x", "--out", out))
    page = out.read_text()
    assert '<a href="#c1">[1]</a>' in page
    assert '<section id="c1" class="cited">' in page
    assert "<mark># Pumps" in page
    assert "<script>" not in page
    assert "<b>Sure" not in page
    assert f'<a href="{(library / "pumps.md").as_uri()}">' in page


def test_a_checker_gives_its_verdict_on_what_a_model_wrote(library: Path, says: Says) -> None:
    says("Within 14 months [1].")
    seen: list[tuple[str, int]] = []

    def checker(question: str, answer: str, passages: Sequence[Citation]) -> JsonValue:
        assert "14 months" in answer
        seen.append((question, len(passages)))
        return {"verdict": "supported"}

    settings = AskSettings(question=QUESTION, paths=(library,), arm="lexical", model="openai/x")
    assert ask(settings, checker=checker).verdict == {"verdict": "supported"}
    quoted = settings.model_copy(update={"extract": True})
    assert ask(quoted, checker=checker).verdict is None
    assert seen == [(QUESTION, 1)]


def test_from_python(library: Path, says: Says) -> None:
    from harness.api import ask as api_ask

    found = api_ask(QUESTION, library, arm="lexical", extract=True)
    assert found.citations[0].where.endswith("pumps.md [9:108]")
    assert found.verdict is None
    says("Within 14 months [1].")
    checked = api_ask(QUESTION, library, arm="lexical", model="openai/x")
    assert isinstance(checked.verdict, dict)
    assert (checked.verdict["verdict"], checked.verdict["verifier"]) == ("PASS", "rules")
    unchecked = api_ask(QUESTION, library, arm="lexical", model="openai/x", verifier="none")
    assert unchecked.verdict is None
    with pytest.raises(Unreachable):
        api_ask(QUESTION, library, arm="lexical", model="vllm/x", base_url="http://127.0.0.1:9/v1")
