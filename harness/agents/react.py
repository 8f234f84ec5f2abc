"""Our ReAct graph as an agent: what it is given at run time, and how one attempt goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import JsonValue

from harness.agents.constrained import (
    LONGEST_REPLY,
    action_format,
    answer_format,
    finish_tool,
    rejected,
)
from harness.agents.recording import Recorder
from harness.agents.skills import skill_block
from harness.agents.types import AgentContext, AgentRun, AttemptEnded, Sample, ToolProtocol
from harness.core import BadInput, Unreachable, render
from harness.models import Model, Reply, SampleLimitReached, Sampling
from harness.tools import Bench, Tool, get_tools, skill_scripts

STEPS_PER_TURN = 4
"""Graph steps that one turn takes at most; graphs of a user's may act and observe apart."""
PROGRAM = "program"
"""The graph whose model writes programs in place of calling tools."""
MOST_FORMAT_ERRORS = 5
"""Format errors in a row after which an attempt is invalid. They use up no turn."""
MOST_CUT = 2
"""Replies in a row that are no JSON because they were cut, after which an attempt is invalid."""


@dataclass(frozen=True)
class ReactContext:
    """Runtime context of `graphs/react.py`: everything that is not state.

    Attributes:
        model: answers the calls.
        sampling: their parameters.
        bench: what tools may touch.
        tools: tools the model may call; none makes a single-call question answerer.
        protocol: native tool calls, the text protocol, or JSON that the server holds to a schema.
        answer_schema: of the final answer, where the task declares its type.
        skill: the skill's part of the system prompt, or "".
        prompt: template of the system prompt.
        output_file: file that must exist at the end, or "".
        max_turns: model calls, format errors not counted.
        on_event: called with every event.
    """

    model: Model
    sampling: Sampling
    bench: Bench
    tools: tuple[Tool, ...] = ()
    protocol: ToolProtocol = "native"
    answer_schema: dict[str, JsonValue] | None = None
    skill: str = ""
    prompt: str = "react_system"
    output_file: str = ""
    max_turns: int = 100
    on_event: Callable[[dict[str, Any]], None] | None = None

    def system_prompt(self) -> str:
        """The system prompt, rendered when a call is made: it is never part of the state."""
        return self._rendered

    @cached_property
    def _rendered(self) -> str:
        tools: list[dict[str, Any]] = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self.tools
        ]
        if tools and self.protocol == "json":
            tools.append(finish_tool(self.answer_schema))
        scripts = skill_scripts(self.bench.skill) if self.skill else None
        return render(
            self.prompt,
            skill=self.skill,
            modules=sorted(path.stem for path in scripts.glob("*.py")) if scripts else [],
            tools=tools,
            protocol=self.protocol,
            output_file=self.output_file,
        )

    async def ask(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        form: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """Call the model, and pass its reply on as an event.

        Args:
            messages: the conversation.
            tools: that the reply may call in the server's own form.
            sampling: in place of the attempt's.
            form: what the server holds the reply to, such as :attr:`reply_format`.

        Raises:
            BadInput: if the server rejects the request; names the tool whose schema it cannot take.
        """
        sampling = sampling or self.sampling
        if form is None:
            reply = await self.model.complete(messages, tools=tools, sampling=sampling)
        else:
            if sampling.max_tokens is None:
                sampling = sampling.model_copy(update={"max_tokens": LONGEST_REPLY})
            try:
                reply = await self.model.complete(messages, sampling=sampling, response_format=form)
            except BadInput as error:
                raise rejected(error, self.tools) from error
        self.tell({"type": "reply", "text": reply.text, "reply": reply})
        return reply

    @cached_property
    def reply_format(self) -> dict[str, JsonValue] | None:
        """The `response_format` of an action or a typed answer; None where nothing is held."""
        if self.protocol != "json":
            return None
        if self.tools:
            return action_format(self.tools, self.answer_schema)
        return None if self.answer_schema is None else answer_format(self.answer_schema)

    def tell(self, event: dict[str, Any]) -> None:
        """Pass an event on."""
        if self.on_event is not None:
            self.on_event(event)


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
                fields = {key: value for key, value in event.items() if key != "reply"}
                context.on_event({"sample": sample.id, **fields})

        react = react_context(sample, context, on_event, graph=self.spec.partition(":")[2])
        recorder.message("system", react.system_prompt())
        recorder.message("user", sample.prompt)
        try:
            state = await self._invoke(sample, context, react)
        except (AttemptEnded, SampleLimitReached) as error:
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
    *,
    graph: str = "react",
) -> ReactContext:
    """The runtime context that our graphs get for one attempt.

    Args:
        sample: of the attempt.
        context: of the attempt. The skill's files can be read where its body must be discovered, or
            where it has files and the agent has tools; one call without tools cannot read.
        on_event: called with every event.
        graph: its name. The model of `program` calls no tool: it has a prompt of its own, and the
            graph runs its programs by the tool `python`.

    Raises:
        BadInput: if the model would have to read the skill and cannot.
    """
    programs = graph == PROGRAM
    names = ["python"] if programs else list(context.tools)
    skill = None if context.loaded_skill is None else context.loaded_skill.skill
    if skill is not None:
        discovered = context.skill_mode == "discovered"
        if programs and discovered:
            raise BadInput("graph:program reads no files of a skill: expected it preloaded")
        if discovered or (names and skill.files and not programs):
            names.append("read_skill_file")
    readable = "read_skill_file" in names
    bench = Bench(sample.workdir, context.sandbox, context.limits, context.skill)
    return ReactContext(
        model=context.model,
        sampling=context.sampling,
        bench=bench,
        tools=get_tools(names, bench),
        protocol=context.protocol,
        answer_schema=sample.answer_schema,
        skill=skill_block(skill, context.skill_mode, readable=readable),
        prompt="program_system" if programs else "react_system",
        output_file=context.output_file,
        max_turns=context.max_turns,
        on_event=on_event,
    )
