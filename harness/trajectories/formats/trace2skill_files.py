"""Files of official Trace2Skill runs: chat logs, read and written byte for byte, and the results.

The Markdown form of a log has no escaping, so a message may look like the start of the next one.
A header counts only if it carries the next index, follows a `---` line, and lies neither in an open
observation fence nor in a log that is quoted between `<agent_log>` lines. What is still ambiguous
is found by reading back what was written (:func:`sidecar`); a side-car then keeps the truth.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, JsonValue, ValidationError

from harness.core import BadInput, Value, digest, first_fault, parse_row, read_json
from harness.trajectories.building import Speaker

ValueT = TypeVar("ValueT", bound=Value)
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

    role: Speaker
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
    result, end = None, len(text)
    offset = text.rfind("\n## RESULT\n", start.end() - 1)
    if offset >= 0 and (match := _RESULT.fullmatch(text, offset + 1)):
        end = offset + 1
        result = LogResult(success=match[1] == "True", total_turns=int(match[2]), error=match[3])
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


def _headers(text: str, start: int, end: int) -> list[tuple[int, int, Speaker]]:
    """(offset of the header, offset of its content, role) of every message."""
    lines = text[start:end].split("\n")
    offsets = list(accumulate((len(line) + 1 for line in lines), initial=start))
    headers: list[tuple[int, int, Speaker]] = []
    number = 0
    while number < len(lines):
        line, quote = lines[number], 0
        header = _HEADER.fullmatch(line)
        if header and int(header[1]) == len(headers) + 1 and _after_rule(lines, number):
            role: Speaker = header[2].lower()  # pyright: ignore[reportAssignmentType]  # one of three by the pattern
            headers.append((offsets[number], offsets[number + 1] + 1, role))
            opening = lines[number + 2 : number + 4]
            if role == "user" and opening[:1] == ["Observation:"] and _FENCE.fullmatch(opening[-1]):
                # The observation ends with its fence, then the rule that ends the message.
                quote = _find(lines, [opening[1], "", "---"], number + 4)
        elif line == "<agent_log>" and headers and headers[-1][2] == "user":
            quote = _find(lines, ["</agent_log>"], number + 1)
        number = max(number, quote) + 1
    return headers


def _after_rule(lines: list[str], number: int) -> bool:
    """Return True if line `number` may start a message: a blank line follows, a rule precedes."""
    if lines[number + 1 : number + 2] != [""]:
        return False
    return number == 0 or (number >= 2 and lines[number - 2 : number] == ["---", ""])


def _find(lines: list[str], block: list[str], start: int) -> int:
    """Number of the first line of `block` from `start` on; 0 if it is not there."""
    numbers = range(start, len(lines) - len(block) + 1)
    return next((n for n in numbers if lines[n : n + len(block)] == block), 0)


def sidecar(log: OfficialLog) -> dict[str, JsonValue] | None:
    """Return what must lie beside the Markdown to read `log` back; None if nothing must.

    Message times have no place in Markdown and do not count.
    """
    text = dump_markdown(log)
    result = log.result.model_copy(update={"timestamp": None}) if log.result else None
    plain = tuple(message.model_copy(update={"timestamp": None}) for message in log.messages)
    with suppress(BadInput):
        if parse_markdown(text) == log.model_copy(update={"messages": plain, "result": result}):
            return None
    return {"markdown_sha256": digest(text.encode()), "log": log.model_dump(mode="json")}


def parse_with_sidecar(text: str, beside: dict[str, Any] | None, where: str) -> OfficialLog:
    """Read Markdown, trusting the side-car if it belongs to exactly this text."""
    if beside is not None and beside.get("markdown_sha256") == digest(text.encode()):
        return OfficialLog.model_validate(beside["log"])
    return parse_markdown(text, where)


def dump_jsonl(log: OfficialLog) -> str:
    """Write a log in the JSONL form of the official agent."""
    head = {"type": "session_start", "agent_name": log.agent_name, "timestamp": log.timestamp}
    rows: list[dict[str, Any]] = [head]
    for index, message in enumerate(log.messages, start=1):
        row: dict[str, Any] = {"type": "message", "index": index, "role": message.role}
        rows.append(row | {"content": message.content} | _time(message.timestamp))
    if log.result is not None:
        end = {"type": "result", "success": log.result.success}
        end |= {"total_turns": log.result.total_turns} | _time(log.result.timestamp)
        rows.append(end | ({"error": log.result.error} if log.result.error else {}))
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
    document = {
        "agent_name": rows[0].get("agent_name"),
        "timestamp": rows[0].get("timestamp"),
        "messages": [_pick(row, Message) for row in rows if row["type"] == "message"],
        "result": result and _pick(result, LogResult),
    }
    return _model(OfficialLog, document, where)


def _pick(row: dict[str, Any], kind: type[Value]) -> dict[str, Any]:
    return {name: row[name] for name in kind.model_fields if name in row}


class _Open(Value):
    """A record of the official code: further fields are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class InstanceScore(_Open):
    """One instance of `eval_official_results.json`: soft: share of passed cases."""

    id: str
    instruction_type: str = ""
    soft_score: float
    hard_score: float


class OfficialScores(Value):
    """Scores of a run; their means raise BadInput where there is no instance."""

    instances: tuple[InstanceScore, ...]

    @property
    def soft(self) -> float:
        """Mean share of passed test cases (SpreadsheetBench "soft restriction")."""
        return _mean([instance.soft_score for instance in self.instances])

    @property
    def hard(self) -> float:
        """Share of instances whose every test case passed ("hard restriction")."""
        return _mean([instance.hard_score for instance in self.instances])


class RunInstance(_Open):
    """One instance of `results.json`: `success` says only that an output file was made."""

    id: str
    instruction: str = ""
    success: bool
    error: str = ""
    test_cases: tuple[dict[str, JsonValue], ...] = ()


class OfficialRun(_Open):
    """`results.json`."""

    agent_name: str
    model: str
    seed: int | None = None
    total_instances: int
    successful_instances: int
    results: tuple[RunInstance, ...]


def _mean(values: list[float]) -> float:
    if not values:
        raise BadInput("expected at least one scored instance, got none")
    return sum(values) / len(values)


def read_scores(path: Path) -> OfficialScores:
    """Read `eval_official_results.json`.

    Raises:
        BadInput: if the file is missing or of another shape.
    """
    document = {"instances": _document(path).get("results")}
    return _model(OfficialScores, document, f"{path}: expected official evaluation results")


def read_run(path: Path) -> OfficialRun:
    """Read `results.json`.

    Raises:
        BadInput: if the file is missing or of another shape.
    """
    return _model(OfficialRun, _document(path), f"{path}: expected official run results")


def _document(path: Path) -> dict[str, Any]:
    document = read_json(path)
    if not isinstance(document, dict):
        raise BadInput(f"{path}: expected a JSON object, got {type(document).__name__}")
    return document  # pyright: ignore[reportUnknownVariableType]  # raw JSON


def _model(kind: type[ValueT], document: dict[str, Any], fault: str) -> ValueT:
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        raise BadInput(f"{fault}: {first_fault(error)}") from error
