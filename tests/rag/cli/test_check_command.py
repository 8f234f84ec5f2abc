"""`harness check` as a user types it: output, files, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.core import BadInput
from harness.rag.cli.check import check
from tests.browser import examine_file
from tests.models.http_server import serve
from tests.rag.check.pump import NOTES, WRONG, quoting


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.md").write_text(NOTES)
    (tmp_path / "true.txt").write_text("The pump was replaced in 2019.")
    (tmp_path / "false.txt").write_text(WRONG)
    return tmp_path


def run(folder: Path, answer: str, *more: object) -> Result:
    arguments = ["--answer", folder / answer, "--documents", folder / "notes.md", *more]
    return CliRunner().invoke(check, [str(one) for one in (*arguments, "--verifier", "rules")])


def test_exit_codes_and_json(folder: Path) -> None:
    passed, failed = run(folder, "true.txt", "--json"), run(folder, "false.txt", "--json")
    assert (passed.exit_code, failed.exit_code) == (0, 5)
    report = json.loads(failed.stdout)
    assert report["verdict"] == "FAIL"
    assert set(report) >= {"verdict", "claims", "coverage", "policy"}
    claim = next(one for one in report["claims"] if one["verdict"] == "CONTRADICTED")
    assert set(claim) >= {
        "text", "type", "start", "end", "verdict", "evidence", "reason", "confidence",
    }  # fmt: skip
    quote = claim["evidence"][0]
    assert NOTES[quote["start"] : quote["end"]] == quote["quote"]


def test_files_for_build_servers_and_people(folder: Path) -> None:
    found = run(folder, "false.txt", "--junit", folder / "j.xml", "--html", folder / "p.html")
    assert found.exit_code == 5
    assert "420 litres" in found.stdout
    assert "<failure" in (folder / "j.xml").read_text()
    assert "CONTRADICTED" in (folder / "p.html").read_text()
    examine_file(folder / "p.html", "checked-answers")


def test_batch(folder: Path) -> None:
    rows = [{"answer": "The pump was replaced in 2019.", "contexts": [NOTES]}]
    (folder / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    arguments = ["--batch", str(folder / "rows.jsonl"), "--json", "--verifier", "rules"]
    found = CliRunner().invoke(check, arguments)
    assert found.exit_code == 0
    assert json.loads(found.stdout)["outcomes"]["PASS"] == 1
    with (folder / "rows.jsonl").open("a") as handle:
        handle.write('\n{"answer": "It is blue.", "contexts": []}\n')
    assert CliRunner().invoke(check, arguments).exit_code == 2


def test_blind_with_a_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")

    with serve(quoting) as served:
        found = run(
            folder, "false.txt", "--model", "openai/x", "--base-url", served.url, "--json"
        )  # fmt: skip
    assert found.exit_code == 5, found.output
    claims = json.loads(found.stdout)["claims"]
    assert "CONTRADICTED" in {one["verdict"] for one in claims}
    assert 2 <= len(served.bodies) <= 4


def test_bad_input(folder: Path) -> None:
    assert CliRunner().invoke(check, ["--answer", str(folder / "true.txt")]).exit_code == 2
    missing = run(folder, "absent.txt")
    assert isinstance(missing.exception, BadInput)


def test_against_an_index(folder: Path) -> None:
    from harness.rag.cli.index import index

    built = CliRunner().invoke(
        index,
        ["build", str(folder / "notes.md"), "--out", str(folder / "i"), "--encoder", "lexical"],
    )
    assert built.exit_code == 0, built.output
    arguments = ["--answer", folder / "false.txt", "--index", folder / "i", "--verifier", "rules"]
    assert CliRunner().invoke(check, [str(one) for one in arguments]).exit_code == 5
