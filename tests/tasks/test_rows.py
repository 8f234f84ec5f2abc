"""Task files that people have: tables, lists, Parquet, promptfoo; columns by their names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, warn_once
from harness.evals import load_suite
from harness.tasks import family
from tests.attacks.running import command
from tests.tasks.workbook_files import Cell, write_workbook


def tasks_of(path: Path, text: str = "", query: str = "") -> list[dict[str, Any]]:
    if text:
        path.write_text(text)
    return [task.model_dump(exclude_defaults=True) for task in load_suite(f"{path}{query}").tasks]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "question,expected,level\n\"What, now?\",4,easy\nWho?,Ann,\n"),
        ("t.csv", "\ufeffquestion;expected;level\nWhat, now?;4;easy\nWho?;Ann;\n"),
        ("t.tsv", "question\texpected\tlevel\nWhat, now?\t4\teasy\nWho?\tAnn\t\n"),
        ("t.json", '[{"input": "What, now?", "target": "4", "level": "easy"},'
                   ' {"input": "Who?", "target": "Ann"}]'),
        ("t.json", '{"rows": [{"query": "What, now?", "ideal": "4", "level": "easy"},'
                   ' {"query": "Who?", "ideal": "Ann", "level": null}], "version": 2}'),
        ("t.jsonl", '{"input": [{"role": "user", "content": "What, now?"}], "ideal": "4",'
                    ' "level": "easy"}\n{"input": "Who?", "ideal": "Ann"}\n'),
    ],
)  # fmt: skip
def test_usual_columns_are_known(name: str, text: str, tmp_path: Path) -> None:
    first, second = tasks_of(tmp_path / name, text)
    assert (first["prompt"], first["answer"], first["meta"]) == (
        "What, now?",
        "4",
        {"level": "easy"},
    )
    assert (second["prompt"], second["answer"]) == ("Who?", "Ann")
    assert second.get("meta", {}) in ({}, {"level": None})


def test_ids_are_made_of_prompts(tmp_path: Path) -> None:
    """A row that is added or moved keeps the others' ids, and so their results."""
    names = [task["id"] for task in tasks_of(tmp_path / "a.csv", "prompt,answer\na,1\nb,2\na,3\n")]
    more = [task["id"] for task in tasks_of(tmp_path / "b.csv", "prompt,answer\nc,0\nb,2\na,1\n")]
    assert len(set(names)) == 3 and names[2] == f"{names[0]}-2"
    assert set(more) > {names[0], names[1]}


def test_a_column_that_was_named_gives_way_to_none_where_its_cell_is_empty(tmp_path: Path) -> None:
    text = "id,prompt,answer,points\na,What?,the student's,3\nb,Why?,another,\n"
    first, second = tasks_of(tmp_path / "t.csv", text, "?points=answer")
    assert first["answer"] == "3" and "answer" not in second


def test_columns_are_named_where_they_are_not_usual(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    text = "Nr,Frage,prompt,Soll,files\n7,Was?,unused,5,a.txt; b.txt\n"
    (tmp_path / "a.txt").touch()
    (tmp_path / "b.txt").touch()
    assert tasks_of(path, text, "?Nr=id&Frage=prompt&Soll=answer") == [
        {"id": "7", "prompt": "Was?", "answer": "5", "meta": {"prompt": "unused"},
         "files": {"a.txt": "a.txt", "b.txt": "b.txt"}}
    ]  # fmt: skip
    (tmp_path / "suite.yaml").write_text('name: s\ntasks: "t.csv?Frage=prompt&Soll=answer"\n')
    assert tasks_of(tmp_path / "suite.yaml")[0]["prompt"] == "Was?"


def test_map_is_part_of_the_reference_that_a_run_records(tmp_path: Path) -> None:
    path, out = tmp_path / "t.csv", tmp_path / "run"
    path.write_text("Frage,Soll\nWas?,5\n")
    shown = command("eval", path, "--map", "Frage=prompt", "--map", "Soll=answer", "--out", out,
                    "--agent", "cmd:echo 5", "--sandbox", "none", "--model", "openai/x",
                    "--base-url", "http://127.0.0.1:9/v1")  # fmt: skip
    assert "passed 1  failed 0" in shown.stdout, shown.stderr
    again = command("eval", "regrade", out, "--out", tmp_path / "again")
    assert again.returncode == 0 and "passed 1" in again.stdout, again.stderr
    exact = command("eval", path, "--map", "Frage=prompt", "--map", "Soll=answer", "--check",
                    "exact", "--dry-run")  # fmt: skip
    assert "check exact: the answer must be" in exact.stdout
    named = f"{path}?Frage=prompt"  # as the next command has it
    exact = command("eval", named, "--map", "Soll=answer", "--check", "exact", "--dry-run")
    assert "check exact: the answer must be" in exact.stdout
    wrong = command("eval", path, "--map", "Frage")
    assert "expected COLUMN=FIELD such as question=prompt, got 'Frage'" in wrong.stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "a,b\n1,2\n", "no column for the prompt among 'a', 'b': name it with --map"),
        (
            "t.csv",
            "id,prompt\na,b\nc,\n",
            "t.csv:3: no prompt in this row, only 'id': fill it in",
        ),
        ("t.csv", "prompt,answer\na\n", "t.csv:2: expected 2 cells"),
        ("t.csv", "prompt,answer\na,b,c\n", "t.csv:2: expected 2 cells"),
        ("t.csv", 'prompt\n"a\n', "cannot read"),
        ("t.json", "{}", "expected a list of tasks"),
        ("t.json", '{"a": [1], "b": [2]}', "expected a list of tasks"),
        ("t.json", "[5]", "t.json:1: expected an object"),
        ("t.jsonl", '{"input": {"a": 1}}', "t.jsonl:1: prompt"),
        ("t.jsonl", '{"input": [{"role": "assistant", "content": "x"}]}', "t.jsonl:1: prompt"),
        ("t.csv", "prompt\n", "has no tasks"),
        ("t.json", '[{"prompt": "a", "level": NaN}]', "t.json:1: meta"),
    ],
)
def test_a_row_that_is_no_task_is_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message):
        tasks_of(tmp_path / name, text)


def test_an_unknown_field_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="column 'a': expected one of the fields id, prompt"):
        tasks_of(tmp_path / "t.csv", "a\nb\n", "?a=text")


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table(
        {"question": ["What?"], "answer": [4], "when": [float("nan")], "tags": [["a"]]}
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    (task,) = tasks_of(tmp_path / "t.parquet")
    assert (task["answer"], task["meta"]) == (4, {"when": None, "tags": ["a"]})


PROMPTFOO = """
prompts: ["Translate to {{language}}: {{text}}", "file://prompts/two.txt"]
providers: [openai:gpt-4.1-mini]
defaultTest: {vars: {language: French}, assert: [{type: icontains, value: bonjour}]}
tests:
  - description: greeting
    vars: {text: Hello}
    assert:
      - {type: contains-any, value: [monde, amis], weight: 2}
      - {type: equals, value: Bonjour le monde}
  - vars: {text: Bye, language: Latin}
"""


def test_promptfoo_asks_every_prompt_with_every_test(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "two.txt").write_text("In {{ language }}, say {{ text }}.")
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(PROMPTFOO)
    tasks = load_suite(str(path)).tasks
    assert [task.prompt for task in tasks] == [
        "Translate to French: Hello", "In French, say Hello.",
        "Translate to Latin: Bye", "In Latin, say Bye.",
    ]  # fmt: skip
    judge = family(tasks[0])
    judge.prepare(tasks[0], tmp_path, tmp_path)
    assert judge.score(tasks[0], tmp_path, tmp_path, "Bonjour le monde").outcome == "pass"
    assert judge.score(tasks[0], tmp_path, tmp_path, "bonjour le monde").value == 0.75
    path.write_text(PROMPTFOO.replace("type: equals", "type: llm-rubric"))
    with pytest.raises(BadInput, match="assertion 'llm-rubric' cannot be read; those that can"):
        load_suite(str(path))
    path.write_text(PROMPTFOO.replace("prompts/two.txt", "../two.txt"))
    with pytest.raises(BadInput, match="expected a file below its folder"):
        load_suite(str(path))


def test_a_template_of_a_stranger_runs_nothing(tmp_path: Path) -> None:
    attack = "{{ ''.__class__.__mro__[1].__subclasses__() }}"
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(json.dumps({"prompts": [attack], "tests": [{"vars": {}}]}))
    with pytest.raises(BadInput, match="unsafe"):
        load_suite(str(path))


@pytest.mark.parametrize(
    ("written", "encoding"),
    [
        ("sep=;\r\nid;question;answer\r\n1;Who paid €4?;Zo\u00eb\r\n", "utf-8-sig"),
        ('"sep=|"\nid|question|answer\n1|Who paid €4?|Zo\u00eb\n', "utf-8"),
        ("id;question;answer\r\n1;Who paid €4?;Zo\u00eb\r\n", "cp1252"),
        ("id\tquestion\tanswer\n1\tWho paid €4?\tZo\u00eb\n", "utf-16"),
        ('id;"question";answer\n1;Who paid €4?;Zo\u00eb\n', "utf-16-le-marked"),
        ("id,question,answer\n1,Who paid €4?,Zo\u00eb\n,,\n , ,\n\n", "utf-8"),
        ("id,question,answer\n\n1,Who paid €4?,Zo\u00eb,,\n", "utf-8"),
    ],
)
def test_tables_are_read_as_spreadsheet_programs_write_them(
    written: str, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    marked = encoding.endswith("-marked")
    data = ("\ufeff" * marked + written).encode(encoding.removesuffix("-marked"))
    path.write_bytes(data)
    [task] = tasks_of(path)
    assert (task["id"], task["prompt"], task["answer"]) == ("1", "Who paid €4?", "Zo\u00eb")


def test_commas_in_a_quoted_name_do_not_make_a_semicolon_table_one_with_commas(
    tmp_path: Path,
) -> None:
    header = 'id;"question (clear, brief, kind)";answer'
    [task] = tasks_of(
        tmp_path / "t.csv", f"{header}\n1;Why?;no\n", "?question (clear, brief, kind)=prompt"
    )
    assert (task["prompt"], task["answer"]) == ("Why?", "no")


def test_the_sheet_of_a_workbook_is_named_or_the_first_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    path = tmp_path / "book.xlsx"
    sheets: dict[str, list[list[Cell]]] = {
        name: [["prompt", "answer"], [f"What is {name}?", "4"]] for name in ("Notes", "Held out")
    }
    write_workbook(path, sheets)
    assert tasks_of(path)[0]["prompt"] == "What is Notes?"
    assert caplog.text.count("sheet 'Notes' is read, the first of 'Notes', 'Held out'") == 1
    suite = tmp_path / "suite.yaml"
    suite.write_text("name: s\ntasks: {train: book.xlsx, test: 'book.xlsx#Held out'}\n")
    for source in (f"{path}#Held out", str(suite)):
        assert load_suite(source).tasks[0].prompt == "What is Held out?"
    with pytest.raises(BadInput, match=r"no sheet 'Held'; there are 'Notes', 'Held out'"):
        load_suite(f"{path}#Held")


def test_a_sheet_is_no_way_out_of_a_suites_folder(tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    write_workbook(tmp_path / "book.xlsx", {"Cases": [["prompt"], ["Why?"]]})
    (tmp_path / "suite" / "book.xlsx").symlink_to(tmp_path / "book.xlsx")
    (tmp_path / "suite" / "suite.yaml").write_text("name: s\ntasks: 'book.xlsx#Cases'\n")
    with pytest.raises(BadInput, match="expected its files below"):
        load_suite(str(tmp_path / "suite"))


def test_empty_rows_and_a_guessed_encoding_are_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    (tmp_path / "copy").mkdir()
    for path in (tmp_path / "t.csv", tmp_path / "copy" / "t.csv"):
        path.write_bytes("prompt;answer\nGr\u00f6\u00dfe?;4\n;\n;\n".encode("cp1252"))
        assert len(tasks_of(path)) == 1
    assert caplog.text.count("t.csv: not UTF-8: read as Windows-1252") == 1
    assert caplog.text.count("t.csv: 2 empty rows passed over") == 1


def test_metadata_in_a_cell_is_kept(tmp_path: Path) -> None:
    text = 'prompt,answer,metadata\nq,a,"{""page"": 3}"\nr,b,by hand\n'
    first, second = tasks_of(tmp_path / "t.csv", text)
    assert (first["meta"], second["meta"]) == ({"page": 3}, {"metadata": "by hand"})


def test_promptfoo_reads_its_tests_from_a_table_with_expected_columns(tmp_path: Path) -> None:
    (tmp_path / "tests.csv").write_text(
        "ticket,__expected,__expected2,__description\n"
        "Where is it?,icontains: shipping,regex: ^S,late\n"
        '"Money, please","yes, refund",,\n'
    )
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text("prompts: ['Sort: {{ticket}}']\ntests: file://tests.csv\n")
    first, second = load_suite(str(path)).tasks
    assert (first.prompt, second.prompt) == ("Sort: Where is it?", "Sort: Money, please")
    judge = family(first)
    judge.prepare(first, tmp_path, tmp_path)
    for answer, outcome in (("Shipping", "pass"), ("A shipping matter", "fail")):
        assert judge.score(first, tmp_path, tmp_path, answer).outcome == outcome
    path.write_text("prompts: ['{{ticket}}']\ntests: file://../tests.csv\n")
    with pytest.raises(BadInput, match="expected a file below its folder"):
        load_suite(str(path))


def test_two_columns_for_one_field_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Subject,Body,Team\nLate,Where is it?,shipping\n")
    done = command("eval", tmp_path / "t.csv", "--map", "Subject=prompt", "--map", "Body=prompt")
    assert "--map: 'Subject' and 'Body' stand for one field" in done.stderr


def test_a_text_around_columns_is_the_prompt(tmp_path: Path) -> None:
    text = "Subject,Body,Team\nLate,Where is {it}?,shipping\nBroken,,warranty\n"
    query = "?Which+team%3F+{Subject}%3A+{Body}=prompt&Team=answer"
    first, second = tasks_of(tmp_path / "t.csv", text, query)
    assert first["prompt"] == "Which team? Late: Where is {it}?"
    assert (second["prompt"], second["answer"]) == ("Which team? Broken: ", "warranty")
    assert first["meta"] == {"Subject": "Late", "Body": "Where is {it}?"}
    with pytest.raises(
        BadInput, match=r"no column 'Subjct' .did you mean 'Subject'.*, which --map names"
    ):
        tasks_of(tmp_path / "t.csv", text, "?{Subjct}=prompt")


def test_an_old_workbook_is_no_task_file(tmp_path: Path) -> None:
    (tmp_path / "t.xls").write_bytes(b"PK")
    with pytest.raises(BadInput, match="save its sheet as CSV"):
        load_suite(str(tmp_path / "t.xls"))


def test_a_workbook_has_a_task_a_row_of_its_first_sheet(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [
        ["Nr", "question", "answer", None],
        [1, "How many?", 3],
        [],
        [2, 4711, "x", None],
    ]
    write_workbook(tmp_path / "t.xlsx", {"Bugs": rows, "Other": [["question"], ["no"]]})
    first, second = load_suite(str(tmp_path / "t.xlsx")).tasks
    assert (first.prompt, first.answer, first.meta) == ("How many?", 3, {"Nr": 1})
    assert (second.prompt, second.answer) == ("4711", "x")
    (tmp_path / "bad.xlsx").write_bytes(b"PK")
    with pytest.raises(BadInput, match=r"bad.xlsx"):
        load_suite(str(tmp_path / "bad.xlsx"))
