"""Graphs as other people write them: types of their own, arrays, memory, questions, retries."""

from __future__ import annotations

import asyncio
import enum
import operator
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, TypedDict

import numpy as np
import pandas as pd
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.func import entrypoint, task  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.graph import END, START, MessagesState  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.store.base import BaseStore  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.store.memory import InMemoryStore  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.types import Command, RetryPolicy, Send, interrupt
from pydantic import BaseModel, PrivateAttr, field_validator, model_validator

from tests.debug.shapes import Build, Log, Shape, asker, builder, chain, counter, leaf, leaves, loop


class Colour(enum.Enum):
    """Of a pen."""

    RED = "red"
    BLUE = "blue"


class Pen(BaseModel):
    """A model of the graph's own file, with a note that its fields do not show."""

    colour: Colour
    ink: int = 3
    _note: str = PrivateAttr("")


@dataclass
class Case:
    """A dataclass of the graph's own file."""

    pens: list[Pen]
    marks: set[str] = field(default_factory=set[str])


class Place(NamedTuple):
    """A named tuple of the graph's own file."""

    row: int
    column: int


class Desk(TypedDict, total=False):
    """State that holds anything; what is not named in it may be of any type."""

    path: Annotated[list[str], operator.add]
    n: int
    case: Case
    thing: Any


class Memory(TypedDict, total=False):
    """State of a graph that remembers its visits."""

    path: Annotated[list[str], operator.add]
    n: int
    seen: Annotated[list[int], operator.add]


class Order(BaseModel):
    """State as a model that refuses some values."""

    path: Annotated[list[str], operator.add] = []
    n: int = 0
    most: int = 5

    @field_validator("n")
    @classmethod
    def counted(cls, value: int) -> int:
        if value < 0:
            raise ValueError("n counts from 0")
        return value

    @model_validator(mode="after")
    def within(self) -> Order:
        if self.n > self.most:
            raise ValueError("n is above the most")
        return self


def holding(value: Callable[[], Any], read: Callable[[Any], str]) -> Build:
    """A chain whose first node makes a value and whose third reads it."""

    def build(log: Log) -> Any:
        def make(state: Any) -> dict[str, Any]:
            log.append("make")
            return {"path": ["make"], "thing": value()}

        def use(state: Any) -> dict[str, Any]:
            log.append("use")
            return {"path": [read(state["thing"])]}

        nodes = {"make": make, "wait": leaf(log, "wait"), "use": use, "z": leaf(log, "z")}
        return chain(nodes, Desk)

    return build


def full_case() -> Case:
    return Case([Pen(colour=Colour.BLUE)], {"x"})


def read_case(case: Case) -> str:
    pen: Any = case.pens[0]
    kinds = isinstance(pen, Pen) and pen.colour is Colour.BLUE
    return f"{kinds} {pen.ink} {sorted(case.marks)}"


def noted_pen() -> Pen:
    pen = Pen(colour=Colour.RED)
    pen._note = "mine"  # pyright: ignore[reportPrivateUsage]  # as a node of its file would
    return pen


def read_note(pen: Pen) -> str:
    return pen._note  # pyright: ignore[reportPrivateUsage]  # as above


def scaled(array: Any) -> str:
    array += 0  # it can be written to
    return f"{type(array).__name__} {array.sum()} {array.dtype}"


def own_state(log: Log) -> Any:
    """Own types under names of the schema."""

    def make(state: Any) -> dict[str, Any]:
        log.append("make")
        return {"path": ["make"], "case": full_case()}

    def use(state: Any) -> dict[str, Any]:
        log.append("use")
        return {"path": [read_case(state["case"])]}

    return chain({"make": make, "wait": leaf(log, "wait"), "use": use}, Desk)


def remembering(log: Log, name: str = "m", ask: bool = False) -> Any:
    """A graph with a history of its own."""

    def note(state: Any) -> dict[str, Any]:
        log.append(f"{name}note")
        return {"seen": [state.get("n", 0)], "n": state.get("n", 0) + 1}

    def tell(state: Any) -> dict[str, Any]:
        more = f" {interrupt('ask?')}" if ask else ""
        log.append(f"{name}tell")
        return {"path": [f"{name}{state['seen']}{more}"]}

    return chain({"note": note, "tell": tell}, Memory, checkpointer=True)


def remembering_in(log: Log, depth: int, ask: bool = False) -> Any:
    """That graph in as many others, in a loop."""
    graph: Any = remembering(log, ask=ask)
    for level in range(depth - 1):
        nodes = {f"a{level}": leaf(log, f"a{level}"), f"in{level}": graph}
        graph = chain(nodes)
    return loop(graph, 2)


def flow(log: Log) -> Any:
    """Tasks of the functional interface, one of which asks."""

    @task
    def add(value: int) -> int:
        log.append(f"add{value}")
        return value + 1

    @task
    def ask(value: int) -> str:
        answer = interrupt("ask?")
        log.append("ask")
        return f"{answer}{value}"

    made: Any = entrypoint()

    def run(state: dict[str, Any]) -> dict[str, Any]:
        parts = [add(state["n"] + k) for k in range(2)]
        total = sum(part.result() for part in parts)
        return {"said": ask(total).result(), "n": total}

    return made(run)


def async_flow(log: Log) -> Any:
    """The same with coroutines."""

    @task
    async def add(value: int) -> int:
        await asyncio.sleep(0)
        log.append(f"add{value}")
        return value + 1

    made: Any = entrypoint()

    async def run(state: dict[str, Any]) -> dict[str, Any]:
        parts = await asyncio.gather(*(add(state["n"] + k) for k in range(3)))
        return {"n": await add(sum(parts))}

    return made(run)


def static(log: Log, **options: Any) -> Any:
    return chain(leaves(log, "a", "b", "c"), **options)


def static_inside(log: Log) -> Any:
    """A sub-graph that LangGraph stops in by itself."""
    sub = chain(leaves(log, "i0", "i1", "i2"), interrupt_before=["i1"])
    return chain({"a": leaf(log, "a"), "sub": sub, "z": leaf(log, "z")})


def three_questions(log: Log) -> Any:
    """Branches that ask at the same time, one of them twice."""

    def twice(state: Any) -> dict[str, Any]:
        first, second = interrupt("one?"), interrupt("two?")
        log.append("twice")
        return {"path": [f"twice={first}{second}"]}

    graph = builder()
    names = {"left": asker(log, "left"), "twice": twice, "plain": leaf(log, "plain")}
    for name, node in names.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
    graph.add_node("z", leaf(log, "z"))
    graph.add_edge([*names], "z")
    return graph.compile()


def hand_over(log: Log, ask: bool = False) -> Any:
    """Agents that leave for each other."""

    def agent(name: str, other: str) -> Any:
        def act(state: Any) -> Any:
            said = interrupt("ask?") if ask and name == "two" else ""
            log.append(name)
            n = state.get("n", 0) + 1
            done = {"path": [f"{name}{said}"], "n": n}
            goto = END if n > 2 else other
            return Command(graph=Command.PARENT, update=done, goto=goto)

        return chain({f"think_{name}": leaf(log, f"think_{name}"), "act": act})

    graph = builder()
    graph.add_node("one", agent("one", "two"), destinations=("two", END))
    graph.add_node("two", agent("two", "one"), destinations=("one", END))
    graph.add_edge(START, "one")
    return graph.compile()


def with_store(log: Log) -> Any:
    """Nodes that keep something in LangGraph's store."""

    def put(state: Any, *, store: BaseStore) -> dict[str, Any]:
        log.append("put")
        store.put(("notes",), "first", {"n": state.get("n", 0)})
        return {"path": ["put"]}

    def get(state: Any, *, store: BaseStore) -> dict[str, Any]:
        log.append("get")
        item = store.get(("notes",), "first")
        return {"path": [f"get{item.value if item else None}"]}

    return chain({"put": put, "wait": leaf(log, "wait"), "get": get}, store=InMemoryStore())


def flaky(log: Log) -> Any:
    """A node that succeeds at its second attempt, every time."""
    attempts: Counter[int] = Counter()

    def node(state: Any) -> dict[str, Any]:
        attempts[0] += 1
        if attempts[0] % 2:
            raise ConnectionError("not yet")
        log.append("flaky")
        return {"path": ["flaky"]}

    graph = builder()
    graph.add_node("a", leaf(log, "a"))
    graph.add_node("flaky", node, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    graph.add_node("z", leaf(log, "z"))
    graph.add_edge(START, "a")
    graph.add_edge("a", "flaky")
    graph.add_edge("flaky", "z")
    return graph.compile()


def deferred_sends(log: Log) -> Any:
    """Sends with own types as arguments, and a node that waits for all of them."""

    def plan(state: Any) -> Any:
        log.append("plan")
        sends: Any = [Send("work", {"case": full_case(), "n": k}) for k in range(2)]
        return Command(update={"path": ["plan"]}, goto=sends)

    def work(state: Any) -> dict[str, Any]:
        log.append(f"work{state['n']}")
        return {"path": [f"{state['n']} {read_case(state['case'])}"]}

    graph = builder(Desk)
    graph.add_node("plan", plan)
    graph.add_node("work", work)
    graph.add_node("join", leaf(log, "join"), defer=True)
    graph.add_edge(START, "plan")
    graph.add_edge("work", "join")
    return graph.compile()


def async_asking(log: Log) -> Any:
    async def ask(state: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        answer = interrupt("ask?")
        log.append("ask")
        return {"path": [f"ask={answer}"]}

    return chain({"a": leaf(log, "a"), "sub": chain({"ask": ask, "i": leaf(log, "i")})})


def ordered(log: Log) -> Any:
    def take(state: Order) -> dict[str, Any]:
        log.append("take")
        return {"path": [f"take{state.n}"], "n": state.n + 1}

    return chain({"take": take, "again": take, "z": leaf(log, "z")}, Order)


def talk(log: Log) -> Any:
    """Messages that come, change and go."""

    def reply(state: Any) -> dict[str, Any]:
        log.append("reply")
        said = AIMessage(f"{len(state['messages'])}", id="said")
        return {"messages": [said, HumanMessage("and?", id="asked")]}

    def drop(state: Any) -> dict[str, Any]:
        log.append("drop")
        return {"messages": [RemoveMessage(id="asked"), AIMessage("changed", id="said")]}

    return chain({"reply": reply, "drop": drop, "last": reply}, MessagesState)


class Connection:
    """An object that can be neither stored nor copied."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Connection)

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # as Python does it


def table() -> Any:
    return pd.DataFrame({"a": [1, 2], "b": ["x", None]})


NO_START: Any = {"path": []}
UNSTORED = "an object that cannot be copied"
"""The shape from which some forks are refused."""
STRANGERS = [
    Shape("own types in the schema", own_state),
    Shape("own types under Any", holding(full_case, read_case)),
    Shape("private fields", holding(noted_pen, read_note)),
    Shape("a named tuple", holding(lambda: [Place(1, 2)], lambda v: f"{v[0].column} {type(v[0])}")),
    Shape("tuples", holding(lambda: [("user", {"a": (1,)})], repr)),
    Shape("subclasses of dict", holding(lambda: Counter("aab"), repr)),
    Shape("an array", holding(lambda: np.arange(3.0), scaled)),
    Shape("an array of objects", holding(lambda: np.array([None, "x"], dtype=object), repr)),
    Shape("numbers of numpy", holding(lambda: {"a": np.float32(1.5), "b": np.int64(2)}, repr)),
    Shape("a large integer", holding(lambda: [10**30, 1 + 2j], repr)),
    Shape("a function", holding(lambda: str.upper, lambda v: v("x"))),
    Shape("a table", holding(table, lambda v: v.to_csv())),
    Shape(UNSTORED, holding(Connection, lambda v: str(v.lock.locked()))),
    *(
        Shape(f"memory at depth {depth}", lambda log, depth=depth: remembering_in(log, depth))
        for depth in (1, 2, 3)
    ),
    Shape("memory that asks", lambda log: remembering_in(log, 1, ask=True), ("u", "v")),
    Shape("memory that asks, two deep", lambda log: remembering_in(log, 2, ask=True), ("u", "v")),
    Shape("functional, asks", flow, ("yes",), sequential=False, start={"n": 1}),
    Shape("functional, asynchronous", async_flow, sequential=False, start={"n": 1}),
    Shape("static interrupts", lambda log: static(log, interrupt_before=["b"])),
    Shape("static interrupts behind", lambda log: static(log, interrupt_after=["a", "b"])),
    Shape("static interrupts everywhere", lambda log: static(log, interrupt_before="*")),
    Shape("static interrupt inside", static_inside),
    Shape("three questions", three_questions, ("r", "s", "t"), sequential=False),
    Shape("agents that hand over", hand_over),
    Shape("agents that hand over and ask", lambda log: hand_over(log, ask=True), ("w",)),
    Shape("a store", with_store),
    Shape("a retry", flaky),
    Shape("deferred behind sends", deferred_sends, sequential=False),
    Shape("asynchronous and asking", async_asking, ("k",)),
    Shape("a model that validates", ordered),
    Shape("messages", talk, start={"messages": [HumanMessage("hello", id="first")]}),
    Shape("a counter in a loop", lambda log: loop(counter(log, "body"), 3)),
]
