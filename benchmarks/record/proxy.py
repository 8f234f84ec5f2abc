"""Cost of `harness record` to a call: CPU of the proxy, and time that the client waits.

    python -m benchmarks.record.proxy

A server of few instructions answers at once, whole or as a stream of 60 events, so that what is
measured is the proxy and not a model. One client, one connection, one call after the other; blocks
of direct and of recorded calls alternate, each request is new (nothing comes from the record).
CPU seconds are those of the proxy's process over a block; latency is the client's, from sending to
the last byte, and for streams to the first event, too. The added time is the difference of the
medians, its interval by resampling calls. Everything runs on loopback of one machine: where all
cores are busy the times grow, CPU does not.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.endpoints import completion, endpoint, http_reply, serve_bytes
from benchmarks.reports import Options, Result, benchmark, option
from harness.core import write_atomic
from harness.stats import cluster_interval

EVENTS, BLOCK, WARM = 60, 50, 10
CHUNK = (
    b'data: {"id":"m","object":"chat.completion.chunk","created":0,"model":"mock","choices":'
    b'[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n'
)
LAST = CHUNK.replace(b'{"content":"word "},"finish_reason":null', b'{},"finish_reason":"stop"')
WHOLE = completion("word " * EVENTS, "mock", (100, EVENTS))
Row = dict[str, Any]


def pieces(body: Row) -> list[bytes]:
    """Answer every request alike, in one piece or as a stream."""
    if not body.get("stream"):
        return [http_reply(json.dumps(WHOLE).encode())]
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    events = [*[CHUNK] * EVENTS, LAST, b"data: [DONE]\n\n"]
    chunks = [f"{len(event):x}\r\n".encode() + event + b"\r\n" for event in events]
    return [head, *chunks, b"0\r\n\r\n"]


def call(connection: http.client.HTTPConnection, path: str, body: bytes) -> tuple[float, float]:
    """Seconds to the first byte of the body, and to the last."""
    begun = time.perf_counter()
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read(1)
    first = time.perf_counter() - begun
    response.read()
    return first, time.perf_counter() - begun


def cpu_s(process: int) -> float:
    """CPU seconds of another process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def client(direct: str, blocks: int) -> list[Row]:
    """Calls in alternating blocks; runs as the command under the recorder."""
    recorded = os.environ["OPENAI_BASE_URL"]
    rows: list[Row] = []
    number = 0
    for block in range(2 * blocks):
        for stream in (False, True):
            arm = ("direct", "recorded")[block % 2]
            url = direct if arm == "direct" else recorded
            host, _, path = url.removeprefix("http://").partition("/")
            connection = http.client.HTTPConnection(host)
            used, times = cpu_s(os.getppid()), list[tuple[float, float]]()
            for position in range(-WARM, BLOCK):
                if position == 0:
                    used, times = cpu_s(os.getppid()), []
                number += 1
                prompt = f"question {number}: " + "what is it? " * 60
                body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
                body |= {"stream": True} if stream else {}
                times.append(
                    call(connection, f"/{path}/chat/completions", json.dumps(body).encode())
                )
            connection.close()
            spent = cpu_s(os.getppid()) - used
            rows.append({"arm": arm, "stream": stream, "cpu_s": spent, "times": times})
    return rows


def added_ms(rows: list[Row], stream: bool, moment: int) -> dict[str, Any]:
    """Medians of both arms in ms, and of what is added, with its interval over calls."""
    import numpy as np

    milliseconds = {
        arm: np.array([t[moment] for r in rows if (r["arm"], r["stream"]) == (arm, stream)
                       for t in r["times"]]) * 1000
        for arm in ("direct", "recorded")
    }  # fmt: skip
    pooled = np.concatenate([milliseconds["direct"], milliseconds["recorded"]])
    split = len(milliseconds["direct"])

    def difference(index: Any) -> float | None:
        first_half, second_half = (pooled[index[index < split]], pooled[index[index >= split]])
        return (
            float(np.median(second_half) - np.median(first_half))
            if len(first_half) and len(second_half)
            else None
        )

    names = np.arange(len(pooled)).astype(str)
    low, high = cluster_interval(difference, names, samples=400)
    medians = {arm: round(float(np.median(times)), 3) for arm, times in milliseconds.items()}
    middle = medians["recorded"] - medians["direct"]
    return {**medians, "added": round(middle, 3), "ci95": [round(low, 3), round(high, 3)]}


def summary(rows: list[Row]) -> dict[str, Any]:
    """Summarise the rows by kind of answer."""
    result: dict[str, Any] = {}
    for stream in (False, True):
        mine = [r for r in rows if r["arm"] == "recorded" and r["stream"] is stream]
        idle = [r for r in rows if r["arm"] == "direct" and r["stream"] is stream]
        calls = BLOCK * len(mine)
        spent = sum(r["cpu_s"] for r in mine) - sum(r["cpu_s"] for r in idle)
        figures: dict[str, Any] = {
            "calls": calls,
            "proxy_cpu_ms_per_call": round(1000 * spent / calls, 3),
            "latency_ms": added_ms(rows, stream, 1),
        }
        if stream:
            figures["first_event_ms"] = added_ms(rows, stream, 0)
            figures["events"] = EVENTS + 2
        result["stream" if stream else "whole"] = figures
    return result


@benchmark(
    blocks=option(type=int, default=8, help="of 50 calls, for each arm and kind"),
    out=Path("evals/results/record_proxy.json"),
    role=option(choices=["server", "client"], help=argparse.SUPPRESS),
    direct=option(help=argparse.SUPPRESS),
)
def main(options: Options) -> Result:
    if options.role == "server":
        asyncio.run(serve_bytes(pieces))
        return None
    if options.role == "client":
        write_atomic(options.out, json.dumps(client(options.direct, options.blocks)))
        return None
    again = [sys.executable, "-m", "benchmarks.record.proxy"]
    with (
        endpoint("benchmarks.record.proxy", "--role", "server") as url,
        tempfile.TemporaryDirectory() as folder,
    ):
        rows = Path(folder) / "rows.json"
        recorder = [sys.executable, "-m", "harness", "record", "--out", f"{folder}/r",
                    "--base-url", url, "--", *again, "--role", "client", "--direct", url,
                    "--blocks", str(options.blocks), "--out", str(rows)]  # fmt: skip
        subprocess.run(recorder, check=True)
        result = summary(json.loads(rows.read_text()))
    return {
        "command": "python -m benchmarks.record.proxy",
        "block": BLOCK,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        **result,
    }
