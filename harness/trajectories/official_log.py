"""The official Trace2Skill chat log: Markdown and JSONL, read and written byte for byte.

The Markdown form has no escaping, so a message may look like the start of the next one. A header
counts only if it carries the next index, follows a `---` line, and lies neither in an open
observation fence nor in a log that is quoted between `<agent_log>` lines. What is still ambiguous
is found by reading back what was written (:func:`sidecar`); a side-car then keeps the truth.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from pydantic import JsonValue, ValidationError

from harness.core import BadInput, Value, digest
from harness.core.jsonl import parse_row
from harness.core.values import first_fault

Role = Literal["system", "user", "assistant"]
_PREAMBLE = re.compile(r"# Chat History: (.*)\n\n\*\*Timestamp\*\*: (.*)\n\n---\n\n")
_HEADER = re.compile(r"## \[([1-9]\d*)\] (SYSTEM|USER|ASSISTANT)")
_RESULT = re.compile(
    r"## RESULT\n\n- Success: (True|False)\n- Total Turns: (0|[1-9]\d*)\n"
    r"(?:- Error: ([\s\S]+)\n)?"
)
_FENCE = re.compile(r"`{3,}")
_END = "\n\n---\n\n"


class Message(Value):
    """One message; `timestamp` in JSONL logs only."""

    role: Role
    content: str
    timestamp: str | None = None


class LogResult(Value):
    """The end of a log: finished with an output file, and the number of turns."""

    success: bool
    total_turns: int
    error: str | None = None
    timestamp: str | None = None


class OfficialLog(Value):
    """One log.

    Attributes:
        agent_name: as in the title.
        timestamp: ISO 8601, without a zone.
        messages: in order; indices are implied.
        result: None if the run was stopped.
        closed: False if the last message of a Markdown log has no closing rule.
    """

    agent_name: str
    timestamp: str
    messages: tuple[Message, ...]
    result: LogResult | None = None
    closed: bool = True


def dump_markdown(log: OfficialLog) -> str:
    """Write a log as the official agent does."""
    parts = [f"# Chat History: {log.agent_name}\n\n**Timestamp**: {log.timestamp}{_END}"]
    for index, message in enumerate(log.messages, start=1):
        parts.append(f"## [{index}] {message.role.upper()}\n\n{message.content}{_END}")
    text = "".join(parts)
    if not log.closed:
        return text.removesuffix(_END)
    if log.result is None:
        return text
    text += f"## RESULT\n\n- Success: {log.result.success}\n"
    text += f"- Total Turns: {log.result.total_turns}\n"
    return text + (f"- Error: {log.result.error}\n" if log.result.error else "")


def parse_markdown(text: str, where: str = "log") -> OfficialLog:
    """Read a Markdown log; writing the result gives `text` again, always.

    Raises:
        BadInput: if `text` is no official log.
    """
    start = _PREAMBLE.match(text)
    if start is None:
        raise BadInput(
            f"{where}: expected '# Chat History: NAME' and a '**Timestamp**: ' line,"
            f" got {text[:60]!r}"
        )
    result, end = _result(text, start.end())
    headers = _headers(text, start.end(), end)
    if not headers and text[start.end() : end]:
        raise BadInput(
            f"{where}: expected '## [1] ROLE' after the title, got {text[start.end() :][:60]!r}"
        )
    messages: list[Message] = []
    closed = True
    for number, (_, body, role) in enumerate(headers):
        last = number + 1 == len(headers)
        content = text[body : end if last else headers[number + 1][0]]
        if last and not content.endswith(_END):
            closed = False
        messages.append(Message(role=role, content=content.removesuffix(_END)))
    log = OfficialLog(
        agent_name=start[1],
        timestamp=start[2],
        messages=tuple(messages),
        result=result,
        closed=closed,
    )
    if dump_markdown(log) != text:
        raise BadInput(f"{where}: a log with text outside its messages cannot be kept exactly")
    return log


def _result(text: str, start: int) -> tuple[LogResult | None, int]:
    at = text.rfind("\n## RESULT\n", start - 1)
    if at < 0:
        return None, len(text)
    found = _RESULT.fullmatch(text, at + 1)
    if found is None:
        return None, len(text)
    result = LogResult(success=found[1] == "True", total_turns=int(found[2]), error=found[3])
    return result, at + 1


def _headers(text: str, start: int, end: int) -> list[tuple[int, int, Role]]:
    """(offset of the header, offset of its content, role) of every message."""
    lines: list[tuple[int, str]] = []
    offset = start
    for line in text[start:end].split("\n"):
        lines.append((offset, line))
        offset += len(line) + 1
    found: list[tuple[int, int, Role]] = []
    number = 0
    while number < len(lines):
        at, line = lines[number]
        header = _HEADER.fullmatch(line)
        if header and int(header[1]) == len(found) + 1 and _after_rule(lines, number):
            role: Role = header[2].lower()  # pyright: ignore[reportAssignmentType]  # one of three by the pattern
            found.append((at, at + len(line) + 2, role))
            if role == "user" and (fence := _open_fence(lines, number)):
                number = _close_fence(lines, number + 4, fence) or number
        elif line == "<agent_log>" and found and found[-1][2] == "user":
            number = _close_quote(lines, number) or number
        number += 1
    return found


def _after_rule(lines: list[tuple[int, str]], number: int) -> bool:
    """Whether line `number` may start a message: a blank line follows, a rule precedes."""
    if number + 1 >= len(lines) or lines[number + 1][1] != "":
        return False
    if number == 0:
        return True
    return number >= 2 and lines[number - 1][1] == "" and lines[number - 2][1] == "---"


def _open_fence(lines: list[tuple[int, str]], header: int) -> str | None:
    if header + 3 >= len(lines) or lines[header + 2][1] != "Observation:":
        return None
    fence = lines[header + 3][1]
    return fence if _FENCE.fullmatch(fence) else None


def _close_fence(lines: list[tuple[int, str]], start: int, fence: str) -> int | None:
    """Line that closes the observation: the fence, then the rule that ends the message."""
    for number in range(start, len(lines) - 2):
        if [line for _, line in lines[number : number + 3]] == [fence, "", "---"]:
            return number
    return None


def _close_quote(lines: list[tuple[int, str]], start: int) -> int | None:
    for number in range(start + 1, len(lines)):
        if lines[number][1] == "</agent_log>":
            return number
    return None


def sidecar(log: OfficialLog) -> dict[str, JsonValue] | None:
    """What must lie beside the Markdown so that `log` can be read back; None if nothing must.

    Message times have no place in Markdown and do not count.
    """
    text = dump_markdown(log)
    try:
        if parse_markdown(text) == _without_times(log):
            return None
    except BadInput:
        pass
    return {"markdown_sha256": digest(text.encode()), "log": log.model_dump(mode="json")}


def parse_with_sidecar(text: str, beside: dict[str, Any] | None, where: str) -> OfficialLog:
    """Read Markdown, trusting the side-car if it belongs to exactly this text."""
    if beside is not None and beside.get("markdown_sha256") == digest(text.encode()):
        return OfficialLog.model_validate(beside["log"])
    return parse_markdown(text, where)


def _without_times(log: OfficialLog) -> OfficialLog:
    result = log.result.model_copy(update={"timestamp": None}) if log.result else None
    plain = tuple(message.model_copy(update={"timestamp": None}) for message in log.messages)
    return log.model_copy(update={"messages": plain, "result": result})


def dump_jsonl(log: OfficialLog) -> str:
    """Write a log in the JSONL form of the official agent."""
    head = {"type": "session_start", "agent_name": log.agent_name, "timestamp": log.timestamp}
    rows: list[dict[str, Any]] = [head]
    for index, message in enumerate(log.messages, start=1):
        row: dict[str, Any] = {"type": "message", "index": index, "role": message.role}
        rows.append(row | {"content": message.content} | _time(message.timestamp))
    if log.result is not None:
        done = {"type": "result", "success": log.result.success}
        done |= {"total_turns": log.result.total_turns} | _time(log.result.timestamp)
        rows.append(done | ({"error": log.result.error} if log.result.error else {}))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _time(timestamp: str | None) -> dict[str, str]:
    return {} if timestamp is None else {"timestamp": timestamp}


def parse_jsonl(text: str, where: str = "log") -> OfficialLog:
    """Read the JSONL form. A file in another JSON style reads well but is written in ours.

    Raises:
        BadInput: if a line is no JSON object, or rows are not start, messages, result.
    """
    rows = [
        parse_row(line, f"{where}:{number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    kinds = [row.get("type") for row in rows]
    expected = ["session_start", *["message"] * kinds.count("message")]
    if kinds not in (expected, [*expected, "result"]):
        raise BadInput(
            f"{where}: expected rows session_start, message..., result; got {kinds[:6]!r}"
        )
    result = rows[-1] if kinds[-1] == "result" else None
    try:
        return OfficialLog.model_validate(
            {
                "agent_name": rows[0].get("agent_name"),
                "timestamp": rows[0].get("timestamp"),
                "messages": [_pick(row, Message) for row in rows if row["type"] == "message"],
                "result": result and _pick(result, LogResult),
            }
        )
    except ValidationError as error:
        raise BadInput(f"{where}: {first_fault(error)}") from error


def _pick(row: dict[str, Any], kind: type[Value]) -> dict[str, Any]:
    return {name: row[name] for name in kind.model_fields if name in row}
