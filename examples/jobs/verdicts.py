"""Print the verdicts of `harness judge` in the order of the answers: docs/jobs/judge.md.

python examples/jobs/verdicts.py judged
"""

import json
import sys
from pathlib import Path

from harness.core.rundir import RunReader
from harness.judge.report import Judged
from harness.judge.rows import passes, read_judged

folder = Path(sys.argv[1])
settings = json.loads((folder / "settings.json").read_text("utf-8"))
judged = {row["id"]: Judged.model_validate(row) for row in RunReader(folder).items()}
for answer in read_judged(Path(settings["rows"]), settings["limit"]):
    row = judged.get(answer.id)
    if row is None or row.verdict is None:
        continue
    outcome, said = row.outcome(settings["threshold"]), ""
    if row.label is not None:
        label = "pass" if passes(row.label, row.id) else "fail"
        said = f" (label: {label}{'' if outcome in (label, 'invalid') else ', DISAGREES'})"
    unmet = [f"{part.criterion} {part.observation}" for part in row.verdict.evidence
             if part.decision == "unmet"]  # fmt: skip
    print(f"{row.id} {outcome.upper()}{said} {row.verdict.invalid}".rstrip())
    for reason in unmet:
        print(f"    unmet: {reason}")
