"""Checks edited values against the state's declared types before anything is stored."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, PydanticSchemaGenerationError, TypeAdapter, ValidationError

from harness.core import BadInput
from harness.debug.graphs import channel_types


def checked(graph: Any, values: dict[str, Any]) -> dict[str, Any]:
    """`values` as the state's types have them; JSON becomes models where the schema says so.

    Raises:
        BadInput: if a key is not in the state, or a value is of another type.
    """
    types = channel_types(graph)
    known = types or {
        name: Any for name in graph.channels if not name.startswith(("__", "branch:"))
    }
    result: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise BadInput(f"the state has no key {name!r}; it has {', '.join(known)}")
        result[name] = _validated(name, known[name], value)
    return result


def _validated(name: str, declared: Any, value: Any) -> Any:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(
            declared, config=ConfigDict(arbitrary_types_allowed=True)
        )
    except (PydanticSchemaGenerationError, TypeError):
        adapter = TypeAdapter(declared)
    except Exception:  # noqa: BLE001  # pydantic refuses a config on models: they bring their own
        adapter = TypeAdapter(declared)
    try:
        return adapter.validate_python(value, strict=isinstance(value, str | int | float | bool))
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"[{part!r}]" for part in first["loc"])
        raise BadInput(
            f"state key {name!r}{place}: {first['msg'].lower()}, found {first['input']!r}"
        ) from error
