"""How a sample meets an agent: graphs, commands and functions behind one contract."""

from __future__ import annotations

from pathlib import Path

from harness.agents.types import Agent, AgentContext, AgentRun, Sample, SkillMode
from harness.core import BadInput, assets

__all__ = ["Agent", "AgentContext", "AgentRun", "Sample", "SkillMode", "open_agent"]


def open_agent(spec: str, *, base: Path | None = None, trusted: bool = False) -> Agent:
    """Open an agent.

    Args:
        spec: `graph:react` (ours), `graph:FILE.py:NAME`, `cmd:COMMAND LINE` or
            `py:FILE.py:FUNCTION`.
        base: folder that relative files start at.
        trusted: whether code that the spec names may run outside the sandbox. Naming an agent
            on the command line is trusting it; a suite's own agent is not trusted by that.

    Raises:
        BadInput: for another form, or code that would run in this process untrusted.
    """
    kind, _, rest = spec.partition(":")
    folder = base or Path.cwd()
    if kind == "graph" and rest and ":" not in rest:
        from harness.agents.graph import ReactAgent

        return ReactAgent(spec, assets.load_graph(rest))
    if kind == "cmd" and rest.strip():
        from harness.agents.command import CommandAgent

        return CommandAgent(spec, folder, trusted)
    if kind in ("graph", "py") and rest:
        if not trusted:
            raise BadInput(
                f"{spec!r} would run code of the suite in this process: name it with --agent, or "
                "--trust the suite"
            )
        return _in_process(kind, spec, assets.load_object(rest, folder))
    raise BadInput(
        f"expected an agent as graph:react, graph:FILE.py:NAME, cmd:COMMAND or "
        f"py:FILE.py:FUNCTION, got {spec!r}"
    )


def _in_process(kind: str, spec: str, loaded: object) -> Agent:
    if kind == "graph":
        from harness.agents.graph import MessagesGraphAgent

        return MessagesGraphAgent(spec, loaded)
    if not callable(loaded):
        raise BadInput(f"{spec!r} names a {type(loaded).__name__}, expected a function")
    from harness.agents.command import FunctionAgent

    return FunctionAgent(spec, loaded)
