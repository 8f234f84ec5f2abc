"""States of short texts come from numpy, of long ones from torch, and are the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from harness.rag.check.verify import encode_states

LONGEST = 128
"""Word pieces of a sentence that are read."""
TEXTS = [
    "The seal of pump P-101 was replaced in May.",
    "Größe, naïve café, 東京タワー and 4.25 %",
    "a",
    "Valves, pumps and seals were looked at, one by one. " * 30,
]


def test_numpy_and_torch_make_the_same_states() -> None:
    short = encode_states(TEXTS)
    long = encode_states([*TEXTS, *("A sentence that is only there to be many. " * 9,) * 61])
    for one, other in zip(short, long, strict=False):
        assert one.pieces == other.pieces and len(one.pieces) <= LONGEST - 2
        assert one.tokens.dtype == other.tokens.dtype == np.float16
        assert np.abs(one.sentence - other.sentence).max() < 1e-5
        assert np.abs(one.tokens - other.tokens).max() < 2e-3
    assert short[3].tokens.shape == (LONGEST - 2, 384)


def test_a_small_check_imports_no_framework(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("The plant ran 14 pumps. The seal was replaced in May.\n")
    (tmp_path / "answer.txt").write_text("The seal was replaced in June.\n")
    program = (
        "import sys\nfrom harness.cli import main\n"
        "sys.argv = ['harness', 'check', '--answer', 'answer.txt', '--documents', 'report.md']\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    print('exit', ended.code)\n"
        "print([one for one in ('torch', 'transformers') if one in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-2:] == ["exit 5", "[]"], done.stdout
    assert done.stderr == ""
