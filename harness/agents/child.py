"""A user's function or graph in a process of its own, which a fork server has begun.

`SystemExit` is an outcome like any other failure.
"""

from __future__ import annotations

import base64
import dis
import inspect
import os
import pickle
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.agents.own_graphs import answer_of, input_key
from harness.core import BadInput, assets
from harness.tasks import bind_arguments

IMPORTING = "HARNESS_IMPORTING_AGENT"
"""Is set in the process of an agent while its module is imported."""
_SKILL = object()


def outcome(request: dict[str, Any]) -> dict[str, Any]:
    """Carry out a request; return `answer`, or `error`, or `bad_input`; without an attempt the
    finding of :func:`ignores_skill` on the function, and the variables that importing it set.

    Args:
        request: `kind` (`py` or `graph`), `reference`, `base` and the import `path`; `function`,
            pickled, in place of the reference; `options` of a graph; of an attempt also `arguments`
            (prompt, work folder, skill) of the function, or `state` and `config` of the graph.
    """
    reference = request["reference"]
    before = dict(os.environ)
    sys.path += [folder for folder in request["path"] if folder not in sys.path]
    os.environ[IMPORTING] = reference
    try:
        if request.get("function"):
            sys.path[:] = request["path"]
            loaded: Any = pickle.loads(base64.b64decode(request["function"]))  # noqa: S301  # ours
        else:
            base = Path(request["base"])
            # As for a script: what lies beside the file can be imported.
            sys.path.insert(0, str((base / reference.rpartition(":")[0]).resolve().parent))
            loaded = assets.load_object(reference, base)
        del os.environ[IMPORTING]
        fits = callable(loaded) if request["kind"] == "py" else hasattr(loaded, "ainvoke")
        if not fits:
            expected = "function" if request["kind"] == "py" else "compiled graph"
            name = type(loaded).__name__
            raise BadInput(f"{reference!r} names a {name}, expected a {expected}")
        answer: Any = None
        if "arguments" in request:
            call = bind_agent(reference, loaded, *request["arguments"])
            answer = loaded(*call.args, **call.kwargs)
            # `asyncio` takes longer to import than all else here, and few functions need it.
            answer = import_module("asyncio").run(answer) if inspect.iscoroutine(answer) else answer
        elif "state" in request:
            call = answer_of(loaded, request["state"], request["config"], request["options"])
            answer = import_module("asyncio").run(call)
        else:
            of_function = request["kind"] == "py"
            # Libraries that read a variable when they are imported find it as the file set it.
            changed = {key: text for key, text in os.environ.items() if before.get(key) != text}
            ignores = of_function and ignores_skill(reference, loaded)
            key = of_function or input_key(reference, loaded, request["options"])
            return {"ignores_skill": ignores, "input_key": key, "environment": changed}
        if answer is None:
            return {"error": "it returned None, expected the answer"}
        return {"answer": str(answer)}
    except BadInput as error:
        return {"bad_input": str(error)}
    except BaseException as error:  # noqa: BLE001  # a user's code may end in any way
        return {"error": f"{type(error).__name__}: {error}"}


def bind_agent(
    reference: str, function: Any, prompt: Any, workdir: Any, skill: Any
) -> inspect.BoundArguments:
    """Return the arguments of an agent, by name; a single one of another name is the prompt.

    Raises:
        BadInput: if it takes something else.
    """
    values = {"prompt": prompt, "workdir": workdir, "skill": skill}
    try:
        bound = bind_arguments(function, values, tuple(values), fewest=1)
        if any(
            bound.arguments[name] in (workdir, skill)
            for name in bound.arguments.keys() - values.keys()
        ):
            raise TypeError(
                f"it takes {inspect.signature(function)}, expected any of {', '.join(values)}"
            )
        return bound
    except (TypeError, ValueError) as error:
        raise BadInput(f"{reference!r} is no agent: {error}") from error


def ignores_skill(reference: str, function: Any) -> bool:
    """Return True if the path of a skill would not reach a function, or it never looks at it.

    Raises:
        BadInput: if it does not take what it is called with.
    """
    workdir = object()
    bound = bind_agent(reference, function, "", workdir, _SKILL)
    values = [*bound.args, *bound.kwargs.values()]
    if _SKILL not in values:
        return workdir not in values  # a copy lies in the work folder
    name = next((name for name, value in bound.arguments.items() if value is _SKILL), "")
    code = getattr(function, "__code__", None)  # a decorated function has that of its wrapper
    if code is None or name not in code.co_varnames or name in code.co_cellvars:
        return False
    loads = [step.argrepr for step in dis.get_instructions(code) if "LOAD" in step.opname]
    words = set(re.findall(r"\w+", " ".join(loads)))
    return not words & {name, "locals", "vars", "eval", "exec"}
