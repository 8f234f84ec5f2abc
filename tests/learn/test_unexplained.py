"""Random-looking text is shown with its place before sending; all planted kinds are gone."""

from __future__ import annotations

import json
import random
import string
import uuid
from hashlib import sha256
from pathlib import Path

import pytest

from harness.core.redaction import Redactor
from harness.learn import REVIEW, LearnSettings, gather
from harness.learn.entropy import doubtful_words, random_words
from tests.core.plants import PLANTS, chars
from tests.learn.clients import Event, write_claude

ALPHABETS = (string.ascii_letters + string.digits, string.ascii_letters + string.digits + "-_")
GREEN: Event = ("sh", "pytest -q", "4 passed in 0.10s", 0)


def test_most_random_words_are_seen_and_few_others() -> None:
    source = random.Random(5)
    words = ["".join(source.choices(source.choice(ALPHABETS), k=32)) for _ in range(500)]
    seen = sum(bool(list(random_words(f"a\n  {word},\n"))) for word in words)
    assert seen >= 0.95 * len(words)
    names = [
        *(str(uuid.UUID(int=source.getrandbits(128))) for _ in range(50)),
        *(sha256(word.encode()).hexdigest() for word in words[:50]),
        "tests/evals/test_an_813_byte_tool_result_keeps_its_fields",
        "vllm/moonshotai/Kimi-VL-A3B-Thinking-2506",
        "createSessionIdentifierFromRequestHeaders2",
        "sha512-" + words[0] * 2,
        "AAAAC3NzaC1lZDI1NTE5" + words[1],
        "toolu_01" + words[2],
    ]
    assert [name for name in names if list(random_words(name))] == []


def test_what_looks_random_is_listed_with_its_line_before_anything_is_sent(tmp_path: Path) -> None:
    word = "Qz" + chars("unknown vendor", 30)
    session = (("user", "Fix the discount."), ("sh", "cat notes", f"one\nuse {word} here", 0))
    write_claude(tmp_path / ".claude", "s1", (*session, ("edit", "prices.py"), GREEN))
    settings = LearnSettings(out=tmp_path / "out", rebuild=False)
    gathered = gather(settings, environment={"HOME": str(tmp_path)})
    (listed,) = (row for row in gathered.suspects if row.endswith("characters)"))
    file, line, _ = listed.split(":", 2)
    assert word in Path(file).read_text().split("\n")[int(line) - 1]
    page = (settings.out / REVIEW).read_text()
    assert f"  look at {listed}" in page
    assert word not in page
    again = gather(settings, environment={"HOME": str(tmp_path)})
    assert again.suspects == gathered.suspects


def test_no_plant_is_left_in_anything_that_learn_writes(tmp_path: Path) -> None:
    """One session holds them all: in outputs, commands, and bare in what is quoted as a claim."""
    bare = next(plant for plant in PLANTS if plant.name == "mysql")
    outputs = [("sh", f"cat file-{n}", plant.text, 0) for n, plant in enumerate(PLANTS)]
    wrong = ("user", f"No, that is still wrong with {bare.secret}, the price is the same.")
    write_claude(
        tmp_path / ".claude", "s1", (("user", "Fix it."), *outputs, ("edit", "p.py"), GREEN, wrong)
    )
    write_claude(tmp_path / ".claude", "s2", (("user", "It."), *outputs, ("edit", "p.py"), GREEN))
    gather(LearnSettings(out=tmp_path / "out", rebuild=False), environment={"HOME": str(tmp_path)})
    written = "\n".join(
        path.read_text() for path in sorted((tmp_path / "out").rglob("*")) if path.is_file()
    )
    left = [p.name for p in PLANTS if p.secret in written or json.dumps(p.secret)[1:-1] in written]
    assert left == []


def test_a_file_of_another_encoding_is_redacted() -> None:
    content = "passwort: ä9Gr4nite$Otter".encode("latin-1")
    assert b"Gr4nite" not in Redactor(thorough=True).content(content)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("log in with admin / m0nkey.Forest", "m0nkey.Forest"),
        ("the password is correcthorse", "correcthorse"),
        ('connect("h", "svc", "gr3enApple_9")', "gr3enApple_9"),
        ("sqlplus scott/Tr0ub4dor&3@orcl", "Tr0ub4dor&3"),
        ("algolia admin ae9f64b6be07811d749c917c7bf89b7d", "ae9f64b6be07811d749c917c7bf89b7d"),
        ("2FA backup codes: 48213-99120", "48213-99120"),
        ("can't scan the QR? enter this key: DKNW RJKQ 7KBV 7JIQ", "DKNW RJKQ 7KBV 7JIQ"),
        ("the door code is 4711#", "4711#"),
    ],
)
def test_what_a_line_says_is_a_secret_is_listed(line: str, word: str) -> None:
    assert any(word in listed for _, listed in doubtful_words(line))


@pytest.mark.parametrize(
    "line",
    [
        "the password is required",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        'key: "KeyA KeyB"',
        "def login(user: str, password: str) -> Session:",
        "AWS_REGION=eu-central-1",
    ],
)
def test_other_lines_are_not_listed(line: str) -> None:
    assert doubtful_words(line) == []
