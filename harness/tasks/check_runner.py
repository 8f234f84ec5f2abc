"""Runs one check function in a process of its own; stands alone, imports nothing of ours.

`python -I check_runner.py FILE FUNCTION REQUEST`: REQUEST is a JSON file with `task`, `workdir`,
`answer` and `marker`. The result is the last line of stdout: the marker, a space, and JSON. The
exit code is 3 if there is no such function, or if it takes something else.
"""

import importlib.util
import inspect
import json
import sys
import traceback
from typing import Any, NoReturn

UNFIT = 3


def bind(
    function: Any, task: dict[str, Any], workdir: str, answer: str | None
) -> inspect.BoundArguments:
    """Return the arguments of a check by the names of its parameters.

    They are `answer`, `expected`, `prompt`, `task` and `workdir`, in any order; a function with
    other names takes the task, the work folder and the answer.

    Raises:
        TypeError: if it cannot be called so.
    """
    given = {
        "answer": answer,
        "expected": task.get("answer"),
        "prompt": task.get("prompt"),
        "task": task,
        "workdir": workdir,
    }
    signature = inspect.signature(function)
    named = {name: value for name, value in given.items() if name in signature.parameters}
    try:
        return signature.bind(**named)
    except TypeError:
        try:
            return signature.bind(task, workdir, answer)
        except TypeError:
            raise TypeError(f"it takes {signature}, expected any of {', '.join(given)}") from None


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
        arguments = bind(function, **call)
    except (AttributeError, TypeError) as error:
        refuse(str(error).replace("module 'suite_check'", "the file"))
    except BaseException as error:  # noqa: BLE001  # a user's file may fail in any way
        refuse("".join(traceback.format_exception_only(error)))
    verdict = function(*arguments.args, **arguments.kwargs)
    sys.stdout.write(f"\n{marker} {json.dumps(verdict)}\n")


if __name__ == "__main__":
    main()
