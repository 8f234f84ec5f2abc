"""Print the verdicts of `harness judge`, and the criteria that were not met: docs/jobs/judge.md.

python examples/jobs/verdicts.py judged
"""

import sys
from pathlib import Path

from harness.core.rundir import RunReader

for row in RunReader(Path(sys.argv[1])).items():
    verdict = row["verdict"]
    unmet = [part["criterion"] for part in verdict["evidence"] if part["decision"] == "unmet"]
    print(row["id"], verdict["score"], unmet)
