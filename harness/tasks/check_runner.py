"""Runs one check function in a process of its own; stands alone, imports nothing of ours.

`python -I check_runner.py FILE FUNCTION REQUEST`: REQUEST is a JSON file with `task`, `workdir`,
`answer` and `marker`. The result is the last line of stdout: the marker, a space, and JSON. The
exit code is 3 if there is no such function, or if it takes something else.
"""

import contextlib
import importlib.util
import inspect
import json
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

UNFIT = 3


def bind_arguments(
    function: Any, values: dict[str, Any], positional: Sequence[str], fewest: int
) -> inspect.BoundArguments:
    """Return the arguments of a user's function by the names of its parameters, in any order.

    Args:
        function: to be called.
        values: that there are, by name.
        positional: names of the values that parameters with other names are given, in this order.
        fewest: number of them that it must take.

    Raises:
        TypeError: if it cannot be called so.
    """
    signature = inspect.signature(function)
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    takes_all = inspect.Parameter.VAR_KEYWORD in kinds
    accepted = {
        name: value for name, value in values.items() if takes_all or name in signature.parameters
    }
    if accepted and inspect.Parameter.VAR_POSITIONAL not in kinds:
        with contextlib.suppress(TypeError):
            return signature.bind(**accepted)
    for count in range(len(positional), fewest - 1, -1):
        with contextlib.suppress(TypeError):
            keywords = {name: accepted[name] for name in accepted.keys() - positional[:count]}
            bound = signature.bind(*(values[name] for name in positional[:count]), **keywords)
            if all(bound.arguments.get(name, value) is value for name, value in accepted.items()):
                return bound
    raise TypeError(f"it takes {signature}, expected any of {', '.join(values)}")


def bind_check(
    function: Any, task: dict[str, Any], workdir: str, answer: str | None
) -> inspect.BoundArguments:
    """Return the arguments of a check; one with other names takes task, work folder and answer.

    Raises:
        TypeError: as :func:`bind_arguments`.
    """
    values = {
        "answer": answer,
        "expected": task.get("answer"),
        "prompt": task.get("prompt"),
        "task": task,
        "workdir": workdir,
    }
    return bind_arguments(function, values, ("task", "workdir", "answer"), fewest=3)


def refuse(reason: str) -> NoReturn:
    """End as a check that cannot be used."""
    sys.stderr.write(reason)
    sys.exit(UNFIT)


def main() -> None:
    """Call the function and print what it returned."""
    file, name, request = sys.argv[1:4]
    sys.dont_write_bytecode = True  # a check that is edited twice in a second is read anew
    with open(request, encoding="utf-8") as stream:  # noqa: PTH123  # stands alone, starts fast
        call = json.load(stream)
    marker = call.pop("marker")
    spec = importlib.util.spec_from_file_location("suite_check", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        function = getattr(module, name)
        arguments = bind_check(function, **call)
    except (AttributeError, TypeError) as error:
        refuse(str(error).replace("module 'suite_check'", "the file"))
    except BaseException as error:  # noqa: BLE001  # a user's file may fail in any way
        refuse("".join(traceback.format_exception_only(error)))
    verdict = function(*arguments.args, **arguments.kwargs)
    sys.stdout.write(f"\n{marker} {json.dumps(verdict)}\n")


if __name__ == "__main__":
    main()
