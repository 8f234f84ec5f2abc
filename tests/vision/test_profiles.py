"""Profiles of vision models: limits, and reasoning inside the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.vision.profiles import ImageLimits, split_thinking, vision_profile

KIMI = ("◁think▷", "◁/think▷")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("vllm/moonshotai/Kimi-VL-A3B-Thinking-2506", "kimi-vl-thinking"),
        ("moonshotai/Kimi-VL-A3B-Instruct", "kimi-vl-instruct"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl"),
        ("Qwen/Qwen2-VL-2B", "qwen2.5-vl"),
        ("vllm/Qwen/Qwen3-VL-8B-Instruct", "qwen3-vl-instruct"),
        ("Qwen/Qwen3-VL-30B-A3B-Thinking", "qwen3-vl-thinking"),
        ("openai/gpt-4.1-mini", "other"),
        ("Qwen/Qwen2.5-7B", "other"),
    ],
)
def test_models_have_the_profile_of_their_family(model: str, name: str) -> None:
    assert vision_profile(model).name == name


def test_the_limits_are_those_of_the_model_cards() -> None:
    thinking = vision_profile("Kimi-VL-A3B-Thinking-2506")
    assert thinking.images.most_pixels == 3_211_264  # 3.2 megapixels
    assert thinking.images.images == 256
    assert thinking.context == 131_072
    assert thinking.thinking == KIMI
    assert thinking.temperature == 0.8
    assert vision_profile("Kimi-VL-A3B-Instruct").temperature == 0.2
    assert vision_profile("Kimi-VL-A3B-Instruct").images.tokens(896, 896) == 1024
    assert vision_profile("Qwen3-VL-8B").images.multiple == 32


@pytest.mark.parametrize(
    ("text", "thinking", "parts"),
    [
        ("◁think▷Let me see.◁/think▷ 42", KIMI, ("Let me see.", "42")),
        ("Let me see.◁/think▷42", KIMI, ("Let me see.", "42")),  # the template wrote the opening
        ("◁think▷Let me", KIMI, ("Let me", "")),  # cut off: there is no answer
        ("42", KIMI, ("", "42")),
        ("<think>a</think>b", None, ("", "<think>a</think>b")),
        ("<think>a</think>b</think> c", ("<think>", "</think>"), ("ab", "c")),
    ],
)
def test_reasoning_is_taken_out_of_the_text(
    text: str, thinking: tuple[str, str] | None, parts: tuple[str, str]
) -> None:
    assert split_thinking(text, thinking) == parts


@given(st.text(alphabet="ab <>/◁▷think", max_size=40))
def test_no_delimiter_is_left_in_an_answer(text: str) -> None:
    _, answer = split_thinking(text, KIMI)
    assert KIMI[1] not in answer


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="must fit"):
        ImageLimits(most_pixels=100, multiple=28)
    with pytest.raises(ValueError, match="must fit"):
        ImageLimits(longest_side=20)
