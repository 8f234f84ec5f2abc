"""Planted worlds without end: runs and records for an evolution, and a judge of skills. SIMULATED.

A world is made from a seed: causes of failure with their conditions, habits, false friends, the
words that agents and analysts use, and how often analysts err. It is plain data: dump it as JSON
(`python -m lab.worlds SEED`), edit it, load it again. Its runs are trajectories with transcripts,
its analysts write the records that `harness evolve --patches` takes, and its judge reads a skill
and tells how held-out tasks end with it. There is no model and no HTTP; the same seed gives the
same bytes.

What worlds are drawn from stands in `ranges.json`, with a reason for every range, and in
`words.json`: both can be replaced by files of one's own.
"""

from __future__ import annotations

from lab.worlds.analyst import analyse
from lab.worlds.judge import FREQUENT, RARE, Judge, Measures, hear, meaning, stances, visible
from lab.worlds.runs import Attempt, Held, WorldTask, attempt, tasks, trajectory
from lab.worlds.world import Range, Ranges, Sign, World, load_ranges, load_world, make_world

__all__ = [
    "FREQUENT",
    "RARE",
    "Attempt",
    "Held",
    "Judge",
    "Measures",
    "Range",
    "Ranges",
    "Sign",
    "World",
    "WorldTask",
    "analyse",
    "attempt",
    "hear",
    "load_ranges",
    "load_world",
    "make_world",
    "meaning",
    "stances",
    "tasks",
    "trajectory",
    "visible",
]
