"""The generic family: comparisons, check functions and commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from harness.core import BadInput, Score, Task, plain
from harness.sandbox import select
from harness.tasks import (
    Family,
    answer_schema,
    expected_text,
    family,
    normalise,
    read_number,
    token_f1,
    try_checks,
)

HERE = Path()
Judge = Callable[[Task], Family]


def _score(check: str, expected: JsonValue, answer: str | None, **meta: JsonValue) -> Score:
    task = Task(id="t", prompt="p", answer=expected, check=check, meta=meta)
    return family(task).score(task, HERE, HERE, answer)


@pytest.mark.parametrize(
    ("check", "expected", "answer", "outcome"),
    [
        ("em", "Marrow & Finch", "the marrow  finch.", "pass"),
        ("em", "Marrow & Finch", "It is Marrow & Finch", "fail"),
        ("em", ["Paris", "City of Light"], "city of light!", "pass"),
        ("em", "A", "a", "pass"),
        ("em", "A", "the", "fail"),
        ("em", "A", "B", "fail"),
        ("em", 4, "4", "pass"),
        ("em", "x", "", "fail"),
        ("em", "x", None, "fail"),
        ("exact", "Ab", "Ab\n", "pass"),
        ("exact", "Ab", "ab", "fail"),
        ("contains", "desk lamp", "She bought a Desk Lamp.", "pass"),
        ("contains", "lamp", "lampshade", "fail"),
        ("contains", "%", "no", "fail"),
        ("numeric", "1,234.5", "The total is 1234.5", "pass"),
        ("numeric", 10, "-10", "fail"),
        ("numeric", [1, 2], "2.0", "pass"),
        ("numeric", 10, "none", "fail"),
        ("f1", "red green", "green red", "pass"),
        ("f1", "red green", "blue pink red", "fail"),
    ],
)
def test_comparisons(check: str, expected: JsonValue, answer: str | None, outcome: str) -> None:
    score = _score(check, expected, answer)
    assert score.outcome == outcome
    assert bool(score.reason) == (outcome == "fail")


def test_numbers_are_compared_within_the_tolerance() -> None:
    assert _score("numeric", 10, "10.4", tolerance=0.5).outcome == "pass"
    assert _score("numeric", 10, "10.6", tolerance=0.5).outcome == "fail"


def test_f1_is_a_soft_value_with_a_threshold() -> None:
    score = _score("f1", "red green", "red blue", threshold=0.6)
    assert score.value == pytest.approx(0.5)
    assert _score("f1", "red green", "red blue", threshold=0.5).outcome == "pass"


@pytest.mark.parametrize(
    ("check", "expected", "meta", "message"),
    [
        ("em", None, {}, "expected 'answer'"),
        ("em", {"a": 1}, {}, "expected 'answer'"),
        ("numeric", "many", {}, "expected numbers"),
        ("numeric", 1, {"tolerance": "x"}, "tolerance"),
        ("f1", "x", {"threshold": -1}, "threshold"),
        ("", "x", {}, "has no 'check'"),
        (None, None, {}, "has no 'check' and no 'answer'"),
        ("missing.py:check", "x", {}, "missing.py"),
        ("no-such-program-here", "x", {}, "cannot start"),
        ("unclosed 'quote", "x", {}, "is no command"),
    ],
)
def test_a_task_that_cannot_be_judged_is_named(
    check: str | None, expected: JsonValue, meta: dict[str, JsonValue], message: str, tmp_path: Path
) -> None:
    task = Task(id="odd-one", prompt="p", answer=expected, check=check, meta=meta)
    with pytest.raises(BadInput, match=message) as caught:
        family(task, trusted=True).score(task, tmp_path, tmp_path, "1")
    assert "odd-one" in str(caught.value) or "missing.py" in str(caught.value)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("fuzzy", "no check 'fuzzy': expected one of em, "),
        ("contain", r"no check 'contain' \(did you mean 'contains'\?\)"),
        ("unclosed 'quote", "is no command"),
    ],
)
def test_what_cannot_judge_is_refused_before_the_attempt(
    check: str, message: str, tmp_path: Path
) -> None:
    task = Task(id="t", prompt="p", answer="x", check=check)
    with pytest.raises(BadInput, match=message):
        family(task).prepare(task, tmp_path, tmp_path)
    for check in ("test -f left.txt", "./left.sh", "{python} -c pass"):
        family(task).prepare(task.model_copy(update={"check": check}), tmp_path, tmp_path)


def test_preparing_copies_the_files_and_nothing_else(tmp_path: Path) -> None:
    base, work = tmp_path / "suite", tmp_path / "work"
    (base / "files").mkdir(parents=True)
    (base / "files" / "a.csv").write_text("1")
    (base / "gold.txt").write_text("secret")
    work.mkdir()
    task = Task(id="t", prompt="ask", files={"in/a.csv": "files/a.csv"}, answer="x", check="em")
    assert family(task).prepare(task, base, work) == "ask"
    assert [str(one.relative_to(work)) for one in work.rglob("*") if one.is_file()] == ["in/a.csv"]
    for name in ("files/b.csv", "b" * 5000):
        lost = Task(id="lost", prompt="ask", files={"b.csv": name}, answer="x", check="em")
        with pytest.raises(BadInput, match=r"'lost'.*'b\.csv'"):
            family(lost).prepare(lost, base, work)


_CHECKS = """
from pathlib import Path
def right(task, workdir, answer):
    print("noise")
    return answer == task["answer"]
def soft(task, workdir, answer):
    return 0.25
def told(task, workdir, answer):
    return {"passed": True, "value": 0.5, "reason": "good enough", "detail": {"rows": 3}}
def crashing(task, workdir, answer):
    raise RuntimeError("broken check")
def strange(task, workdir, answer):
    return "yes"
def reads(task, workdir, answer):
    return Path(workdir, "left.txt").read_text() == "done"
def named(expected, answer):
    return answer == expected
def last(workdir, prompt, *, strict=True, answer):
    return prompt == "p" and strict and Path(workdir).is_dir() and answer == "42"
def others(t, w, a):
    return a == t["answer"]
def unfit(output, context):
    return True
def reaches_out(task, workdir, answer):
    try:
        Path(task["meta"]["outside"]).write_text("x")
    except OSError:
        return False
    return True
"""


@pytest.fixture(params=[True, False], ids=["trusted", "sandboxed"])
def trusted(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture
def judge(trusted: bool) -> Judge:
    return partial(family, trusted=trusted)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "checks.py").write_text(_CHECKS)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "left.txt").write_text("done")
    return folder


@pytest.mark.parametrize(
    ("function", "answer", "outcome", "value"),
    [
        ("right", "42", "pass", 1.0),
        ("right", "41", "fail", 0.0),
        ("right", None, "fail", 0.0),
        ("soft", "", "fail", 0.25),
        ("told", "", "pass", 0.5),
        ("reads", "", "pass", 1.0),
        ("named", "42", "pass", 1.0),
        ("named", "41", "fail", 0.0),
        ("last", "42", "pass", 1.0),
        ("others", "42", "pass", 1.0),
        ("crashing", "", "invalid", 0.0),
        ("strange", "", "invalid", 0.0),
    ],
)
def test_check_functions(
    base: Path,
    judge: Judge,
    function: str,
    answer: str | None,
    outcome: str,
    value: float,
) -> None:
    task = Task(id="t", prompt="p", answer="42", check=f"checks.py:{function}")
    score = judge(task).score(task, base, base.parent / "work", answer)
    assert (score.outcome, score.value) == (outcome, value)
    if function == "told":
        assert (score.reason, score.detail) == ("good enough", {"rows": 3})
    if function == "crashing":
        assert "broken check" in score.reason


def test_an_untrusted_check_cannot_write_outside(base: Path) -> None:
    outside = base / "written.txt"
    task = Task(id="t", prompt="p", check="checks.py:reaches_out", meta={"outside": str(outside)})
    family(task).score(task, base, base.parent / "work", "")
    assert not outside.exists()  # whatever it thought to have written
    score = family(task, trusted=True).score(task, base, base.parent / "work", "")
    assert score.outcome == "pass"


def test_modules_left_by_the_agent_are_not_imported_by_the_check(base: Path) -> None:
    (base / "uses.py").write_text(
        "import json\ndef check(t, w, a):\n    return json.loads('false')"
    )
    work = base.parent / "work"
    (work / "json.py").write_text("def loads(text): return True\ndef load(file): return {}")
    task = Task(id="t", prompt="p", check="uses.py:check")
    assert family(task, select("auto")).score(task, base, work, "").outcome == "fail"


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("grep -q '^forty two$' answer.txt", "pass"),
        ("grep -q nothing answer.txt", "fail"),
        ("test -f left.txt", "pass"),
        ("test -f {base}/checks.py", "pass"),
        ("{python} -c 'import sys; sys.exit(3)'", "fail"),
        ("sleep 20", "invalid"),
    ],
)
def test_commands(base: Path, judge: Judge, command: str, outcome: str) -> None:
    task = Task(id="t", prompt="p", check=command, meta={"check_seconds": 1.5})
    score = judge(task).score(task, base, base.parent / "work", "forty two")
    assert score.outcome == outcome, score.reason


@pytest.mark.parametrize("check", ["test -s answer.txt", "checks.py:reads"])
def test_what_the_agent_left_in_the_way_neither_stops_nor_redirects_a_check(
    base: Path, judge: Judge, check: str
) -> None:
    outside = base / "precious.txt"
    outside.write_text("keep")
    work = base.parent / "work"
    (work / "answer.txt").symlink_to(outside)
    (work / ".check-request.json").mkdir()
    task = Task(id="t", prompt="p", check=check)
    assert judge(task).score(task, base, work, "new").outcome == "pass"
    assert outside.read_text() == "keep"


def test_code_of_a_suite_reads_its_own_folder_and_no_shared_one(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (base / ".env").write_text("TOKEN=1")
    (base / "data").mkdir()
    (base / "data" / "table.csv").write_text("1")
    (base / "link").symlink_to("/etc")
    work, sandbox = base.parent / "work", select("auto")
    check = (
        "sh -c 'test -f {base}/data/table.csv && test ! -e {base}/.env && test ! -e {base}/link'"
    )
    task = Task(id="t", prompt="p", check=check)
    score = family(task, sandbox).score(task, base, work, "")
    assert score.outcome == "pass", score.reason
    for home in (base, base / "data"):
        monkeypatch.setenv("HOME", str(home))
        with pytest.raises(BadInput, match="folder of its own"):
            family(task, sandbox).score(task, base, work, "")


@pytest.mark.parametrize(
    ("check", "expected", "answer", "outcome"),
    [
        ("numeric", -8, "It fell by \u22128 degrees.", "pass"),
        ("numeric", 8, "It fell by \u22128 degrees.", "fail"),
        ("numeric", 8, "**-8**", "fail"),
        ("numeric", -8, "\\boxed{-8}", "pass"),
        ("numeric", -8, "-$8", "pass"),
        ("numeric", 12, "The code is APOLLO-12", "pass"),
        ("numeric", 1915, "between 1914\u20131915", "pass"),
        ("numeric", 31, "2023-12-31", "pass"),
        ("numeric", 7654321, "7\u202f654\u202f321", "pass"),
        ("numeric", 7654321, "7'654'321", "pass"),
        ("numeric", 1234567, "12,34,567", "pass"),
        ("numeric", 7654, "\\boxed{7{,}654}", "pass"),
        ("numeric", 2.5, "2,5", "pass"),
        ("numeric", 1234.5, "1.234,5", "pass"),
        ("numeric", 3, "1,2,3", "pass"),
        ("numeric", 30, "30 m\u00b2", "pass"),
        ("numeric", 30, "30 cm^3", "pass"),
        ("numeric", 30, "30 m2", "pass"),
        ("numeric", 3.2e7, "3.2 \u00d7 10\u2077", "pass"),
        ("numeric", 1e-3, "10^{-3}", "pass"),
        ("numeric", 9, "\uff19", "pass"),
        ("em", "-8", "\u22128", "pass"),
        ("em", "8", "\u22128", "fail"),
        ("em", "345", "-345", "fail"),
        ("em", "35 m", "3.5 m", "fail"),
        ("em", "5%", "5", "pass"),
        ("em", "Reader's Guide", "Reader\u2019s Guide", "pass"),
        ("em", "Reader's Guide", "\u201eReaders Guide\u201c \U0001f600", "pass"),
        ("em", "1914-1918", "1914\u20131918", "pass"),
        ("em", "Malmo\u0308", "Malm\u00f6", "pass"),
        ("em", "上海", "上海。", "pass"),
        ("em", "12:30", "1230", "fail"),
        ("exact", "Reader's", "Reader\u2019s", "pass"),
        ("exact", "Reader's", "reader's", "fail"),
        ("contains", "isn't", "This isn\u2019t so.", "pass"),
        ("contains", "上海", "他住在上海市。", "pass"),
        ("contains", "8", "The change is -8.", "fail"),
        ("contains", "-8", "The change is (\u22128).", "pass"),
        ("f1", "8", "-8", "fail"),
        ("f1", "-8 K", "\u22128 K", "pass"),
        ("regex", "isn't", "isn\u2019t", "pass"),
        ("json", {"name": "Malm\u00f6-2"}, '{"name": "Malmo\u0308\u20112"}', "pass"),
        ("search", "-8", "\u22128", "pass"),
        ("longdoc", "Reader's", "Reader\u2019s", "pass"),
        ("vqa", "Reader's", "\u2018Reader\u2019s\u2019", "pass"),
        ("math", "-8", "\\boxed{\u22128}", "pass"),
        ("math", "8", "\\boxed{\u22128}", "fail"),
    ],
)
def test_signs_that_print_alike_are_compared_as_one(
    check: str, expected: JsonValue, answer: str, outcome: str
) -> None:
    meta: dict[str, JsonValue] = {"metric": "em"} if check in ("search", "longdoc", "vqa") else {}
    if check == "math":
        pytest.importorskip("math_verify")
    assert _score(check, expected, answer, **meta).outcome == outcome


ANSWERS = st.text(
    st.one_of(
        st.characters(codec="utf-8"), st.sampled_from("0123-+.,'$%!a{}\u2212\u202f\u2019京²^")
    ),
    max_size=20,
)


@given(ANSWERS)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(ANSWERS, ANSWERS, st.sampled_from(["em", "exact", "contains", "f1"]))
def test_comparisons_do_not_see_how_a_sign_is_written(left: str, right: str, check: str) -> None:
    scores = {
        _score(check, gold, got).value
        for gold in (left, plain(left))
        for got in (right, plain(right))
        if right.strip() and plain(right).strip()
    }
    assert len(scores) <= 1
    assert read_number(left) == read_number(plain(left))


@given(st.text(max_size=30), st.text(max_size=30))
def test_f1_is_symmetric_and_bounded(left: str, right: str) -> None:
    assert 0.0 <= token_f1(left, right) == token_f1(right, left) <= 1.0
    assert token_f1(left, left) == 1.0


@given(st.floats(-1e12, 1e12))
def test_numbers_are_read_back(value: float) -> None:
    assert read_number(f"so it is {value!r}") == value
    assert read_number(f"{value:,.2f}") == pytest.approx(value, abs=0.006)


@pytest.mark.parametrize(
    ("declared", "valid", "bad"),
    [
        ({"check": "numeric"}, 4.5, "four"),
        ({"check": "vqa", "meta": {"answer_type": "integer"}}, 4, 4.5),
        ({"check": "search", "meta": {"metric": "boolean"}}, "yes", "maybe"),
        (
            {"check": "longdoc", "meta": {"metric": "choice", "choices": {"A": "x", "B": "y"}}},
            "B",
            "y",
        ),
        ({"check": "em", "meta": {"answer_type": "list"}}, ["a", "b"], []),
    ],
)
def test_an_answers_type_comes_from_what_the_task_declares(
    declared: dict[str, Any], valid: Any, bad: Any
) -> None:
    schema = answer_schema(Task(id="t", prompt="?", **declared))
    validator: Any = jsonschema.Draft202012Validator(schema or {})
    assert validator.is_valid(valid)
    assert not validator.is_valid(bad)


@pytest.mark.parametrize("check", ["em", "exact", "f1", "contains", None])
@pytest.mark.parametrize("gold", [4, "yes", "A", ["a", "b"]])
def test_an_answers_type_is_never_taken_from_the_gold(check: str | None, gold: Any) -> None:
    assert answer_schema(Task(id="t", prompt="?", check=check, answer=gold)) is None


def test_letters_bind_only_where_letters_are_judged() -> None:
    meta: dict[str, Any] = {"choices": {"A": "3"}, "answer_type": "list"}
    task = Task(id="t", prompt="?", check="vqa", meta=meta)
    assert answer_schema(task) is None


@pytest.mark.parametrize(
    ("gold", "answer", "passes"),
    [
        ("345", "-345", False),
        ("3.5", "35", False),
        ("-3.5", "-3.5.", True),
        ("1000", "1,000", True),
        ("5 %", "-5 %", False),
        ("12 km", "12 km.", True),
        ("5000.00 m", "500000 m", False),
        ("300.00 cm", "300.00 [cm]", True),
        ("a loss of -5 %", "a loss of 5 %", False),
        ("$1,234.50 in all", "1234.50 in all", True),
        ("2,5 kg", "25 kg", False),
        ("Python 3.11.2", "Python 3112", False),
        ("1e-5 m", "1e5 m", False),
        ("Covid-19", "covid19", True),
        ("No.5", "No5", True),
        ("1990-1995", "1990-1995.", True),
        ("5, 6", "5, 6.", True),
    ],
)
def test_sign_and_point_of_a_number_count(gold: str, answer: str, passes: bool) -> None:
    assert (_score("em", gold, answer).outcome == "pass") is passes


@pytest.mark.parametrize(
    ("answer", "check", "shown"),
    [
        (["EUR 1.240,00", "1240 EUR"], "exact", "EUR 1.240,00"),
        (7, None, "7"),
        ({"day": "2024-W07"}, None, '{"day": "2024-W07"}'),
        (None, "check.py:works", ""),
        ("gold/output.csv", "output", ""),
    ],
)
def test_the_expected_answer_as_it_is_written(answer: Any, check: str | None, shown: str) -> None:
    assert expected_text(Task(id="a", prompt="A?", answer=answer, check=check)) == shown


@pytest.mark.parametrize(
    ("check", "says"),
    [
        ("checks.py:unfit", "takes .output, context., expected any of answer, expected"),
        ("checks.py:strange", "expected True, False, a number .* got 'yes'"),
        ("checks.py:nowhere", "nowhere"),
        ("lost.py:right", "lost.py"),
        ("broken.py:right", "no_such_library"),
        ("unread.py:right", "SyntaxError"),
    ],
)
def test_a_check_that_cannot_judge_is_refused_when_it_is_tried(
    base: Path, trusted: bool, check: str, says: str
) -> None:
    (base / "broken.py").write_text("import no_such_library\n")
    (base / "unread.py").write_text("def right(answer) return True\n")
    names = ("checks.py:right", check)
    tasks = [Task(id="t", prompt="p", answer="42", check=name) for name in names]
    with pytest.raises(BadInput, match=says):
        try_checks(tasks, base, None, trusted=trusted)


def test_a_check_that_fails_without_the_agents_files_is_not_refused(
    base: Path, trusted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    names = ("reads", "crashing", "right")
    tasks = [Task(id=name, prompt="p", answer="42", check=f"checks.py:{name}") for name in names]
    try_checks(tasks, base, None, trusted=trusted)
    assert "crashing' " in caplog.text and "tried before the first call" in caplog.text
    assert "right' " not in caplog.text
