"""Every parser of foreign data: valid inputs of our own making, and the call that reads them."""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
import tempfile
from collections.abc import Callable, MutableMapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.core import (
    AgentInfo,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
    assets,
    digest,
)
from harness.core.rundir import RunWriter
from harness.rag import retrieve
from harness.skills import new_skill, write_skill
from harness.tasks import UnreadableWorkbook
from harness.trajectories import EXPORTS, FORMATS, export_trajectories, import_trajectories
from tests.fuzz.storm import Files

Row = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """A parser.

    Attributes:
        seeds: valid inputs, made in a folder; each is a set of files by name.
        call: reads the files of a folder.
        errors: that it documents besides `HarnessError`.
        repair: makes checksums of files right again, so that what lies behind them is reached.
    """

    seeds: Callable[[Path], list[Files]]
    call: Callable[[Path], object]
    errors: tuple[type[Exception], ...] = ()
    repair: Callable[[Files], None] | None = None

    def run(self, files: Files) -> None:
        """Read the files."""
        with tempfile.TemporaryDirectory(prefix="fuzzed-") as made:
            folder = Path(made) / "input"
            for name, content in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
            self.call(folder)


def files_of(folder: Path) -> Files:
    """The files below a folder."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def lines(*rows: Row) -> bytes:
    """JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


# Trajectories

CALL = ToolCall(tool_call_id="c1", function_name="bash", arguments={"command": "ls"})
RESULT = Observation(results=(ObservationResult(source_call_id="c1", content="a.csv"),))
TRAJECTORY = Trajectory(
    trajectory_id="t-1",
    agent=AgentInfo(name="agent", version="1", model_name="m"),
    steps=(
        Step(step_id=1, source="system", message="Be brief."),
        Step(step_id=2, source="user", message="Which files?"),
        Step(step_id=3, source="agent", message="", tool_calls=(CALL,), observation=RESULT),
        Step(step_id=4, source="agent", message="One: a.csv"),
    ),
    extra={"harness": {"task_id": "t", "outcome": "pass", "score": 1.0}},
)
CHAT: list[Row] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": [{"type": "text", "text": "run the tests"}]},
    {"role": "assistant", "content": None, "reasoning_content": "so", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"a": "b"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "5 passed"},
    {"role": "assistant", "content": "all pass"},
]  # fmt: skip
SPANS: list[Row] = [
    {"traceId": "t1", "startTimeUnixNano": "1772000001000000000", "attributes": [
        {"key": f"gen_ai.{name}", "value": {kind: value}} for name, kind, value in (
            ("operation.name", "stringValue", "chat"), ("request.model", "stringValue", "m"),
            ("input.messages", "stringValue", json.dumps(CHAT[:2])),
            ("output.messages", "stringValue", json.dumps(CHAT[4:])),
            ("usage.input_tokens", "intValue", "12"))]},
]  # fmt: skip
CLAUDE: list[Row] = [
    {"type": "user", "uuid": "1", "parentUuid": None, "sessionId": "s", "cwd": "/w",
     "message": {"role": "user", "content": "go"}},
    {"type": "assistant", "uuid": "2", "parentUuid": "1", "timestamp": "2026-01-02T03:04:05Z",
     "message": {"id": "r", "model": "m", "usage": {"input_tokens": 1, "output_tokens": 2},
                 "content": [{"type": "thinking", "thinking": "so"}, {
                     "type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "ls"}}]}},
    {"type": "user", "uuid": "3", "parentUuid": "2", "toolUseResult": {"agentId": "k"},
     "message": {"content": [{"type": "tool_result", "tool_use_id": "c", "content": "a"}]}},
]  # fmt: skip
CODEX: list[Row] = [
    {"type": "session_meta", "payload": {"id": "x", "cwd": "/w", "git": {"branch": "b"}}},
    {"type": "turn_context", "payload": {"model": "m"}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "go"}},
    {"type": "response_item", "payload": {
        "type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}},
    {"type": "event_msg", "payload": {"type": "token_count", "info": {
        "total_token_usage": {"input_tokens": 1}, "last_token_usage": {"input_tokens": 1}}}},
    {"type": "response_item", "payload": {
        "type": "function_call_output", "call_id": "c", "output": {"content": "a"}}},
]  # fmt: skip
FOREIGN: dict[str, list[Files]] = {
    "claude-code": [{"s.jsonl": lines(*CLAUDE)}],
    "codex": [{"rollout-1.jsonl": lines(*CODEX)}],
    "openai": [{"s.jsonl": lines({"id": "a", "model": "m", "messages": CHAT, "tools": [{}]})}],
    "recorded": [{"s.jsonl": lines({"id": "1", "label": "T+", "metadata": {"instruction": "i"},
        "trajectory": {"conversation": ["do", "```python\nx\n```", "ok", "done"], "status": [],
                       "test_cases": []}, "eval": {}})}],
    "replies": [{"s.jsonl": lines({"task": "t1", "reply": "```python\nx\n```"})}],
    "otel": [{"s.json": json.dumps({"resourceSpans": [
        {"scopeSpans": [{"spans": SPANS}]}]}).encode()}],
    "langfuse": [{"s.jsonl": lines({
        "id": "o1", "traceId": "lf", "type": "GENERATION", "startTime": "2026-03-01T09:00:01Z",
        "model": "m", "input": {"messages": CHAT[:4]}, "output": CHAT[4],
        "usageDetails": {"input": 40, "output": 3}}, {
        "traceId": "lf", "type": "TOOL", "name": "bash", "input": {"a": 1}, "output": "out"})}],
    "langsmith": [{"s.json": json.dumps({"runs": [{
        "id": "r1", "trace_id": "ls", "run_type": "llm", "start_time": "2026-03-01T09:00:00",
        "inputs": {"messages": [[{"lc": 1, "id": ["langchain", "HumanMessage"], "kwargs": {
            "content": "go", "type": "human"}}]]},
        "outputs": {"generations": [[{"message": {"lc": 1, "id": ["AIMessage"], "kwargs": {
            "content": "", "tool_calls": [{"name": "b", "args": {}, "id": "c"}]}}}]]},
        "extra": {"metadata": {"ls_model_name": "m"}}, "prompt_tokens": 4}]}).encode()}],
}  # fmt: skip


def trajectory_seeds(name: str, folder: Path) -> list[Files]:
    """Files of a format: written by our exporter where there is one."""
    run = folder / "run"
    with RunWriter(run, {"kind": "eval"}) as writer:
        writer.append_trajectory(TRAJECTORY.model_dump(mode="json", exclude_none=True))
    if name == "store":
        return [files_of(run)]
    seeds = list(FOREIGN.get(name, []))
    if name in EXPORTS:
        export_trajectories(run, folder / "out", name)
        seeds += [{path: data} for path, data in files_of(folder / "out").items()]
    return seeds


def import_and_export(name: str, folder: Path) -> None:
    """Import what lies in a folder, and write it in every format."""
    (file, *others) = sorted(path for path in folder.rglob("*") if path.is_file())
    store = folder.parent / "store"
    import_trajectories(folder if others or name == "store" else file, store, name)
    for target in EXPORTS:
        export_trajectories(store, folder.parent / target, target)


def run_seeds(folder: Path) -> list[Files]:
    """A run folder of two attempts, whose records are written as JSON lines here."""
    from harness.evals.report import ItemRecord

    lock: Row = {"kind": "eval", "suite": "s", "model": "m", "simulated": False, "epochs": 1,
                 "skill_name": None, "tasks": "0" * 64, "split": None}  # fmt: skip
    items = [
        ItemRecord(id="t-1", task_id="a", outcome="pass", value=1.0, answer="x"),
        ItemRecord(id="t-2", task_id="b", outcome="invalid", value=0.0, reason="no answer"),
    ]
    with RunWriter(folder / "run", lock) as writer:
        writer.append_trajectory(TRAJECTORY.model_dump(mode="json", exclude_none=True))
    rows = lines(*(item.model_dump(mode="json") for item in items))
    return [{**files_of(folder / "run"), "items.jsonl": rows}]


def read_run(folder: Path) -> None:
    """Read what `runs`, `compare` and `--resume` read of a run folder."""
    from harness.core.segments import SegmentWriter
    from harness.evals import compare_results, read_report
    from harness.evals.formats.junit import write_junit
    from harness.evals.plan import read_parts
    from harness.evals.report import open_run, read_run

    with closing(SegmentWriter(folder / "items.seg")) as segment:
        for line in (folder / "items.jsonl").read_bytes().splitlines():
            with suppress(ValueError, RecursionError):
                segment.append(json.loads(line))
    open_run(folder)
    read_report(folder)
    compare_results(read_run(folder), read_run(folder))
    write_junit([folder], folder / "junit.xml")
    read_parts(folder)


def read_session_logs(folder: Path) -> None:
    """Read logs of other clients as `learn` does."""
    from harness.learn import LearnSettings
    from harness.learn.gathering import read_sessions

    settings = LearnSettings(paths=(folder,), out=folder / "out")
    read_sessions(settings, {}, [], lambda _: None)


# Skills and suites


def skill_seeds(folder: Path) -> list[Files]:
    """A skill of all parts, and one as others write it."""
    body = (
        "\n# Gift\n\n- Rule one, see [x](references/x.md).\n\n```sh\nls\n```\n\n## More\n\n1. a\n"
    )
    skill = new_skill("gift", "Use it for gifts.", body, license="MIT")
    write_skill(skill, folder / "gift")
    (folder / "gift" / "references").mkdir()
    (folder / "gift" / "references" / "x.md").write_text("# X\n\ntext\n")
    loose = (
        b"---\nname: gift\ndescription: >\n  Use it\n  now\nmetadata:\n  version: 1.0\n  a: [b]\n"
    )
    return [files_of(folder), {"gift/SKILL.md": loose + b"---\n# G\n\n<!-- c -->\n"}]


def read_skill(folder: Path) -> None:
    """Treat a skill as `skill validate`, `show`, `export`, `install` and an audit do."""
    from harness.receipts.units import cut
    from harness.skills import export, lint_text, load_skill, validate
    from harness.skills.shipping.catalogues import pack

    skill = load_skill(folder / "gift")
    validate(skill)
    lint_text(skill.text)
    cut(skill)
    pack(skill)
    for target in ("claude", "codex", "plugin", "well-known"):
        export(skill, target, folder / target)


def receipt_seeds(_: Path) -> list[Files]:
    """A shipped skill with its receipt and provenance."""
    skills = assets.root() / "skills"
    files = {
        f"short-answers/{name}": data for name, data in files_of(skills / "short-answers").items()
    }
    return [files | {path.name: path.read_bytes() for path in skills.glob("short-answers.*.json*")}]


def read_receipt(folder: Path) -> None:
    """Read what lies beside a skill as `skill verify`, `explain` and `export` do."""
    from harness.receipts import verify
    from harness.skills import load_skill, receipt_files, refuse_ungated

    path = folder / "short-answers"
    verify(path, tasks=False)
    receipt_files(path, load_skill(path))
    refuse_ungated(path)


TASKS: list[Row] = [
    {"id": "a", "prompt": "p", "answer": "x", "check": "em", "files": {"in.csv": "in.csv"}},
    {"id": 2, "prompt": "p", "answer": ["1", "2"], "check": "f1", "meta": {"variants": [{}]}},
    {"id": "b", "prompt": "p", "answer": "in.csv", "check": "math", "files": ["in.csv"]},
]
SUITE = b"""name: s
tasks: tasks.jsonl
split_by: {train: [0, 1], test: [1, 3]}
tools: [python, "context:compress:800"]
sampling: {temperature: 0.0, stop: ["a"]}
limits:
  tokens: 1000
"""


def read_suite(folder: Path) -> None:
    """Do what an eval does before its first call."""
    from harness.evals import load_suite
    from harness.evals.plan import sample_parts
    from harness.tasks import family

    loaded = load_suite(str(folder))
    loaded.digest  # noqa: B018  # read for what it may raise
    for number, task in enumerate(loaded.tasks):
        sample_parts(task, loaded.base)
        workdir = folder.parent / f"work-{number}"
        workdir.mkdir()
        family(task).prepare(task, loaded.base, workdir)


MATRIX = b"""name: m
suites: {demo: demo}
models: {a: openai/x, b: {spec: openai/y, base_url: "http://127.0.0.1:1/v1"}}
skills: {none: null}
contexts: {plain: {}}
"""
QUERIES = b'- {query: "Wrap a gift", expect: gift}\n- {query: "Fly", expect: null}\n'


def read_queries(folder: Path) -> None:
    from harness.receipts.trigger.queries import read_queries

    read_queries(folder / "q.yaml", ["gift"], ["gift"])


def read_matrix(folder: Path) -> None:
    from harness.evals.matrix.spec import read_matrix

    read_matrix(folder / "m.yaml")


# Documents and workbooks


def saved(file: Any) -> bytes:
    """An office file's bytes."""
    buffer = io.BytesIO()
    file.save(buffer)
    return buffer.getvalue()


def workbook() -> bytes:
    """A workbook with texts, numbers, formulas, a merged range and a second sheet."""
    book: Any = import_module("openpyxl").Workbook()
    sheet = book.active
    sheet.append(["part", "count", "when"])
    sheet.append(["bolt", 12, "=B2*2"])
    sheet.merge_cells("A4:B5")
    book.create_sheet("More").append([1.5, True, None])
    return saved(book)


def document_seeds(kind: str, _: Path) -> list[Files]:
    """A document of a kind."""
    from lab.corpora.folio.canvas import pdf_file

    if kind == "docx":
        file: Any = import_module("docx").Document()
        file.add_heading("Results", level=1)
        file.add_paragraph("Sales rose by 4 percent.")
        file.add_table(rows=2, cols=2).cell(0, 0).text = "Region"
        return [{"d.docx": saved(file)}]
    if kind == "pptx":
        file = import_module("pptx").Presentation()
        slide = file.slides.add_slide(file.slide_layouts[1])
        slide.shapes.title.text = "Aim"
        slide.notes_slide.notes_text_frame.text = "Ask."
        return [{"d.pptx": saved(file)}]
    if kind == "xlsx":
        return [{"d.xlsx": workbook()}]
    if kind == "pdf":
        shown = b"BT /F1 18 Tf 72 700 Td (Sales rose) Tj ET"
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>",
            b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown),
            b"<< /Type /Outlines /First 7 0 R /Last 7 0 R >>",
            b"<< /Title (Sales) /Parent 6 0 R /Dest [4 0 R /Fit] >>",
        ]
        return [{"d.pdf": pdf_file(objects)}]
    page = "<!doctype html><html lang=de><head><title>T</title></head><body><h1>A</h1><p>b<br>c"
    return [
        {"d.html": f"{page}<table><tr><td>1</td></tr></table><pre>x</pre></body></html>".encode()},
        {"d.md": b"# A\n\ntext\n\nB\n---\n\n```\n# no\n```\n"},
        {"d.csv": b"part;count\nbolt;12\n"},
        {"d.jsonl": lines({"id": "1", "text": "a b", "title": "t"}, {"id": "2", "text": "c"})},
        {"d.txt": "Zürich\n".encode("cp1252")},
    ]


def read_document(folder: Path) -> None:
    parsed = retrieve.parse_paths([folder])
    for document in parsed.documents:
        retrieve.chunk_document(document, retrieve.Chunking(size=20, overlap=0, parent=60))


def read_workbook(folder: Path) -> None:
    """Judge an agent's workbook."""
    from harness.tasks import compare_workbooks, open_workbook, parse_answer_position

    path = folder / "d.xlsx"
    with open_workbook(path) as book:
        for sheet in book.sheet_names:
            if book.has_cells(sheet):
                book.head(sheet, 5)
                book.has_formulas(sheet, [])
    parse_answer_position("A1:C3")
    gold = folder.parent / "gold.xlsx"
    gold.write_bytes(GOLD)
    compare_workbooks(gold, path, "A1:C3", None)


GOLD = workbook()


# Checkpoints, indexes, recordings


def checkpoint_seeds(folder: Path) -> list[Files]:
    """A store with one finished thread."""
    from harness.checkpoints import open_store
    from tests.checkpoints.graphs import talk, thread

    with open_store(folder / "c.sqlite") as store:
        graph = talk(4).compile(checkpointer=store)
        graph.invoke({"messages": [], "turn": 0}, thread("a"))
        store.describe("a", {"graph": "g"})
    with closing(sqlite3.connect(folder / "c.sqlite")) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    return [{"c.sqlite": (folder / "c.sqlite").read_bytes()}]


def read_checkpoints(folder: Path) -> None:
    """Read a file of threads as the debugger does."""
    from harness.checkpoints import open_store

    with open_store(folder / "c.sqlite") as store:
        for name in [*store.threads()][:3]:
            store.outline(name)
            store.values([write.ref for write in store.writes(name)])
            for saved in store.list({"configurable": {"thread_id": name}}):
                assert saved.checkpoint
        store.prune(["a"])


def index_seeds(folder: Path) -> list[Files]:
    """A small index."""
    rows = [
        retrieve.Document(f"{n}.md", f"# T{n}\n\nThe moon pulls the ocean {n} times. " * 3)
        for n in range(4)
    ]
    small = retrieve.Chunking(size=20, overlap=0, parent=60)
    retrieve.create_index(folder / "i", retrieve.open_encoder("lexical"), small).add(rows)
    return [files_of(folder / "i")]


def repair_index(files: Files) -> None:
    """Sizes and the checksum of the manifest."""
    try:
        row = json.loads(files["manifest.json"])
        for segment in row["segments"]:
            for name, facts in segment["files"].items():
                data = files[f"segments/{segment['name']}/{name}"]
                facts |= {"bytes": len(data), "sha256": digest(data)}
        row.pop("checksum", None)
        files["manifest.json"] = json.dumps({**row, "checksum": digest(row)}).encode()
    except (ValueError, LookupError, TypeError, AttributeError):
        pass


def read_index(folder: Path) -> None:
    """Treat an index as `index search`, `info` and `add` do."""
    index = retrieve.open_index(folder)
    retrieve.describe_index(index)
    index.search("moon", 3)
    index.search("ocean", 3, where=[retrieve.parse_condition("year>=2020")])
    for name in index.ids():
        index.document(name)
    index.add([retrieve.Document("new.md", "A new document about tides.")])
    index.delete(["1.md"])


def call_seeds(folder: Path) -> list[Files]:
    """The call store of a run, and calls written as JSON lines."""
    from harness.models import CallStore, open_model
    from harness.models.replay import export_calls

    (folder / "script.json").write_text('["hello"]')
    with CallStore(folder / "calls.sqlite") as calls:
        model = open_model(f"scripted/{folder / 'script.json'}", calls=calls)
        asyncio.run(model.complete([{"role": "user", "content": "hi"}]))
        export_calls(calls, folder / "calls.jsonl")
        export_calls(calls, folder / "calls.jsonl.zst")
    return [{name: (folder / name).read_bytes()}
            for name in ("calls.sqlite", "calls.jsonl", "calls.jsonl.zst")]  # fmt: skip


def read_calls(folder: Path) -> None:
    """Read calls as `--model replay/FILE` and a resumed run do."""
    from harness.models import CallStore, open_model

    (path,) = folder.iterdir()
    if path.suffix == ".sqlite":
        with CallStore(path) as calls:
            calls.in_flight()
            calls.usage_by_role()
            calls.spend()
    with closing(CallStore()) as calls:
        model = open_model(f"replay/{path}", calls=calls)
        asyncio.run(model.complete([{"role": "user", "content": "hi"}]))


# HTTP bodies

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
REQUESTS: dict[str, list[Row]] = {
    "chat/completions": [{
        "model": "m", "messages": CHAT, "tools": TOOLS, "stream": True, "temperature": 0.1,
        "stop": ["x"], "response_format": {"type": "json_object"}, "max_tokens": 5, "n": 1,
        "stream_options": {"include_usage": True}}],
    "messages": [{
        "model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "s"}], "messages": [
            {"role": "user", "content": "go"}, {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]},
            {"role": "user", "content": [{
                "type": "tool_result", "tool_use_id": "c", "content": [
                    {"type": "text", "text": "r"}]}]}],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}], "stream": True,
        "stop_sequences": ["x"], "tool_choice": {"type": "auto"}}],
    "responses": [{
        "model": "m", "instructions": "s", "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "r"}],
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
        "max_output_tokens": 9, "text": {"format": {"type": "json_object"}}}],
}  # fmt: skip


class ServerFault(Exception):
    """A status of 500 for what a client sent."""


def ask_gateway(path: str, folder: Path) -> None:
    """Send a body to the gateway, as an agent does, and read the answer to its end."""
    from harness.models import CallStore, open_model
    from harness.models.gateway import Account
    from harness.models.responding import format_of, respond

    body = (folder / "body").read_bytes()
    (folder / "script.json").write_text('[{"text": "hi", "tool_calls": [{"name": "f"}]}]')

    async def answered() -> None:
        import contextvars

        form = format_of(f"/v1/{path}")
        assert form is not None
        with CallStore() as calls:
            model = open_model(f"scripted/{folder / 'script.json'}", calls=calls)
            account = Account(model, None, contextvars.copy_context())

            async def receive() -> MutableMapping[str, Any]:
                return await asyncio.Future()  # the client stays

            answer = await respond(form, body, lambda request: account.answer(request, receive))
            if answer.status == 500:
                raise ServerFault
            async for _ in answer.pieces:
                pass

    asyncio.run(answered())


def ask_app(folder: Path) -> None:
    """Read the reply of a model's server."""
    from harness.core import Unreachable
    from harness.models import Refused
    from harness.models.wire import read_reply, read_response, usage_of

    try:
        response = read_response((folder / "body").read_bytes(), "http://server")
    except Refused as error:
        raise Unreachable(str(error)) from error  # as the client does
    read_reply("id", response, usage_of(response, None, 1.0), cached=False)


REPLY: Row = {
    "id": "r", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {
        "role": "assistant", "content": "hi", "reasoning_content": "so", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}}],
    "usage": {"prompt_tokens": 4, "completion_tokens": 2,
              "prompt_tokens_details": {"cached_tokens": 1}},
}  # fmt: skip


def recording_seeds(folder: Path) -> list[Files]:
    """A recording of one exchange of every wire format."""
    from harness.core.redaction import Redactor
    from harness.record.exchanges import LogWriter, read_log, read_request

    writer = LogWriter(folder / "r")
    for number, (path, (body, *_)) in enumerate(REQUESTS.items(), 1):
        request = read_request("POST", f"/v1/{path}", "", {}, json.dumps(body).encode(), Redactor())
        headers = {"content-type": "application/json"}
        events: list[Row] = [
            {"event": "request", "session": "s", "time": 1.0, **vars(request)},
            {"event": "reply", "status": 200, "headers": headers},
            {"event": "data", "data": {"text": json.dumps(REPLY)}},
            {"event": "end", "outcome": "complete", "facts": {}},
        ]
        for event in events:
            writer.add({**event, "exchange": number})
    writer.close()
    data = (folder / "r" / "exchanges.seg").read_bytes()
    written = json.dumps(list(read_log(folder / "r"))).encode()
    return [{"exchanges.json": written}, {"exchanges.seg": data}]


def read_recording(folder: Path) -> None:
    """The conversations of a recording, and its answers for a replay."""
    from harness.core.segments import SegmentWriter
    from harness.record.answers import Answers
    from harness.record.conversations import conversations, trajectory_of
    from harness.record.exchanges import gather, read_log

    if (folder / "exchanges.json").exists():
        try:
            events = json.loads((folder / "exchanges.json").read_bytes())
            with closing(SegmentWriter(folder / "exchanges.seg")) as segment:
                segment.append(events)  # one batch
        except (ValueError, RecursionError):
            return
    exchanges = gather(read_log(folder))
    for number, conversation in enumerate(conversations(exchanges)):
        if conversation.moves:
            trajectory_of(conversation, str(number), "s", "a")
    Answers(exchanges, replay=True)


def body_seeds(path: str, _: Path) -> list[Files]:
    """Requests of a path, streamed and not."""
    rows = REQUESTS[path] + [{**row, "stream": False} for row in REQUESTS[path]]
    return [{"body": json.dumps(row).encode()} for row in rows]


def given(files: Files) -> Callable[[Path], list[Files]]:
    """Seeds that stand here."""
    return lambda _: [files]


TARGETS: dict[str, Target] = {
    **{
        f"trajectories {name}": Target(
            partial(trajectory_seeds, name), partial(import_and_export, name)
        )
        for name in FORMATS
    },
    "runs": Target(run_seeds, read_run),
    "session logs": Target(
        given({"s.jsonl": lines(*CLAUDE), "rollout-1.jsonl": lines(*CODEX)}), read_session_logs
    ),
    "skills": Target(skill_seeds, read_skill),
    "receipts": Target(receipt_seeds, read_receipt),
    "suites": Target(
        given({"suite.yaml": SUITE, "tasks.jsonl": lines(*TASKS), "in.csv": b"1\n"}), read_suite
    ),
    "matrix files": Target(given({"m.yaml": MATRIX}), read_matrix),
    "trigger queries": Target(given({"q.yaml": QUERIES}), read_queries),
    **{
        f"documents {kind}": Target(partial(document_seeds, kind), read_document)
        for kind in ("docx", "pptx", "xlsx", "pdf", "text")
    },
    "workbooks": Target(given({"d.xlsx": GOLD}), read_workbook, (UnreadableWorkbook,)),
    "checkpoints": Target(checkpoint_seeds, read_checkpoints),
    "indexes": Target(index_seeds, read_index, repair=repair_index),
    "calls": Target(call_seeds, read_calls),
    **{
        f"requests {path}": Target(partial(body_seeds, path), partial(ask_gateway, path))
        for path in REQUESTS
    },
    "replies": Target(given({"body": json.dumps(REPLY).encode()}), ask_app),
    "recordings": Target(recording_seeds, read_recording),
}
