"""Code that users bring, loaded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.core.assets import load_object


def test_threads_never_see_a_module_that_is_half_executed(tmp_path: Path) -> None:
    code = "import time\ntime.sleep(0.2)\ndef judge():\n    return 4\n"
    (tmp_path / "slow.py").write_text(code)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(load_object, ["slow.py:judge"] * 4, [tmp_path] * 4))
    assert [one() for one in found] == [4] * 4
