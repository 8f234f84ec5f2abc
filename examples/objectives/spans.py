"""Reward of the form of replies that name spans (MUSEG), for GRPO beside the spans' overlap.

python -m examples.objectives.spans
"""

from __future__ import annotations

import re

from harness.vision.metrics import global_reward, local_reward, read_spans

FORM = re.compile(r"\s*<think>(.*?)</think>\s*<answer>(.*?)</answer>\s*", re.DOTALL)
MOST_CITED = 10


def format_reward(reply: str, *, cited: bool = True) -> float:
    """Score how well a reply keeps to the form: 0, 0.2, 0.6 or 1.

    0 without both tags, 0.2 without a readable span, 0.6 if a bound of a span is not named 1 to 10
    times in the reasoning, else 1.

    Args:
        reply: the whole reply.
        cited: whether bounds must be named in the reasoning (the first training stage).
    """
    form, spans = FORM.fullmatch(reply), read_spans(reply)
    if not form:
        return 0.0
    if not spans:
        return 0.2
    named = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", form[1])]
    bounds = [bound for span in spans for bound in span]
    if cited and not all(1 <= named.count(bound) <= MOST_CITED for bound in bounds):
        return 0.6
    return 1.0


def main() -> None:
    """Print the three rewards of a reply whose second span begins late."""
    reply = "<think>1.5 to 3, then 7 to 9</think><answer>1.5-3 7-9</answer>"
    spans, wanted = read_spans(reply), [(1.5, 3.0), (6.0, 9.0)]
    print(f"form {format_reward(reply):.2f}")
    print(f"overlap of the whole {global_reward(spans, wanted):.2f}")
    print(f"overlap span by span {local_reward(spans, wanted):.2f}")


if __name__ == "__main__":
    main()
