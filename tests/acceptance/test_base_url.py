"""`--base-url` holds for every role of every command: nothing goes to a provider's default address.

The default address is a server of the test's own, too: what arrives there would have left the
machine with the user's texts.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.models import transport
from tests.acceptance.test_run_twice import world
from tests.record.provider import Answer, Provider, Said, Seen, provide
from tests.record.speaking import speaking
from tests.speech.audio_server import tone

AGENT = "--model agent=openai/other"
EVOLVE = f"evolve --suite suite --create doubling --limit 6 --epochs 1 --out out {AGENT}"
CODE = "--sandbox none"
BUILD = "index build notes.txt --encoder lexical --out built"
TABLE: dict[str, tuple[str, ...]] = {
    "ask: model": ("ask 'What does the lantern weigh?' notes.txt --model openai/asked",),
    "check: proposer": ("check --answer notes.txt --documents notes.txt --model openai/asked",),
    "eval run: agent": (f"eval suite --limit 1 --out out --model openai/asked {CODE}",),
    "try: agent": (
        "try sums.jsonl --agent graph:answer --out sums-suite --model openai/asked",
    ),
    "eval run: judge": (
        f"eval judged.yaml --limit 1 --out out {AGENT} --model judge=openai/asked {CODE}",
    ),
    "eval run: guard": (
        f"eval suite --limit 1 --out out {AGENT} --agent py:agent.py:answer "
        f"--guard openai/asked {CODE}",
    ),
    "evolve: analyst": (f"{EVOLVE} --analyst single --model analyst=openai/asked {CODE}",),
    "index ablate: model": (
        BUILD, "index ablate --index built --cases cases.jsonl --answers 200 --model openai/asked",
    ),
    "index build: encoder": ("index build notes.txt --encoder openai/asked --out out",),
    "index questions: model": (
        "index questions notes.txt --ask-model --count 1 --out q.jsonl --model openai/asked",
    ),
    "judge: judge": ("judge answers.jsonl --rubric rules.md --out out --model openai/asked",),
    "skill audit: agent": (
        f"skill audit short --suite suite --rollouts 20 --out out --model openai/asked {CODE}",
    ),
    "skill ladder: agent": (
        "skill ladder short --suite held.yaml --examples none --rungs none,repeat --out out "
        f"--model openai/asked {CODE}",
    ),
    "skill trigger: agent": (
        "skill trigger short --agent choose --out out --model openai/asked",
    ),
    "speak: planner": (
        "speak notes.txt --out talk.wav --model openai/asked --synthesizer openai/other",
    ),
    "speak: synthesizer": ("speak notes.txt --out talk.wav --synthesizer openai/asked",),
    "synth: proposer": (
        "synth --from notes --kind search --n 1 --out out --model openai/asked",
    ),
    "synth: solver": (
        f"synth --from players.csv --kind table --n 1 --for openai/asked --out out {CODE}",
    ),
    "transcribe: recognizer": ("transcribe tone.wav --model openai/asked",),
}  # fmt: skip
"""Command and role -> what is typed, `--base-url` behind the last; the role's model is `asked`."""
ELSEWHERE = {
    "learn": "asks before it sends, and says where: tests/learn/test_command.py",
    "debug": "waits for keys: tests/debug/test_terminal.py",
    "skill review": "needs an evolved skill: tests/judge/test_reviewing.py",
    "record": "answers for an agent, by either name: tests/record/test_door.py",
}


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Provider, Provider]]:
    """The server that is named and the one that is not, in the folder where commands are typed."""
    world(tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    Path("notes").mkdir()
    for name, text in {
        "cases.jsonl": json.dumps(
            {
                "query": "lantern",
                "gold": [{"doc": "notes.txt", "start": 0, "end": 9}],
                "answers": ["4"],
            }
        ),
        "sums.jsonl": json.dumps({"question": "What is 2 + 2?", "answer": "4"}) + "\n",
        "judged.yaml": "name: judged\ntasks: judged.jsonl\njudge: {rubric: Is it short}\n",
        "judged.jsonl": json.dumps({"id": "a", "prompt": "Say 4.", "check": "rubric"}) + "\n",
        "notes/a.txt": "\n\n".join(
            f"The {name} Lantern was made in {1900 + n} by {name} Miller of {name}ton."
            for n, name in enumerate(("Corvin", "Delton", "Esker", "Farrow", "Gilden", "Harrow"))
        ),
    }.items():
        Path(name).write_text(text)
    Path("tone.wav").write_bytes(tone(0.2).to_wav())
    monkeypatch.setattr(transport, "ATTEMPTS", 1)
    script = speaking(lambda seen: Said("4"))

    def answer(provider: Provider, seen: Seen) -> Answer:
        return script(provider, seen)

    with provide(answer) as named, provide(answer) as default:
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{default.url}/v1")
        yield named, default


@pytest.mark.parametrize("role", list(TABLE))
def test_each_role_is_asked_at_the_address_that_was_named(
    role: str, typed: tuple[Provider, Provider]
) -> None:
    named, default = typed
    *before, command = TABLE[role]
    for line in before:
        done = CliRunner().invoke(cli, shlex.split(line))
        assert done.exit_code == 0, (line, done.output, done.exception)
    words = [*shlex.split(command), "--base-url", f"{named.url}/v1"]
    done = CliRunner().invoke(cli, words)
    assert "asked" in {_model(seen) for seen in named.seen}, (done.output, done.exception)
    assert default.seen == []


def _model(seen: Seen) -> str:
    form = bytes.fromhex(seen.body["hex"]).decode(errors="replace") if "hex" in seen.body else ""
    return "asked" if "asked" in form else str(seen.body.get("model"))


def test_every_command_with_the_option_is_in_the_table() -> None:
    def paths(command: click.Command, path: str, ctx: click.Context) -> Iterator[str]:
        if isinstance(command, click.Group):
            for name in command.list_commands(ctx):
                member = command.get_command(ctx, name)
                assert member is not None
                yield from paths(member, f"{path} {name}".strip(), ctx)
        if any("--base-url" in parameter.opts for parameter in command.get_params(ctx)):
            yield path

    commands = set(paths(cli, "", click.Context(cli)))
    assert commands == {role.partition(":")[0] for role in TABLE} | set(ELSEWHERE)
