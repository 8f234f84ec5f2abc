"""Agents that are LangGraph graphs: ours, or a user's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.agents.limits import AttemptEnded
from harness.agents.react import ReactContext
from harness.agents.recording import Recorder
from harness.agents.skill_once import skill_at
from harness.agents.skill_text import skill_block
from harness.agents.types import AgentContext, AgentRun, Sample
from harness.core import BadInput, Unreachable
from harness.models import SampleLimitReached
from harness.tools import Bench, get_tools

STEPS_PER_TURN = 4
"""Graph steps that one turn takes at most; graphs of a user's may act and observe apart."""


class ReactAgent:
    """Our ReAct graph (`graphs/react.py`), or a graph with the same context and state."""

    def __init__(self, spec: str, graph: Any) -> None:
        self.spec = spec
        self._graph = graph

    async def run(self, sample: Sample, context: AgentContext) -> AgentRun:
        """Attempt one sample."""
        recorder = Recorder(self.spec, sample, context)

        def on_event(event: dict[str, Any]) -> None:
            recorder.event(event)
            if context.on_event is not None:
                shown = {key: value for key, value in event.items() if key != "reply"}
                context.on_event({"sample": sample.id, **shown})

        react = react_context(sample, context, on_event)
        recorder.message("system", react.system_prompt())
        recorder.message("user", sample.prompt)
        try:
            state = await self._invoke(sample, context, react)
        except AttemptEnded as error:
            return recorder.run(None, str(error))
        except SampleLimitReached as error:
            return recorder.run(None, str(error))
        except (Unreachable, BadInput) as error:
            return recorder.run(None, f"{type(error).__name__}: {error}")
        return recorder.run(state.get("answer"))

    async def _invoke(
        self, sample: Sample, context: AgentContext, react: ReactContext
    ) -> dict[str, Any]:
        start = {"messages": [{"role": "user", "content": sample.prompt}]}
        config = {
            "recursion_limit": STEPS_PER_TURN * context.max_turns + 50,
            "configurable": {"thread_id": sample.id},
        }
        if context.checkpoints is None:
            return await self._graph.ainvoke(start, config, context=react)
        from harness.checkpoints import open_saver

        async with open_saver(context.checkpoints) as saver:
            graph = self._graph.builder.compile(checkpointer=saver)
            begun = (await graph.aget_state(config)).next
            return await graph.ainvoke(None if begun else start, config, context=react)


def react_context(
    sample: Sample,
    context: AgentContext,
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> ReactContext:
    """The runtime context that our graphs get for one attempt; `on_event` is told its events."""
    names = list(context.tools)
    if context.skill is not None and _reads_files(context.skill, context):
        names.append("read_skill_file")
    readable = "read_skill_file" in names
    return ReactContext(
        model=context.model,
        sampling=context.sampling,
        bench=Bench(sample.workdir, context.sandbox, context.limits, context.skill),
        tools=get_tools(names),
        protocol=context.protocol,
        skill=skill_block(context.skill, context.skill_mode, readable=readable),
        output_file=context.output_file,
        max_turns=context.max_turns,
        on_event=on_event,
    )


def _reads_files(skill: Path, context: AgentContext) -> bool:
    """Whether the agent gets a tool for the skill's files; one call without tools cannot."""
    if context.skill_mode == "discovered":
        return True
    return bool(context.tools) and bool(skill_at(skill).skill.files)


class MessagesGraphAgent:
    """A user's LangGraph graph that takes `{"messages": […]}` and gives messages back.

    The graph brings its own model. The skill's text stands in a system message.
    """

    def __init__(self, spec: str, graph: Any) -> None:
        self.spec = spec
        self._graph = graph

    async def run(self, sample: Sample, context: AgentContext) -> AgentRun:
        """Attempt one sample."""
        recorder = Recorder(self.spec, sample, context)
        block = skill_block(context.skill, "preloaded", readable=False) if context.skill else ""
        messages = [{"role": "system", "content": block}] if block else []
        messages.append({"role": "user", "content": sample.prompt})
        for message in messages:
            recorder.message(message["role"], message["content"])
        config = {"configurable": {"workdir": str(sample.workdir)}, "recursion_limit": 200}
        try:
            state = await self._graph.ainvoke({"messages": messages}, config)
        except Exception as error:  # noqa: BLE001  # a user's graph may fail in any way
            return recorder.run(None, f"the agent failed: {type(error).__name__}: {error}")
        answer = _last_text(state.get("messages", []))
        recorder.agent_text(answer)
        return recorder.run(answer)


def _last_text(messages: list[Any]) -> str:
    if not messages:
        return ""
    last = messages[-1]
    content = last.get("content") if isinstance(last, dict) else getattr(last, "content", "")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]  # a user's message
    return str(content)  # pyright: ignore[reportUnknownArgumentType]  # a user's message
