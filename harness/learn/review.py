"""The page before sending: every session with its verdict, and the reader's decisions on it.

`review.md` is a list to edit. A box without its cross holds a session back for good, and another
verdict in place of the one that was inferred is the user's own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core import BadInput
from harness.learn.types import Session

if TYPE_CHECKING:
    from harness.learn.gathering import Gathered

REVIEW = "review.md"
_LINE = re.compile(r"- \[([ xX])\] (pass|fail|unknown) (\S+)")
_HEAD = """\
[x] may leave this machine, [ ] never does; pass, fail and unknown may be changed. The next
`harness learn` reads this file. Secrets and email addresses are replaced. What looks like personal
data is listed and not replaced: names of people, telephone numbers, addresses, dates of birth,
numbers of documents, accounts, customers and patients, network addresses, user names, places on a
map. A first name alone, and what no word beside it explains, is not found: read sent/.
"""


def review_text(gathered: Gathered, recipients: Sequence[str]) -> str:
    """The page: sessions, those that no model has read first, and who would get what."""
    lines = [_HEAD]
    for row in sorted(
        gathered.sessions, key=lambda row: (bool(row.learned_by), not row.may_leave, row.started)
    ):
        notes = [
            f"{row.tokens:,} tokens" if row.teaches else row.why_not,
            "" if row.outcome.claims else row.outcome.reason,
            *(f"replaced: {count} x {kind}" for kind, count in row.redactions.items()),
            f"read before by {row.learned_by}" if row.learned_by else "",
        ]
        box = "[x]" if row.may_leave else "[ ]"
        lines += [
            f"- {box} {row.outcome.verdict} {row.name}: {row.prompt!r:.100}",
            f"  {row.file} of {row.project or 'no folder'}; {'; '.join(filter(None, notes))}",
            *(f"  {claim}" for claim in row.outcome.claims[-1:]),
            *(f"  look at {word}" for word in gathered.suspects if f"{row.name}.txt:" in word),
        ]
    clients = ", ".join(sorted({row.client for row in gathered.sessions})) or "none"
    counts = ", ".join(f"{count} {name}" for name, count in gathered.outcomes.items())
    lines += ["", f"{len(gathered.sessions)} sessions ({clients}): {counts}"]
    skipped: Counter[tuple[str, str]] = Counter()
    for skip in gathered.skipped:
        head = "events passed over:" if skip.events else "skipped"
        skipped[head, str(skip) if skip.line else skip.reason] += skip.events or 1
    lines += [f"{head} {count} x {reason}" for (head, reason), count in skipped.items()]
    tasks = {task.task: task for task in gathered.tasks if task.task}.values()
    verified, held_out = sum(t.verified for t in tasks), sum(t.held_out for t in tasks)
    lines.append(
        f"tasks made again: {len(tasks)} ({verified} verified, {held_out} held out for the gate)"
    )
    reasons = Counter(task.why_not for task in gathered.tasks if task.why_not)
    lines += [f"  not made: {count} x {reason}" for reason, count in sorted(reasons.items())]
    if gathered.no_gate:
        lines.append(f"gate: none, {gathered.no_gate}; the skill will be staged for review")
    kinds = ", ".join(f"{count} x {kind}" for kind, count in gathered.redactions.items())
    lines.append(f"redacted: {sum(gathered.redactions.values())} secrets ({kinds or 'none'})")
    lines += [f"would be sent to {recipient}" for recipient in recipients]
    return "\n".join([*lines, f"read it before: {gathered.sent}", ""])


def decided(rows: Sequence[Session], page: Path) -> tuple[Session, ...]:
    """The sessions with what the user decided on the page; as they are if there is none.

    A line that was taken out holds its session back.

    Raises:
        BadInput: if a line of the list cannot be read.
    """
    text = page.read_text("utf-8") if page.is_file() else ""
    if not text:
        return tuple(rows)
    lines: dict[str, tuple[bool, str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        # At its beginning alone: what stands behind the name are a session's own words.
        if entry := _LINE.match(line):
            lines[entry[3]] = (entry[1] != " ", entry[2])
        elif line.startswith("- "):
            expected = "expected `- [x] pass NAME`, with [ ], fail or unknown"
            raise BadInput(f"{str(page)!r}, line {number}: {expected}, found {line!r:.60}")
    decisions: list[Session] = []
    for row in rows:
        ticked, verdict = lines.get(f"{row.name}:", (False, row.outcome.verdict))
        changed = verdict != row.outcome.verdict
        withheld = not ticked and (changed or row.may_leave or row.withheld)
        decision = {"withheld": withheld, "corrected": verdict if changed else row.corrected}
        decisions.append(row.model_copy(update=decision))
    return tuple(decisions)
