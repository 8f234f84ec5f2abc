"""An evolution without the wing of retrieval, compression and checking."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from harness.core import BadInput, plugins
from harness.evolve.analysts.single import checked, single_reader
from harness.evolve.analysts.transcript import extract, transcript
from harness.evolve.baselines.taught import open_encoder
from harness.models import open_model
from tests.evolve.test_extract import filler, trajectory


@pytest.fixture(autouse=True)
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    installed, absent = plugins.plugins, ("compressors", "encoders", "verifiers")

    def present(group: str) -> dict[str, EntryPoint]:
        return {} if group in absent else installed(group)

    monkeypatch.setattr(plugins, "plugins", present)


def test_a_long_transcript_keeps_head_and_tail_of_what_was_shown() -> None:
    long = trajectory(["\n".join(filler(seed, 900)) for seed in range(8)])
    text = extract(long, 20_000)
    assert len(transcript(long)) > 300_000
    assert len(text) < 22_000
    assert text.count("characters left out") == 8
    assert "The answer is 4,180 crowns." in text


def test_what_needs_the_wing_says_so() -> None:
    with pytest.raises(BadInput, match=r"harness\.encoders"):
        open_encoder("lexical")
    with pytest.raises(BadInput, match=r"harness\.verifiers"):
        checked(single_reader(open_model("simulated/lookup"), ""))
