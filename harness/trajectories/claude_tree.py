"""The tree of a Claude Code session: its branch in force, and the lines of its sub-agents."""

from __future__ import annotations

from typing import Any

from harness.trajectories.lenient import Notes, listing, mapping, string

Row = dict[str, Any]


def split_agents(rows: list[Row]) -> tuple[list[Row], dict[str, list[Row]]]:
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


def active_branch(rows: list[Row], notes: Notes) -> list[Row]:
    """The lines from the first to the last message without the branches that were left, in order.

    Where a parent is not in the file (a line was lost), the branch goes on with the line before.
    """
    places = {string(row["uuid"]): at for at, row in enumerate(rows) if row.get("uuid")}
    turns = [at for at, row in enumerate(rows) if row.get("type") in ("user", "assistant")]
    on: set[int] = set()
    at = turns[-1] if turns else -1
    while at >= 0 and at not in on:
        on.add(at)
        at = _parent(rows, at, places)
    on |= _companions(rows, on)
    for place in turns:
        if place not in on:
            notes.add("message on a branch that was left")
    return [row for at, row in enumerate(rows) if at in on]


def _parent(rows: list[Row], at: int, places: dict[str, int]) -> int:
    row = rows[at]
    named = string(row.get("parentUuid")) or string(row.get("logicalParentUuid"))
    if not named:
        # A root: what precedes it is another conversation, unless the log has no tree at all.
        return at - 1 if "parentUuid" not in row else -1
    return places.get(named, at - 1)


def _companions(rows: list[Row], on: set[int]) -> set[int]:
    """Lines that belong to the branch but hang beside it: a reply's other blocks, their results.

    With parallel calls every result is the child of its own call, so the walk up meets only one.
    """
    replies = {string(mapping(rows[at].get("message")).get("id")) for at in on} - {""}
    beside = {
        at
        for at, row in enumerate(rows)
        if row.get("type") == "assistant"
        and string(mapping(row.get("message")).get("id")) in replies
    }
    calls = {string(one.get("id")) for at in on | beside for one in _blocks(rows[at], "tool_use")}
    return beside | {
        at
        for at, row in enumerate(rows)
        if any(string(one.get("tool_use_id")) in calls for one in _blocks(row, "tool_result"))
    }


def _blocks(row: Row, kind: str) -> list[dict[str, Any]]:
    blocks = [mapping(one) for one in listing(mapping(row.get("message")).get("content"))]
    return [block for block in blocks if block.get("type") == kind]
