"""Results of `harness learn` on written sessions: outcomes, claims, secrets, speed.

`python -m benchmarks.record.learn_sessions [--turns 2000] [--out FILE]`
The sessions are those of `tests/learn`, written by us in the formats of both clients, with
the outcome that a careful reader gives them. The naive rule takes the last verdict of any tests,
whatever came behind it. No model is called.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, Result, benchmark, option
from harness.core.redaction import Redactor
from harness.learn import LearnSettings, Spans, gather, infer_outcome
from harness.learn.acts import acts, plain
from harness.learn.signs import test_run
from harness.trajectories import dump, open_trajectories, redact_trajectory
from tests.learn.cases import ASK, DONE, EDIT, GREEN, HELD_OUT, TUNING, Case, written
from tests.learn.clients import write_claude
from tests.learn.fresh import FRESH
from tests.learn.planted import PLANTED, events
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


def secrets(home: Path) -> dict[str, Any]:
    """Planted secrets that are left after redaction, by form of the log."""
    rows: dict[str, Any] = {}
    for form in ("claude", "codex-1", "codex-2", "codex-3"):
        session = events(PLANTED, "The discount is ignored.")
        case = Case(f"planted-{form}", form, "pass", session)  # pyright: ignore[reportArgumentType]  # one of the literals
        (trajectory,) = open_trajectories(written(case, home))
        clean = json.dumps(Redactor(thorough=True, home=Path("/home/ada")).clean(dump(trajectory)))
        by_form = json.dumps(dump(redact_trajectory(trajectory)[0]))
        rows[form] = {
            "kinds planted": len(PLANTED),
            "left": [kind for kind, secret in PLANTED.items() if secret in clean],
            "left by forms alone": [kind for kind, secret in PLANTED.items() if secret in by_form],
        }
    return rows


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


@benchmark(turns=2000, out=option(type=Path))
def main(options: Options) -> Result:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        return {
            "outcomes": {name: outcomes(cases, home) for name, cases in SETS.items()},
            "secrets": secrets(home),
            "speed": speed(home / "speed", options.turns),
        }
