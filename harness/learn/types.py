"""The values and the settings of learning from session logs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from harness.core import Option, Value, digest
from harness.evolve import AnalystKind, EvolveSettings, Signal
from harness.models import parse_roles

Client = Literal["all", "claude", "codex"]
Verdict = Literal["pass", "fail", "unknown"]
Sign = Literal["tests", "revert", "correction", "undo", "thanks", "approval", "refusal"]
NAME = "learned-from-sessions"
DESCRIPTION = (
    "Rules for work in code repositories, learned from this user's own coding sessions. Use when "
    "changing code, running tests or committing."
)


class Claim(Value):
    """One thing that the log shows, and where anyone can read it.

    Attributes:
        sign: what kind of evidence it is.
        verdict: what it speaks for.
        quote: text of the log, without terminal colours; it stands in `line` of `file`.
        file: the session file.
        line: in `file`, from 1; records of a store are counted the same way.
        step: of the trajectory.
    """

    sign: Sign
    verdict: Literal["pass", "fail"]
    quote: str
    file: str
    line: int
    step: int

    def __str__(self) -> str:
        return f"{self.verdict} by {self.sign}: {self.quote!r} ({self.file}:{self.line})"


class Outcome(Value):
    """Outcome of a session, as far as its log decides.

    Attributes:
        verdict: pass, fail or unknown.
        reason: why, in one sentence.
        claims: what the verdict rests on; where they contradict each other, what does.
    """

    verdict: Verdict
    reason: str
    claims: tuple[Claim, ...] = ()


class Skipped(Value):
    """A log, a session, or events of one that nothing is learned from.

    Attributes:
        file: the log.
        line: where it is damaged, 0 where the whole of it is meant.
        reason: why, in one sentence; of events their type, or why they were passed over.
        events: of the session that were passed over, while the others were read; 0 for a log.
    """

    file: str
    line: int = 0
    reason: str
    events: int = 0

    def __str__(self) -> str:
        return f"{self.file}{f':{self.line}' if self.line else ''}: {self.reason}"


class Session(Value):
    """One session that was read.

    Attributes:
        id: of its trajectory.
        client: which program wrote it.
        file: its log.
        project: the folder that it worked in, "" where the log does not say.
        started: time of its first message, "" where the log does not say.
        prompt: what the user asked first, redacted and cut.
        task: sessions of one project that were asked the same share it.
        outcome: how it ended.
        tokens: of its redacted text, by the packaged count.
        redactions: what was replaced, by kind.
        teaches: whether an analyst will read it.
        why_not: why it teaches nothing.
        log: digest of its log.
        key: copies of one session in several logs share it.
        withheld: whether the user said that it must not leave this machine.
        corrected: the user's own verdict, None where he gave none.
        learned_by: model that has read it, or analyst that needs none; "" before that.
    """

    id: str
    client: str
    file: str
    project: str = ""
    started: str = ""
    prompt: str = ""
    task: str = ""
    outcome: Outcome
    tokens: int = 0
    redactions: dict[str, int] = {}
    teaches: bool = False
    why_not: str = ""
    log: str = ""
    key: str = ""
    withheld: bool = False
    corrected: Verdict | None = None
    learned_by: str = ""

    @property
    def name(self) -> str:
        """Name of its files in `sessions/` and `sent/`, and of its line in `review.md`."""
        plain = re.sub(r"[^\w.-]+", "-", self.id)[:64].strip(".-")
        return f"{self.client}-{plain if plain == self.id else f'{plain}-{digest(self.id)[:6]}'}"

    @property
    def may_leave(self) -> bool:
        """True if its outcome is known and the user has not held it back."""
        return self.outcome.verdict != "unknown" and not self.withheld


class Rebuilt(Value):
    """Result of rebuilding a session's task.

    Attributes:
        session: of which session.
        task: id in the suite, "" if it could not be rebuilt.
        repository: name of its folder.
        commit: that its repository was taken from.
        command: its test command.
        verified: whether the command passes on the commit that followed the session.
        held_out: whether it belongs to the gate; then no analyst reads its sessions.
        why_not: why it could not be rebuilt.
    """

    session: str
    task: str = ""
    repository: str = ""
    commit: str = ""
    command: str = ""
    verified: bool = False
    held_out: bool = False
    why_not: str = ""


class LearnSettings(EvolveSettings):
    """Everything `harness learn` takes; `suite`, `tasks` and `trajectories` come from the sessions.

    Attributes:
        paths: logs and folders of logs; () looks where the clients keep theirs.
        client: whose folders are looked into, and whose sessions are taken.
        since: a date, or an age such as `30d`; "" for all.
        project: take sessions of this folder and below it only.
        exclude: folders whose sessions are left out, now and whenever `out` is used again.
        limit: sessions at most, of the latest logs; of a log with many, its first.
        rebuild: whether tasks are made again from the sessions.
        gate: `auto` (tasks that were made again) or `none`.
    """

    paths: tuple[Path, ...] = ()
    client: Annotated[Client, Option("Whose sessions to take.", names=("--client", "--source"))] = (
        "all"
    )
    since: Annotated[str, Option("Only sessions since a date, or of the last 30d, 2w, 12h.")] = ""
    project: Annotated[
        Path | None,
        Option("Only sessions in this folder and below it.", names=("--project", "--repo")),
    ] = None
    exclude: Annotated[
        tuple[Path, ...],
        Option("Never take sessions of this folder and below it; remembered. May repeat.",
               metavar="REPO"),
    ] = ()  # fmt: skip
    limit: Annotated[int, Field(ge=1), Option("Sessions at most, the latest first.")] = 100  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen
    rebuild: Annotated[
        bool, Option("Make tasks again for a gate.", names=("--rebuild/--no-rebuild",))
    ] = True
    gate: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen
        Literal["auto", "none"], Option("Prove the skill on tasks that were made again, or do not.")
    ] = "auto"
    create: Annotated[str | None, Option("Name of a new skill.", metavar="NAME")] = None
    signal: Annotated[Signal, Option("Which sessions teach.")] = "combined"
    agent: Annotated[
        str | None,
        Option("Agent of the gate: graph:FILE.py:NAME, cmd:COMMAND or py:FILE.py:FUNCTION."),
    ] = None
    analyst: Annotated[
        AnalystKind,
        Option(
            "One model call a session, or examples without a model.", choices=("single", "exemplar")
        ),
    ] = "single"
    concurrency: Annotated[int, Option()] = 16

    @property
    def gathering(self) -> str:
        """Digest of what decides which sessions are read, and what is made of them."""
        names = {"paths", "client", "since", "project", "exclude", "limit", "rebuild", "gate"}
        names |= {"sandbox", "seed"}  # the seed decides which tasks are held out
        return digest(self.model_dump(mode="json", include=names))

    @property
    def reader(self) -> str:
        """The model that reads the sessions, or the analyst that needs none."""
        roles = parse_roles(list(self.models))
        return str(roles["analyst"]) if self.asking[0] else self.analyst

    def evolution(self, sessions: Path, gate: Path | None) -> EvolveSettings:
        """The evolution from the gathered sessions."""
        name = self.create or (None if self.skill else NAME)
        fields = {field: getattr(self, field) for field in EvolveSettings.model_fields}
        fields |= {
            "out": self.out / "evolved",
            "trajectories": sessions,
            "create": name,
            "description": self.description or (DESCRIPTION if name == NAME else ""),
            "gate": "none" if gate is None else str(gate),
        }
        return EvolveSettings.model_validate(fields)
