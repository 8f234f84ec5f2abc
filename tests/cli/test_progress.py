"""The line that long commands show."""

from __future__ import annotations

import pytest

from harness.cli.progress import Progress, span


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (89, "89 s"), (91, "2 min"), (3600, "60 min"), (7500, "2 h 5 min")],
)
def test_times_as_people_say_them(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_time_left_is_shown_once_it_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(4, "run", every=0)
    for done in range(1, 5):
        progress.update(done, 0, 0, 10, 0.0)
    lines = [line.rstrip() for line in capsys.readouterr().err.splitlines()]
    assert [line.endswith(" left") for line in lines] == [False, False, True, False]
    assert lines[-1].endswith(" s"), "the time that it took"
