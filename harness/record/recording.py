"""The folder of a recording: its log, and the trajectories that are made from it."""

from __future__ import annotations

from pathlib import Path

from harness.core import BadInput, Trajectory
from harness.core.redaction import Redactor
from harness.record.conversations import conversations, trajectory_of
from harness.record.exchanges import FILE, Event, Exchange, gather, read_log
from harness.trajectories import TrajectoryStore, dump, redact_trajectory


class Recording:
    """A recording as it lies on disk.

    Args:
        folder: of the recording; one that is absent or empty holds nothing.
        must: whether it must be there.

    Attributes:
        events: as they were written.
        exchanges: that the events tell of, in the order they were asked.

    Raises:
        BadInput: if it must be there and is not, or it is damaged in the middle.
    """

    def __init__(self, folder: Path, *, must: bool = True) -> None:
        self.folder = folder
        exists = must or (folder / FILE).is_file()
        self.events: list[Event] = list(read_log(folder)) if exists else []
        self.exchanges: list[Exchange] = gather(self.events)
        if must and not self.exchanges:
            raise BadInput(f"the recording {str(folder)!r} holds no exchange")

    @property
    def next(self) -> int:
        """Number of the next exchange."""
        return max((exchange.number for exchange in self.exchanges), default=0) + 1

    def sessions(self) -> dict[str, str]:
        """Agents by session, in order."""
        began = (event for event in self.events if event.get("event") == "session")
        return {event["session"]: str(event.get("agent", "unknown")) for event in began}

    def shortened(self) -> list[Event]:
        """The tool outputs that were compressed, each once."""
        events = [event for event in self.events if event.get("event") == "compressed"]
        return [{name: event[name] for name in event if name != "event"} for event in events]

    def trajectories(self, session: str, secrets: Redactor) -> list[Trajectory]:
        """The trajectories of a session, one a conversation, without keys.

        Exchanges that were answered from the record belong to it, too.
        """
        by_number = {exchange.number: exchange for exchange in self.exchanges}
        numbers = [
            event["exchange"]
            for event in self.events
            if event["event"] in ("request", "given") and event["session"] == session
        ]
        agent = self.sessions().get(session, "unknown")
        talks = conversations(by_number[number] for number in numbers)
        trajectories: list[Trajectory] = []
        for number, talk in enumerate((talk for talk in talks if talk.moves), start=1):
            trajectory = trajectory_of(talk, f"{session}-{number}", session, agent)
            clean = Trajectory.model_validate(secrets.clean(dump(trajectory)))
            trajectories.append(redact_trajectory(clean)[0])
        return trajectories

    def write_trajectories(self, secrets: Redactor) -> list[str]:
        """Write the trajectories that are not written yet, of sessions that were killed too.

        Returns:
            Their ids.
        """
        written: list[str] = []
        with TrajectoryStore(self.folder / "trajectories") as store:
            for session in self.sessions():
                for trajectory in self.trajectories(session, secrets):
                    if trajectory.trajectory_id not in store:
                        store.append(trajectory)
                        written.append(trajectory.trajectory_id)
        return written
