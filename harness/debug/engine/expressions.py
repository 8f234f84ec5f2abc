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
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

from harness.core import BadInput

LARGEST = 1_000_000
"""Items of a repeated sequence; bits of a power."""


def _multiply(left: Any, right: Any) -> Any:
    for sequence, times in ((left, right), (right, left)):
        if (
            hasattr(sequence, "__len__")
            and isinstance(times, int)
            and len(sequence) * times > LARGEST
        ):
            raise BadInput(f"a sequence of more than {LARGEST} items")
    return left * right


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, str | bytes):
        raise BadInput("% formats no text here")
    return left % right


def _type_name(value: Any) -> str:
    return type(value).__name__


def _last(items: Any) -> Any:
    return items[-1]


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: _modulo,
    ast.BitOr: lambda left, right: left | right,
    ast.BitAnd: lambda left, right: left & right,
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
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
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
    "last": _last,
}


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
            _check(node, text)

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


_ALLOWED = (
    *(ast.Constant, ast.Name, ast.Load, ast.BoolOp, ast.And, ast.Or, ast.BinOp, ast.UnaryOp),
    *(ast.Compare, ast.IfExp, ast.Subscript, ast.Slice, ast.Attribute, ast.Call),
    *(ast.List, ast.Tuple, ast.Set, ast.Dict),
    *_BINARY,
    *_UNARY,
    *_COMPARE,
)


def _check(node: ast.AST, text: str) -> None:
    if not isinstance(node, _ALLOWED):
        raise BadInput(
            f"{text!r} holds a {type(node).__name__}, which conditions and watches do not have; "
            "see harness.debug.engine.expressions for what they have"
        )
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    if name.startswith("_"):
        raise BadInput(
            f"{text!r} asks for {name!r}: names that begin with an underscore are refused"
        )
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
        if not known or node.keywords:
            raise BadInput(f"{text!r} calls something else than one of {', '.join(_FUNCTIONS)}")


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    handler = _HANDLERS[type(node)]
    return handler(node, names)


def _name(node: ast.Name, names: Mapping[str, Any]) -> Any:
    if node.id not in names:
        raise BadInput(f"no name {node.id!r} in the state; it has {', '.join(names) or 'none'}")
    return names[node.id]


def _bool(node: ast.BoolOp, names: Mapping[str, Any]) -> Any:
    ends_at = isinstance(node.op, ast.Or)
    result: Any = None
    for part in node.values:
        result = _value(part, names)
        if bool(result) == ends_at:
            return result
    return result


def _compare(node: ast.Compare, names: Mapping[str, Any]) -> bool:
    left = _value(node.left, names)
    for test, part in zip(node.ops, node.comparators, strict=True):
        right = _value(part, names)
        if not _COMPARE[type(test)](left, right):
            return False
        left = right
    return True


def _subscript(node: ast.Subscript, names: Mapping[str, Any]) -> Any:
    target = _value(node.value, names)
    if not isinstance(node.slice, ast.Slice):
        return target[_value(node.slice, names)]
    ends = (node.slice.lower, node.slice.upper, node.slice.step)
    return target[slice(*(None if end is None else _value(end, names) for end in ends))]


def _attribute(node: ast.Attribute, names: Mapping[str, Any]) -> Any:
    """A key of a mapping, or a declared field: never a method or a property of a class."""
    target = _value(node.value, names)
    if isinstance(target, Mapping):
        return cast("Mapping[str, Any]", target)[node.attr]
    declared: set[str] = set(getattr(target.__class__, "model_fields", ()))
    if is_dataclass(target):
        declared |= {entry.name for entry in fields(target)}
    if node.attr not in declared:
        raise BadInput(f"a {type(target).__name__} has no field {node.attr!r}")
    return vars(target)[node.attr] if node.attr in vars(target) else getattr(target, node.attr)


def _call(node: ast.Call, names: Mapping[str, Any]) -> Any:
    function = _FUNCTIONS[cast("ast.Name", node.func).id]
    return function(*(_value(argument, names) for argument in node.args))


_HANDLERS: dict[type[ast.expr], Callable[[Any, Mapping[str, Any]], Any]] = {
    ast.Constant: lambda node, names: node.value,
    ast.Name: _name,
    ast.BoolOp: _bool,
    ast.BinOp: lambda node, names: _BINARY[type(node.op)](
        _value(node.left, names), _value(node.right, names)
    ),
    ast.UnaryOp: lambda node, names: _UNARY[type(node.op)](_value(node.operand, names)),
    ast.Compare: _compare,
    ast.IfExp: lambda node, names: _value(
        node.body if _value(node.test, names) else node.orelse, names
    ),
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.List: lambda node, names: [_value(item, names) for item in node.elts],
    ast.Tuple: lambda node, names: tuple(_value(item, names) for item in node.elts),
    ast.Set: lambda node, names: {_value(item, names) for item in node.elts},
    ast.Dict: lambda node, names: {
        _value(key, names): _value(value, names)
        for key, value in zip(node.keys, node.values, strict=True)
    },
}
