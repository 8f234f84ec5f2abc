"""Works out what others wrote in a process of its own; stands alone, imports nothing of ours.

`python -P bounded_worker.py KIND SECONDS BYTES`: reads one JSON list a line, the name of a function
and its arguments, and writes one object, `value` or `error`. Each call may use SECONDS of processor
time and the process BYTES of memory. KIND is `math` or `patterns`.

Processor time, because a right answer must not become a wrong one where the machine is busy. What
math-verify waits for by itself is off: it counts seconds on the wall, and its signal is not heard
while one big number is being computed. The kernel's is: the process ends, and the caller knows.
"""

from __future__ import annotations

import json
import logging
import re
import resource
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any


def main() -> None:
    """Answer until the input ends."""
    kind, seconds, memory = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    calls: dict[str, Callable[..., Any]] = {
        "search": search,
        "validate": validate,
        "render": render,
    }
    if kind == "math":
        import math_verify  # pyright: ignore[reportMissingTypeStubs]  # ships none

        logging.disable(logging.CRITICAL)  # it warns of timeouts that are off
        compared(math_verify, "\\frac{1}{2}", "0.5")  # loads the grammar before the limits hold
        calls = {"compare": partial(compared, math_verify)}
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print("ready", flush=True)
    for line in sys.stdin:
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + seconds + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))
        name, *arguments = json.loads(line)
        try:
            reply = {"value": calls[name](*arguments)}
        except (Exception, RecursionError) as error:  # noqa: BLE001  # parsers of hostile text
            reply = {"error": type(error).__name__, "says": str(error).partition("\n")[0][:300]}
        print(json.dumps(reply), flush=True)


def search(pattern: str, texts: list[str]) -> bool:
    """Return whether a pattern matches in one of the texts."""
    return any(re.search(pattern, text) for text in texts)


def validate(schema: Any, values: list[Any]) -> str | None:
    """Check a schema, which names only itself, and return what is wrong with the values."""
    jsonschema: Any = import_module("jsonschema")
    kind = jsonschema.Draft202012Validator
    kind.check_schema(schema)
    validator = kind(schema, registry=import_module("jsonschema_specifications").REGISTRY)
    errors = (error for value in values for error in validator.iter_errors(value))
    error = jsonschema.exceptions.best_match(errors)
    return error and f"{error.json_path}: {error.message}"


def render(template: str, variables: dict[str, Any]) -> str:
    """Return the text of a template."""
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment().from_string(template).render(variables)


def compared(verifier: Any, gold: str, text: str) -> dict[str, Any]:
    """Return the verdict of math-verify on a reply.

    Args:
        verifier: the module.
        gold: LaTeX or a number, without any text around it.
        text: a reply, from which the last boxed answer, or else the last formula or number, counts.
    """
    expected = verifier.parse(f"\\boxed{{{gold}}}", parsing_timeout=None)
    got = verifier.parse(text, parsing_timeout=None)
    ok = bool(expected) and bool(got) and verifier.verify(expected, got, timeout_seconds=None)
    return {"ok": bool(ok), "gold": _last(expected), "answer": _last(got)}


def _last(parsed: list[Any]) -> str | None:
    """The text that was read: math-verify puts it behind what it made of it."""
    texts = [part for part in parsed if isinstance(part, str)]
    return texts[-1][:200] if texts else None


if __name__ == "__main__":
    main()
