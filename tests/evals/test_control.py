"""A run that is steered from elsewhere while it goes on."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.api import EvalSettings, run_evaluation
from harness.cli import cli
from harness.core import BadInput, LimitReached, Unreachable
from harness.core.rundir import RunReader
from harness.evals import EvalReport, read_report, records
from harness.evals.control import Change, Command, RunStatus, ask, read_status
from tests.evals.test_limits import CURL
from tests.models.http_server import Answer, completion, error, serve


class Run:
    """An eval run in a thread, against a server that holds its answers back until it is told."""

    def __init__(self, folder: Path, url: str, tasks: int, concurrency: int) -> None:
        rows = [{"id": f"t{n}", "prompt": f"task {n}", "answer": "4"} for n in range(tasks)]
        (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.folder = folder / "run"
        self.settings = EvalSettings(
            suite=str(folder / "tasks.jsonl"), out=self.folder, sandbox="none",
            models=("openai/x",), base_url=url, concurrency=concurrency,
        )  # fmt: skip
        self.report: EvalReport | None = None
        self.error: LimitReached | None = None
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        try:
            self.report = run_evaluation(self.settings)[0]
        except LimitReached as error:
            self.error = error

    def __enter__(self) -> Run:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()

    def status(self, holds: Callable[[RunStatus], bool]) -> RunStatus:
        """The first status that is as wanted."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                found = read_status(self.folder)
            except BadInput:  # not begun yet
                found = None
            if found is not None and holds(found):
                return found
            time.sleep(0.05)
        raise AssertionError("no such status within 30 s")


@contextmanager
def holding(free: threading.Event) -> Generator[tuple[str, list[bytes]]]:
    """An endpoint that holds answers back, side by side: its URL, and the requests that came."""
    seen = list[bytes]()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.rfile.read(int(self.headers["Content-Length"])))
            free.wait(60)
            content = completion("4")[2]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # its name there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
    finally:
        free.set()
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_run_is_paused_narrowed_and_goes_on(tmp_path: Path) -> None:
    free = threading.Event()

    def answer(body: dict[str, Any]) -> Answer:
        if "task 0" in str(body["messages"]):
            free.wait(30)
        return completion("4")

    with serve(answer) as served, Run(tmp_path, served.url, tasks=8, concurrency=1) as run:
        run.status(lambda now: "t0" in now.running)
        assert ask(run.folder, Command(action="pause")).done
        assert ask(run.folder, Command(action="cancel", item="t3")).done
        assert not ask(run.folder, Command(action="cancel", item="nobody")).done
        assert not ask(run.folder, Command(action="requeue", item="t5")).done
        shown = CliRunner().invoke(cli, ["eval", "ctl", "list", str(run.folder)])
        assert "paused, at most 1 attempts" in shown.output
        free.set()
        halted = run.status(lambda now: now.passed == 1 and not now.running)
        assert (halted.paused, halted.waiting, halted.invalid) == (True, 6, 1)
        narrowed = CliRunner().invoke(cli, ["eval", "ctl", "concurrency", str(run.folder), "3"])
        assert narrowed.output == "at most 3 attempts at a time\n"
        assert ask(run.folder, Command(action="resume")).done
    assert run.report is not None
    assert (run.report.passed, run.report.invalid) == (7, 1)
    assert [one.id for one in records(run.folder) if one.outcome == "invalid"] == ["t3"]
    assert not (run.folder / "status.json").exists()
    assert not (run.folder / "control").exists()
    resumed = run.settings.model_copy(update={"resume": run.folder})
    with serve(lambda _body: completion("4")) as served:
        again = run_evaluation(resumed.model_copy(update={"base_url": served.url}))[0]
        assert len(served.bodies) == 1  # only what was cancelled
    assert (again.passed, again.invalid) == (8, 0)


def test_an_attempt_that_hangs_is_begun_again(tmp_path: Path) -> None:
    free = threading.Event()
    seen: list[str] = []

    def answer(body: dict[str, Any]) -> Answer:
        seen.append(str(body["messages"]))
        if len(seen) == 1:
            free.wait(30)
        return completion("4")

    with serve(answer) as served, Run(tmp_path, served.url, tasks=2, concurrency=1) as run:
        run.status(lambda now: "t0" in now.running and len(seen) == 1)
        assert ask(run.folder, Command(action="requeue", item="t0")).done
        free.set()
    assert run.report is not None
    assert (run.report.passed, run.report.invalid) == (2, 0)
    assert sum("task 0" in one for one in seen) == 2


def test_an_invalid_attempt_is_tried_again_and_counted_once(tmp_path: Path) -> None:
    free, tries = threading.Event(), list[str]()

    def answer(body: dict[str, Any]) -> Answer:
        if "task 1" in str(body["messages"]):
            free.wait(30)
            return completion("5")
        tries.append(str(body["messages"]))
        return error(400) if len(tries) == 1 else completion("4")

    with serve(answer) as served, Run(tmp_path, served.url, tasks=3, concurrency=1) as run:
        run.status(lambda now: "t1" in now.running and now.invalid == 1)
        assert ask(run.folder, Command(action="cancel", item="t2")).done
        assert ask(run.folder, Command(action="requeue", item="t2")).done
        assert ask(run.folder, Command(action="requeue", item="t0")).done
        assert not ask(run.folder, Command(action="requeue", item="t0")).done  # once
        free.set()
    assert run.report is not None
    assert (run.report.passed, run.report.failed, run.report.invalid) == (2, 1, 0)
    written = [(row["id"], row["outcome"]) for row in RunReader(run.folder).items()]
    assert written == [
        ("t0", "invalid"), ("t2", "invalid"), ("t1", "fail"), ("t0", "pass"), ("t2", "pass"),
    ]  # fmt: skip
    assert read_report(run.folder).tokens == run.report.tokens


def test_limits_and_budget_are_changed_on_the_way(tmp_path: Path) -> None:
    free = threading.Event()

    def answer(body: dict[str, Any]) -> Answer:
        if "task 0" in str(body["messages"]):
            free.wait(30)
        return completion("4")

    with serve(answer) as served:
        run = Run(tmp_path, served.url, tasks=6, concurrency=1)
        run.settings = run.settings.model_copy(update={"token_limit": 9000, "budget_calls": 50})
        with run:
            run.status(lambda now: "t0" in now.running)
            words = ["eval", "ctl", "limits", str(run.folder), "--tokens", "1", "--working", "60"]
            assert "1 tokens, 60 working" in CliRunner().invoke(cli, words).output
            words = ["eval", "ctl", "budget", str(run.folder), "--calls", "3"]
            assert "budget of the run: 3 calls; spent" in CliRunner().invoke(cli, words).output
            nothing = CliRunner().invoke(cli, ["eval", "ctl", "budget", str(run.folder)])
            assert isinstance(nothing.exception, BadInput)
            assert not ask(run.folder, Command(action="limits", change=Change(calls=1))).done
            for action in ("limits", "budget"):
                dollars = ask(run.folder, Command(action=action, change=Change(usd=1)))
                assert "price is unknown" in dollars.message and not dollars.done
            free.set()
    assert isinstance(run.error, LimitReached)
    assert len(served.bodies) == 3
    kept = [json.loads(line) for line in (run.folder / "control.jsonl").read_text().splitlines()]
    assert [one["action"] for one in kept] == ["limits", "budget"]
    assert kept[1]["change"] == {"calls": 3}


@pytest.mark.wing("fleet")
def test_workers_meet_limits_slots_and_budgets_that_were_not_there_when_they_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    free, agent = threading.Event(), CURL.replace("$n", "$n of $0") + " {prompt}"
    with holding(free) as (url, seen):
        run = Run(tmp_path, url, tasks=4, concurrency=1)
        run.settings = run.settings.model_copy(update={"workers": 3, "agent": agent})
        with run:
            run.status(lambda now: "t0" in now.running and len(seen) == 1)
            assert ask(run.folder, Command(action="concurrency", value=3)).done
            run.status(lambda _now: len(seen) == 3)
            words = ["eval", "ctl", "limits", str(run.folder), "--tokens", "1"]
            shown = CliRunner().invoke(cli, words)
            assert shown.output == "limits of an attempt: 1 tokens\n"
            assert ask(run.folder, Command(action="budget", change=Change(calls=3))).done
            free.set()
    assert isinstance(run.error, LimitReached)
    assert "3 spent" in str(run.error)
    assert len(seen) == 3
    ended = {one.reason for one in records(run.folder)}
    assert ended == {"the attempt reached its limit of 1 tokens after 1 calls (--token-limit)"}


@pytest.mark.wing("fleet")
def test_an_attempt_begun_again_in_another_worker_keeps_its_folder(tmp_path: Path) -> None:
    """The one that was cancelled is gone before, with its worker."""
    begun, script = tmp_path / "begun", tmp_path / "agent.sh"
    script.write_text(
        f"touch mark; if [ -e {begun} ]; then sleep 1; test -e mark && echo 4; "
        f"else touch {begun}; sleep 60; fi"
    )
    run = Run(tmp_path, "http://127.0.0.1:9/v1", tasks=1, concurrency=1)
    agent = {"workers": 1, "agent": f"cmd:sh {script}"}
    run.settings = run.settings.model_copy(update=agent)
    with run:
        run.status(lambda now: "t0" in now.running and begun.exists())
        assert ask(run.folder, Command(action="requeue", item="t0")).done
    assert run.report is not None
    assert (run.report.passed, run.report.failed, run.report.invalid) == (1, 0, 0)


def test_what_does_not_run_cannot_be_steered(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no run at"):
        read_status(tmp_path)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(BadInput, match="not running"):
        ask(tmp_path, Command(action="pause"))
    status: dict[str, Any] = {
        "pid": 1, "updated": time.time() - 60, "paused": False, "concurrency": 1, "total": 1,
        "passed": 0, "failed": 0, "invalid": 0, "waiting": 1, "running": {}, "tokens": 0,
        "cost_usd": None,
    }  # fmt: skip
    (tmp_path / "status.json").write_text(json.dumps(status))
    with pytest.raises(Unreachable, match="has not written for 60 s"):
        ask(tmp_path, Command(action="pause"))


def test_what_is_no_command_is_refused_and_the_run_goes_on(tmp_path: Path) -> None:
    free = threading.Event()

    def answer(_body: dict[str, Any]) -> Answer:
        free.wait(30)
        return completion("4")

    with serve(answer) as served, Run(tmp_path, served.url, tasks=1, concurrency=1) as run:
        run.status(lambda now: "t0" in now.running)
        (run.folder / "control" / "1.json").write_text('{"action": "rm -rf"}')
        refused = run.folder / "control" / "1.answer"
        run.status(lambda _now: refused.is_file())
        assert json.loads(refused.read_text())["done"] is False
        free.set()
    assert run.report is not None
    assert run.report.passed == 1
