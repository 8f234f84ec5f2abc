"""A kill at any moment of a build or an addition leaves a whole index, old or new."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.core import BadInput
from harness.rag.retrieve import Encoder, LocalIndex, open_encoder, open_index

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORKER = """
import sys
from pathlib import Path
from harness.rag.retrieve import Document, create_index
from tests.rag.retrieve.test_kill import encoder
from harness.rag.retrieve import Chunking

folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
index = create_index(folder, encoder(), Chunking(size=20, overlap=0, parent=60))
print("begun", flush=True)
start = len(index)
for number in range(start, start + rounds):
    text = f"Document {number} speaks of topic{number}. " + "More words follow here. " * 40
    index.add([Document(f"d{number}", text)])
    print(number, flush=True)
"""


def encoder() -> Encoder:
    """A slow encoder, so that a kill often meets it at work."""
    lexical = open_encoder("lexical")

    def slowly(texts: list[str]) -> NDArray[np.float32]:
        time.sleep(0.01)
        return lexical.encode(texts)

    return replace(lexical, _encode=slowly)


def started(folder: Path, rounds: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder), str(rounds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).resolve().parents[3],
    )


def whole(index: LocalIndex, least: int) -> None:
    """Every document that was reported as added is there, can be read and is found."""
    index.verify()
    assert len(index) >= least
    for doc in index.ids():
        assert f"topic{doc.removeprefix('d')}" in index.document(doc).text
        assert index.search(f"topic{doc.removeprefix('d')}", 1)[0].doc == doc


@pytest.mark.slow
def test_kills_during_build_and_add_never_corrupt(tmp_path: Path) -> None:
    folder, rng, done = tmp_path / "index", random.Random(5), 0
    for steps in (0, 0, 2, 3):
        worker = started(folder, 1000)
        assert worker.stdout is not None
        assert worker.stdout.readline() == "begun\n"
        begun = time.monotonic()
        lines = [worker.stdout.readline() for _ in range(steps)]
        time.sleep(rng.random() * max(0.3, (time.monotonic() - begun) / max(1, steps)))
        os.kill(worker.pid, signal.SIGKILL)
        lines += worker.stdout.read().split()
        worker.stdout.close()
        worker.wait()
        done = max([done, *(int(line) + 1 for line in lines if line.strip().isdigit())])
        try:
            index = open_index(folder, encoder())
        except BadInput as error:
            assert "no index at" in str(error)
            assert done == 0
            continue
        whole(index, done)
    assert done >= 5
    leftovers = {path.name for path in folder.iterdir()}
    index = open_index(folder, encoder())
    index.delete([index.ids()[0]])
    assert [path.name for path in (folder / "segments").iterdir()] == [
        one.name for one in index.manifest.segments
    ], leftovers
