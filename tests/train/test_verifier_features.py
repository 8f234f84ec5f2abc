"""Features on disk: a stopped run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.train.verifier.features import Labelled, featured

DOCUMENT = "The mill in Arlen opened in 1912. The council bought it from Tobias Corin."


def _claim(text: str) -> Labelled:
    return Labelled("set", text, DOCUMENT, supported=True)


def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [_claim("The council bought the mill."), _claim("The mill opened in 1913.")]
    first = featured(claims, tmp_path)
    [file] = tmp_path.iterdir()
    whole = file.read_text()
    file.write_text(whole[: len(whole) - 20])
    again = featured(claims, tmp_path)
    assert [one.features for one in again] == [one.features for one in first]
    assert file.read_text() == whole
    monkeypatch.setattr("harness.train.verifier.features._compute", None)
    assert featured(claims, tmp_path) == again
