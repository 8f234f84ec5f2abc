"""The agentic analyst over real HTTP: what it may see, what it hands in, what is dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core import Task, digest
from harness.sandbox import select
from tests.agents.scripted import action, native
from tests.evolve.agentic.conftest import FAILED, HONEST, REPORT, analysed, hands_in, price_task
from tests.evolve.conftest import trajectory
from tests.models.http_server import completion, error


def call(name: str, **arguments: str) -> Any:
    return native(name, json.dumps(arguments))


def observed(bodies: list[dict[str, Any]]) -> str:
    """Everything that came back to the model after its prompt."""
    later = bodies[-1]["messages"][2:]
    return "\n".join(str(one.get("content")) for one in later if one["role"] != "assistant")


def test_an_honest_analyst_gives_a_proven_record(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    write, final = hands_in(HONEST)
    replies = [call("bash", command="ls; head -c 40 transcript.txt"), call("score"), write]
    replies += [call("score"), final]
    found = analysed(task, tmp_path / "suite", tmp_path / "work", replies)
    assert found.record is not None, found.reasons
    assert found.record.proof is not None and found.record.proof.holds
    assert found.record.proof.script == digest(HONEST)
    assert [item.lesson for item in found.record.items] == ["Fill every row."]
    assert found.losses == [] and found.usage.calls == 5
    seen = observed(found.served.bodies)
    assert "FAIL: there is no file fix.py" in seen and "\nPASS" in seen
    assert "input.xlsx" in seen and "gold" not in seen


def test_gold_is_nowhere_in_reach(tmp_path: Path) -> None:
    suite, work = tmp_path / "suite", tmp_path / "work"
    task = price_task(suite)
    gold = suite / "gold.xlsx"
    look = f"cat {gold}; ls {suite} {tmp_path}; find / -name gold.xlsx 2>/dev/null; ls .."
    copy = f"import shutil; shutil.copy({str(gold)!r}, 'output.xlsx')".encode()
    found = analysed(task, suite, work, [call("bash", command=look), *hands_in(copy)])
    assert found.record is None and "unproven" in found.reasons and "'clean'" in found.reasons
    assert "120.75" not in observed(found.served.bodies)
    left = [path for path in work.rglob("*") if path.is_file()]
    assert {path.name for path in left} == {"input.xlsx", "transcript.txt", "fix.py"}
    assert all(path.read_bytes() != gold.read_bytes() for path in left)


def test_a_sandbox_that_leaves_gold_open_proves_nothing(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    found = analysed(
        task, tmp_path / "suite", tmp_path / "work", hands_in(HONEST), sandbox=select("none")
    )
    assert found.record is None and "gold can be read" in found.reasons
    assert found.usage.calls == 0


def test_score_tells_which_cells_differ_and_no_value(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    wrong = HONEST.replace(b"prices[", b"'n' and None and prices[").replace(
        b"(row, 2)", b"(row, 2)"
    )
    write, final = hands_in(wrong)
    found = analysed(task, tmp_path / "suite", tmp_path / "work", [write, call("score"), final])
    said = observed(found.served.bodies)
    assert "FAIL: 6 cells differ: 'Orders'!B2 (missing)" in said
    assert not any(value in said for value in ("33.25", "120.75"))
    assert found.record is None and "failed on the input 'clean'" in found.reasons


def test_a_hard_coded_fix_is_dropped_with_the_run_that_failed(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    values = "\n".join(
        f"book['Orders']['B{row}'] = {value}"
        for row, value in enumerate([33.25, 12.5, 120.75, 33.25, 48, 12.5], 2)
    )
    script = f"import openpyxl\nbook = openpyxl.load_workbook('input.xlsx')\n{values}\n"
    script += "book.save('output.xlsx')"
    found = analysed(task, tmp_path / "suite", tmp_path / "work", hands_in(script.encode()))
    assert found.record is None
    assert [loss.stage for loss in found.losses] == ["analysts"]
    assert "failed on the input 'other numbers'" in found.reasons


def test_a_report_is_repaired_twice_at_most(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    write, final = hands_in(HONEST)
    found = analysed(
        task, tmp_path / "suite", tmp_path / "1", [write, completion("I am done."), final]
    )
    assert found.record is not None, found.reasons
    assert "could not be used" in observed(found.served.bodies)
    found = analysed(
        task, tmp_path / "suite", tmp_path / "2", [write, *[completion("I am done.")] * 9]
    )
    assert found.record is None and "no usable report after 2 repairs" in found.reasons
    assert found.usage.calls == 4


def test_a_missing_fix_is_asked_for(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    write, final = hands_in(HONEST)
    found = analysed(task, tmp_path / "suite", tmp_path / "1", [final, write, final])
    assert found.record is not None, found.reasons
    found = analysed(task, tmp_path / "suite", tmp_path / "2", [final] * 9)
    assert found.record is None and "no file fix.py" in found.reasons


def test_a_fix_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    (tmp_path / "elsewhere.py").write_bytes(HONEST)
    link = call("bash", command=f"ln -s {tmp_path / 'elsewhere.py'} fix.py")
    final = hands_in(HONEST)[1]
    found = analysed(task, tmp_path / "suite", tmp_path / "work", [link, *[final] * 9])
    assert found.record is None and "link" in found.reasons


@pytest.mark.parametrize("evidence", [["The agent opened the atlas."], []])
def test_invented_quotes_are_refused(evidence: list[str], tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    write, final = hands_in(HONEST, {**REPORT, "evidence": evidence})
    found = analysed(task, tmp_path / "suite", tmp_path / "work", [write, *[final] * 9])
    assert found.record is None and "no evidence quote" in found.reasons


def test_an_item_that_mentions_gold_is_dropped_and_listed(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    speaks = {"title": "Key", "lesson": "Match the answer key.", "generalization": ""}
    report = {**REPORT, "memory_items": [*REPORT["memory_items"], speaks]}
    found = analysed(task, tmp_path / "suite", tmp_path / "work", hands_in(HONEST, report))
    assert found.record is not None and len(found.record.items) == 1
    assert "mentions the answer key" in found.reasons


def test_when_the_turns_are_used_up_one_is_left_for_the_report(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    write, final = hands_in(HONEST)
    idle = call("bash", command="true")
    found = analysed(
        task, tmp_path / "suite", tmp_path / "1", [write, idle, idle, final], max_turns=3
    )
    assert found.record is not None, found.reasons
    assert "no turns left" in observed(found.served.bodies)
    found = analysed(task, tmp_path / "suite", tmp_path / "2", [idle] * 9, max_turns=3)
    assert found.record is None and "no report: turn limit" in found.reasons
    assert found.usage.calls == 4


def test_the_text_protocol_works_too(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    code = json.dumps({"code": f"open('fix.py', 'wb').write({HONEST!r})"})
    replies = [action("python", code), action("score", "{}")]
    replies.append(completion(f"{json.dumps(REPORT)}\nACTION: TASK_COMPLETE"))
    found = analysed(task, tmp_path / "suite", tmp_path / "work", replies, protocol="text")
    assert found.record is not None, found.reasons


def test_a_long_transcript_is_shortened_in_the_prompt_and_whole_in_the_file(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    middle = "the needle in the middle"
    run = trajectory("orders", "fail", f"{'hay ' * 9000}{middle}{' hay' * 9000}")
    report = {**REPORT, "evidence": [middle]}
    work = tmp_path / "work"
    found = analysed(task, tmp_path / "suite", work, hands_in(HONEST, report), run=run)
    assert found.record is not None, found.reasons
    prompt = str(found.served.bodies[0]["messages"][1]["content"])
    assert "shortened" in prompt and len(prompt) < 20_000
    assert middle in (work / "transcript.txt").read_text()


def test_a_task_without_gold_or_input_is_a_loss_before_any_call(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    (tmp_path / "suite" / "gold.xlsx").unlink()
    found = analysed(task, tmp_path / "suite", tmp_path / "work", hands_in(HONEST))
    assert found.record is None and "golden workbook" in found.reasons
    assert found.usage.calls == 0


def test_a_rejected_request_is_a_loss(tmp_path: Path) -> None:
    task = price_task(tmp_path / "suite")
    found = analysed(task, tmp_path / "suite", tmp_path / "work", [error(400, "too long")])
    assert found.record is None and "too long" in found.reasons


def test_a_question_with_its_passage(tmp_path: Path) -> None:
    prompt = (
        "Passage: Orla Finnick keeps the lighthouse. Jonas Weller repairs the pier.\n"
        "Question: Who repairs the pier?"
    )
    task = Task(id="pier", prompt=prompt, answer="Jonas Weller", check="em")
    reads = (
        b"import re\ntext = open('task.txt').read()\n"
        b"print(re.search(r'(\\w+ \\w+) repairs the pier', text)[1])"
    )
    run = trajectory("pier", "fail", "I would say that Orla Finnick repairs the pier.", prompt)
    report = {**REPORT, "evidence": ["I would say that Orla Finnick"]}
    base = tmp_path / "suite"
    base.mkdir()
    found = analysed(task, base, tmp_path / "1", hands_in(reads, report), run=run)
    assert found.record is not None and found.record.proof is not None, found.reasons
    assert [one.kind for one in found.record.proof.runs] == ["clean", "predicted", "predicted"]
    for script in (
        b"print('Jonas Weller')",
        b"text = open('task.txt').read()\nprint(text[52:64])",
        b"text = open('task.txt').read()\nprint(*text.split()[6:8])",
    ):
        found = analysed(task, base, tmp_path / "2", hands_in(script, report), run=run)
        assert found.record is None and "unproven" in found.reasons, script
    assert FAILED.trajectory_id != run.trajectory_id
