"""Values of a session on disk and in memory: a checkpoint is never a condition of running.

LangGraph's serialiser restores the types that it was told of, drops what msgpack has no form for
(tuples, subclasses of dict, private attributes of models), and refuses the rest: a graph that runs
without a checkpointer ends with one. A session must not change what a graph does. So whatever does
not come back as it went is held in memory beside what can be stored of it: a copy where Python can
make one, else the object itself, across which nothing can be forked.
"""

from __future__ import annotations

import copy
import enum
import inspect
import pickle
import re
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

import ormsgpack
from langgraph.checkpoint.serde import _msgpack, jsonplus
from langgraph.checkpoint.serde.types import (
    _DeltaSnapshot,  # pyright: ignore[reportPrivateUsage]  # it has no other name
)

from harness.checkpoints.held import HELD, Held, StoreSerializer
from harness.debug.engine.equality import same

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

_LOADED = re.compile(r"_harness_loaded_(\w+)_[0-9a-f]{16}\Z")
"""Names of modules that were loaded from a file: its stem is what stays when the file is edited."""
_LEAVES = frozenset((date, datetime, time, timedelta, Decimal, uuid.UUID))
_OPTION: int = (
    jsonplus._option & ~ormsgpack.OPT_REPLACE_SURROGATES  # pyright: ignore[reportPrivateUsage]  # the form of LangGraph's own
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class SessionSerializer(StoreSerializer):
    """LangGraph's format, restored exactly in the session that wrote it.

    Attributes:
        types: the graph's own.
        news: tokens of values that are held since it was emptied last.
    """

    def __init__(self, types: Mapping[tuple[str, str], Any]) -> None:
        """`types` are the graph's own (:func:`own_types`)."""
        super().__init__(allowed_msgpack_modules=None, __unpack_ext_hook__=self._restore)
        self.types = types
        self.news: list[str] = []
        self._held: dict[str, tuple[Any, bool]] = {}

    def knowing(self, types: Mapping[tuple[str, str], Any]) -> SessionSerializer:
        """The serialiser for another version of the graph, with the values that are held."""
        serializer = SessionSerializer(types)
        serializer._held = self._held
        return serializer

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Kind and bytes; what they do not restore is held in memory as well."""
        if obj is None or type(obj) in (bytes, bytearray):
            return super().dumps_typed(obj)
        try:
            return "msgpack", ormsgpack.packb(obj, default=_leaf, option=_OPTION)
        except Exception:  # noqa: BLE001  # a user's type may fail in any way
            stored = self._faithful(obj)
        if stored is not None and stored[1]:
            return stored[0]
        copied = True
        try:
            held = copy.deepcopy(obj)
        except Exception:  # noqa: BLE001  # as above
            if isinstance(obj, BaseException) and stored is not None:
                return stored[0]
            held, copied = obj, False
        token = uuid.uuid4().hex
        self._held[token] = held, copied
        self.news.append(token)
        body = [token, type(obj).__name__, copied, stored and list(stored[0])]
        return HELD, ormsgpack.packb(body)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value: a copy of what is held, or what could be stored of it."""
        token = str(ormsgpack.unpackb(data[1])[0]) if data[0] == HELD else ""
        if token not in self._held:
            return super().loads_typed(data)
        value, copied = self._held[token]
        return copy.deepcopy(value) if copied else value

    def peek(self, data: tuple[str, bytes]) -> Held:
        """A description of a held value."""
        return super().peek(data)._replace(in_session=ormsgpack.unpackb(data[1])[0] in self._held)

    def _faithful(self, obj: Any) -> tuple[tuple[str, bytes], bool] | None:
        """LangGraph's form, and whether it restores the value; None if LangGraph refuses it."""
        try:
            stored = super().dumps_typed(obj)
            restored = super().loads_typed(stored)
            return None if restored is None else (stored, same(obj, restored))
        except Exception:  # noqa: BLE001  # as above
            return None

    def _restore(self, code: int, data: bytes) -> Any:
        """An extension of LangGraph's msgpack: its constructors, for the graph's own types too.

        Types are found by their module's stem, so that a thread of an application
        (`app.state.Person`, `__main__.Person`) and one from before an edit of the file fit.
        """
        content: Any = ormsgpack.unpackb(
            data, ext_hook=self._restore, option=ormsgpack.OPT_NON_STR_KEYS
        )
        if code == jsonplus.EXT_DELTA_SNAPSHOT:
            return _DeltaSnapshot(content)
        if code == jsonplus.EXT_NUMPY_ARRAY:
            import numpy

            kind, shape, order, buffer = content
            # A copy: the bytes of a message cannot be written to.
            return numpy.frombuffer(buffer, kind).reshape(shape, order=order).copy(order)
        module, name, payload, *method = content
        make = self.types.get((module, name)) or self.types.get((stem(module), name))
        try:
            if make is None and (module, name) in _msgpack.SAFE_MSGPACK_TYPES:
                make = getattr(import_module(module), name)
            if make is None:
                return payload
            if code == jsonplus.EXT_METHOD_SINGLE_ARG:
                safe = (module, name, method[0]) in _msgpack.SAFE_MSGPACK_METHODS
                return getattr(make, method[0])(payload) if safe else payload
            if code == jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG:
                return make(payload)
            if code == jsonplus.EXT_CONSTRUCTOR_POS_ARGS:
                if (module, name) != ("langgraph.types", "Send"):
                    return make(*payload)
                return make(*payload[:2], **({"timeout": payload[2]} if payload[2:] else {}))
            if code == jsonplus.EXT_CONSTRUCTOR_KW_ARGS:
                return make(**payload)
            try:
                return make(**payload)
            except Exception:  # noqa: BLE001  # a validator of an older state: as LangGraph does
                return getattr(make, "model_construct", make.construct)(**payload)
        except Exception:  # noqa: BLE001  # a type that has changed since: its data, as LangGraph does
            return payload


class _Peeking:
    """Reads what is stored as the session does, and names what is held instead of giving it."""

    def __init__(self, serde: SessionSerializer) -> None:
        self._serde = serde

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """A value, or a :class:`Held`."""
        return self._serde.peek(data) if data[0] == HELD else self._serde.loads_typed(data)


def held_at(store: CheckpointStore, config: Any, without: str | None = None) -> dict[str, Held]:
    """The held values of the state at a checkpoint and of what tasks wrote there, by key.

    `without` is a task whose writes do not count; all of them with an empty one.
    """
    if not isinstance(store.serde, SessionSerializer):
        return {}
    peeking = copy.copy(store)
    peeking.serde = cast("Any", _Peeking(store.serde))
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
            build = import_module("langgraph._internal._serde").build_serde_allowlist
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


def _leaf(part: Any) -> Any:
    """A value whose form in LangGraph's msgpack restores it, whatever it holds."""
    kind = cast("type[Any]", type(part))
    array = kind.__module__ == "numpy" and kind.__name__ == "ndarray"
    message = kind.__module__.startswith("langchain_core.messages.")
    if kind in _LEAVES or isinstance(part, PurePath) or message:
        return jsonplus._msgpack_default(part)  # pyright: ignore[reportPrivateUsage]  # as above
    if array and part.dtype.kind in "biufcSU":
        return jsonplus._msgpack_default(part)  # pyright: ignore[reportPrivateUsage]  # as above
    raise TypeError(kind.__name__)


def digest_bytes(serde: Any, value: Any) -> tuple[str, bytes]:
    """Bytes that tell values apart, the same in every process where that is possible."""
    kind, data = "", b""
    with suppress(Exception):
        kind, data = serde.dumps_typed(value)
    if kind in ("", HELD):
        try:
            return "pickle", pickle.dumps(value)
        except Exception:  # noqa: BLE001  # as above
            return "repr", _ADDRESS.sub("", repr(value)).encode()
    return kind, data
