"""`harness demo` answers from the recording: from failing programs to an exported skill."""

from __future__ import annotations

import json
from pathlib import Path

from harness.models import read_calls
from harness.receipts.demo import PAIRS, recording
from tests.acceptance.conftest import Harness
from tests.browser import examine_file


def test_digests_of_the_recording_hold() -> None:
    calls = list(read_calls(recording()))
    assert len(calls) > 60
    assert len({call.call_id for call in calls}) == len(calls)


def test_the_recorded_demo(harness: Harness, tmp_path: Path) -> None:
    done = harness("demo", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["origin"] == "recorded"
    rungs = report["ladder"]["rungs"]
    assert [rung["name"] for rung in rungs] == ["none", "nearest", "no-model", "skill"]
    assert [rung["valid"] for rung in rungs] == [8, 8, 8, 8]
    # What is claimed is what the ladder's own rule allows: it lacks rungs, so it is no win.
    assert report["ladder"]["win"] is False
    assert len(report["pairs"]) == PAIRS
    assert all(pair["before"] and pair["why"] and pair["after"] for pair in report["pairs"])
    folder = tmp_path / "demo-out" / "recorded"
    page = (folder / "report.html").read_text()
    assert "recorded" in page
    assert "http://" not in page
    assert "https://" not in page
    examine_file(folder / "report.html", "demo-report")
    skill = folder / "evolved" / "skill" / "table-cleaning"
    assert harness("skill", "validate", skill).returncode == 0
    assert harness("skill", "verify", skill).returncode == 0
    exported = report["evolution"]["accepted"]
    assert bool(report["exported"]) is bool(exported)
