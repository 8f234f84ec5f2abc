"""`harness models`: serve on a real port, list, chat; driven as a user does."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import httpx
import openai
import pytest

from harness.core import BadInput
from harness.engines import Chat, pull, served_app
from harness.models import bind

NAME = "smollm2-135m"
SYSTEM = "You are a helpful assistant."
HARNESS = [sys.executable, "-c", "from harness.cli import main; main()"]


@pytest.fixture(scope="module", autouse=True)
def weights() -> Path:
    """The model's weights; the first run downloads them."""
    return pull(NAME)


@pytest.fixture(scope="module")
def url(weights: Path) -> Generator[str]:
    """Base URL of a server that `harness models serve` started."""
    command = [*HARNESS, "models", "serve", f"local/{NAME}", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/v1", server.stdout.readline())
        assert found, "the ready line names the URL"
        yield found.group()
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=30) == 130


def test_served_model_answers_the_openai_client(url: str) -> None:
    with openai.OpenAI(base_url=url, api_key="none") as client:
        reply = client.chat.completions.create(
            model=NAME,
            messages=[
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": "What is the capital of France?"},
            ],
            max_tokens=24,
        )
    assert "Paris" in (reply.choices[0].message.content or "")


def test_served_stream_arrives_piece_by_piece(url: str) -> None:
    with openai.OpenAI(base_url=url, api_key="none") as client:
        stream = client.chat.completions.create(
            model=NAME,
            messages=[{"role": "user", "content": "Count to ten."}],
            max_tokens=12,
            stream=True,
        )
        pieces = [chunk.choices[0].delta.content or "" for chunk in stream]
    assert len([piece for piece in pieces if piece]) > 3


def test_health_says_loaded(url: str) -> None:
    health = httpx.get(url.replace("/v1", "/health")).json()
    assert health == {"status": "ok", "loaded": True}


def test_body_that_is_not_json_is_a_400(url: str) -> None:
    reply = httpx.post(f"{url}/chat/completions", content=b"{not json")
    assert reply.status_code == 400
    assert "the body is not JSON" in reply.json()["error"]["message"]


def test_port_that_is_taken_is_bad_input() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"cannot listen on 127.0.0.1:{port}"):
            bind(port)


def test_only_models_of_this_machine_are_served() -> None:
    with pytest.raises(BadInput, match=r"found 'openai/gpt-5'"):
        served_app("openai/gpt-5")


def test_chat_remembers_the_conversation() -> None:
    chat = Chat(f"local/{NAME}", SYSTEM, max_tokens=24, temperature=0.0)
    assert "Paris" in chat.say("What is the capital of France?")
    follow_up = chat.say("And which river flows through it?")
    alone = Chat(f"local/{NAME}", SYSTEM, max_tokens=24, temperature=0.0)
    assert follow_up != alone.say("And which river flows through it?")
