"""Secrets planted in a session are not in what is sent; what is no secret stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core.redaction import Redactor, find_secrets, redact, until_secret
from harness.trajectories import dump, open_trajectories
from tests.learn.clients import write_claude, write_codex
from tests.learn.planted import PLANTED, events

PROMPT = "The discount is ignored."


@pytest.mark.parametrize("client", ["claude", "codex-1", "codex-2", "codex-3"])
def test_no_planted_secret_is_left(client: str, tmp_path: Path) -> None:
    session = events(PLANTED, PROMPT)
    if client == "claude":
        path = write_claude(tmp_path, "s1", session)
    else:
        path = write_codex(tmp_path, "s1", session, form=int(client[-1]))
    (trajectory,) = open_trajectories(path)
    logged = json.dumps(dump(trajectory))
    assert [kind for kind, secret in PLANTED.items() if secret not in logged] == []
    redactor = Redactor(thorough=True, home=Path("/home/ada"))
    text = json.dumps(redactor.clean(dump(trajectory)))
    assert [kind for kind, secret in PLANTED.items() if secret in text] == []
    assert redactor.counts["repeated secret"] >= 2
    assert "/home/ada" not in text
    assert PROMPT in text
    assert "4 passed in 0.10s" in text


@pytest.mark.parametrize(
    "text",
    [
        "token = tokenizer.next_token()",
        "max_tokens: 4096",
        "def password(self) -> str:",
        'password = os.environ["DB_PASSWORD"]',
        "API_KEY=$API_KEY",
        'A_TOKEN="$FOO_TOKEN"',
        "the token count is 1200 per call",
        "basic understanding_of_the_matter is enough",
        "https://example.org:8080/a/b?c=d",
        "git@github.com:someone/project.git",
        "2f1c9d3a4b5e6f708192a3b4c5d6e7f8091a2b3c",
        "parametrised secret sharing over GF(256)",
        '"password": "${DB_PASSWORD}"',
        '"x-api-key": "<your-token>"',
        'DB_PASSWORD="$(cat /run/secrets/db)"',
        "const token = `session-${user.id}`",
        'INVALID_TOKEN = "Invalid token"',
        "first_pass = compute_1(nodes)",
        "DEPTH_PASS = render_all",
        'API_KEY = os.getenv("API_KEY_1")',
        "token: ${{ secrets.GITHUB_TOKEN1 }}",
        "postgres://$DB_USER:$DB_PASSWORD@db/shop",
        "postgres://postgres:postgres@localhost/test",
        "DB_PASSWORD=${DB_PASSWORD:-shop12345}",
        "csrf_token = generate_csrf_token(32)",
        'cookie: "theme=dark; lang=en-GB"',
        "credentials: 'same-origin'",
        'SECRET_KEY = "test-secret-key"',
        "OLDPWD=/home/app2",
        "clientSecret: process.env.CLIENT_SECRET!",
        "GITHUB_TOKEN: ghp_xxxxxxxxxxxxxxxxxxxx",
        "OPENAI_API_KEY=sk-proj-...",
        'client_secret: "REPLACE_ME"',
        '"password": "op://Team/mail/password"',
        "https://hooks.slack.com/services/TTTT/BBBB/XXXX",
        '"POST /v1/token HTTP/2.0" 401 17',
        "-----BEGIN PRIVATE KEY-----\\n...\\n-----END PRIVATE KEY-----",
        '{"password":"Passwort","token":"Token"}',
        'let token = std::env::var("DEPLOY_TOKEN")?;',
        "static int check(struct passwd *entry, int flags)",
        "shall I call the token parameter credential everywhere?",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor(thorough=True).text(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("x-api-key: abcd1234efgh5678", "x-api-key: [REDACTED]"),
        ('export DEPLOY_TOKEN="hunter2hunter2', 'export DEPLOY_TOKEN="[REDACTED]'),
        ("DB_PASSWORD='aB3dEf6hIjK9", "DB_PASSWORD='[REDACTED]"),
        ("spring.datasource.password=hunter22x", "spring.datasource.password=[REDACTED]"),
        ('db-password: "abcdefgh"', 'db-password: "[REDACTED]"'),
        ("run --password hunter2abc now", "run --password [REDACTED] now"),
        ("run --token abcd1234efgh", "run --token [REDACTED]"),
        ('{"x-auth-token": "abcdefgh"}', '{"x-auth-token": "[REDACTED]"}'),
        ("SECRET_KEY_BASE=abcdefgh", "SECRET_KEY_BASE=[REDACTED]"),
        ("PASSWORD=correcthorse", "PASSWORD=[REDACTED]"),
        ('"password": "Gr4nite$Otter9"', '"password": "[REDACTED]"'),
        ("DB_PASS=correcthorse", "DB_PASS=[REDACTED]"),
        ('"smtp_pass": "abcdefgh"', '"smtp_pass": "[REDACTED]"'),
        ('"password": "$Otter{9!"', '"password": "[REDACTED]"'),
        ('DB_PASSWORD="Gr4nite$Otter9"', 'DB_PASSWORD="[REDACTED]"'),
        ("DB_PASSWORD=Gr4nite,Otter9, yes", "DB_PASSWORD=[REDACTED], yes"),
        ("MY_TOKEN=\nDB_PASSWORD=hunter22x", "MY_TOKEN=\nDB_PASSWORD=[REDACTED]"),
        ("postgres://me:Gr4$Otter@db/x", "postgres://me:[REDACTED]@db/x"),
    ],
)
def test_a_value_goes_whole_and_only_once(text: str, left: str) -> None:
    assert Redactor(thorough=True).text(text) == left
    again = Redactor(thorough=True)
    assert (again.text(left), again.counts.total()) == (left, 0)
    assert redact(redact(text)) == redact(text)
    assert find_secrets(left) == []


def test_a_value_that_may_end_at_a_mark_is_sought_both_ways() -> None:
    clean = Redactor(thorough=True).text("ADMIN_TOKEN=abcd1234;ls\nlater: abcd1234")
    assert "abcd1234" not in clean


def test_a_key_that_was_cut_off_goes_too() -> None:
    cut = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE"
    assert "b3Blbn" not in redact(cut)


def test_a_quote_ends_before_a_secret() -> None:
    secret = PLANTED["OpenAI key"]
    assert until_secret(f"still wrong with {secret} set") == "still wrong with"
    assert until_secret("still wrong") == "still wrong"


def test_a_secret_behind_a_written_out_line_end_goes_everywhere() -> None:
    assert PLANTED["AWS key id"] not in redact("a\\n" + PLANTED["AWS key id"])
    assert redact("C:\\new_folder\\task") == "C:\\new_folder\\task"
