"""Sessions read, judged and redacted, before anything is sent anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from harness.core import (
    BadInput,
    Trajectory,
    Value,
    digest,
    digest_file,
    listing,
    mapping,
    private_folder,
    string,
    write_atomic,
    write_json,
)
from harness.core.redaction import REDACTED, Redactor
from harness.evolve import Event, extract
from harness.learn.acts import prompts
from harness.learn.entropy import doubtful_words
from harness.learn.outcomes import infer_outcome
from harness.learn.personal import personal_data
from harness.learn.session_logs import Spans, session_files, since_time
from harness.learn.tables import sign
from harness.learn.types import LearnSettings, Outcome, Rebuilt, Session, Skipped
from harness.skills import count_tokens
from harness.trajectories import content_text, dump, open_trajectories

SESSIONS, SENT = "sessions", "sent"
PROMPT = 200


class Gathered(Value):
    """Sessions that were read, and what is about to be sent.

    Attributes:
        key: digest of the settings that decided it.
        sessions: every session that was read, and those learned from before whose logs are gone.
        skipped: logs and sessions that were not, with reasons.
        tasks: what became of each session's task.
        gate: the suite of held-out tasks, "" without a gate.
        no_gate: why there is none.
        redactions: secrets that were replaced, by kind.
        tokens: of what the analysts will read, by the packaged count.
        folder: of the redacted sessions.
        sent: folder with the very text that goes into the analysts' prompts.
        excluded: folders that are left out for good.
        suspects: file, line and value of what looks like personal data in that text, and the
            beginning of what looks random and no rule explains.
    """

    key: str
    sessions: tuple[Session, ...]
    skipped: tuple[Skipped, ...] = ()
    tasks: tuple[Rebuilt, ...] = ()
    gate: str = ""
    no_gate: str = ""
    redactions: dict[str, int] = {}
    tokens: int = 0
    folder: str = ""
    sent: str = ""
    excluded: tuple[Path, ...] = ()
    suspects: tuple[str, ...] = ()

    @property
    def outcomes(self) -> dict[str, int]:
        """Count the sessions that passed, failed and are unknown."""
        verdicts = [session.outcome.verdict for session in self.sessions]
        return {verdict: verdicts.count(verdict) for verdict in ("pass", "fail", "unknown")}

    @property
    def teaching(self) -> tuple[Session, ...]:
        """The sessions that an analyst will read."""
        return tuple(session for session in self.sessions if session.teaches)


class Read(Value):
    """One session, as it was logged: `key` is that of its copies in other logs too, `log` the
    digest of the file.
    """

    file: Path
    trajectory: Trajectory
    outcome: Outcome
    task: str
    key: str
    log: str


def read_sessions(
    settings: LearnSettings,
    environment: Mapping[str, str],
    skipped: list[Skipped],
    progress: Callable[[Event], None],
) -> list[Read]:
    """Sessions of the logs that are whole and wanted; the others go into `skipped`.

    Raises:
        BadInput: if there is no log, or a setting cannot be used.
    """
    since = since_time(settings.since) if settings.since else None
    files = session_files(settings.paths, settings.client, environment)
    reads: dict[str, Read] = {}
    for number, file in enumerate(files, start=1):
        if len(reads) >= settings.limit:
            message = f"the first {settings.limit} sessions were taken (--limit): {len(files)} logs"
            progress(Event(stage="read", message=message))
            break
        if since is not None and file.stat().st_mtime < since.timestamp():
            continue
        for read in _of_file(file, settings, since, skipped):
            earlier = reads.get(read.key)
            if earlier is None and len(reads) >= settings.limit:
                skipped.append(Skipped(file=str(file), reason="it holds more than --limit takes"))
                break
            longer = earlier is None or len(earlier.trajectory.steps) < len(read.trajectory.steps)
            if longer:
                reads[read.key] = read
            if earlier is not None:
                reason = "another log holds the same session, gone on with"
                shorter = earlier if longer else read
                skipped.append(Skipped(file=str(shorter.file), reason=reason))
        progress(Event(stage="read", done=number, total=len(files)))
    return [read for read in reads.values() if not _copies(read, reads.values(), skipped)]


def _copies(read: Read, reads: Iterable[Read], skipped: list[Skipped]) -> bool:
    """Return True if a log only copies the beginning of another session, as `codex fork` does."""
    source = string(read.trajectory.harness.get("forked_from_id"))
    if not source:
        return False
    copied = {
        call
        for candidate in reads
        if candidate.trajectory.trajectory_id == source
        for call in _calls(candidate.trajectory)
    }
    if copied and set(_calls(read.trajectory)) - copied:
        return False  # another attempt, which goes its own way
    reason = (
        "a fork: what it shares with its original counts there, and it adds no work"
        if copied
        else f"a fork of {source}, which is not among the logs: its own part cannot be told"
    )
    skipped.append(Skipped(file=str(read.file), reason=reason))
    return True


def _calls(trajectory: Trajectory) -> list[str]:
    return [call.tool_call_id for step in trajectory.steps for call in step.tool_calls or ()]


def _key(file: Path, trajectory: Trajectory, task: str) -> str:
    """Identity of a session: a log that goes on with another one copies its beginning."""
    source = trajectory.harness.get("source")
    if source == "claude-code":
        replies = (
            content_text(step.message) for step in trajectory.steps if step.source == "agent"
        )
        first = [*_calls(trajectory), *replies][0]
        return digest([trajectory.steps[0].timestamp, task, first])
    # Codex moves a log into the folder of its archive.
    return f"{source if source == 'codex' else file}\n{trajectory.trajectory_id}"


def _of_file(
    file: Path, settings: LearnSettings, since: datetime | None, skipped: list[Skipped]
) -> Iterator[Read]:
    """The wanted sessions of one log."""
    try:
        spans: Spans | None = None
        for trajectory in open_trajectories(file):
            if (reason := _unwanted(trajectory, settings, since)) is not None:
                if reason:
                    skipped.append(Skipped(file=str(file), reason=reason))
                continue
            spans = spans or Spans(file)
            if spans.damaged:
                reason = "damaged, skipped: expected a JSON object"
                skipped.append(Skipped(file=str(file), line=spans.damaged, reason=reason))
                return
            for kind, count in mapping(trajectory.harness.get("passed_over")).items():
                skipped.append(Skipped(file=str(file), reason=kind, events=count))
            # Sessions of one project that were asked the same share a task.
            cwd = string(trajectory.harness.get("cwd"))
            request = " ".join(prompts(trajectory)[0].split()).casefold()
            stem = "".join(char if char.isalnum() else "-" for char in Path(cwd).name.casefold())
            task = f"{stem[:40].strip('-') or 'task'}-{digest([cwd, request])[:8]}"
            outcome = infer_outcome(trajectory, spans)
            yield Read(
                file=file, trajectory=trajectory, outcome=outcome, task=task,
                key=_key(file, trajectory, task), log=digest_file(file),
            )  # fmt: skip
    except BadInput as error:
        skipped.append(Skipped(file=str(file), reason=str(error).partition("\n")[0]))
    except OSError as error:
        skipped.append(Skipped(file=str(file), reason=f"cannot be read: {error.strerror}"))


def _unwanted(
    trajectory: Trajectory, settings: LearnSettings, since: datetime | None
) -> str | None:
    """Give the reason why a session is left out: "" where a filter says so, None where it is
    wanted.
    """
    source = string(trajectory.harness.get("source"))
    if source == {"claude": "codex", "codex": "claude-code"}.get(settings.client):
        return ""
    cwd = string(trajectory.harness.get("cwd"))
    if settings.project is not None and not inside(cwd, settings.project):
        return ""
    if any(inside(cwd, folder) for folder in settings.exclude):
        return "of a folder that is left out (--exclude)"
    times = [step.timestamp for step in trajectory.steps if step.timestamp]
    if since is not None and times and since_time(times[-1]) < since:
        return ""
    if trajectory.harness.get("subagent"):
        return "a sub-agent's own log"
    if not prompts(trajectory):
        return "no prompt of the user in it"
    if not any(step.source == "agent" for step in trajectory.steps):
        return "the agent did nothing in it"
    return None


def inside(cwd: str, folder: Path) -> bool:
    """Return True if a session's folder is `folder`, or below it."""
    return bool(cwd) and Path(cwd).resolve().is_relative_to(folder.expanduser().resolve())


def write_sessions(
    reads: Iterable[Read],
    earlier: Sequence[Session],
    held_out: set[str],
    out: Path,
    redactor: Redactor,
) -> tuple[tuple[Session, ...], tuple[str, ...]]:
    """Redact the sessions and write them, and the text of those that will be sent.

    What was learned from before stays as it was sent, also where its log is gone by now.

    Args:
        reads: sessions as they were logged.
        earlier: sessions that `out` holds, with the user's decisions.
        held_out: tasks of the gate; their sessions teach nothing.
        out: folder of the learning.
        redactor: counts what it replaces.

    Returns:
        The sessions, and what a person should look at in those that no model has read.
    """
    by_key = {row.key: row for row in earlier}
    ids = {row.id for row in earlier}
    rows: list[Session] = []
    suspects: list[str] = []

    def is_there(row: Session) -> bool:
        return row.learned_by != "" and (out / SENT / f"{row.name}.txt").is_file()

    for read in reads:
        row = by_key.pop(read.key, None)
        verdict = (row and row.corrected) or read.outcome.verdict
        if row and (row.log, row.outcome.verdict) == (read.log, verdict) and is_there(row):
            rows.append(_standing(row, held_out))
            continue
        row, clean = _session(read, row, ids, redactor)
        row = _standing(row, held_out)
        if row.teaches:
            text, name = extract(clean), row.name
            row = row.model_copy(update={"tokens": count_tokens(text)})
            private_folder(out / SESSIONS)
            private_folder(out / SENT)
            write_json(out / SESSIONS / f"{name}.json", dump(clean))
            sent = out / SENT / f"{name}.txt"
            write_atomic(sent, text + "\n")
            suspects += [
                f"{sent}:{line}: {word[:6]}… ({len(word)} characters)"
                for line, word in doubtful_words(text)
            ]
            suspects += [
                f"{sent}:{line}: {kind}: {value:.60}" for line, kind, value in personal_data(text)
            ]
        rows.append(row)
    rows += [_standing(row, held_out) for row in by_key.values() if is_there(row)]
    names = {row.name for row in rows if row.teaches}
    for file in (*(out / SESSIONS).glob("*"), *(out / SENT).glob("*")):
        if file.stem not in names:
            file.unlink()
    return tuple(rows), tuple(suspects)


def _standing(row: Session, held_out: set[str]) -> Session:
    """A session's row with whether it teaches, and why not."""
    reasons = {
        "you held it back": row.withheld,
        "its outcome is unknown": row.outcome.verdict == "unknown",
        "its task is held out for the gate": row.task in held_out,
    }
    why_not = next((reason for reason, holds in reasons.items() if holds), "")
    return row.model_copy(update={"teaches": not why_not, "why_not": why_not})


def _session(
    read: Read, earlier: Session | None, ids: set[str], redactor: Redactor
) -> tuple[Session, Trajectory]:
    """The session's row, and the session redacted, with its outcome, its task and an id of its own.

    Analysts read the session itself; what its helpers did stands in the results of its calls.
    """
    client = string(read.trajectory.harness.get("source")) or "atif"
    base_id = read.trajectory.trajectory_id or read.file.stem
    name, number = earlier.id if earlier else base_id, 1
    while earlier is None and name in ids:
        number += 1
        name = f"{base_id}#{number}"
    ids.add(name)
    outcome = read.outcome
    if earlier and earlier.corrected and earlier.corrected != outcome.verdict:
        outcome = Outcome(verdict=earlier.corrected, reason="the user says so")
    metadata: dict[str, JsonValue] = {
        "source": client,
        "digest": read.log,
        "task_id": read.task,
        "task": {"prompt": prompts(read.trajectory)[0]},
    }
    if outcome.verdict != "unknown":
        metadata["outcome"] = outcome.verdict
    document = dump(read.trajectory)
    document.pop("subagent_trajectories", None)
    for step in document["steps"]:
        for result in listing(mapping(step.get("observation")).get("results")):
            mapping(result).pop("subagent_trajectory_ref", None)
    document |= {"trajectory_id": name, "extra": {"harness": metadata}}
    # Nobody quotes the codes of a terminal's colours.
    text = sign("colours_in_json").sub("", json.dumps(document))
    stamped = dump(Trajectory.model_validate_json(text))
    before = redactor.counts.copy()
    # Together, because what is bare in a quote may be named in the session.
    quotes = [claim.quote for claim in outcome.claims]
    cleaned = redactor.clean({"session": stamped, "quotes": quotes})
    clean = Trajectory.model_validate(cleaned["session"])
    claims = tuple(
        claim.model_copy(update={"quote": quote.partition(REDACTED)[0].strip()})
        for claim, quote in zip(outcome.claims, cleaned["quotes"], strict=True)
    )
    prompt = prompts(clean)
    row = Session(
        id=clean.trajectory_id,
        client=client,
        file=str(read.file),
        project=string(read.trajectory.harness.get("cwd")),
        started=next((step.timestamp for step in clean.steps if step.timestamp), "") or "",
        prompt=prompt[0][:PROMPT] if prompt else "",
        task=read.task,
        outcome=outcome.model_copy(update={"claims": claims}),
        redactions=dict(redactor.counts - before),
        log=read.log,
        key=read.key,
        withheld=earlier is not None and earlier.withheld,
        corrected=earlier.corrected if earlier else None,
    )
    return row, clean
