"""Guards: recorded forms of replies, golden runs, streams, policies, outages, the layer."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from examples.judges.guarded_streams import Stopped, checked_chunks, hold_back, roll_back
from harness.core import Refused, Unreachable
from harness.judge.guards import (
    Guarded,
    GuardedModel,
    GuardPolicy,
    Label,
    Mode,
    ModelGuard,
    PolicyRow,
    WordGuard,
    consecutive,
    guard_in,
    guard_out,
    is_unsafe,
    read_label,
)
from harness.judge.guards.labels import LABELS
from harness.models import ModelCall, Reply, open_gateway
from tests.judge.cases import FunctionModel, run

LETTERS: dict[str, Label] = {"S": "Safe", "C": "Controversial", "U": "Unsafe"}
RUNS = st.lists(st.sampled_from(LABELS), max_size=30)
MODES: tuple[Mode, ...] = ("strict", "loose")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Safety: Safe\nCategories: None", ("Safe", (), None)),
        ("Safety: Unsafe\nCategories: Violent", ("Unsafe", ("Violent",), None)),
        ("Safety: Safe\nCategories: None\nRefusal: Yes", ("Safe", (), True)),
        ("Safety: Unsafe\nCategories: PII\nRefusal: No", ("Unsafe", ("PII",), False)),
        (
            "Safety: Controversial\nCategories: Politically Sensitive Topics, Unethical Acts\n",
            ("Controversial", ("Politically Sensitive Topics", "Unethical Acts"), None),
        ),
        ("Safety: Safe", ("Safe", (), None)),
        ("This is Unsafe, I think.", None),
        ("Safety: Safe\nSafety: Unsafe\nCategories: None", None),
        ("Safety: safe\nCategories: None", None),
        ("Safety: Unsafe\nCategories: Fireworks", None),
        ("Safety: Safe\nCategories: None\nRefusal: Maybe", None),
        ("", None),
    ],
)  # fmt: skip
def test_replies_are_read_by_their_lines(reply: str, expected: Any) -> None:
    guarded = read_label(reply)
    found = guarded and (guarded.label, guarded.categories, guarded.refusal)
    assert found == expected


@pytest.mark.shared
def test_golden_runs(shared: Path) -> None:
    golden = json.loads((shared / "golden/golden.json").read_text())["q3g_consecutive"]
    for letters, expected in golden.items():
        assert list(consecutive([LETTERS[letter] for letter in letters])) == expected


def test_strict_and_loose_are_not_swapped() -> None:
    table = {(label, mode): is_unsafe(label, mode) for label in LABELS for mode in MODES}
    assert [pair for pair, unsafe in table.items() if unsafe] == [
        ("Controversial", "strict"), ("Unsafe", "strict"), ("Unsafe", "loose"),
    ]  # fmt: skip


async def labelled(labels: Sequence[Label]) -> AsyncIterator[tuple[str, Label]]:
    for position, label in enumerate(labels):
        yield f"{position} ", label


async def drain(stream: AsyncIterator[str]) -> tuple[list[str], Stopped | None]:
    released: list[str] = []
    try:
        async for text in stream:
            released += [text]
    except Stopped as stop:
        return released, stop
    return released, None


def first_run(labels: Sequence[Label], mode: Mode) -> int | None:
    """Position of the first token of the first unsafe run."""
    pairs = pairwise(labels)
    return next((n for n, (a, b) in enumerate(pairs) if a == b and is_unsafe(a, mode)), None)


@given(RUNS, st.sampled_from(MODES), st.integers(2, 6))
def test_nothing_of_an_unsafe_run_is_passed_on(labels: list[Label], mode: Mode, hold: int) -> None:
    released, stop = run(drain(hold_back(labelled(labels), mode, hold)))
    start = first_run(labels, mode)
    assert (stop is not None) == (start is not None)
    expected = len(labels) if start is None else max(0, start + 2 - hold)
    assert released == [f"{n} " for n in range(expected)]
    if stop is not None:
        assert stop.released == "".join(released)


def test_ten_thousand_streams_pass_on_nothing_of_an_unsafe_run() -> None:
    draw = random.Random(5)

    async def all_streams() -> int:
        leaked = 0
        for _ in range(10_000):
            weights = (draw.random(), draw.random() / 2, draw.random() / 2)
            labels = draw.choices(LABELS, weights, k=draw.randrange(1, 20))
            released, _ = await drain(hold_back(labelled(labels), "strict", 2))
            start = first_run(labels, "strict")
            leaked += start is not None and len(released) > start
        return leaked

    assert run(all_streams()) == 0


def test_the_latency_is_the_hold_back() -> None:
    async def lag() -> int:
        taken = given_out = most = 0

        async def source() -> AsyncIterator[tuple[str, Label]]:
            nonlocal taken
            for _ in range(20):
                taken += 1
                yield "x", "Safe"

        async for _ in hold_back(source(), "strict", 4):
            most = max(most, taken - given_out)
            given_out += 1
        return most

    assert run(lag()) <= 4
    with pytest.raises(ValueError, match="hold"):
        run(drain(hold_back(labelled(["Safe"]), "strict", 1)))


def test_a_stream_goes_back_and_is_written_again() -> None:
    begun: list[tuple[str, int]] = []

    def begin(released: str, attempt: int) -> AsyncIterator[tuple[str, Label]]:
        begun.append((released, attempt))
        unsafe: list[Label] = ["Safe", "Safe", "Safe", "Unsafe", "Unsafe"]
        return labelled(unsafe if attempt < 2 else ["Safe", "Safe"])

    released, stop = run(drain(roll_back(begin, refusal="no", buffer=4)))
    assert stop is None
    assert begun == [("", 0), ("0 ", 1), ("0 0 ", 2)]
    assert released == ["0 ", "0 ", "0 ", "1 "]
    begun.clear()
    never = roll_back(lambda text, n: labelled(["Unsafe", "Unsafe"]), refusal="no", retries=3)
    assert run(drain(never)) == (["no"], None)


def test_chunks_wait_for_the_guard_and_its_outage_stops() -> None:
    async def pieces() -> AsyncIterator[str]:
        for word in ("good ", "good ", "bad ", "good "):
            yield word

    policy = GuardPolicy()

    async def check(text: str) -> Any:
        label: Label = "Unsafe" if "bad" in text else "Safe"
        return label, policy.action(Guarded(label=label), "out")

    released, stop = run(drain(checked_chunks(pieces(), check, size=5)))
    assert released == ["good ", "good "]
    assert stop is not None
    assert (stop.label, stop.released) == ("Unsafe", "good good ")

    async def down(text: str) -> Any:
        return None, policy.action(None, "out")

    released, stop = run(drain(checked_chunks(pieces(), down, size=5)))
    assert released == []
    assert stop is not None
    assert stop.label is None


def test_the_policy_is_a_table() -> None:
    policy = GuardPolicy(
        mode="loose",
        rows=(
            PolicyRow(category="PII", place="out", action="redact"),
            PolicyRow(label="Controversial", place="in", action="interrupt"),
        ),
    )
    both = Guarded(label="Unsafe", categories=("PII", "Violent"))
    assert policy.action(both, "out") == "stop"  # the most severe of its categories
    assert policy.action(Guarded(label="Unsafe", categories=("PII",)), "out") == "redact"
    assert policy.action(Guarded(label="Controversial"), "in") == "interrupt"
    assert policy.action(Guarded(label="Controversial"), "out") == "allow"
    assert policy.action(None, "in") == "stop"
    assert GuardPolicy(outage="allow").action(None, "in") == "allow"
    with pytest.raises(ValidationError, match="category"):
        PolicyRow(category="Fireworks", action="stop")


def guard_of(replies: dict[str, str]) -> ModelGuard:
    def decide(prompt: str, members: dict[str, Any]) -> Any:
        return next((reply for word, reply in replies.items() if word in prompt), "Safety: Safe")

    return ModelGuard(FunctionModel(decide))


def answering(prompt: str, members: dict[str, Any]) -> str:
    return "how to build a bomb" if "how" in prompt else "ok"


BOMB = guard_of({"bomb": "Safety: Unsafe\nCategories: Violent", "odd": "I cannot tell"})


def test_an_outage_is_closed() -> None:
    down = ModelGuard(FunctionModel(lambda prompt, members: Unreachable("down")))
    assert run(down.check("x")) is None
    with pytest.raises(Refused, match="down"):
        model = FunctionModel(lambda prompt, members: "fine")
        run(GuardedModel(model, down, GuardPolicy()).complete([{"role": "user", "content": "x"}]))
    assert run(BOMB.check("odd")) is None  # a reply that cannot be read is an outage, too


def test_the_layer_guards_what_goes_in_and_what_comes_out() -> None:
    model = FunctionModel(
        lambda prompt, members: "how to build a bomb" if "how" in prompt else "ok"
    )
    layer = GuardedModel(model, BOMB, GuardPolicy())
    assert run(layer.complete([{"role": "user", "content": "hello"}])).text == "ok"
    with pytest.raises(Refused, match=r"in front: Unsafe \(Violent\): stop"):
        run(layer.complete([{"role": "user", "content": [{"type": "text", "text": "a bomb"}]}]))
    asked = len(model.prompts)
    with pytest.raises(Refused, match="in front"):
        run(layer.complete([{"role": "tool", "content": "bomb"}, {"role": "user", "content": "x"}]))
    assert len(model.prompts) == asked
    with pytest.raises(Refused, match="behind"):
        run(layer.complete([{"role": "user", "content": "how"}]))
    redact = GuardPolicy(rows=(PolicyRow(label="Unsafe", action="redact"),))
    soft = GuardedModel(model, BOMB, redact)
    assert run(soft.complete([{"role": "user", "content": "how"}])).text == redact.notice
    run(soft.complete([{"role": "user", "content": "a bomb"}]))
    assert model.prompts[-1] == redact.notice


def test_the_gateway_serves_the_layer_and_streams_nothing_unseen() -> None:
    model = FunctionModel(
        lambda prompt, members: "how to build a bomb" if "how" in prompt else "ok"
    )

    async def ask(content: str) -> tuple[int, str]:
        async with open_gateway(GuardedModel(model, BOMB, GuardPolicy())) as gateway:
            key, _ = gateway.open_account()
            body = {
                "model": "m",
                "stream": True,
                "messages": [{"role": "user", "content": content}],
            }
            async with httpx.AsyncClient(trust_env=False) as client:
                reply = await client.post(
                    f"{gateway.origin}/v1/chat/completions", json=body,
                    headers={"authorization": f"Bearer {key}"},
                )  # fmt: skip
            return reply.status_code, reply.text

    status, text = run(ask("hello"))
    assert (status, '"content": "ok"' in text) == (200, True)
    status, text = run(ask("how"))
    assert status == 400
    assert "build" not in text


def test_nodes_stop_redact_and_wait() -> None:
    stop, redact = GuardPolicy(), GuardPolicy(rows=(PolicyRow(label="Unsafe", action="redact"),))
    fine = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}
    bad = {"messages": [{"role": "user", "content": "a bomb"}]}
    assert run(guard_out(BOMB, stop)(fine))["guard"]["action"] == "allow"
    with pytest.raises(Refused, match="guard_in: Unsafe"):
        run(guard_in(BOMB, stop)(bad))
    assert run(guard_in(BOMB, redact)(bad))["messages"] == [
        {"role": "user", "content": redact.notice}
    ]
    assert run(guard_in(BOMB, stop)({})) == {}


def test_interrupt_waits_for_a_person() -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  # langgraph has none
        END,
        START,
        StateGraph,
    )
    from langgraph.types import Command

    wait = GuardPolicy(rows=(PolicyRow(label="Unsafe", action="interrupt"),))
    state_graph: Any = StateGraph
    graph = (
        state_graph(dict)
        .add_node("guard_in", guard_in(BOMB, wait))
        .add_edge(START, "guard_in")
        .add_edge("guard_in", END)
        .compile(checkpointer=InMemorySaver())
    )

    async def play(answer: str) -> Any:
        config: Any = {"configurable": {"thread_id": answer}}
        state = {"messages": [{"role": "user", "content": "a bomb"}]}
        first = await graph.ainvoke(state, config)
        assert first["__interrupt__"][0].value["label"] == "Unsafe"
        return await graph.ainvoke(Command(resume=answer), config)

    assert asyncio.run(play("allow"))["guard"]["action"] == "allow"
    with pytest.raises(Refused, match="stop"):
        asyncio.run(play("no"))


def test_a_word_list_knows_whole_words_and_no_context() -> None:
    words = WordGuard({"Violent": ["bomb", "blow up"], "PII": []})
    guarded = run(words.check("How do I blow up a balloon?"))
    assert guarded is not None
    assert (guarded.label, guarded.categories) == ("Unsafe", ("Violent",))  # its error, not ours
    safe = run(words.check("x", "a bombastic speech"))
    assert safe is not None
    assert safe.label == "Safe"


def test_prose_around_a_label_is_an_outage() -> None:
    assert read_label("The user wrote:\nSafety: Safe\nwhich it is not.") is None


def test_labels_that_are_none_stop_a_stream() -> None:
    odd: Any = [None, "unsafe"]
    for label in odd:
        released, stop = run(drain(hold_back(labelled([label] * 3), "strict")))
        assert released == []
        assert stop is not None
        assert stop.label is None


@pytest.mark.parametrize(
    "message",
    [
        {"role": "function", "name": "f", "content": "a bomb"},
        {"role": "user", "content": ["a bomb"]},
    ],
)
def test_no_form_of_a_message_passes_the_guard_by(message: dict[str, Any]) -> None:
    model = FunctionModel(lambda prompt, members: "ok")
    with pytest.raises(Refused, match="in front"):
        run(GuardedModel(model, BOMB, GuardPolicy()).complete([message]))


def test_a_redacted_answer_asks_for_no_tool() -> None:
    class Caller(FunctionModel):
        async def complete(self, *words: Any, **options: Any) -> Reply:
            reply = await super().complete(*words, **options)
            call = ModelCall(id="1", name="f", arguments='{"a": "bomb"}')
            return reply.model_copy(update={"tool_calls": (call,), "finish_reason": "tool_calls"})

    redact = GuardPolicy(rows=(PolicyRow(label="Unsafe", action="redact"),))
    layer = GuardedModel(Caller(lambda prompt, members: ""), BOMB, redact)
    reply = run(layer.complete([{"role": "user", "content": "x"}]))
    assert (reply.text, reply.tool_calls, reply.finish_reason) == (redact.notice, (), "stop")
