"""Sessions read, judged and redacted, before anything is sent anywhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    remove_tree,
    string,
    write_atomic,
)
from harness.core.redaction import REDACTED, Redactor
from harness.evolve import Event, extract
from harness.learn.acts import prompts
from harness.learn.entropy import random_words
from harness.learn.outcomes import infer_outcome
from harness.learn.session_logs import Spans, fault, session_files, since_time
from harness.learn.types import LearnSettings, Outcome, RandomWord, Rebuilt, Session, Skipped
from harness.skills import count_tokens
from harness.trajectories import content_text, dump, open_trajectories

SESSIONS, SENT = "sessions", "sent"
PROMPT = 200
_CLIENTS = {"claude": "claude-code", "codex": "codex"}


class Gathered(Value):
    """Sessions that were read, and what is about to be sent.

    Attributes:
        key: digest of the settings that decided it.
        sessions: every session that was read.
        skipped: logs and sessions that were not, with reasons.
        tasks: what became of each session's task.
        gate: the suite of held-out tasks, "" without a gate.
        no_gate: why there is none.
        redactions: secrets that were replaced, by kind.
        tokens: of what the analysts will read, by the packaged count.
        folder: of the redacted sessions.
        sent: folder with the very text that goes into the analysts' prompts.
        random_words: what looks random in that text: a secret of no known kind, or none.
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
    random_words: tuple[RandomWord, ...] = ()

    @property
    def outcomes(self) -> dict[str, int]:
        """Count the sessions that passed, failed and are unknown."""
        counts = Counter(session.outcome.verdict for session in self.sessions)
        return {"pass": counts["pass"], "fail": counts["fail"], "unknown": counts["unknown"]}

    @property
    def teaching(self) -> tuple[Session, ...]:
        """The sessions that an analyst will read."""
        return tuple(session for session in self.sessions if session.teaches)


class Read(Value):
    """One session, as it was logged."""

    file: Path
    trajectory: Trajectory
    outcome: Outcome
    task: str


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
            run = read.trajectory
            key = f"{read.file}\n{run.trajectory_id}"
            if run.harness.get("source") == "claude-code":
                # What a session shares with its copy in a log that goes on with it.
                replies = [
                    content_text(step.message) for step in run.steps if step.source == "agent"
                ]
                key = digest([run.steps[0].timestamp, read.task, (_calls(read) or replies)[0]])
            earlier = reads.get(key)
            if earlier is None and len(reads) >= settings.limit:
                skipped.append(Skipped(file=str(file), reason="it holds more than --limit takes"))
                break
            longer = earlier is None or len(earlier.trajectory.steps) < len(read.trajectory.steps)
            if longer:
                reads[key] = read
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
        for other in reads
        if other.trajectory.trajectory_id == source
        for call in _calls(other)
    }
    if copied and set(_calls(read)) - copied:
        return False  # another attempt, which goes its own way
    reason = "a fork: what it shares with its original counts there, and it adds no work"
    if not copied:
        reason = f"a fork of {source}, which is not among the logs: its own part cannot be told"
    skipped.append(Skipped(file=str(read.file), reason=reason))
    return True


def _calls(read: Read) -> list[str]:
    steps = read.trajectory.steps
    return [call.tool_call_id for step in steps for call in step.tool_calls or ()]


def _of_file(
    file: Path, settings: LearnSettings, since: datetime | None, skipped: list[Skipped]
) -> Iterator[Read]:
    """The wanted sessions of one log."""
    try:
        if (damage := fault(file)) is not None:
            skipped.append(damage)
            return
        spans: Spans | None = None
        for trajectory in open_trajectories(file):
            if (reason := _unwanted(trajectory, settings, since)) is not None:
                if reason:
                    skipped.append(Skipped(file=str(file), reason=reason))
                continue
            spans = spans or Spans(file)
            # Sessions of one project that were asked the same share a task.
            cwd = string(trajectory.harness.get("cwd"))
            request = " ".join(prompts(trajectory)[0].split()).casefold()
            stem = "".join(char if char.isalnum() else "-" for char in Path(cwd).name.casefold())
            task = f"{stem[:40].strip('-') or 'task'}-{digest([cwd, request])[:8]}"
            outcome = infer_outcome(trajectory, spans)
            yield Read(file=file, trajectory=trajectory, outcome=outcome, task=task)
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
    unwanted = {name for client, name in _CLIENTS.items() if client != settings.client}
    if settings.client != "all" and source in unwanted:
        return ""
    if settings.project is not None:
        cwd = string(trajectory.harness.get("cwd"))
        project = settings.project.expanduser().resolve()
        if not cwd or not Path(cwd).resolve().is_relative_to(project):
            return ""
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


def write_sessions(
    reads: list[Read], held_out: set[str], out: Path, redactor: Redactor, key: str
) -> Gathered:
    """Redact the sessions and write them, and the text of those that will be sent.

    Args:
        reads: sessions as they were logged.
        held_out: tasks of the gate; their sessions teach nothing.
        out: folder of the learning.
        redactor: counts what it replaces.
        key: digest of the settings.
    """
    for name in (SESSIONS, SENT):
        remove_tree(out / name)
    rows: list[Session] = []
    suspects: list[RandomWord] = []
    ids: set[str] = set()
    for read in reads:
        row, clean = _session(read, held_out, redactor, ids)
        text = extract(clean) if row.teaches else ""
        rows.append(row.model_copy(update={"tokens": count_tokens(text) if text else 0}))
        if not row.teaches:
            continue
        name = f"{row.client}-{digest(row.id)[:12]}"
        document = json.dumps(dump(clean), ensure_ascii=False, indent=1)
        private_folder(out / SESSIONS)
        private_folder(out / SENT)
        write_atomic(out / SESSIONS / f"{name}.json", document + "\n")
        write_atomic(out / SENT / f"{name}.txt", text + "\n")
        for line, word in random_words(text):
            file = str(out / SENT / f"{name}.txt")
            suspects.append(RandomWord(file=file, line=line, start=word[:6], length=len(word)))
    return Gathered(
        key=key,
        sessions=tuple(rows),
        redactions=dict(sorted(redactor.counts.items())),
        tokens=sum(row.tokens for row in rows if row.teaches),
        folder=str(out / SESSIONS),
        sent=str(out / SENT),
        random_words=tuple(suspects),
    )


def _session(
    read: Read, held_out: set[str], redactor: Redactor, ids: set[str]
) -> tuple[Session, Trajectory]:
    """The session's row, and the session redacted, with its outcome, its task and an id of its own.

    Analysts read the session itself; what its helpers did stands in the results of its calls.
    """
    client = string(read.trajectory.harness.get("source")) or "atif"
    own = read.trajectory.trajectory_id or read.file.stem
    name, number = own, 1
    while name in ids:
        number += 1
        name = f"{own}#{number}"
    ids.add(name)
    facts: dict[str, JsonValue] = {
        "source": client,
        "digest": digest_file(read.file),
        "task_id": read.task,
        "task": {"prompt": prompts(read.trajectory)[0]},
    }
    if read.outcome.verdict != "unknown":
        facts["outcome"] = read.outcome.verdict
    document = dump(read.trajectory)
    document.pop("subagent_trajectories", None)
    for step in document["steps"]:
        for result in listing(mapping(step.get("observation")).get("results")):
            mapping(result).pop("subagent_trajectory_ref", None)
    document |= {"trajectory_id": name, "extra": {"harness": facts}}
    stamped = dump(Trajectory.model_validate(document))
    before = redactor.counts.copy()
    # Together, because what is bare in a quote may be named in the session.
    claims = [claim.quote for claim in read.outcome.claims]
    cleaned = redactor.clean({"session": stamped, "claims": claims})
    clean = Trajectory.model_validate(cleaned["session"])
    outcome = read.outcome.model_copy(
        update={
            "claims": tuple(
                claim.model_copy(update={"quote": quote.partition(REDACTED)[0].strip()})
                for claim, quote in zip(read.outcome.claims, cleaned["claims"], strict=True)
            )
        }
    )
    prompt = prompts(clean)
    why_not = ""
    if read.outcome.verdict == "unknown":
        why_not = "its outcome is unknown"
    elif read.task in held_out:
        why_not = "its task is held out for the gate"
    row = Session(
        id=clean.trajectory_id,
        client=client,
        file=str(read.file),
        project=string(read.trajectory.harness.get("cwd")),
        started=next((step.timestamp for step in clean.steps if step.timestamp), "") or "",
        prompt=prompt[0][:PROMPT] if prompt else "",
        task=read.task,
        outcome=outcome,
        redactions=dict(redactor.counts - before),
        teaches=not why_not,
        why_not=why_not,
    )
    return row, clean
