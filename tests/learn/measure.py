"""Results of `harness learn` on written sessions: outcomes, claims, secrets, speed.

`python -m tests.learn.measure [--turns 2000] [--cases DIR] [--plants FILE] [--out FILE]`
With `--cases` the sessions of others and their `expected.json`, with `--plants` others' secrets and
personal data, a JSON line each: {line, secret, label: secret | personal | none, kind}.
The sessions are those of `tests/learn`, written by us in the formats of both clients, with
the outcome that a careful reader gives them. The naive rule takes the last verdict of any tests,
whatever came behind it. No model is called.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, Result, benchmark, option
from harness.learn import LearnSettings, Spans, gather, infer_outcome
from harness.learn.acts import acts, plain
from harness.learn.signs import test_run
from harness.trajectories import open_trajectories
from tests.learn.cases import ASK, DONE, EDIT, GREEN, HELD_OUT, TUNING, Case, written
from tests.learn.clients import write_claude
from tests.learn.fresh import FRESH
from tests.learn.timeline import TIMELINE
from tests.learn.traps import TRAPS
from tests.learn.voided import VOIDED

SETS = {
    "tuning": TUNING,
    "held out, written before the rules": HELD_OUT,
    "traps, written after the rules; 16 of 26 right before the rules were mended": TRAPS,
    "fresh, written when the rules were done; two rules were narrowed later": FRESH,
    "void tests; 23 of 29 wrong before the rules knew of them": VOIDED,
    "one timeline; written with its rules": TIMELINE,
}


def naive(path: Path) -> str:
    """The last verdict of any tests."""
    (trajectory,) = open_trajectories(path)
    runs = [run for act in acts(trajectory) if act.kind == "command" and (run := test_run(act))]
    verdicts = [run.verdict for run in runs if run.verdict != "unclear"]
    return verdicts[-1] if verdicts else "unknown"


def outcomes(cases: Sequence[Case], home: Path) -> dict[str, Any]:
    """Counts over one set of sessions."""
    rows: list[tuple[str, str, str]] = []
    claims = placed = 0
    for case in cases:
        path = written(case, home)
        (trajectory,) = open_trajectories(path)
        outcome = infer_outcome(trajectory, Spans(path))
        rows.append((case.expected, outcome.verdict, naive(path)))
        lines = path.read_text().split("\n")
        for claim in outcome.claims:
            claims += 1
            line = lines[claim.line - 1].encode().decode("unicode_escape")
            placed += claim.quote in plain(line)
    decided = [row for row in rows if row[0] != "unknown"]
    silent = [row for row in rows if row[0] == "unknown"]
    return {
        "sessions": len(rows),
        "log decides": len(decided),
        "right": sum(want == got for want, got, _ in decided),
        "log does not decide": len(silent),
        "called unknown": sum(got == "unknown" for _, got, _ in silent),
        "naive right": sum(want == got for want, _, got in decided),
        "naive called unknown": sum(got == "unknown" for _, _, got in silent),
        "claims": claims,
        "claims whose line holds the quote": placed,
    }


def judged(folder: Path, home: Path) -> dict[str, Any]:
    """Verdicts on sessions that others wrote, beside those of `expected.json` in their folder."""
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    settings = LearnSettings(out=home / "out", paths=(folder,), rebuild=False, limit=10**6)
    verdicts = {Path(row.file).name: row.outcome for row in gather(settings).sessions}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    missed: list[str] = []
    for row in expected:
        outcome = verdicts.get(Path(row["file"]).name)
        right, got = row["right"], outcome.verdict if outcome else "not a session"
        silent = got == "unknown" and right != got
        kind = "right" if got == right else "unknown though decidable" if silent else "wrong"
        kind = "right" if silent and right == "not a session" else kind
        groups = ("all", row.get("client") or row["file"].partition("-")[0], row.get("group", ""))
        for group in filter(None, groups):
            counts[group].update([kind, "decidable"] if right in ("pass", "fail") else [kind])
        if kind != "right":
            reason = outcome.reason if outcome else "skipped"
            missed.append(f"{kind}: {row['file']}: {right}, got {got} ({reason}): {row['why']}")
    return {**{group: dict(count) for group, count in counts.items()}, "missed": missed}


def planted(file: Path, home: Path) -> dict[str, Any]:
    """Secrets and personal data that others planted, and what becomes of each."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for number, row in enumerate(rows):
        events = (("user", f"Mend it.\n{row['line']}"), EDIT, GREEN)
        write_claude(home / ".claude", f"p{number:05}", events)
    settings = LearnSettings(out=home / "out", rebuild=False, limit=10**6)
    gathered = gather(settings, environment={"HOME": str(home)})
    suspects: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for suspect in gathered.suspects:
        place, line, value = suspect.split(":", 2)
        suspects[Path(place).stem].append((int(line), value))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    missed: list[str] = []
    for number, row in enumerate(rows):
        name = f"claude-code-p{number:05}"
        text = (Path(gathered.sent) / f"{name}.txt").read_text("utf-8")
        # Beside the plant, and at least four characters of it.
        kind = "missed"
        for number_listed, value in suspects[name]:
            same = SequenceMatcher(None, value, row["secret"] or row["line"], autojunk=False)
            size = same.find_longest_match().size
            own = 3 <= number_listed <= 3 + row["line"].count("\n")
            if own and size >= min(4, len(row["secret"])):
                kind = "listed"
        if row["label"] == "none":
            whole = all(line.strip() in text for line in row["line"].split("\n"))
            kind = kind.replace("missed", "left alone") if whole else "altered"
        elif max(row["secret"].split("\n"), key=len) not in text:
            kind = "replaced"
        counts[row["label"]][kind] += 1
        if kind in ("missed", "altered"):
            missed.append(f"{row['label']} {kind}: {row['kind']}: {row['line']!r:.120}")
    return {**{label: dict(count) for label, count in counts.items()}, "missed": missed}


def speed(home: Path, turns: int) -> dict[str, Any]:
    """CPU seconds to read, judge and redact one long session."""
    turn = (EDIT, ("sh", "cat prices.py", "x = 1  # a line of code\n" * 100, 0))
    path = write_claude(home / ".claude", "long", (ASK, *(turn * turns), GREEN, DONE))
    begun = time.process_time()
    gathered = gather(
        LearnSettings(out=home / "out", rebuild=False), environment={"HOME": str(home)}
    )  # fmt: skip
    cpu, size = time.process_time() - begun, path.stat().st_size / 2**20
    return {
        "MiB": round(size, 1),
        "cpu_s": round(cpu, 2),
        "cpu_s_per_MiB": round(cpu / size, 3),
        "outcome": gathered.sessions[0].outcome.verdict,
    }


@benchmark(turns=2000, cases=option(type=Path), plants=option(type=Path), out=option(type=Path))
def main(options: Options) -> Result:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if options.cases:
            return judged(options.cases, home)
        if options.plants:
            return planted(options.plants, home)
        return {
            "outcomes": {name: outcomes(cases, home) for name, cases in SETS.items()},
            "speed": speed(home / "speed", options.turns),
        }
