"""Questions about images for a model that cannot see: readers look, the model asks and reasons.

    read ──► plan ──► look ──► look … ──► reason ──► answer ──► END
                      │  ▲                 │  ▲
                      └► tool              └► correct

The graph of `vqa.py`, but that no image part is ever sent: the description is what readers find in
the pictures (:func:`harness.vision.agent.survey`), and a line of the checklist may use the tools
of the suite on a part.
"""

from __future__ import annotations

from typing import Any

from harness.core import assets


def build() -> Any:
    """The graph before compilation, as that of `vqa.py`."""
    return assets.load_object("graphs/vqa.py:build", assets.root())(first="read")


graph = build().compile(name="vqa_text")
