"""`harness try`: from a table and an agent to first results and a suite."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.core import BadInput
from harness.tasks.files.proposals import proposed_columns
from tests.tasks.workbook_files import Cell, write_workbook

AGENT = "def run(prompt):\n    return 'billing' if 'refund' in prompt else 'shipping'\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)
    rows = [f"{n},My parcel number {n} is late; a refund,{('billing', 'shipping')[n % 2]}"
            for n in range(12)]  # fmt: skip
    (tmp_path / "my tickets.csv").write_text("No,Ticket text,Team\n" + "\n".join(rows) + "\n")
    return tmp_path


def typed(line: str) -> Result:
    return CliRunner().invoke(cli, shlex.split(line), catch_exceptions=False)


def test_a_table_and_an_agent_are_enough(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    line = "try 'my tickets.csv' --agent py:agent.py:run"
    ended = typed(line)
    assert ended.exit_code == 0, ended.output
    assert "columns: Ticket text as prompt, Team as answer" in ended.stdout
    assert "check: em" in ended.stdout
    assert "passed 3  failed 2" in ended.stdout
    assert "all 12 tasks: about 0 tokens" in ended.stdout
    (following,) = [row.strip() for row in ended.stdout.splitlines() if "harness eval" in row]
    suite = {path.name for path in (desk / "my-tickets-suite").iterdir()}
    assert suite == {"suite.yaml", "my tickets.csv"}, "neither an agent nor a README for another"
    again = typed(line)
    assert again.stdout == ended.stdout, "nothing is run twice"
    whole = typed(following.removeprefix("harness "))
    assert whole.exit_code == 0 and "passed 6  failed 6" in whole.stdout


def test_a_sheet_of_a_workbook_becomes_a_suite_of_its_own(desk: Path) -> None:
    rows: list[list[Cell]] = [["prompt", "answer"], ["A refund", "billing"]]
    write_workbook(desk / "book.xlsx", {"Notes": [["About"]], "Held out": rows})
    ended = typed("try 'book.xlsx#Held out' --agent py:agent.py:run")
    assert "passed 1" in ended.stdout and "harness eval book-Held-out-suite" in ended.stdout


def test_an_agent_that_asks_a_model_is_told_to_name_one(desk: Path) -> None:
    Path("asks.py").write_text(
        "import os, urllib.request\n"
        'BODY = b\'{"model": "m", "messages": [{"role": "user", "content": "?"}]}\'\n'
        "def run(prompt):\n"
        "    url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        "    head = {'Content-Type': 'application/json',\n"
        "            'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}\n"
        "    return urllib.request.urlopen(urllib.request.Request(url, BODY, head)).read()\n"
    )
    ended = CliRunner().invoke(
        cli, shlex.split("try 'my tickets.csv' --agent py:asks.py:run --limit 2")
    )
    assert ended.exit_code and "this run has no model" in str(ended.exception)
    assert "--model=openai/NAME" in ended.stdout and "--model=none" not in ended.stdout


def test_columns_that_are_named_count(desk: Path) -> None:
    ended = typed(
        "try 'my tickets.csv' --agent py:agent.py:run --limit 2 --json "
        "--map 'Ticket text=prompt' --map No=answer --out mine"
    )
    document = json.loads(ended.stdout)
    assert document["columns"] == "Ticket text as prompt, No as answer"
    assert document["check"].startswith("numeric")
    assert (document["report"]["items"], document["report"]["failed"]) == (2, 2)


def test_a_check_of_ones_own_goes_with_the_suite(desk: Path) -> None:
    Path("marks.py").write_text("def half(answer, task):\n    return 0.5\n")
    line = "try 'my tickets.csv' --agent py:agent.py:run --limit 2 --check marks.py:half"
    ended = typed(f"{line} --out mine")
    assert "check: marks.py:half" in ended.stdout and "mean score 50.0%" in ended.stdout
    assert "first cells: \n  No: '0'\n  Ticket text: 'My parcel" in ended.stdout
    assert (desk / "mine" / "marks.py").is_file()
    with pytest.raises(BadInput, match="did you mean 'Ticket text'"):
        typed(f"{line} --map 'ticket txt=prompt' --out other")


def test_an_empty_answer_is_refused_before_five_tasks_are_run(desk: Path) -> None:
    with (desk / "my tickets.csv").open("a") as table:
        table.write("12,A parcel that nobody sorted,\n")
    with pytest.raises(BadInput, match=r"'A parcel that nobody sorted', has no .* cell is empty"):
        typed("try 'my tickets.csv' --agent py:agent.py:run")
    assert not (desk / "my-tickets-suite").exists()


def test_what_cannot_be_guessed_is_asked_for(desk: Path) -> None:
    (desk / "two.csv").write_text("Text,Team,City\n" + "Where is it,a,x\nWhat is it,b,y\n" * 3)
    with pytest.raises(BadInput, match="--map COLUMN=answer"):
        typed("try two.csv --agent py:agent.py:run")


def test_one_column_is_named_and_the_other_guessed_after_a_refusal(desk: Path) -> None:
    rows = "".join(f"{n},a longer text {n},{'ab'[n % 2]},{'xy'[n % 3 == 0]}\n" for n in range(12))
    (desk / "claims.csv").write_text(f"No,Claim,Queue,City\n{rows}")
    line = "try claims.csv --agent py:agent.py:run"
    with pytest.raises(BadInput, match="names the column, one of 'No', 'Queue', 'City'"):
        typed(line)
    assert not (desk / "claims-suite").exists()
    ended = typed(f"{line} --map Queue=answer")
    assert ended.exit_code == 0
    assert "columns: Queue as answer, Claim as prompt" in ended.stdout


def test_a_column_that_is_called_the_answer_is_it() -> None:
    rows = [{"Topic": "a", "Customer asks": "how long", "Approved answer": f"a long text {n}" * 9}
            for n in range(4)]  # fmt: skip
    guessed = {"Customer asks": "prompt", "Approved answer": "answer", "default-check": "f1"}
    assert proposed_columns([{**row, "Topic": str(n % 2)} for n, row in enumerate(rows)]) == guessed


def test_numbers_are_compared_as_numbers(desk: Path) -> None:
    rows = [{"question": f"What is {n} and {n}?", "answer": 2 * n} for n in range(8)]
    (desk / "sums.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (desk / "adder.py").write_text(
        "def run(prompt):\n    return f'It is {2 * int(prompt.split()[2])} in all'\n"
    )
    ended = typed("try sums.jsonl --agent py:adder.py:run")
    assert "check: numeric" in ended.stdout
    assert "passed 5  failed 0" in ended.stdout


@pytest.mark.parametrize(
    ("answers", "guessed"),
    [
        (["in the red box {n}"], {"default-check": "contains"}),
        (["Sir Ada Lovelace"], {}),
        (["red {n}|crimson {n}", "blue {n}"], {"expected": "answers"}),
        (['{{"team": "a longer name of a team {n}"}}'], {}),
        (["{n} | {n}.0"], {"expected": "answers", "default-check": "numeric"}),
    ],
)
def test_the_answers_decide_the_check(answers: list[str], guessed: dict[str, str]) -> None:
    rows = [{"prompt": "?", "expected": answer.format(n=n)} for n in range(4) for answer in answers]
    assert proposed_columns(rows) == guessed


def test_the_next_command_asks_the_same_endpoint(desk: Path) -> None:
    line = "try 'my tickets.csv' --agent py:agent.py:run --json --model openai/m"
    document = json.loads(typed(f"{line} --base-url http://u:secret@127.0.0.1:9/v1").stdout)
    (following,) = document["next"]
    assert "--model=openai/m" in following and "--base-url=http://127.0.0.1:9/v1" in following


def test_a_bar_parts_right_answers(desk: Path) -> None:
    (desk / "bars.csv").write_text("prompt,answer\na refund,money|billing\nlate,shipping\n")
    line = "eval bars.csv --agent py:agent.py:run --model none --out runs"
    ended = typed(f"{line}/text")
    assert "passed 1  failed 1" in ended.stdout
    assert "1 of 2 expected answers hold '|'" in ended.stderr and "COLUMN=answers" in ended.stderr
    assert "passed 2  failed 0" in typed(f"{line}/bars --map answer=answers").stdout
    assert "passed 2  failed 0" in typed("try bars.csv --agent py:agent.py:run").stdout


def test_an_object_in_a_cell_is_compared_as_json(desk: Path) -> None:
    (desk / "reply.py").write_text('def run(prompt):\n    return \'{"n": 1, "team": "a"}\'\n')
    (desk / "objects.csv").write_text('prompt,answer\nx,"{""team"": ""a""}"\ny,"{""team"": 2}"\n')
    ended = typed("try objects.csv --agent py:reply.py:run")
    assert "check: json" in ended.stdout and "passed 1  failed 1" in ended.stdout


def test_usual_names_need_no_guess() -> None:
    rows = [{"prompt": "a long text", "answer": "b", "kind": "c"}] * 2 + [{"kind": "d"}] * 2
    assert proposed_columns(rows) == {}
    assert proposed_columns([]) == {}
