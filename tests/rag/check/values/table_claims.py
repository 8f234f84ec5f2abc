"""Claims about tables in files, by somebody who has not seen the code: how they are judged.

    python -m tests.rag.check.values.table_claims FOLDER

FOLDER holds claims.jsonl of {file, claim, label, kind} beside the files.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from harness.rag.check import check


def main() -> None:
    """Print, of true and false claims, how many pass and how many are contradicted, by kind."""
    folder = Path(sys.argv[1])
    counts = Counter[tuple[str, bool, str]]()
    for line in (folder / "claims.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        report = check(row["claim"], [folder / row["file"]])
        right = str(row["label"]).lower() == "true"
        denied = any(claim.verdict == "CONTRADICTED" for claim in report.claims)
        for kind in ("all", row["kind"]):
            counts[kind, right, "claims"] += 1
            counts[kind, right, "passed"] += report.verdict == "PASS"
            counts[kind, right, "contradicted"] += denied
    for kind, right in sorted({key[:2] for key in counts}):
        shown = (
            f"{counts[kind, right, name]} {name}" for name in ("claims", "passed", "contradicted")
        )
        print(kind, "true" if right else "false", *shown, sep="\t")


if __name__ == "__main__":
    main()
