"""A login and a key in `--base-url` reach the server, and are neither kept nor shown."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.models import open_model, parse_spec, public_url, resolve
from tests.acceptance.conftest import ChatServer, Harness

PASSWORD, KEY = "Basalt" + "7Heron", "plain" + "Kestrel19"


def with_credentials(url: str) -> str:
    return url.replace("http://", f"http://wren:{PASSWORD}@") + f"?key={KEY}"


@pytest.mark.parametrize("status", [200, 401])
def test_a_login_in_the_base_url_is_used_and_kept_nowhere(
    harness: Harness, chat_server: ChatServer, suite: Path, tmp_path: Path, status: int
) -> None:
    chat_server.status = status
    url = with_credentials(chat_server.url)
    model = ("--model", "openai/test", f"--base-url={url}")
    done = harness("eval", suite, "--out", "run", *model, "--limit", "2", "--budget-calls", "1")
    login = b64encode(f"wren:{PASSWORD}".encode()).decode()
    assert set(chat_server.asked) == {(f"/v1/chat/completions?key={KEY}", f"Basic {login}")}
    shown = done.stdout + done.stderr
    if status == 200:
        assert f"--base-url={chat_server.url}" in shown
        assert "passwords and keys that you typed are left out" in shown
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    for secret in (PASSWORD, KEY, login):
        assert secret not in shown
        assert not any(secret.encode() in content for content in files)


@pytest.mark.wing("rag")
def test_messages_and_indexes_name_the_address_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    from harness.rag.retrieve.encoder import Encoder
    from harness.rag.retrieve.manifest import EncoderInfo

    encoder = Encoder("m", 2, lambda texts: np.ones((len(texts), 2), np.float32), "openai/m")
    info = EncoderInfo.of(encoder, f"http://wren:{PASSWORD}@h/v1?key={KEY}")
    assert info.base_url == "http://h/v1"
    with pytest.raises(BadInput, match="got 'ftp://h'"):
        open_model("openai/m", base_url=f"ftp://wren:{PASSWORD}@h")
    # What an index remembers is the address; the variable may still have the login.
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://wren:{PASSWORD}@h/v1")
    options = resolve(parse_spec("openai/m"), info.base_url).client_options()
    assert options["base_url"] == "http://h/v1"
    assert options["default_headers"]["Authorization"].startswith("Basic ")


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("http://u:p@h:1/v1", "http://h:1/v1"),
        ("http://t@h", "http://h"),
        ("http://u:p%40q@h/v1?a=b#c", "http://h/v1"),
        ("http://u:p@h/a@b,http://h2/v1?key=k", "http://h/a@b,http://h2/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("h/v1", "h/v1"),
    ],
)
def test_public_urls(url: str, public: str) -> None:
    assert public_url(url) == public
