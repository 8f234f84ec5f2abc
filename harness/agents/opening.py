"""Agent specs: which agent they name, and whether it needs the address of a gateway."""

from __future__ import annotations

import shlex
from pathlib import Path, PurePath

from harness.agents.types import Agent, SkillMode
from harness.core import BadInput, assets
from harness.core.trust import Origin

CLIENTS = frozenset({"claude", "codex", "copilot", "cursor-agent", "gemini", "goose", "opencode"})
"""Programs that look for skills in the folders where :mod:`harness.agents.foreign` puts them."""


def is_foreign(spec: str) -> bool:
    """Return True if an agent runs in its own process and reaches its model through a gateway."""
    kind, _, reference = spec.partition(":")
    return kind in ("cmd", "py") or (kind == "graph" and ":" in reference)


def without_skill(spec: str) -> str:
    """The spec of a run without a skill: a command may leave a place for one all the same."""
    return spec.replace(" {skill}", "")


def refuse_lost_skill(agent: Agent, skill: str, mode: SkillMode) -> None:
    """Refuse to run an agent with a skill that would not reach it: that would measure nothing.

    Args:
        agent: to run.
        skill: name of the skill.
        mode: `discovered` says that the agent looks for skills by itself, as clients do.

    Raises:
        BadInput: if a command does not name `{skill}` and is no client that looks for skills, or a
            function never looks at the path of the skill that it is given.
    """
    if mode != "preloaded":
        return
    lost = f"the skill {skill!r} would not reach the agent"
    if getattr(agent, "ignores_skill", False):
        raise BadInput(
            f"{lost}: {agent.spec} never looks at a parameter `skill`, the path of the skill's "
            "folder (None without one): take it, and read SKILL.md there; of an agent that looks "
            "into .agents/skills of its work folder, say `skill_mode: discovered` in the suite"
        )
    kind, _, command = agent.spec.partition(":")
    if kind != "cmd" or "{skill}" in command:
        return
    if PurePath(next(iter(command.split()), "")).name in CLIENTS:
        return
    raise BadInput(
        f"{lost}: write {{skill}}, the path of its folder, into the command "
        f"(--agent {shlex.quote(agent.spec + ' {skill}')}); of a client that looks into "
        ".agents/skills or .claude/skills of its work folder by itself, say --skill-mode discovered"
    )


def open_agent(spec: str, *, base: Path | None = None, trusted: bool = False) -> Agent:
    """Open an agent.

    Args:
        spec: `graph:react` (ours), `graph:FILE.py:NAME`, `cmd:COMMAND LINE` or
            `py:FILE.py:FUNCTION`.
        base: folder that relative files start at.
        trusted: whether code that the spec names may run outside the sandbox. Naming an agent
            on the command line is trusting it; a suite's own agent is not trusted by that.

    Raises:
        BadInput: for another form, code that would run untrusted, or a file that does not import.
    """
    kind, _, reference = spec.partition(":")
    folder = base or Path.cwd()
    if kind == "graph" and reference and ":" not in reference:
        from harness.agents.react import ReactAgent

        return ReactAgent(spec, assets.load_graph(reference))
    if kind == "cmd" and reference.strip():
        from harness.agents.foreign import CommandAgent

        return CommandAgent(spec, folder, trusted)
    if kind in ("graph", "py") and reference:
        from harness.agents.foreign import PythonAgent

        return PythonAgent(Origin("the suite", folder, trusted).program(spec), folder)
    raise BadInput(
        f"expected an agent as graph:react, graph:FILE.py:NAME, cmd:COMMAND or "
        f"py:FILE.py:FUNCTION, got {spec!r}"
    )
