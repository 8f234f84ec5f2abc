"""A small language for conditions and watches: Python's expressions without any call of code.

An expression is parsed and walked by us; nothing is compiled or executed. It has literals, names
(state keys), comparison, `and`, `or`, `not`, arithmetic, `in`, `x if c else y`, subscripts and
slices, `.name` for keys of mappings and fields of models, list, tuple, set and dict displays, and
the functions `len`, `min`, `max`, `sum`, `any`, `all`, `abs`, `str`, `int`, `float`, `round`,
`sorted`, `type` (a name) and `last`. Names that begin with an underscore are refused, and so are
results above a million items or digits, so that a condition cannot reach Python's internals, and
cannot hang a run.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

from harness.core import BadInput

LARGEST = 1_000_000
"""Items of a repeated sequence; bits of a power."""


def _multiply(first: Any, second: Any) -> Any:
    for sequence, times in ((first, second), (second, first)):
        if (
            hasattr(sequence, "__len__")
            and isinstance(times, int)
            and len(sequence) * times > LARGEST
        ):
            raise BadInput(f"a sequence of more than {LARGEST} items")
    return first * second


def _modulo(first: Any, second: Any) -> Any:
    if isinstance(first, str | bytes):
        raise BadInput("% formats no text here")
    return first % second


def _type_name(value: Any) -> str:
    return type(value).__name__


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Div: lambda first, second: first / second,
    ast.FloorDiv: lambda first, second: first // second,
    ast.Mod: _modulo,
    ast.BitOr: lambda first, second: first | second,
    ast.BitAnd: lambda first, second: first & second,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}
_DISPLAYS: dict[type[ast.expr], Callable[[Iterable[Any]], Any]] = {
    ast.List: list,
    ast.Tuple: tuple,
    ast.Set: set,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": len,
    "min": min,
    "max": max,
    "sum": sum,
    "any": any,
    "all": all,
    "abs": abs,
    "str": str,
    "int": int,
    "float": float,
    "round": round,
    "sorted": sorted,
    "type": _type_name,
    "last": operator.itemgetter(-1),
}
_ALLOWED = (
    *(ast.Constant, ast.Name, ast.Load, ast.BoolOp, ast.And, ast.Or, ast.BinOp, ast.UnaryOp),
    *(ast.Compare, ast.IfExp, ast.Subscript, ast.Slice, ast.Attribute, ast.Call, ast.Dict),
    *(*_BINARY, *_UNARY, *_COMPARE, *_DISPLAYS),
)


class Expression:
    """A parsed expression.

    Example:
        >>> Expression("len(messages) > 1 and last(messages).role == 'user'").value(
        ...     {"messages": [{"role": "system"}, {"role": "user"}]}
        ... )
        True
    """

    def __init__(self, text: str) -> None:
        """Parse `text`.

        Raises:
            BadInput: if it is not an expression of this language.
        """
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise BadInput(
                f"expected an expression over the state, found {text!r}: {error}"
            ) from error
        for node in ast.walk(self._tree):
            if not isinstance(node, _ALLOWED):
                raise BadInput(
                    f"{text!r} holds a {type(node).__name__}, which conditions and watches do not "
                    "have; see harness.debug.engine.expressions for what they have"
                )
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
            if name.startswith("_"):
                raise BadInput(
                    f"{text!r} asks for {name!r}: names that begin with an underscore are refused"
                )
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else ""
                if called not in _FUNCTIONS or node.keywords:
                    names = ", ".join(_FUNCTIONS)
                    raise BadInput(f"{text!r} calls something else than one of {names}")

    def value(self, names: Mapping[str, Any]) -> Any:
        """The value with `names` in scope.

        Raises:
            BadInput: if a name is missing or an operation fails.
        """
        try:
            return _value(self._tree, names)
        except BadInput:
            raise
        except Exception as error:
            raise BadInput(f"{self.text!r} failed: {type(error).__name__}: {error}") from error


def _value(node: Any, names: Mapping[str, Any]) -> Any:
    def value(part: ast.expr | None) -> Any:
        return None if part is None else _value(part, names)

    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return _lookup(node.id, names)
        case ast.BoolOp():
            ends_with = isinstance(node.op, ast.Or)
            result: Any = None
            for part in node.values:
                result = value(part)
                if bool(result) == ends_with:
                    break
            return result
        case ast.BinOp():
            return _BINARY[type(node.op)](value(node.left), value(node.right))
        case ast.UnaryOp():
            return _UNARY[type(node.op)](value(node.operand))
        case ast.Compare():
            first = value(node.left)
            for test, part in zip(node.ops, node.comparators, strict=True):
                second = value(part)
                if not _COMPARE[type(test)](first, second):
                    return False
                first = second
            return True
        case ast.IfExp():
            return value(node.body if value(node.test) else node.orelse)
        case ast.Subscript():
            return value(node.value)[value(node.slice)]
        case ast.Slice():
            return slice(value(node.lower), value(node.upper), value(node.step))
        case ast.Attribute():
            return _field(value(node.value), node.attr)
        case ast.Call():
            function = _FUNCTIONS[cast("ast.Name", node.func).id]
            return function(*map(value, node.args))
        case ast.Dict():
            keys = [_value(key, names) for key in node.keys]
            return dict(zip(keys, map(value, node.values), strict=True))
        case _:
            return _DISPLAYS[type(node)](map(value, node.elts))


def _lookup(name: str, names: Mapping[str, Any]) -> Any:
    if name not in names:
        raise BadInput(f"no name {name!r} in the state; it has {', '.join(names) or 'none'}")
    return names[name]


def _field(target: Any, name: str) -> Any:
    """A key of a mapping, or a declared field: never a method or a property of a class."""
    if isinstance(target, Mapping):
        return cast("Mapping[str, Any]", target)[name]
    declared: set[str] = set(getattr(target.__class__, "model_fields", ()))
    if is_dataclass(target):
        declared |= {field.name for field in fields(target)}
    if name not in declared:
        raise BadInput(f"a {type(target).__name__} has no field {name!r}")
    return vars(target)[name] if name in vars(target) else getattr(target, name)
