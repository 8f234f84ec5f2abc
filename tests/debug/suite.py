"""The suite: thirty-odd shapes."""

from __future__ import annotations

from typing import Any

from langgraph.func import entrypoint, task  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.graph import END, START  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.types import Command, Send, interrupt

from tests.debug.shapes import (
    Build,
    Log,
    Model,
    Part,
    Shape,
    State,
    asker,
    builder,
    calling,
    calling_twice,
    chain,
    counter,
    fan,
    inner,
    leaf,
    leaves,
    loop,
)


def nested(log: Log, depth: int) -> Any:
    """A sub-graph in a sub-graph in …"""
    if depth == 0:
        return inner(log)
    here = {f"a{depth}": leaf(log, f"a{depth}"), f"sub{depth}": nested(log, depth - 1)}
    return chain({**here, f"b{depth}": leaf(log, f"b{depth}")})


def to_the_right(state: State) -> str:
    return "right"


def conditional(log: Log) -> Any:
    graph = builder()
    for name in ("a", "left", "right", "z"):
        graph.add_node(name, leaf(log, name))
    graph.add_edge(START, "a")
    graph.add_conditional_edges("a", to_the_right, ["left", "right"])
    graph.add_edge(["right"], "z")
    graph.add_edge("left", "z")
    return graph.compile()


def sending(log: Log, worker: Any, count: int = 3) -> Any:
    def spread(state: State) -> list[Send]:
        return [Send("work", {"path": [], "n": k}) for k in range(count)]

    graph = builder()
    graph.add_node("plan", leaf(log, "plan"))
    graph.add_node("work", worker)
    graph.add_node("join", leaf(log, "join"))
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", spread, ["work"])
    graph.add_edge("work", "join")
    return graph.compile()


def worker(log: Log) -> Any:
    def work(state: Any) -> dict[str, Any]:
        log.append(f"work{state['n']}")
        return {"path": [f"work{state['n']}"]}

    return work


def worker_graph(log: Log) -> Any:
    def first(state: Any) -> dict[str, Any]:
        log.append(f"first{state['n']}")
        return {"path": [f"first{state['n']}"]}

    def second(state: Any) -> dict[str, Any]:
        log.append(f"second{state['n']}")
        return {"path": [f"second{state['n']}"]}

    graph = builder(output_schema=Part)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    return graph.compile()


def commanding(log: Log) -> Any:
    def choose(state: Any) -> Any:
        log.append("choose")
        return Command(update={"path": ["choose"]}, goto="z")

    graph = builder()
    graph.add_node("choose", choose, destinations=("skipped", "z"))
    graph.add_node("skipped", leaf(log, "skipped"))
    graph.add_node("z", leaf(log, "z"))
    graph.add_edge(START, "choose")
    return graph.compile()


def leaving(log: Log) -> Any:
    """A sub-graph whose last node tells the parent where to go."""

    def leave(state: Any) -> Any:
        log.append("leave")
        return Command(graph=Command.PARENT, update={"path": ["leave"]}, goto="z")

    graph = builder()
    graph.add_node("a", leaf(log, "a"))
    graph.add_node("sub", chain({"i": leaf(log, "i"), "leave": leave}))
    graph.add_node("z", leaf(log, "z"))
    graph.add_edge(START, "a")
    graph.add_edge("a", "sub")
    return graph.compile()


def command_sends(log: Log) -> Any:
    def plan(state: Any) -> Any:
        log.append("plan")
        sends: Any = [Send("work", {"path": [], "n": k}) for k in range(2)]
        return Command(update={"path": ["plan"]}, goto=sends)

    graph = builder()
    graph.add_node("plan", plan)
    graph.add_node("work", worker(log))
    graph.add_edge(START, "plan")
    return graph.compile()


def functional(log: Log) -> Any:
    @task
    def double(value: int) -> int:
        log.append(f"double{value}")
        return 2 * value

    made: Any = entrypoint()

    def flow(state: dict[str, Any]) -> dict[str, Any]:
        first = double(state["n"] + 1).result()
        return {"n": double(first).result()}

    return made(flow)


def functional_in_graph(log: Log) -> Any:
    flow = functional(log)

    def call(state: Any) -> dict[str, Any]:
        return {"n": flow.invoke({"n": 1})["n"], "path": ["call"]}

    return chain({"a": leaf(log, "a"), "call": call, "z": leaf(log, "z")})


def deferred(log: Log) -> Any:
    graph = builder()
    for name in ("a", "b", "c", "d"):
        graph.add_node(name, leaf(log, name))
    graph.add_node("last", leaf(log, "last"), defer=True)
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    graph.add_edge("a", "c")
    graph.add_edge("c", "d")
    graph.add_edge("b", "last")
    graph.add_edge("d", "last")
    return graph.compile()


def asynchronous(log: Log) -> Any:
    def slow(name: str) -> Any:
        async def node(state: Any) -> dict[str, Any]:
            log.append(name)
            return {"path": [name]}

        return node

    sub = chain({name: slow(name) for name in ("i0", "i1")})
    return chain({"a": slow("a"), "sub": sub, "z": slow("z")})


def modelled(log: Log) -> Any:
    sub = chain(leaves(log, "i0", "i1"), Model)

    def call(state: Model) -> dict[str, Any]:
        return {"path": sub.invoke(Model(path=[]))["path"], "n": 1}

    return chain({"a": leaf(log, "a"), "sub": call, "z": leaf(log, "z")}, Model)


def asking_twice(log: Log) -> Any:
    def node(state: Any) -> dict[str, Any]:
        first, second = interrupt("first?"), interrupt("second?")
        log.append("twice")
        return {"path": [f"{first}{second}"]}

    return chain({"a": leaf(log, "a"), "twice": node, "z": leaf(log, "z")})


def looping_sub(log: Log, **options: Any) -> Any:
    sub = chain({"i0": leaf(log, "i0"), "i1": counter(log, "i1")}, **options)

    def call(state: Any) -> dict[str, Any]:
        out = sub.invoke({"path": [], "n": state.get("n", 0)})
        return {"path": out["path"], "n": out["n"]}

    return loop(call, 3)


def looping_node(log: Log) -> Any:
    """A sub-graph as a node of a loop; it sees and returns the whole path."""
    return loop(chain({"i0": leaf(log, "i0"), "i1": counter(log, "i1")}), 3)


def inner_loop(log: Log) -> Any:
    return chain({"a": leaf(log, "a"), "sub": loop(counter(log, "body"), 3), "z": leaf(log, "z")})


def asked_inside(log: Log) -> Any:
    sub = chain({"i0": leaf(log, "i0"), "ask": asker(log, "ask"), "i2": leaf(log, "i2")})
    return chain({"a": leaf(log, "a"), "sub": sub, "z": leaf(log, "z")})


def asked_in_parallel(log: Log) -> Any:
    branches = {"ask": asker(log, "ask"), "plain": leaf(log, "plain")}
    return fan(leaf(log, "before"), branches, leaf(log, "after"))


def parallel_subs(log: Log) -> Any:
    branches = {"left": inner(log, "l"), "right": inner(log, "r")}
    return fan(leaf(log, "before"), branches, leaf(log, "after"))


def mixed(log: Log) -> Any:
    """Sends to sub-graphs that loop, in a sub-graph, behind an interrupt."""
    sub = chain({"ask": asker(log, "ask"), "fan": sending(log, worker_graph(log), 2)})
    return chain({"a": leaf(log, "a"), "sub": sub, "z": leaf(log, "z")})


def command_loop(log: Log) -> Any:
    def again(state: Any) -> Any:
        log.append("again")
        n = state.get("n", 0) + 1
        return Command(update={"path": [f"again{n}"], "n": n}, goto="again" if n < 3 else END)

    graph = builder()
    graph.add_node("again", again, destinations=("again", END))
    graph.add_edge(START, "again")
    return graph.compile()


def _of(*names: str) -> Build:
    return lambda log: chain(leaves(log, *names))


def _around(make: Build) -> Build:
    """`a`, the sub-graph that `make` builds, `z`."""
    return lambda log: chain({"a": leaf(log, "a"), "sub": make(log), "z": leaf(log, "z")})


SHAPES = [
    Shape("one node", _of("a")),
    Shape("chain", _of("a", "b", "c")),
    Shape("condition", conditional),
    Shape("loop", lambda log: loop(counter(log, "body"), 4)),
    Shape(
        "parallel",
        lambda log: fan(leaf(log, "before"), leaves(log, "x", "y"), leaf(log, "after")),
        sequential=False,
    ),
    Shape("deferred join", deferred, sequential=False),
    Shape("sub-graph", lambda log: nested(log, 1)),
    Shape("sub-graph, two deep", lambda log: nested(log, 2)),
    Shape("sub-graph, four deep", lambda log: nested(log, 4)),
    Shape(
        "two sub-graphs",
        lambda log: chain({"p": inner(log, "p"), "q": inner(log, "q")}),
    ),
    Shape("parallel sub-graphs", parallel_subs, sequential=False),
    Shape(
        "sub-graph beside a node",
        lambda log: fan(
            leaf(log, "before"), {"sub": inner(log), "x": leaf(log, "x")}, leaf(log, "after")
        ),
        sequential=False,
    ),
    Shape("loop in a sub-graph", inner_loop),
    Shape("sub-graph in a loop", looping_node),
    Shape("called in a loop", looping_sub),
    Shape("called sub-graph", _around(lambda log: calling(inner(log)))),
    Shape(
        "two called sub-graphs",
        _around(lambda log: calling_twice(inner(log, "p", 2), inner(log, "q", 2))),
    ),
    Shape("called, two deep", _around(lambda log: calling(nested(log, 1)))),
    Shape("called in a sub-graph", _around(lambda log: chain({"c": calling(inner(log))}))),
    Shape("stateful sub-graph", _around(lambda log: inner(log, checkpointer=True))),
    Shape("stateful, called in a loop", lambda log: looping_sub(log, checkpointer=True)),
    Shape("sub-graph without checkpoints", _around(lambda log: inner(log, checkpointer=False))),
    Shape("sends", lambda log: sending(log, worker(log)), sequential=False),
    Shape("sends to sub-graphs", lambda log: sending(log, worker_graph(log)), sequential=False),
    Shape(
        "sends in a sub-graph",
        _around(lambda log: sending(log, worker(log))),
        sequential=False,
    ),
    Shape(
        "sends to callers",
        lambda log: sending(log, calling(worker_graph(log))),
        sequential=False,
    ),
    Shape("command", commanding),
    Shape("command to the parent", leaving),
    Shape("command with sends", command_sends, sequential=False),
    Shape("interrupt", lambda log: chain({"a": leaf(log, "a"), "ask": asker(log, "ask")}), (1,)),
    Shape("two interrupts", asking_twice, (1, 2)),
    Shape("interrupt in a sub-graph", asked_inside, (1,)),
    Shape("interrupt beside a node", asked_in_parallel, (1,), sequential=False),
    Shape("interrupt, sends and sub-graphs", mixed, (1,), sequential=False),
    Shape("functional", functional, start={"n": 1}),
    Shape("functional, called by a node", functional_in_graph),
    Shape("asynchronous nodes", asynchronous),
    Shape("models as state", modelled),
    Shape("loop of commands", command_loop),
]
