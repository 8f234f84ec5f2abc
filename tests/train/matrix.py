"""The plug-ins in the versions of TRL and verl that they are said to work with.

    python tests/train/matrix.py [trl==VERSION verl==VERSION ...]

Each version of TRL lies in a folder in front of the tests' own environment. verl wants an older
transformers than the tests, so each of its versions has an environment of its own. Prints what
pytest says of each, and fails if one fails or has no test to run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PLACE = REPOSITORY / "build" / "matrix"
VERSIONS = (
    *("trl==1.0.0", "trl==1.4.0", "trl==1.8.0", "trl==1.12.0", "trl==1.14.2", "trl==1.16.0"),
    "verl==0.9.1",
)
"""Not TRL 1.15.0, whose own loss wants Triton, which a processor has not."""
BESIDE_VERL = ("torch==2.13.0", "pytest", "hypothesis", "pytest-timeout", "cachetools", "fastapi")
"""What verl and its tests need and verl does not bring; this build of torch fits a processor."""


def environment(requirement: str) -> tuple[Path, dict[str, str]]:
    """The interpreter for a version, made where it is missing, and its variables."""
    place = PLACE / requirement.replace("==", "-")
    if requirement.startswith("trl"):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        if not place.is_dir():
            subprocess.run([*pip, str(place), requirement], check=True)
        return Path(sys.executable), {"PYTHONPATH": str(place)}
    python = place / "bin" / "python"
    if not (place / "ready").is_file():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, BESIDE_VERL[0]], check=True)
        subprocess.run(
            [*install, *BESIDE_VERL, requirement, "--editable", str(REPOSITORY)], check=True
        )
        (place / "ready").touch()
    return python, {}


def passes(requirement: str) -> bool:
    """Run the tests of a package's plug-ins in one of its versions."""
    package = requirement.partition("==")[0]
    python, variables = environment(requirement)
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [str(python), "-m", "pytest", "-W", "default", "-p", "no:cacheprovider",
             "--basetemp", scratch, f"tests/train/test_{package}.py"],
            cwd=REPOSITORY, env={**os.environ, **variables}, check=False, capture_output=True,
            text=True,
        )  # fmt: skip
    if done.returncode:  # also where nothing was collected
        print(done.stdout[-3000:], done.stderr[-1000:])
    print(requirement, done.stdout.strip().rpartition("\n")[2], flush=True)
    return done.returncode == 0


def main() -> None:
    results = [passes(requirement) for requirement in sys.argv[1:] or VERSIONS]
    raise SystemExit(not all(results))


if __name__ == "__main__":
    main()
