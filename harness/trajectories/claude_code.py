"""Session logs of Claude Code (`~/.claude/projects/*/*.jsonl`) as ATIF trajectories.

A session is a tree by `parentUuid`: a message that the user took back stays in the file on a branch
of its own. Read is the branch that ends in the last message. Every block of a reply lies on its own
line with the whole reply's usage; lines with one message id are one step, counted once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core import AgentInfo, BadInput, Trajectory
from harness.core.trajectory import FinalMetrics, Metrics, SubagentRef
from harness.trajectories.building import Builder, Draft, text_of
from harness.trajectories.claude_tree import active_branch, split_agents
from harness.trajectories.lenient import Notes, count, listing, mapping, read_lines, string

_TURNS = ("user", "assistant", "system")
_ASIDE = {
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "progress",
    "attachment",
    "custom-title",
    "ai-title",
    "agent-name",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "tag",
}


def is_claude_code(row: dict[str, Any]) -> bool:
    """Whether a row is of such a log."""
    kind = row.get("type")
    if kind in ("user", "assistant", "system"):
        return "uuid" in row or "sessionId" in row
    known = isinstance(kind, str) and kind in _ASIDE
    return known and any(key in row for key in ("leafUuid", "messageId", "sessionId", "uuid"))


def read_claude_code(path: Path) -> Iterator[Trajectory]:
    """Convert a session log, or every session in a folder and below it.

    Sub-agents are embedded in their session, whether they lie on side-chain lines or in
    `agent-*.jsonl` files beside it; an agent file whose session is absent stands alone.

    Raises:
        BadInput: if a file that is named holds no message; in a folder, such files are passed over.
    """
    if not path.is_dir():
        yield _convert(path)
        return
    taken: set[Path] = set()
    files = sorted(path.rglob("*.jsonl"))
    for file in sorted(files, key=lambda one: one.name.startswith("agent-")):
        if file in taken:
            continue
        taken |= set(_agent_files(file))
        try:
            yield _convert(file)
        except _Empty:
            continue  # a session that was opened and closed again


class _Empty(BadInput):
    pass


def _agent_files(path: Path) -> list[Path]:
    """The sub-agents' files of a session."""
    if path.name.startswith("agent-"):
        return []
    inside = sorted((path.parent / path.stem / "subagents").glob("agent-*.jsonl"))
    return inside + [
        file
        for file in sorted(path.parent.glob("agent-*.jsonl"))
        if next((row.get("sessionId") for row in read_lines(file, Notes())), None) == path.stem
    ]


def _convert(path: Path) -> Trajectory:
    notes = Notes()
    rows = [row for row in read_lines(path, notes) if _known(row, notes)]
    main, agents = split_agents(rows)
    if not main and len(agents) == 1:
        (main,) = agents.values()  # an agent's own file
        agents = {}
    for file in _agent_files(path):
        found = [row for row in read_lines(file, notes) if _known(row, notes)]
        agents[file.stem.removeprefix("agent-")] = found
    session = next((string(row["sessionId"]) for row in main if "sessionId" in row), path.stem)
    name = path.stem if path.name.startswith("agent-") else session
    subs = {
        agent: sub
        for agent, lines in agents.items()
        if (sub := _trajectory(lines, f"{name}:{agent}", session, Notes(), {})) is not None
    }
    found = _trajectory(main, name, session, notes, subs, path.name)
    if found is None:
        raise _Empty(f"{str(path)!r}: expected a Claude Code session, found no message in it")
    return found


def _known(row: dict[str, Any], notes: Notes) -> bool:
    kind = string(row.get("type"))
    if kind not in _TURNS and kind not in _ASIDE:
        notes.add(f"unknown line: {kind or 'no type'}")
    return kind in _TURNS or "uuid" in row


def _trajectory(
    rows: list[dict[str, Any]],
    name: str,
    session: str,
    notes: Notes,
    subs: dict[str, Trajectory],
    path: str = "",
) -> Trajectory | None:
    branch = active_branch(rows, notes)
    turns = _Turns(notes, subs)
    for row in branch:
        turns.take(row)
    steps = turns.builder.steps()
    if not steps:
        return None
    facts: dict[str, JsonValue] = {"source": "claude-code"}
    facts |= {"path": path} if path else {}
    facts |= {k: v for k in ("cwd", "gitBranch") if (v := _first(branch, k))}
    models = [draft.model for draft in turns.builder.drafts if draft.model]
    return Trajectory(
        session_id=session,
        trajectory_id=name,
        agent=AgentInfo(
            name="claude-code",
            version=_first(branch, "version") or "unknown",
            model_name=models[-1] if models else None,
        ),
        steps=steps,
        final_metrics=_sum(turns.builder.drafts),
        subagent_trajectories=tuple(subs.values()) or None,
        extra={"harness": {**facts, **notes.facts()}},
    )


def _first(rows: list[dict[str, Any]], key: str) -> str:
    return next((found for row in rows if (found := string(row.get(key)))), "")


class _Turns:
    def __init__(self, notes: Notes, subs: dict[str, Trajectory]) -> None:
        self.builder = Builder(notes)
        self._notes, self._subs = notes, subs
        self._replies: dict[str, Draft] = {}

    def take(self, row: dict[str, Any]) -> None:
        kind, message = row.get("type"), mapping(row.get("message"))
        if kind == "assistant":
            self._reply(message, row.get("timestamp"))
        elif kind == "user":
            self._user(row, message.get("content"))
        elif kind == "system":
            draft = self.builder.begin("system", row.get("timestamp"), text_of(row.get("content")))
            draft.extra["claude_code"] = string(row.get("subtype"))

    def _user(self, row: dict[str, Any], content: Any) -> None:
        results = [mapping(one) for one in listing(content)]
        results = [one for one in results if one.get("type") == "tool_result"]
        for one in results:
            extra: dict[str, JsonValue] = {"is_error": True} if one.get("is_error") is True else {}
            agent = string(mapping(row.get("toolUseResult")).get("agentId"))
            sub = self._subs.get(agent)
            refs = [SubagentRef(trajectory_id=sub.trajectory_id)] if sub else []
            self.builder.result(one.get("tool_use_id"), text_of(one.get("content")), extra, refs)
        said: Any = content
        if isinstance(content, list):
            blocks = listing(content)  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
            said = [one for one in blocks if mapping(one).get("type") != "tool_result"]
        if said or not results:
            draft = self.builder.begin("user", row.get("timestamp"), text_of(said))
            if row.get("isMeta") is True:
                draft.extra["claude_code"] = "meta"
            elif row.get("isCompactSummary") is True:
                draft.extra["claude_code"] = "compact"

    def _reply(self, message: dict[str, Any], when: Any) -> None:
        reply = string(message.get("id"))
        draft = self._replies.get(reply) if reply else None
        if draft is None:
            draft = self.builder.begin("agent", when)
            self._replies[reply] = draft
        draft.model = string(message.get("model")) or draft.model
        if usage := mapping(message.get("usage")):
            draft.metrics = _metrics(usage)
        content = message.get("content")
        for raw in [content] if isinstance(content, str) else listing(content):
            block = mapping(raw)
            kind = "text" if isinstance(raw, str) else string(block.get("type"))
            if kind == "text":
                draft.texts.append(raw if isinstance(raw, str) else string(block.get("text")))
            elif kind == "thinking":
                draft.thoughts.append(string(block.get("thinking")))
            elif kind in ("tool_use", "server_tool_use"):
                self.builder.call(draft, block.get("id"), block.get("name"), block.get("input"))
            elif kind != "redacted_thinking":
                self._notes.add(f"unknown block: {kind or 'no type'}")


def _metrics(usage: dict[str, Any]) -> Metrics:
    """ATIF counts cached tokens among the prompt's; the log counts them apart."""
    read = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    return Metrics(
        prompt_tokens=count(usage.get("input_tokens")) + read + written,
        completion_tokens=count(usage.get("output_tokens")),
        cached_tokens=read,
    )


def _sum(drafts: list[Draft]) -> FinalMetrics | None:
    found = [draft.metrics for draft in drafts if draft.metrics is not None]
    if not found:
        return None
    return FinalMetrics(
        total_prompt_tokens=sum(one.prompt_tokens or 0 for one in found),
        total_completion_tokens=sum(one.completion_tokens or 0 for one in found),
        total_cached_tokens=sum(one.cached_tokens or 0 for one in found),
    )
