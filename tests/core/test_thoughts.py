"""Thoughts in a reply: taken out by any mark, and left where a text only speaks of the mark."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import split_thoughts, without_thoughts

HARMONY = "<|channel|>analysis<|message|>Rome?<|end|><|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize(
    ("reply", "thoughts", "said"),
    [
        ("<think>\nOslo or Rome?\n</think>\n\nOslo", "Oslo or Rome?", "Oslo"),
        ("It may be Rome.\n</think>\n\nOslo", "It may be Rome.", "Oslo"),
        ("ok</think>Oslo", "ok", "Oslo"),
        ("<think>It may be Rome, or per", "It may be Rome, or per", ""),
        ("<Thinking>Rome?</Thinking> Oslo", "Rome?", "Oslo"),
        ("[THINK]Rome?[/THINK]Oslo", "Rome?", "Oslo"),
        ("◁think▷Rome?◁/think▷ Oslo", "Rome?", "Oslo"),
        ("Rome?◁/think▷Oslo", "Rome?", "Oslo"),
        ("<seed:think>Rome?</seed:think>Oslo", "Rome?", "Oslo"),
        ("<|START_THINKING|>Rome?<|END_THINKING|>Oslo", "Rome?", "Oslo"),
        (f"{HARMONY}Oslo<|return|>", "Rome?", "Oslo"),
        ("<|channel|>analysis<|message|>Rome", "Rome", ""),
        ("analysisRome?assistantfinalOslo", "Rome?", "Oslo"),
        ("<think>a</think>\n<think>b</think>\nOslo", "a\n\nb", "Oslo"),
        ("<think>a <think>b</think> c</think>Oslo", "a b c", "Oslo"),
        ("<think></think>\n\n7", "", "7"),
        ("Well.\n<think>Rome?</think>\nOslo", "Rome?", "Well.\n\nOslo"),
        ("<think>`</think>` ends it.</think>Write `</think>`.", "`` ends it.", "Write `</think>`."),
    ],
)
def test_thoughts_are_taken_out(reply: str, thoughts: str, said: str) -> None:
    assert split_thoughts(reply) == (thoughts, said)


@pytest.mark.parametrize(
    "reply",
    [
        "Oslo, I think.",
        "Put notes between `<think>` and `</think>`.",
        "The <think> tag opens them, the </think> tag ends them.",
        "A reply ends its thoughts with </think>.",
        "```xml\n<think>\nRome\n</think>\n```",
        "```python\nprint('</think>')\n```\nprints it.",
        "Write it like this:\n<think>\nyour notes\n</think>\nand then the answer.",
        '{"reason": "it says </think>\\nand more"}',
        "The analysis was made by an assistantfinal",
        "  blanks stay where nothing was thought  ",
    ],
)
def test_a_mark_that_is_only_spoken_of_stays(reply: str) -> None:
    assert split_thoughts(reply) == ("", reply)


@given(
    st.text(alphabet="abc .,\n", max_size=60),
    st.text(alphabet="xyz 123", min_size=1).filter(lambda text: text == text.strip() != ""),
    st.sampled_from([("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("◁think▷", "◁/think▷")]),
)
def test_whatever_was_thought_the_answer_is_what_follows(
    thoughts: str, answer: str, marks: tuple[str, str]
) -> None:
    reply = f"{marks[0]}{thoughts}{marks[1]}{answer}"
    assert split_thoughts(reply) == (thoughts.strip(), answer)
    assert without_thoughts(answer) == answer


@given(st.text(alphabet="ab `\n<>/|[]◁▷think", max_size=60))
def test_any_text_is_read(text: str) -> None:
    thoughts, said = split_thoughts(text)
    assert len(thoughts) + len(said) <= len(text) + thoughts.count("\n\n") * 2


@pytest.mark.parametrize(
    "reply",
    ["x\n" + "<think>\n" * 50_000, "<think></think>" * 30_000,
     "<think>" * 30_000 + "</think>" * 30_000, "x `</think>`" * 30_000,
     "x\n" + "<think>\na</think>\n" * 30_000, "analysis" * 30_000],
)  # fmt: skip
def test_a_hostile_reply_takes_no_longer_than_its_length(reply: str) -> None:
    began = time.process_time()
    split_thoughts(reply)
    assert time.process_time() - began < 5.0
