"""The line that long commands show."""

from __future__ import annotations

import pytest

from harness.cli.progress import Progress
from harness.core.terminal import span


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (89, "89 s"), (91, "2 min"), (3600, "60 min"), (7500, "2 h 5 min")],
)
def test_times_as_people_say_them(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_time_left_is_shown_once_it_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(4, "run", interval=0)
    for done in range(1, 5):
        progress.update(done, 0, 0, 10, 0.0)
    lines = [line.rstrip() for line in capsys.readouterr().err.splitlines()]
    assert [line.endswith(" left") for line in lines] == [False, False, True, False]
    assert lines[-1].endswith(" s"), "the time that it took"


def test_what_is_awaited_is_named_once_in_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    """No tokens before something is done; not a line for every look at work that stands."""
    progress = Progress(4, "run", interval=0)
    for _ in range(50):
        progress.update(0, 0, 0, 0, 0.0, "2 under way for 9 s")
    progress.update(1, 0, 0, 10, 0.0, "2 under way for 9 s")
    assert capsys.readouterr().err.splitlines() == [
        "run 0/4  passed 0  invalid 0  2 under way for 9 s",
        "run 1/4  passed 0  invalid 0  10 tokens  $0.0000  2 under way for 9 s",
    ]


def test_what_did_not_pass_is_not_said_to_have_failed(capsys: pytest.CaptureFixture[str]) -> None:
    Progress(150, "audit", interval=0).update(150, 34, 0, 10, 0.0)
    Progress(2, "replay", interval=0).update(2, None, 0, 0, None)
    audit, replay = capsys.readouterr().err.splitlines()
    assert audit.startswith("audit 150/150  passed 34  invalid 0  10 tokens")
    assert replay.startswith("replay 2/2  0 tokens"), "nothing is judged"
