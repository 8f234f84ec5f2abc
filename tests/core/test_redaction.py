"""Every kind of secret goes, in every wrapping of a log; what is no secret stays."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import time
import uuid
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.core.redaction import Redactor, find_secrets, redact, until_secret
from tests.core.plants import PLANTS, Plant

WRAPPINGS: dict[str, Callable[[str], str]] = {
    "alone": lambda text: text,
    "within lines": lambda text: f"first line\n{text}\nlast line",
    "as JSON": lambda text: json.dumps({"content": text}),
    "as JSON of JSON": lambda text: json.dumps(json.dumps({"output": text, "code": 0})),
}
"""How a log holds a text."""


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_every_kind_goes(plant: Plant, wrapping: str) -> None:
    text = WRAPPINGS[wrapping](plant.text)
    assert plant.secret not in Redactor(thorough=True).text(text)
    if plant.sure and wrapping in ("alone", "within lines"):
        assert plant.secret not in redact(text)
        assert find_secrets(text)
        assert plant.secret not in until_secret(text)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_what_was_redacted_stays_as_it_is(plant: Plant) -> None:
    left = Redactor(thorough=True).text(plant.text)
    again = Redactor(thorough=True)
    assert (again.text(left), again.counts.total()) == (left, 0)


def _image() -> str:
    return base64.b64encode(random.Random("image").randbytes(30_000)).decode()


HARMLESS = [
    *(hashlib.new(name, b"x").hexdigest() for name in ("md5", "sha1", "sha256", "sha512")),
    f"id: {uuid.UUID(int=random.Random(1).getrandbits(128))}",
    f"commit {hashlib.sha1(b'y').hexdigest()} (HEAD -> main, origin/main)",
    "index 83db48f..bf2a5d1 100644",
    f'"integrity": "sha512-{base64.b64encode(hashlib.sha512(b"z").digest()).decode()}"',
    f"sha256:{hashlib.sha256(b'w').hexdigest()}",
    '{ url = "https://files.pythonhosted.org/packages/5c/3b/a1b2c3d4e5f6/x-1.0-py3-none-any.whl" }',
    f"![plot](data:image/png;base64,{_image()})",
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{'Qz7' * 14} ada@host",
    f"-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIB{'AgIEAgAA' * 6}\n-----END CERTIFICATE-----",
    f"certificate-authority-data: {base64.b64encode(b'-----BEGIN CERTIFICATE-----' * 9).decode()}",
    "docker run --rm -p 8080:80 -v $PWD:/work -u 1000:1000 python:3.11",
    "mysql -h db -u root -p shop < dump.sql && 7z x archive.7z -o/tmp",
    "curl -b cookies.txt -o page.html https://example.org/a?b=c&d=e#f",
    "mkdir -p build && tar -czf sk-learn-contrib-extensions.tar.gz src",
    "def token_count(self, key: str, password: str | None = None) -> int:",
    "self.api_key = settings.api_key or os.environ['API_KEY']",
    "if request.cookies.get('session') is None: raise NotLoggedIn(session_id=None)",
    "assert parse('a:1:b:c') == tests/core/test_x.py:12:34: error",
    "const sessionId = createSessionIdentifier(request.headers, configuration)",
    "<password>${env.DB_PASSWORD}</password><token>…</token>",
    "git@github.com:owner/project.git https://user@bitbucket.org/team/x.git",
    "Use --password to set the password, or --token NAME; bearer authentication-mechanisms exist.",
    "https://docs.example.org/guides/webhooks/introduction-to-webhooks-and-events",
    "The secret of good soup is patience, and the key to patience is hunger; pass it on.",
    "Das Geheimnis ist: Geduld. Ein gutes Passwort hat viele Zeichen, sagt der Lehrer.",
    "Le mot de passe est demandé à chaque fois que la session est ouverte par l'utilisateur.",
    "La contraseña es obligatoria; el testigo caduca a las dos horas de haberse creado.",
    "Пароль вводит пользователь, а ключ хранится в отдельном файле без доступа.",  # noqa: RUF001
    "密码由用户输入。密钥保存在单独的文件中。パスワードは利用者が入力します。",
    "seed: the frozen skill that every analyst reads and the result starts from here",
    "sed -E 's/(password=)[^&]+/\\1***/g' access.log",
    "See [token rotation](./docs/token-rotation.md#how-it-works).",
    "enum GrantType { Password = 'password', ClientCredentials = 'client_credentials' }",
    "'jsonwebtoken': '^9.0.2', \"password\"=>\"[FILTERED]\", 'private_key': 'certs/server.pem'",
    "JWT_SECRET=replace-me-with-a-long-random-string",
    "const token = req.headers.authorization?.split(' ')[1]; // password is required!",
    "# cached token: `get_token()` may refresh an OAuth token; cached_token = get_token()",
    "the recovery code path was tested in 2024 with py311",
    "$1$2 and $5,000 or ${6} cost $2y more; {sha256} is a field of the format",
]


@pytest.mark.parametrize("text", HARMLESS, ids=range(len(HARMLESS)))
@pytest.mark.parametrize("thorough", [False, True])
def test_what_is_no_secret_stays(text: str, thorough: bool) -> None:
    for wrapping in ("alone", "as JSON"):
        wrapped = WRAPPINGS[wrapping](text.replace("ada@host", "") if thorough else text)
        assert Redactor(thorough=thorough).text(wrapped) == wrapped


FRAGMENTS = [
    *("-----BEGIN RSA PRIVATE " + "KEY-----", "-----END PGP PRIVATE " + "KEY BLOCK-----"),
    *("\n", " ", "\t", "\\n", "\\", '"', "'", "=", ":", "://", "@", "/", ".", ";", "-", "_", "{"),
    *("a", "A1b2", "aaaaaaaaaaaaaaaaaaaa", "password", "PASSWORD", "--password ", "token", "?key="),
    *("eyJaaaaaaaa", "eyJaaaaaaaa.", "sk-", "https://", "u:p@", "-u ", "mysql ", "-p", "curl -b a"),
    *("cookie: a=bcdef;", "<password>", "</", "$6$", "x:5432:a:b:", "seed is ", "word ", "Bearer "),
    *("x@y.", "Private-Lines: 3\n", "LS0tLS1CRUdJTi", "echo ", "\tTRUE\t/", "user x ", "hooks/"),
]
SMALL, TIMES = 4_000, 16


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    start=st.lists(st.sampled_from(FRAGMENTS), max_size=2).map("".join),
    unit=st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join),
    end=st.lists(st.sampled_from(FRAGMENTS), max_size=2).map("".join),
)
@example(start="", unit=FRAGMENTS[0], end="")
@example(start="", unit="eyJaaaaaaaa", end="")
@example(start="", unit="\\", end="")
def test_the_time_grows_with_the_text_and_no_faster(start: str, unit: str, end: str) -> None:
    """A text of 16 times the size takes about 16 times as long; if it grew with the square, 256."""

    def of_size(size: int) -> str:
        return start + (unit * (1 + size // len(unit)))[:size] + end

    small, large = of_size(SMALL), of_size(SMALL * TIMES)
    most = 100 * min(_seconds(small) for _ in range(3))
    assert any(_seconds(large) < most for _ in range(3))


def test_the_time_does_not_grow_with_the_number_of_secrets() -> None:
    """Each secret is replaced wherever it stands: not by going over the text for each of them."""

    def cost(lines: int) -> float:
        source = random.Random(lines)
        rows = [f"DB_PASSWORD={source.getrandbits(64):x}Zz" for _ in range(lines)]
        return min(_seconds("\n".join(rows)) for _ in range(3))

    assert cost(3_200) < 100 * cost(200)


def _seconds(text: str) -> float:
    begun = time.process_time()
    redact(text)
    Redactor(thorough=True).text(text)
    return time.process_time() - begun


def test_bytes_of_any_encoding_are_redacted() -> None:
    key = PLANTS[0].secret.encode()
    content = b"\xff\xfe\x00 binary " + key + b" \x80\x81"
    assert Redactor().content(content) == content.replace(key, b"[REDACTED]")
    assert Redactor().content(bytes(range(256))) == bytes(range(256))


def test_counts_name_the_kinds() -> None:
    redactor = Redactor(environment={"MY_TOKEN": "correct-horse-staple", "HOME": "/home/ada"})
    clean = redactor.clean({"a": [PLANTS[0].text, "correct-horse-staple in /home/ada"]})
    assert clean["a"][1] == "[REDACTED] in /home/ada"
    assert redactor.counts == {"GitHub token": 1, "known key": 1}
