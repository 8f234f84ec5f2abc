"""Plays vLLM's server, started as vLLM is: for tests of what starts, watches and stops it.

A prompt that says `sleep N` is answered after N seconds. STANDIN_CRASH is written to stderr
instead of serving. SIGTERM stops listening, and ends when the requests under way are answered.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Health, figures and answers."""

    seen: list[dict[str, Any]] = []

    def do_GET(self) -> None:  # the name that the base class calls
        """Health, figures, and what was asked."""
        texts = {
            "/health": "",
            "/metrics": f'vllm:prefix_cache_queries_total{{engine="0"}} {100.0 * len(self.seen)}\n'
            f'vllm:prefix_cache_hits_total{{engine="0"}} {60.0 * len(self.seen)}\n',
            "/seen": json.dumps([self.seen, dict(os.environ), sys.argv]),
        }
        self._send(texts[self.path])

    def do_POST(self) -> None:  # the name that the base class calls
        """Answer after the time that the prompt asks for."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(body)
        word, _, seconds = str(body["messages"][-1]["content"]).partition(" ")
        if word == "sleep":
            time.sleep(float(seconds))
        message = {"role": "assistant", "content": str(os.getpid())}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
        answer = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"]}
        self._send(json.dumps({**answer, "choices": [choice], "usage": usage}))

    def _send(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def main() -> None:
    """Serve until told to stop."""
    if os.environ.get("STANDIN_CRASH"):
        sys.exit(os.environ["STANDIN_CRASH"])
    parser = argparse.ArgumentParser()
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    options, _ = parser.parse_known_args()
    server = ThreadingHTTPServer((options.host, options.port), Handler)
    server.daemon_threads = False  # closing waits for those at work

    def stop(number: int, frame: object) -> None:
        threading.Thread(target=server.shutdown, daemon=True).start()

    signal.signal(signal.SIGTERM, stop)
    server.serve_forever(poll_interval=0.05)
    server.server_close()


if __name__ == "__main__":
    main()
