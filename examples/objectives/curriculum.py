"""QwenLong-L1's curriculum (arXiv 2505.17667): length bands, and hard tasks of earlier ones again.

Each phase takes the tasks of its own length band and, beside them, tasks of earlier phases, drawn
in proportion to their difficulty 1 / mean reward. The authors' sampler was not published; the
ceiling for tasks that nobody solved is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from pydantic import Field

from harness.core import BadInput, Value


class LengthCurriculum(Value):
    """Phases by the length of their inputs.

    Attributes:
        caps: tokens of the longest input of each phase, rising; what is longer belongs to none.
        ceiling: greatest difficulty; a mean reward of 0 has this one.
    """

    caps: tuple[int, ...] = (20_000, 60_000)
    ceiling: float = Field(default=16.0, ge=1.0)

    def phase_of(self, tokens: int) -> int | None:
        """The phase of an input, from 0; None above the last cap."""
        return next((phase for phase, cap in enumerate(self.caps) if tokens <= cap), None)

    def difficulty(self, mean: float) -> float:
        """1 / mean reward, `ceiling` at most.

        Raises:
            BadInput: if it is no mean of rewards in [0, 1].
        """
        if not 0 <= mean <= 1:
            raise BadInput(f"expected a mean reward in [0, 1], got {mean!r}")
        return min(self.ceiling, 1 / mean) if mean else self.ceiling

    def draw(
        self, lengths: Mapping[str, int], rewards: Mapping[str, float], phase: int, count: int,
        rng: Random,
    ) -> list[str]:  # fmt: skip
        """The tasks of a phase: all of its band, then `count` draws of earlier ones, repeatable.

        Args:
            lengths: task id -> tokens.
            rewards: task id -> mean reward; earlier tasks without one are not drawn again.
            phase: from 0.
            count: draws with replacement.
            rng: draws them.

        Raises:
            BadInput: for a phase that there is not.
        """
        if not 0 <= phase < len(self.caps):
            raise BadInput(f"expected a phase from 0 to {len(self.caps) - 1}, got {phase!r}")
        phases = {id_: self.phase_of(tokens) for id_, tokens in sorted(lengths.items())}
        current = [id_ for id_, own in phases.items() if own == phase]
        earlier = [
            id_ for id_, own in phases.items() if own is not None and own < phase and id_ in rewards
        ]
        weights = [self.difficulty(rewards[id_]) for id_ in earlier]
        return [*current, *(rng.choices(earlier, weights, k=count) if earlier else [])]
