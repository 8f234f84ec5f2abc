"""Who would be sent what: shown before anything is sent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from harness.core.redaction import redact
from harness.evolve.staff import asked
from harness.learn.gathering import Gathered
from harness.learn.settings import LearnSettings
from harness.models import OPENAI_URL, VLLM_URL, ModelSpec, parse_roles

HERE = "on this machine"


def recipients(
    settings: LearnSettings, gathered: Gathered, environment: Mapping[str, str] = os.environ
) -> list[str]:
    """One line for each model that gets anything, with where it is and what it gets.

    Args:
        settings: of the learning.
        gathered: what would be sent.
        environment: where base URLs are looked up that no setting names.
    """
    roles = parse_roles(list(settings.models))
    where = {role: place(spec, settings.base_url, environment) for role, spec in roles.items()}
    analysts, merges = asked(settings.evolution(Path(gathered.folder), None))
    lines: list[str] = []
    if analysts:
        lines.append(
            f"the analysts' model {where['analyst']}: {len(gathered.teaching)} sessions, about "
            f"{gathered.tokens:,} tokens (packaged count)"
        )
    if merges:
        lines.append(f"the merger's model {where['merger']}: the analysts' rules and their quotes")
    if gathered.gate:
        held = len({one.task for one in gathered.tasks if one.held_out})
        what = f"prompts and repository files of the {held} tasks that the gate runs"
        lines.append(f"the agent's model {where['agent']}: {what}")
        if (settings.agent or "").startswith(("cmd:", "graph:")):
            lines.append(f"the agent {settings.agent}, wherever it sends them: the same")
    return lines


def place(spec: ModelSpec, base_url: str | None, environment: Mapping[str, str]) -> str:
    """A model and its base URLs, or that it answers on this machine."""
    remote = spec.kind in ("openai", "vllm") or (spec.kind == "local" and base_url)
    if not remote:
        return f"{spec} ({HERE})"
    official = spec.kind == "openai"
    variable, default = ("OPENAI_BASE_URL", OPENAI_URL) if official else ("VLLM_BASE_URL", VLLM_URL)
    return f"{spec} at {redact(base_url or environment.get(variable) or default)}"
