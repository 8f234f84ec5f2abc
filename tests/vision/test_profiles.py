"""Profiles of vision models: their limits."""

from __future__ import annotations

import pytest

from harness.vision.profiles import ImageLimits, vision_profile


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
    assert thinking.temperature == 0.8
    assert vision_profile("Kimi-VL-A3B-Instruct").temperature == 0.2
    assert vision_profile("Kimi-VL-A3B-Instruct").images.tokens(896, 896) == 1024
    assert vision_profile("Qwen3-VL-8B").images.multiple == 32


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="must fit"):
        ImageLimits(most_pixels=100, multiple=28)
    with pytest.raises(ValueError, match="must fit"):
        ImageLimits(longest_side=20)
