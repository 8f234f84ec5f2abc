"""Wings can be deleted: the spine imports, works and passes its tests without them.

Copies the working tree once for every wing, once for all of them and once for all but that of the
demo; deletes the wings from the copy, and runs there: an import of every module of the spine,
`--help` and an eval. Two copies are worked on at the same time.

Without any wing, an evolve, a skill export and the first test of every file of the spine's tests
run, too. All of these tests run in the full tree; that nothing of the spine imports a wing is what
`lint-imports` shows; what is left to show is that each file's tests are collected and do their work
where no plug-in of a wing is found. `harness demo` runs where nothing but its own wing is left:
with more of them it can only do more. `make full` runs every test of the spine without any wing.

    python tests/house/amputation.py [--wing NAME ...] [--whole]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SPINE = (
    "core", "stats", "models", "sandbox", "skills", "trajectories", "corpora", "checkpoints",
    "tasks", "agents", "tools", "evals", "evolve", "api", "cli",
)  # fmt: skip
GRAPHS = {
    "judge": ("reward_skill",),
    "rag": ("longdoc", "march", "search"),
    "synth": ("task_factory",),
    "vision": ("vqa", "vqa_text", "vqa_verify"),
}
"""Graph files that belong to a wing."""
DEMO = "receipts"
"""The wing of `harness demo`."""
IMPORT_SPINE = """
from harness.api import *
import importlib, pathlib, sys
for path in sorted(pathlib.Path("harness").rglob("*.py")):
    room = path.parts[1]
    if path.name == "__main__.py" or "init_template" in path.parts:
        continue
    if room.endswith(".py") or room in sys.argv[1:]:
        importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
"""


def wings() -> list[str]:
    """Every folder of the package that is not a room of the spine."""
    rooms = (path.parent.name for path in (REPOSITORY / "harness").glob("*/__init__.py"))
    return sorted(name for name in rooms if name not in SPINE)


def amputate(deleted: list[str], target: Path) -> None:
    """Copy the tracked files to `target`, without the wings."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    tracked = subprocess.run(
        listing, cwd=REPOSITORY, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    gone = [f"{root}/{wing}/" for wing in deleted for root in ("harness", "tests")]
    gone += [f"graphs/{graph}.py" for wing in deleted for graph in GRAPHS.get(wing, ())]
    for name in tracked:
        source = REPOSITORY / name
        if source.is_file() and not name.startswith(tuple(gone)):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)


def run(tree: Path, *command: str, cwd: Path | None = None) -> None:
    """One command with the copy in front of everything installed.

    Raises:
        SystemExit: if it fails; its output is shown.
    """
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    environment.pop("CI", None)  # skips of tests that use a wing are no failure here
    done = subprocess.run(
        [sys.executable, "-P", *command],
        cwd=cwd or tree, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        print(done.stdout[-30000:], done.stderr[-4000:], sep="\n")
        raise SystemExit(f"failed without {tree.name}: {' '.join(command)[:200]}")


def check(deleted: list[str]) -> None:
    """Everything that the spine must still do without these wings."""
    kept = sorted({*wings()} - {*deleted})
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # tests run as another user, too
        tree = Path(folder) / "-".join(deleted)
        amputate(deleted, tree)
        work = Path(folder) / "work"
        work.mkdir()
        run(tree, "-c", IMPORT_SPINE, *SPINE)
        harness = ("-m", "harness")
        for wing in deleted:  # what stays behind where files are deleted by hand or by git
            (tree / "harness" / wing / "__pycache__").mkdir(parents=True)
        run(tree, *harness, "--help")
        for wing in deleted:
            shutil.rmtree(tree / "harness" / wing)
        if kept == [DEMO]:
            run(tree, *harness, "demo", "--out", "demo", cwd=work)
        simulated = ("--model", "simulated/lookup", "--sandbox", "none")
        run(tree, *harness, "eval", "demo", *simulated, "--limit", "4", "--out", "run", cwd=work)
        if len(deleted) > 1:
            evolve(tree, work, simulated)
        if not kept:
            test(tree, "-p", "tests.house.first_of_each")
    print(f"the spine works without {', '.join(deleted)}", flush=True)


def evolve(tree: Path, work: Path, simulated: tuple[str, ...]) -> None:
    """A skill from runs, and its export."""
    words = ("--suite", "demo", "--limit", "24", *simulated)  # of the first few none passes
    made = ("--create", "short", "--analyst", "exemplar", "--gate", "none", "--out", "made")
    run(tree, "-m", "harness", "evolve", *words, *made, cwd=work)
    export = ("skill", "export", "made/skill/short", "--target", "agents", "--out", ".")
    run(tree, "-m", "harness", *export, "--ungated", cwd=work)


def test(tree: Path, *options: str) -> None:
    """The tests of the spine."""
    rooms = [f"tests/{room}" for room in SPINE if (tree / "tests" / room).is_dir()]
    options = ("-q", "-n", "2", "-m", "not full", "-p", "no:cacheprovider", "--tb=line", *options)
    run(tree, "-m", "pytest", *options, *rooms)


def main() -> None:
    """Check without all wings, without all but that of the demo, and without each alone."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wing", action="append", help="only without this wing; may repeat")
    parser.add_argument("--whole", action="store_true", help="every test of the spine, no more")
    options = parser.parse_args()
    if options.whole:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)  # tests run as another user, too
            amputate(wings(), Path(folder))
            test(Path(folder))
        return
    copies = [[wing] for wing in options.wing or wings()]
    if not options.wing:
        copies = [wings(), [wing for wing in wings() if wing != DEMO], *copies]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(check, copies))


if __name__ == "__main__":
    main()
