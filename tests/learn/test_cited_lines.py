"""From every line of a skill that was learned to the line of the log that it was learned from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from faker.providers.lorem.la import Provider

from harness.skills import explain_place
from tests.acceptance import conftest as acceptance
from tests.acceptance.conftest import ChatServer, Harness
from tests.learn.cases import EDIT
from tests.learn.clients import Event, write_claude, write_codex

chat_server = acceptance.chat_server
harness = acceptance.harness
SECRET = "sk-proj-" + "a8Fq2LmZ91xTbVc0" * 3
EACH = 4
WORDS = list(dict.fromkeys(Provider.word_list))

# What the analyst quotes of a session of each kind (`{n}` is the session's number), and its events.
KINDS: dict[str, tuple[str, tuple[Event, ...]]] = {
    "output": ("{n} passed in 0.31s", (("sh", "pytest -q", "{n} passed in 0.31s", 0),)),
    "colours": (
        "price-{n} is off by one",
        (("sh", "make report", "\x1b[31mprice-{n}\x1b[0m is \x1b[1moff\x1b[0m by one", 0),),
    ),
    "letters": ("Größe → {n} €", (("sh", "cat sizes", "a\nGröße → {n} €\nb", 0),)),
    "marks": ('say "{n}\\t" twice', (("sh", "cat notes", 'say "{n}\\t" twice', 0),)),
    "lines": ("first {n}\nsecond {n}", (("sh", "cat list", "first {n}\nsecond {n}\nthird", 0),)),
    "words of the user": ("never touch table {n}", (("user", "And never touch table {n}, ok"),)),
    "words of the agent": ("I rewrote part {n}", (("say", "I rewrote part {n} of it."),)),
    "edit": ("limit_{n} = 3", (("edit", "limits.py", "limit_{n} = 2", "limit_{n} = 3"),)),
    "command": ("grep -rn price_{n} src", (("sh", "grep -rn price_{n} src", "no match", 1),)),
    "home": ("~/data/{n}.csv is missing", (("sh", "ls", "HOME/data/{n}.csv is missing", 2),)),
    "secret": ("export of part {n} by", (("sh", "env", "export of part {n} by KEY", 0),)),
}  # fmt: skip


def events(kind: str, number: int, home: Path) -> list[Event]:
    """The session's events with its number and the home folder put in."""
    rows = (("user", f"Look into matter {number}."), EDIT, *KINDS[kind][1])
    rows = (*rows, ("sh", "pytest -q", f"{number + 1} passed in 0.10s", 0))
    text = json.dumps(rows).replace("{n}", str(number)).replace("HOME", str(home))
    text = text.replace("KEY", SECRET)
    return [tuple(row) for row in json.loads(text)]


def words(text: str) -> str:
    """The words of a text, whatever marks and colours JSON writes between them, and how often."""
    bare = re.sub(r"(?:\\+u001b|\x1b)\[[0-9;]*m", "", text)
    return " ".join(re.sub(r"\\+[nt]|\W", " ", bare).split())


def lesson_of(number: int) -> str:
    """A lesson that shares no word with another one, so that none are merged."""
    return f"{' '.join(WORDS[4 * number : 4 * number + 4])}.".capitalize()


class Analyst(ChatServer):
    """Draws one lesson of its own from each session, and quotes it."""

    def answer(self, body: dict[str, Any]) -> str:
        prompt = "".join(str(message["content"]) for message in body["messages"])
        number = int(prompt.partition("Look into matter ")[2].partition(".")[0])
        quote = KINDS[list(KINDS)[number % len(KINDS)]][0].replace("{n}", str(number))
        # As it stands in the prompt: Codex's oldest form keeps outputs as JSON.
        quote = quote if quote in prompt else json.dumps(quote, ensure_ascii=False)[1:-1]
        lesson = {"title": "", "lesson": lesson_of(number), "evidence": [quote]}
        items = [lesson | {"generalization": "always"}]
        return json.dumps(
            {"analyst_type": "success", "summary": "as quoted", "memory_items": items}
        )


@pytest.mark.slow
def test_every_line_of_a_skill_leads_to_its_line_of_the_log(
    harness: Harness, tmp_path: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, total = tmp_path / "home", EACH * len(KINDS)
    monkeypatch.setattr(chat_server, "answer", Analyst().answer)
    for name, value in {"HOME": str(home), "OPENAI_API_KEY": "test"}.items():
        monkeypatch.setenv(name, value)
    for number in range(total):
        kind = list(KINDS)[number % len(KINDS)]
        rows = events(kind, number, home)
        if number % 2:
            write_codex(home / ".codex", f"x{number}", rows, form=1 + number % 3)
        else:
            write_claude(home / ".claude", f"c{number}", rows)
    rest = ("--base-url", chat_server.url, "--yes", "--min-support", "1", "--no-rebuild")
    done = harness("learn", "--out", "learned", "--model", "openai/test", *rest)
    assert done.returncode == 0, done.stderr
    page = next((tmp_path / "learned" / "evolved" / "skill").rglob("SKILL.md"))
    numbers = {f"- {lesson_of(number)}": number for number in range(total)}
    lines = enumerate(page.read_text().splitlines(), 1)
    rules = {place: numbers[line] for place, line in lines if line in numbers}
    assert len(rules) == 40  # a skill holds no more
    missed: list[str] = []
    for place, number in rules.items():
        kind = list(KINDS)[number % len(KINDS)]
        cited = [quote.log for r in explain_place(f"{page}:{place}").records for quote in r.quotes]
        quote = KINDS[kind][0].replace("{n}", str(number)).replace("~", str(home))
        for log in cited or [""]:
            file, _, line = str(log).rpartition(":")
            shown = Path(file).read_text().splitlines()[int(line) - 1] if file else ""
            if words(quote) not in words(json.dumps(json.loads(shown or "0"), ensure_ascii=False)):
                missed.append(f"{kind} {number}: {log}: {shown[:300]}")
    assert missed == []
