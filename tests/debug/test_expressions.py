"""Conditions and watches: what they can say, and that they can reach nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from harness.core import BadInput
from harness.debug.engine.expressions import Expression


@dataclass
class Row:
    score: float

    def drop(self) -> None:
        raise AssertionError("a condition called a method")

    @property
    def worse(self) -> float:
        raise AssertionError("a condition read a property")


STATE: dict[str, Any] = {
    "n": 3,
    "messages": [{"role": "system"}, {"role": "user", "content": "hello there"}],
    "row": Row(0.5),
    "sent": [HumanMessage("hi")],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n", 3),
        ("n > 2 and not n == 4", True),
        ("1 < n <= 3", True),
        ("n % 2 == 1 or absent", True),
        ("len(messages)", 2),
        ("messages[-1].content[:5]", "hello"),
        ("last(messages).role in ['user', 'tool']", True),
        ("'content' in messages[0]", False),
        ("row.score * 2", 1.0),
        ("sent[0].content", "hi"),
        ("type(row)", "Row"),
        ("'big' if n > 5 else 'small'", "small"),
        ("max(n, 7) - min([n, 1])", 6),
        ("{'a': n}['a'] + (-n)", 0),
        ("sorted({3, 1})", [1, 3]),
        ("str(n) + 'x' * 3", "3xxx"),
    ],
)
def test_what_expressions_say(text: str, expected: Any) -> None:
    assert Expression(text).value(STATE) == expected


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__",
        "row.__dict__",
        "open('/etc/passwd')",
        "eval('1')",
        "getattr(row, 'drop')",
        "row.drop()",
        "messages.append(1)",
        "[x for x in messages]",
        "lambda: 1",
        "(n := 5)",
        "f'{row}'",
        "print(n)",
        "len(messages, key=n)",
        "n; n",
        "n = 4",
        "import os",
        "2 ** 999999999",
        "1 << 99999999",
        "await n",
        "",
        "(" * 500 + ")" * 500,
    ],
)
def test_what_expressions_cannot_say(text: str) -> None:
    with pytest.raises(BadInput):
        Expression(text)


@pytest.mark.parametrize(
    "text",
    ["row.drop", "row.worse", "n.real", "absent", "messages[9]", "n / 0", "'a' * 9999999",
     "[0] * 5000 * 5000", "'%99999999d' % n", "messages[0].items"],
)  # fmt: skip
def test_what_fails_fails_as_bad_input(text: str) -> None:
    with pytest.raises(BadInput):
        Expression(text).value(STATE)
