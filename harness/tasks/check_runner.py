"""Runs one check function in a process of its own; stands alone, imports nothing of ours.

`python -I check_runner.py FILE FUNCTION REQUEST`: REQUEST is a JSON file with `task`, `workdir`,
`answer` and `marker`. The result is the last line of stdout: the marker, a space, and JSON.
"""

import importlib.util
import json
import sys


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
    spec.loader.exec_module(module)
    verdict = getattr(module, name)(call["task"], call["workdir"], call["answer"])
    sys.stdout.write(f"\n{marker} {json.dumps(verdict)}\n")


if __name__ == "__main__":
    main()
