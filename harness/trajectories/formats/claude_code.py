"""Session logs of Claude Code (`~/.claude/projects/*/*.jsonl`) as ATIF trajectories.

A session is a tree by `parentUuid`: a message that the user took back stays in the file on a branch
of its own. Read is the branch that ends in the last message. Every block of a reply lies on its own
line with the whole reply's usage; lines with one message id are one step, counted once. A text that
grew from line to line, or a line that was written twice, stands there once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core import AgentInfo, BadInput, Trajectory, count, listing, mapping, string
from harness.core.trajectory import SubagentRef
from harness.trajectories.building import Builder, Draft, final_metrics, metrics_of
from harness.trajectories.lenient import Notes, read_lines
from harness.trajectories.messages import Turn, message_turns, text_of

Row = dict[str, Any]
_TURNS = ("user", "assistant", "system")
_BLOCKS = ("text", "thinking", "redacted_thinking", "tool_use")
_ASIDE = (
    *("summary", "file-history-snapshot", "queue-operation", "progress", "attachment"),
    *("custom-title", "ai-title", "agent-name", "last-prompt", "mode", "permission-mode"),
    *("pr-link", "tag"),
)


def is_claude_code(row: Row) -> bool:
    """Return True if a row is of such a log."""
    kind = row.get("type")
    if kind in _TURNS:
        return "uuid" in row or "sessionId" in row
    return kind in _ASIDE and bool(row.keys() & {"leafUuid", "messageId", "sessionId", "uuid"})


def read_claude_code(path: Path) -> Iterator[Trajectory]:
    """Convert a session log, or every session in a folder and below it.

    Sub-agents are embedded in their session, whether they lie on side-chain lines or in
    `agent-*.jsonl` files beside it; an agent file whose session is absent stands alone.

    Raises:
        BadInput: if a file that is named holds no message; in a folder, such files are passed over.
    """
    if not path.is_dir():
        session = _session(path)
        if session is None:
            raise BadInput(f"{str(path)!r}: expected a Claude Code session, found no message in it")
        yield session
        return
    embedded: set[Path] = set()
    files = sorted(path.rglob("*.jsonl"))
    for file in sorted(files, key=lambda file: file.name.startswith("agent-")):
        if file not in embedded:
            embedded |= set(_agent_files(file))
            session = _session(file)
            if session is not None:  # else one that was opened and closed again
                yield session


def _agent_files(path: Path) -> list[Path]:
    """The sub-agents' files of a session."""
    if path.name.startswith("agent-"):
        return []
    files = sorted((path.parent / path.stem / "subagents").glob("agent-*.jsonl"))
    for file in sorted(path.parent.glob("agent-*.jsonl")):
        first = next(read_lines(file, Notes()), None)
        if mapping(first).get("sessionId") == path.stem:
            files.append(file)
    return files


def _session(path: Path) -> Trajectory | None:
    notes = Notes()
    main, agents = _split_agents(_rows(path, notes))
    metadata: dict[str, JsonValue] = {"path": path.name}
    if not main and len(agents) == 1:
        (main,) = agents.values()  # an agent's own file
        agents, metadata = {}, {**metadata, "subagent": True}
    for file in _agent_files(path):
        agents[file.stem.removeprefix("agent-")] = _rows(file, notes)
    session = next((string(row["sessionId"]) for row in main if "sessionId" in row), path.stem)
    name = path.stem if path.name.startswith("agent-") else session
    subagents: dict[str, Trajectory] = {}
    for agent, rows in agents.items():
        trajectory = _trajectory(rows, f"{name}:{agent}", session, notes, {}, {})
        if trajectory is not None:
            subagents[agent] = trajectory
    return _trajectory(main, name, session, notes, subagents, metadata)


def _rows(path: Path, notes: Notes) -> list[Row]:
    rows: list[Row] = []
    queue: list[Row] = []
    for row in read_lines(path, notes):
        kind = string(row.get("type"))
        if kind == "queue-operation":  # one that is delivered stands on a line of its own
            typed = {"type": "queued_command", "prompt": row.get("content")}
            if row.get("operation") == "enqueue":
                queue.append({**row, "type": "attachment", "attachment": typed})
            else:  # popAll takes them all back into the editor
                del queue[: None if row.get("operation") == "popAll" else 1]
        if kind not in _TURNS and kind not in _ASIDE:
            notes.add(f"unknown line: {kind or 'no type'}")
        if kind in _TURNS or "uuid" in row:
            rows.append(row)
    return rows + queue  # typed, and the session ended before the agent could read it


def _split_agents(rows: list[Row]) -> tuple[list[Row], dict[str, list[Row]]]:
    """The lines of the session itself, and those of every side chain by its agent.

    A side chain is named by `agentId`, and in older logs by the uuid of its first line.
    """
    roots: dict[str, str] = {}
    main: list[Row] = []
    agents: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("isSidechain") is not True:
            main.append(row)
            continue
        uuid, parent = string(row.get("uuid")), string(row.get("parentUuid"))
        root = string(row.get("agentId")) or roots.get(parent, uuid or "unnamed")
        roots[uuid] = root
        agents.setdefault(root, []).append(row)
    return main, agents


def _active_branch(rows: list[Row], notes: Notes) -> list[Row]:
    """The lines from the first to the last message without the branches that were left, in order.

    Where a parent is not in the file (a line was lost), the branch goes on with the line before.
    """
    index_of = {string(row["uuid"]): index for index, row in enumerate(rows) if row.get("uuid")}
    turns = [i for i, row in enumerate(rows) if row.get("type") in ("user", "assistant")
             or _queued(row)]  # fmt: skip
    branch: set[int] = set()
    index = turns[-1] if turns else -1
    while index >= 0 and index not in branch:
        branch.add(index)
        row = rows[index]
        parent = string(row.get("parentUuid")) or string(row.get("logicalParentUuid"))
        if parent:
            index = index_of.get(parent, index - 1)
        else:
            # A root: what precedes it is another conversation, unless the log has no tree at all.
            index = index - 1 if "parentUuid" not in row else -1
    # A reply's other blocks and their results belong to the branch but hang beside it: with
    # parallel calls every result is the child of its own call, so the walk up meets only one.
    ids = {_message_id(rows[i]) for i in branch} - {""}
    branch |= {
        i
        for i, row in enumerate(rows)
        if row.get("type") == "assistant" and _message_id(row) in ids
    }
    calls = {string(block.get("id")) for i in branch for block in _blocks(rows[i], "tool_use")}
    branch |= {
        i
        for i, row in enumerate(rows)
        if any(string(block.get("tool_use_id")) in calls for block in _blocks(row, "tool_result"))
    }
    for _ in set(turns) - branch:
        notes.add("message on a branch that was left")
    return [row for i, row in enumerate(rows) if i in branch]


def _queued(row: Row) -> Row:
    """A message that was typed, or that came in, while the agent worked; {} for any other line."""
    attachment = mapping(row.get("attachment"))
    return attachment if attachment.get("type") == "queued_command" else {}


def _message_id(row: Row) -> str:
    return string(mapping(row.get("message")).get("id"))


def _blocks(row: Row, kind: str) -> list[Row]:
    blocks = map(mapping, listing(mapping(row.get("message")).get("content")))
    return [block for block in blocks if block.get("type") == kind]


def _trajectory(
    rows: list[Row],
    name: str,
    session: str,
    notes: Notes,
    subagents: dict[str, Trajectory],
    metadata: dict[str, JsonValue],
) -> Trajectory | None:
    branch = _active_branch(rows, notes)
    turns = _Turns(notes, subagents)
    for row in branch:
        turns.take(row)
    steps = turns.builder.steps()
    if not steps:
        return None

    def first(key: str) -> str:
        return next((value for row in branch if (value := string(row.get(key)))), "")

    metadata = {"source": "claude-code", **metadata}
    metadata |= {key: value for key in ("cwd", "gitBranch") if (value := first(key))}
    models = [draft.model for draft in turns.builder.drafts if draft.model]
    return Trajectory(
        session_id=session,
        trajectory_id=name,
        agent=AgentInfo(
            name="claude-code",
            version=first("version") or "unknown",
            model_name=models[-1] if models else None,
        ),
        steps=steps,
        final_metrics=final_metrics(draft.metrics for draft in turns.builder.drafts),
        subagent_trajectories=tuple(subagents.values()) or None,
        extra={"harness": {**metadata, **notes.facts()}},
    )


class _Turns:
    def __init__(self, notes: Notes, subagents: dict[str, Trajectory]) -> None:
        self.builder = Builder(notes)
        self._notes, self._subagents = notes, subagents
        self._replies: dict[str, Draft] = {}

    def take(self, row: Row) -> None:
        kind, message = row.get("type"), mapping(row.get("message"))
        if kind == "assistant":
            self._reply(message, row.get("timestamp"))
        elif kind == "user":
            self._user(row, message.get("content"))
        elif queued := _queued(row):
            draft = self.builder.begin("user", row.get("timestamp"), text_of(queued.get("prompt")))
            if queued.get("commandMode", "prompt") != "prompt":
                draft.extra["claude_code"] = "meta"
        elif kind == "attachment":
            attached = string(mapping(row.get("attachment")).get("type"))
            self._notes.add(f"attachment: {attached or 'no type'}")
        elif kind == "system":
            draft = self.builder.begin("system", row.get("timestamp"), text_of(row.get("content")))
            draft.extra["claude_code"] = string(row.get("subtype"))

    def _user(self, row: Row, content: Any) -> None:
        results = _blocks(row, "tool_result")
        for result in results:
            extra: dict[str, JsonValue] = {}
            if result.get("is_error") is True:
                extra["is_error"] = True
            agent = string(mapping(row.get("toolUseResult")).get("agentId"))
            sub = self._subagents.get(agent)
            refs = [SubagentRef(trajectory_id=sub.trajectory_id)] if sub else []
            text = text_of(result.get("content"))
            self.builder.result(result.get("tool_use_id"), text, extra, refs)
        if isinstance(content, list):
            blocks = listing(content)  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
            content = [block for block in blocks if mapping(block).get("type") != "tool_result"]
        if content or not results:
            draft = self.builder.begin("user", row.get("timestamp"), text_of(content))
            if row.get("isMeta") is True:
                draft.extra["claude_code"] = "meta"
            elif row.get("isCompactSummary") is True:
                draft.extra["claude_code"] = "compact"

    def _reply(self, message: Row, when: Any) -> None:
        reply = string(message.get("id"))
        draft = self._replies.get(reply) if reply else None
        if draft is None:
            draft = self._replies[reply] = self.builder.begin("agent", when)
        draft.model = string(message.get("model")) or draft.model
        if usage := mapping(message.get("usage")):
            read = count(usage.get("cache_read_input_tokens"))
            written = count(usage.get("cache_creation_input_tokens"))
            draft.metrics = metrics_of(usage, read, written)
        content = message.get("content")
        blocks: list[Any] = []
        for raw in [content] if isinstance(content, str) else listing(content):
            block = {"type": "text", "text": raw} if isinstance(raw, str) else mapping(raw)
            kind = string(block.get("type"))
            if kind in _BLOCKS:
                blocks.append(block)
            elif kind == "server_tool_use":
                blocks.append({**block, "type": "tool_use"})
            else:
                self._notes.add(f"unknown block: {kind or 'no type'}")
        for turn in message_turns({"role": "assistant", "content": blocks}):
            _take_back(draft, turn)
            self.builder.take(turn, draft=draft)


def _take_back(draft: Draft, turn: Turn) -> None:
    """Remove what a line of a reply says again, the beginning of its text included."""
    for pieces, text in ((draft.texts, turn.text), (draft.thoughts, turn.reasoning)):
        if pieces and text.startswith(pieces[-1]):
            pieces.pop()
    again = {call.id for call in turn.calls}
    draft.calls = [call for call in draft.calls if call.tool_call_id not in again]
