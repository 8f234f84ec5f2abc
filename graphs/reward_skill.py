"""Skill-RM: a verdict is the read-out of records that a reward-evaluation skill gathers.

    diagnose ──► select ──► verify ──► aggregate ──► read_out ──► END
                             ▲  │
                             └──┘ six steps at most

Evidence is (criterion, observation, local decision); a rule reads the verdict out of it (arXiv
2606.03980). Limits as there: 6 steps, 5 resources, 3 runs, 10,000 characters each, temperature 0;
then a forced finish, and an emergency verdict that is labelled so. State holds JSON alone.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from harness.core import assets
from harness.judge.asking import text_field
from harness.judge.skill_rm.bank import SKILL, Resource
from harness.judge.skill_rm.judge import (
    ORDER,
    RESOURCES,
    RUNS,
    STEPS,
    SkillContext,
    Source,
    emergency,
    read_out,
    records_of,
)
from harness.judge.types import Evidence
from harness.skills import load_skill

CODE = 1200
_DECISIONS = {1: {"met": "met", "unmet": "unmet"}, 2: {"first": "A", "second": "B", "equal": "tie"}}
LEAST: Source = "model"
_SOURCES: dict[str, Source] = {"sample": "reference", "none": "rubric"}
"""What a text that was viewed lends to a record, by what it knows of the sample."""


class State(TypedDict, total=False):
    """Content of a checkpoint.

    Attributes:
        diagnosis: what kind of task it is, and what would make an answer wrong.
        chosen: ids of resources.
        log: what each step did and saw.
        seen: ids of resources that were looked at.
        runs: how often a resource was run.
        records: evidence, as JSON.
        finished: whether the judge ended the verification itself.
        verdict: as JSON.
    """

    diagnosis: str
    chosen: list[str]
    log: list[str]
    seen: list[str]
    runs: int
    records: list[dict[str, Any]]
    finished: bool
    verdict: dict[str, Any]


Context = Runtime[SkillContext]
Update = dict[str, Any]


async def diagnose(state: State, runtime: Context) -> Update:
    """Say what kind of task it is before any resource is looked at."""
    skill = load_skill(assets.find(f"skills/{SKILL}")).body.strip()
    answer = await runtime.context.ask("reward_diagnose", {"diagnosis": text_field()}, skill=skill)
    return {
        "diagnosis": answer.reply["diagnosis"] if answer.reply else "",
        "log": [],
        "records": [],
    }


async def select(state: State, runtime: Context) -> Update:
    """Choose resources, five at most."""
    bank = runtime.context.bank
    fields = {
        "resources": {
            "type": "array", "items": {"enum": sorted(bank.resources)}, "minItems": 0,
            "maxItems": RESOURCES,
        }
    }  # fmt: skip
    answer = await runtime.context.ask(
        "reward_select", fields, resources=list(bank.resources.values()),
        more={"diagnosis": state.get("diagnosis", "")},
    )  # fmt: skip
    names: list[str] = answer.reply["resources"] if answer.reply else []
    return {"chosen": list(dict.fromkeys(names))}


async def verify(state: State, runtime: Context) -> Update:
    """One step: view or run a resource, compute, record an observation, or finish."""
    context = runtime.context
    bank, answers = context.bank, len(context.bank.sample.answers)
    names, log, records = (state.get("chosen", []), state.get("log", []), state.get("records", []))
    seen, runs = state.get("seen", []), state.get("runs", 0)
    actions = ["record", "finish"]
    actions += ["view"] if names else []
    if context.sandbox is not None:
        actions += ["python"]
        actions += ["run"] if names and runs < RUNS else []
    fields = {
        "action": {"enum": actions},
        "resource": {"enum": [*names, "none"]},
        "code": text_field(CODE),
        **_record_fields(answers),
    }
    answer = await context.ask(
        "reward_step", fields, actions=actions, left=STEPS - len(log), answers=answers,
        more={"diagnosis": state.get("diagnosis", ""), "log": "\n\n".join(log) or "nothing yet"},
    )  # fmt: skip
    reply = answer.reply
    if reply is None:
        return {"log": [*log, f"step without effect: {answer.fault}"]}
    action, name = reply["action"], reply["resource"]
    if action == "finish":
        return {"finished": True, "log": [*log, "finish"]}
    if action == "record":
        record = _record(reply, answers, [bank.resources[row] for row in seen])
        return {"records": [*records, record.model_dump()], "log": [*log, f"record {record}"]}
    if action == "python" and context.sandbox is not None:
        printed = await asyncio.to_thread(bank.python, reply["code"], context.sandbox)
        return {"log": [*log, f"python printed: {printed}"]}
    if name == "none":
        return {"log": [*log, f"{action}: no resource was named"]}
    if action == "view":
        return {"log": [*log, f"view {name}: {bank.view(name)}"], "seen": [*seen, name]}
    resource = bank.resources[name]
    if resource.implementation_kind != "python" or context.sandbox is None:
        return {"log": [*log, f"run {name}: it is a text; view it"]}
    printed, rows = await asyncio.to_thread(bank.run, name, context.sandbox)
    new_records = records_of(rows, answers, hard=resource.hard_or_soft == "hard")
    return {
        "log": [*log, f"run {name}: {printed}"],
        "runs": runs + 1,
        "records": [*records, *(row.model_dump() for row in new_records)],
    }


def onwards(state: State) -> str:
    """Another step, or the end of the verification."""
    ended = state.get("finished", False) or len(state.get("log", [])) >= STEPS
    return "aggregate" if ended else "verify"


async def aggregate(state: State, runtime: Context) -> Update:
    """Put the records in the order in which they decide; without any, ask for one at last."""
    context, records = runtime.context, state.get("records", [])
    answers = len(context.bank.sample.answers)
    if not records:
        log = "\n\n".join(state.get("log", []))
        more = {"diagnosis": state.get("diagnosis", ""), "log": log}
        answer = await context.ask("reward_finish", _record_fields(answers), more=more)
        records = [_record(answer.reply, answers, []).model_dump()] if answer.reply else []
    return {"records": sorted(records, key=lambda row: ORDER.index(row["source"]))}


async def read_out_node(state: State, runtime: Context) -> Update:
    """The verdict follows from the records by rule; without records a direct one is labelled so."""
    records = [Evidence.model_validate(row) for row in state.get("records", [])]
    verdict = read_out(records, len(runtime.context.bank.sample.answers))
    if verdict is None:
        verdict = await emergency(runtime.context)
    return {"verdict": verdict.model_dump(mode="json")}


def _record_fields(answers: int) -> dict[str, Any]:
    return {
        "criterion": text_field(), "observation": text_field(),
        "decision": {"enum": list(_DECISIONS[answers])},
    }  # fmt: skip


def _record(reply: dict[str, Any], answers: int, seen: list[Resource]) -> Evidence:
    """A record of the judge; what it had looked at decides how much it weighs, not what it says.

    Code lends nothing unless it is run, and advice that comes with the skill (a reference that
    knows nothing of the sample) is none to measure by.
    """
    sources: list[Source] = [
        _SOURCES[row.leakage_level]
        for row in seen
        if row.type in ("rubric", "checklist")
        or (row.type == "reference" and row.leakage_level == "sample")
    ]
    decision: Any = _DECISIONS[answers][reply["decision"]]
    return Evidence(
        criterion=reply["criterion"], observation=reply["observation"], decision=decision,
        source=min([*sources, LEAST], key=ORDER.index),
    )  # fmt: skip


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and SkillContext."""
    graph: Any = StateGraph(State, context_schema=SkillContext)
    return (
        graph.add_node("diagnose", diagnose)
        .add_node("select", select)
        .add_node("verify", verify)
        .add_node("aggregate", aggregate)
        .add_node("read_out", read_out_node)
        .add_edge(START, "diagnose")
        .add_edge("diagnose", "select")
        .add_edge("select", "verify")
        .add_conditional_edges("verify", onwards, ["verify", "aggregate"])
        .add_edge("aggregate", "read_out")
        .add_edge("read_out", END)
    )


graph = build().compile(name="reward_skill")
