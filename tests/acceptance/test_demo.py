"""`harness demo` replays the recording: from runs to an exported skill, with no model."""

from __future__ import annotations

import json
from pathlib import Path

from harness.evolve.demo import recording
from harness.models import read_calls
from tests.acceptance.conftest import Harness
from tests.browser import examine_file


def test_digests_of_the_recording_hold() -> None:
    calls = list(read_calls(recording()))
    assert len(calls) > 500
    assert len({call.call_id for call in calls}) == len(calls)


def test_the_recorded_demo(harness: Harness, tmp_path: Path) -> None:
    done = harness("demo", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["origin"] == "recorded"
    names = [arm["name"] for arm in report["arms"]]
    assert names == [
        "no skill",
        "format rule alone",
        "random examples",
        "best of random sets",
        "evolved skill",
    ]
    assert all(arm["valid"] == report["sizes"]["test"] for arm in report["arms"])
    page = (tmp_path / "demo-out" / "recorded" / "report.html").read_text()
    assert "recorded" in page
    assert "http://" not in page
    assert "https://" not in page
    examine_file(tmp_path / "demo-out" / "recorded" / "report.html", "demo-report")
    skill = tmp_path / "demo-out" / "recorded" / "evolved" / "skill" / "short-answers"
    assert harness("skill", "validate", skill).returncode == 0
    exported = report["evolution"]["accepted"]
    assert bool(report["exported"]) is bool(exported)
