"""The usual user is not root: a back end must hold for another uid too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.sandbox.attacks import ATTACKS

NOBODY = 65534
PROGRAM = """
import json
from pathlib import Path
from harness.sandbox import probe_backends, select
rows = [report.model_dump() for report in probe_backends(refresh=True)]
shut = []
for row in rows:
    folder = Path(row["name"])
    folder.mkdir()
    if row["available"]:
        for files in ({}, {"a/b": b"1"}):
            done = select(row["name"]).exec(["/bin/chmod", "000", "."], workdir=folder, files=files)
            shut.append(done.limit)
print(json.dumps({"rows": rows, "selected": select().name, "shut": shut}))
"""


@pytest.mark.slow
def test_a_back_end_stops_every_attack_for_an_unprivileged_user(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    python = Path(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")
    if os.getuid() != 0 or not python.exists():
        pytest.skip("needs root to become another user, and a Python of the system")
    site = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o777)
    for folder in home.parents:
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    done = subprocess.run(
        ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
         python, "-c", PROGRAM],
        cwd=home,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "HARNESS_CACHE": str(home / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{repository}:{site}",
        },
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    if "No module named 'harness'" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip("the checkout is not readable by other users")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    available = [row for row in answer["rows"] if row["available"]]
    assert answer["selected"] in [row["name"] for row in available]
    assert {*answer["shut"]} <= {None, "disk"}, "a folder that its command shut is no fault of ours"
    for row in available:
        assert row["escaped"] == [] and len(row["stopped"]) == len(ATTACKS), row
