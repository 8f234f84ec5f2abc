"""Agents that sort tickets by rules that nobody told them: runs, analysts and a judge. SIMULATED.

A trade (`trades/*.yaml`) is a system prompt that lists labels and tools, and policies that it does
not state: each is a planted cause of failure. A variant of a trade draws its tickets, how they end
and what analysts write of them from a seed; the same seed gives the same bytes, and no model is
asked. Analysts know the causes and err at a given rate.

Tune on the trades of `development.yaml`; figures that are quoted come from `held_out.yaml`, whose
trades another author wrote: nobody who changes the merge has read them.
"""

from __future__ import annotations

from lab.triage.analyst import analyse
from lab.triage.judge import Verdict, judge
from lab.triage.merger import ScriptedMerger
from lab.triage.runs import Run, runs, trajectory
from lab.triage.trade import Trade, load_trades

__all__ = [
    "Run",
    "ScriptedMerger",
    "Trade",
    "Verdict",
    "analyse",
    "judge",
    "load_trades",
    "runs",
    "trajectory",
]
