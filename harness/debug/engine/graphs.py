"""The user's graph, and what the debugger uses of LangGraph besides its public interface.

Every task of every graph, at any depth, goes through two functions of LangGraph's runner:
`run_with_retry` and `arun_with_retry`. They are wrapped once per process; a task whose config
carries no hook is passed on untouched, so other graphs in the process notice nothing. Callbacks
would be LangChain's public way, but a callback cannot hand a node's recorded writes to LangGraph
in its place, and sees no tasks of the functional interface (docs/decisions/0005-debugger.md).
"""

from __future__ import annotations

import asyncio
import copy
import enum
import hashlib
import inspect
import json
import pickle
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from harness.core import BadInput, assets

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol
    from langgraph.store.base import BaseStore

    from harness.checkpoints import CheckpointStore, Held
    from harness.debug.engine.usage import Meter

_LOADED = re.compile(r"_harness_loaded_(\w+)_[0-9a-f]{16}\Z")
"""Names of modules that were loaded from a file: its stem is what stays when the file is edited."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
HOOK = "__harness_debug"
"""The hook's place in `config["configurable"]`; LangGraph keeps such keys out of metadata. Its
`around(task, call)` runs a task of a synchronous graph, `around_async` one of an asynchronous."""

_made: list[Any] = []
"""What factories made: a context manager that nobody holds would be left."""

everywhere: Any = None
"""The hook around the tasks of runs that were started without one."""


def langgraph(module: str) -> Any:
    """A module of LangGraph: importing it takes seconds, and its inner parts carry no types."""
    return import_module(f"langgraph.{module}")


def load_graph(
    reference: str, config: dict[str, Any] | None = None, memory: BaseStore | None = None
) -> Any:
    """The compiled graph behind `path/to/file.py:name`.

    The name may hold a compiled graph (`StateGraph.compile()`, `create_agent`, `@entrypoint`), a
    graph that is still to be compiled, or a function that makes one, with or without the config
    as its argument, synchronous or asynchronous, or a context manager, which is left at the exit
    of the program (as `langgraph.json` allows). The file's folder is importable while it is loaded.
    In place of the file a module may stand (`package.module:name`). A graph without a store gets
    `memory`.

    Raises:
        BadInput: if the file or the name is missing, or holds something else.
    """

    async def result(awaitable: Awaitable[Any]) -> Any:
        return await awaitable

    folder = str(Path(reference.rpartition(":")[0]).resolve().parent)
    sys.path.insert(0, folder)
    try:
        module, _, name = reference.rpartition(":")
        try:
            if module.endswith(".py"):
                value: Any = assets.load_object(reference)
            else:
                sys.modules.pop(module, None)  # its file may have been edited
                value = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise BadInput(
                f"expected FILE.py:NAME or MODULE:NAME, found {reference!r}: {error}"
            ) from error
        while callable(value) and not isinstance(value, type) and not is_graph(value):
            factory: Any = value
            try:
                takes_config = len(inspect.signature(factory).parameters) > 0
                value = factory(config or {"configurable": {}}) if takes_config else factory()
                value = asyncio.run(result(value)) if inspect.isawaitable(value) else value
                _made.append(value)
                if hasattr(value, "__aenter__"):  # in a loop that goes on: its end would leave it
                    value = asyncio.new_event_loop().run_until_complete(value.__aenter__())
                elif hasattr(value, "__enter__"):
                    value = value.__enter__()
            except Exception as error:
                raise BadInput(f"{reference!r} failed: {type(error).__name__}: {error}") from error
        graph: Any = value
        if isinstance(graph, langgraph("graph").StateGraph):
            graph = graph.compile()
    finally:
        sys.path.remove(folder)
    if not is_graph(graph):
        raise BadInput(
            f"expected a LangGraph graph or a function that makes one in {reference!r}, "
            f"found a {type(graph).__name__}"
        )
    graph.store = memory if graph.store is None else graph.store
    return graph


def is_graph(value: Any) -> bool:
    """Return whether something is a compiled graph."""
    return isinstance(value, langgraph("pregel").Pregel)


def subgraph(graph: Any, names: tuple[str, ...]) -> Any | None:
    """The graph inside the nodes `names`, outermost first; None if LangGraph finds none there."""
    for name in names:
        graph = None if graph is None else dict(graph.get_subgraphs()).get(name)
    return graph


def listener(meter: Meter) -> Any:
    """A handler of LangChain's callbacks that notes what models are sent, and hands on tokens.

    LangGraph's stream of messages has the tokens, too, but makes every call a streaming one: a
    debugger changes nothing of what it shows.
    """
    from langchain_core.callbacks import BaseCallbackHandler

    from harness.debug.engine.usage import Sent

    class Listener(BaseCallbackHandler):
        run_inline = True

        @property
        def ignore_chain(self) -> bool:
            return True  # a call of the handler for every node would cost time

        def on_chat_model_start(self, serialized: Any, messages: Any, **details: Any) -> None:
            metadata, settings = (
                cast("dict[str, Any]", details.get(name) or {})
                for name in ("metadata", "invocation_params")
            )
            thread, tools = str(metadata.get("thread_id")), settings.get("tools")
            task = str(metadata.get("langgraph_checkpoint_ns")).rpartition(":")[2]
            if not meter.at_model:
                meter.sent += [Sent(thread, task, batch, tools) for batch in messages]

        def on_llm_new_token(self, token: Any, **_: Any) -> None:
            if isinstance(token, str) and token:
                meter.hear(token)

    return Listener()


def with_store(graph: Any, store: CheckpointStore) -> Any:
    """A copy of the graph that saves its state in `store`.

    The types of data that the graph's code knows may be restored from there, and no other; what
    cannot be stored is held in memory. Types are found by their module's stem, too, so that a
    thread of an application (`app.state.Person`) and one from before an edit of the file fit.
    """
    from harness.checkpoints import StoreSerializer

    def find(module: str, name: str) -> Any:
        return types.get((module, name)) or types.get((stem(module), name))

    clone = copy.copy(graph)
    if isinstance(store.serde, StoreSerializer):  # else somebody's own, which may encrypt
        types = own_types([graph, *(inner for _, inner in graph.get_subgraphs(recurse=True))])
        serde, store = store.serde, copy.copy(store)
        store.serde = serde.knowing(find)
    clone.checkpointer = store
    return clone


def held_at(store: CheckpointStore, config: Any, without: str | None = None) -> dict[str, Held]:
    """The held values of the state at a checkpoint and of what tasks wrote there, by key.

    `without` is a task whose writes do not count; all of them with an empty one.
    """
    from harness.checkpoints import Held, StoreSerializer

    peeking = copy.copy(store)
    if not isinstance(store.serde, StoreSerializer):
        return {}
    peeking.serde = cast("Any", SimpleNamespace(loads_typed=store.serde.peek))
    saved = peeking.get_tuple(config)
    if saved is None:
        return {}
    written = [
        (channel, value)
        for task, channel, value in saved.pending_writes or []
        if without != "" and task != without
    ]
    values = [*saved.checkpoint["channel_values"].items(), *written]
    return {key: value for key, value in values if isinstance(value, Held)}


def stem(module: str) -> str:
    """The last part of a module's name; of a file that was loaded, the file's."""
    loaded = _LOADED.match(module)
    return loaded[1] if loaded else module.rpartition(".")[2]


def own_types(graphs: Iterable[Any]) -> dict[tuple[str, str], Any]:
    """Types of data that the code of some graphs knows by name, by module (or its stem) and name.

    They are those that the states' schemas name, and the models, dataclasses, enumerations and
    named tuples among the global names of the nodes' functions. A thread can name no other.
    """
    names: set[tuple[str, ...]] = set()
    types: list[Any] = []
    for graph in graphs:
        builder = getattr(graph, "builder", None)
        if builder is not None:
            schemas = [builder.state_schema, builder.input_schema, builder.output_schema]
            schemas += [builder.context_schema] if builder.context_schema is not None else []
            schemas += [node.input_schema for node in builder.nodes.values()]
            build = langgraph("_internal._serde").build_serde_allowlist
            names |= build(schemas=schemas, channels=builder.channels)
        for node in graph.nodes.values():
            bound = getattr(node, "bound", None)
            function: Any = getattr(bound, "func", None) or getattr(bound, "afunc", None)
            if function is not None:
                names_of = getattr(inspect.unwrap(function), "__globals__", {})
                types += filter(_is_data, cast("dict[str, Any]", names_of).values())
    for module, name, *_ in names:
        types.append(getattr(import_module(module), name, None))
    by_name: dict[tuple[str, str], Any] = {}
    for kind in filter(None, types):
        by_name[kind.__module__, kind.__name__] = kind
        by_name.setdefault((stem(kind.__module__), kind.__name__), kind)
        if _LOADED.match(kind.__module__):  # what the same file writes as a program
            by_name.setdefault(("__main__", kind.__name__), kind)
    return by_name


def _is_data(kind: Any) -> bool:
    """Tell types that only hold data from everything else."""
    if not isinstance(kind, type):
        return False
    fields = ("model_fields", "__dataclass_fields__", "_fields", "__fields__")
    return issubclass(kind, enum.Enum) or any(hasattr(cast("Any", kind), name) for name in fields)


def dropped(graph: Any, values: Any) -> list[str]:
    """Keys of an input that the graph does not take: LangGraph leaves them out without a word."""
    builder = getattr(graph, "builder", None)
    if builder is None or not isinstance(values, dict):
        return []
    accepted = builder.schemas[builder.input_schema]
    return [name for name in cast("dict[str, Any]", values) if name not in accepted]


def checked(graph: Any, values: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """`values` as the state's types have them; JSON becomes models where the schema says so.

    Where the state is a pydantic model, it validates them itself, beside the rest of `state`.

    Raises:
        BadInput: if a key is not in the state, or a value is of another type or not valid.
    """
    from pydantic import BaseModel, ConfigDict, ValidationError, create_model

    builder = getattr(graph, "builder", None)
    schema: Any = None if builder is None else builder.state_schema
    types: dict[str, Any] = {} if schema is None else get_type_hints(schema)
    if not types:
        names = (name for name in graph.channels if not name.startswith(("__", "branch:")))
        types = dict.fromkeys(names, Any)
    result: dict[str, Any] = {}
    for name, value in values.items():
        if name not in types:
            has = ", ".join(types) or "none: it is one of the functional interface (see `output`)"
            raise BadInput(f"the state has no key {name!r}; it has {has}")
        if "langchain_core.messages" in str(types[name]) and isinstance(value, list):
            result[name] = _messages(name, cast("list[Any]", value), state.get(name))
            continue
        config = ConfigDict(arbitrary_types_allowed=True)
        model: Any = create_model("State", __config__=config, key=(types[name], ...))
        strict = isinstance(value, str | int | float | bool)
        try:
            result[name] = model.model_validate({"key": value}, strict=strict).key
            if isinstance(schema, type) and issubclass(schema, BaseModel):
                current = schema.model_construct(**{**state, **result})
                validator = schema.__pydantic_validator__
                result[name] = getattr(
                    validator.validate_assignment(current, name, result[name]), name
                )
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == "frozen_instance":  # it was validated as far as a frozen one can be
                continue
            keys = "".join(f"[{part!r}]" for part in first["loc"][1:])
            raise BadInput(
                f"state key {name!r}{keys}: {first['msg'].lower()}, found {first['input']!r}"
            ) from error
    return result


def _messages(key: str, values: list[Any], before: Any) -> list[Any]:
    """Messages as a graph takes them: `{"role": …}`, `["user", "…"]`, or as they are.

    One of `before` whose text and calls stay keeps what JSON does not show (usage, metadata).
    """
    from langchain_core.messages import convert_to_openai_messages

    items = [(*cast("list[Any]", item),) if isinstance(item, list) else item for item in values]
    try:
        merged = langgraph("graph.message").add_messages([], items)
        text: Any = convert_to_openai_messages
        same = {(m.id, json.dumps(text(m))): m for m in before or () if hasattr(m, "id")}
        return [same.get((message.id, json.dumps(text(message))), message) for message in merged]
    except Exception as error:
        raise BadInput(
            f"state key {key!r}: expected messages, found {values!r}: {error}"
        ) from error


def digest_of(serde: SerializerProtocol, value: Any) -> str:
    """Digest of a value by its serialised bytes, else by its pickle or its `repr`."""
    from harness.checkpoints import StoreSerializer

    kind, data = "", b""
    with suppress(Exception):
        is_store = isinstance(serde, StoreSerializer)  # which would hold what it cannot store
        form, exact = serde.form(value) if is_store else (serde.dumps_typed(value), True)
        kind, data = form if form and exact else (kind, data)
    if not kind:
        try:
            kind, data = "pickle", pickle.dumps(value)
        except Exception:  # noqa: BLE001  # a user's type may fail in any way
            kind, data = "repr", _ADDRESS.sub("", repr(value)).encode()
    return hashlib.blake2b(data, digest_size=16, person=kind.encode()[:16]).hexdigest()


class _Stored:
    """The checkpoint of a graph that makes none: nothing to wait for."""

    def result(self) -> None:
        """Nothing, at once."""

    def __await__(self) -> Iterator[None]:
        return iter(())


def install_hooks() -> None:
    """Wrap LangGraph's two functions, if that was not done yet.

    The debugger runs graphs with `durability="sync"`, which sub-graphs inherit. One that is
    compiled without checkpoints then waits for a checkpoint that it never makes and fails with an
    AttributeError (LangGraph 1.2.22); its loops are given one that is stored already.

    Raises:
        BadInput: if this version of LangGraph has them no more.
    """
    loop = langgraph("pregel._loop").PregelLoop
    if not hasattr(loop, "_put_checkpoint_fut"):
        loop._put_checkpoint_fut = _Stored()
    runner = langgraph("pregel._runner")
    for name, method in (("run_with_retry", "around"), ("arun_with_retry", "around_async")):
        function = getattr(runner, name, None)
        if function is None or next(iter(inspect.signature(function).parameters)) != "task":
            raise BadInput(
                f"the debugger knows LangGraph 1.2, found {version('langgraph')} without "
                f"{name!r}; install langgraph>=1.2,<1.3"
            )
        if not hasattr(function, HOOK):
            setattr(runner, name, _hooked(function, method))


def _hooked(function: Callable[..., Any], method: str) -> Callable[..., Any]:
    """`function`, called by a method of the task's hook; an asynchronous one gives an awaitable."""

    def run_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        hook = task.config.get("configurable", {}).get(HOOK) or everywhere
        # LangGraph's own nodes, such as the one that takes the input, have no hook.
        if hook is None or task.name.startswith("__"):
            return function(task, *args, **kwargs)
        return getattr(hook, method)(task, lambda: function(task, *args, **kwargs))

    setattr(run_with_retry, HOOK, True)
    return run_with_retry
