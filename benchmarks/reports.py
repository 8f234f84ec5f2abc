"""Shared parts of benchmarks: options, kept rows, arms in turn, suites, intervals, and reports."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from harness.core import write_atomic
from harness.stats import wilson


def option(**settings: Any) -> dict[str, Any]:
    """An option that needs more than a default, as `ArgumentParser.add_argument` takes it."""
    return settings


def read_options(description: str | None, *positional: str, **options: Any) -> argparse.Namespace:
    """Read the options of a benchmark from its command line.

    Args:
        description: shown by `--help`.
        positional: names of files and folders that must be given, in their order.
        options: by name, each the default that is used without it; True or False is a flag, a
            list takes several values, a type is a required value of that type; else :func:`option`.
    """
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=style)
    for name in positional:
        parser.add_argument(name, type=Path)
    settings: dict[str, Any]
    for name, default in options.items():
        if isinstance(default, dict):
            settings = cast("dict[str, Any]", default)
        elif isinstance(default, type):
            settings = {"type": default, "required": True}
        elif isinstance(default, bool):
            settings = {"action": "store_false" if default else "store_true"}
        elif isinstance(default, list):
            values = cast("list[Any]", default)
            settings = {"nargs": "*", "default": values, "type": type(values[0])}
        else:
            settings = {"type": type(default), "default": default}
        parser.add_argument(f"--{name.replace('_', '-')}", **settings)
    return parser.parse_args()


Options = argparse.Namespace
"""The options of a benchmark, as its command line gave them."""
Result = Mapping[str, Any] | None
"""The JSON value that a benchmark reports; None where it reported on its own."""


def benchmark(
    *positional: str, **options: Any
) -> Callable[[Callable[[Options], Result]], Callable[[], None]]:
    """Make a function the command of its module, which reports what the function returns.

    `python -m` of the module reads the options, calls the function with them, prints the result
    with the command that made it, and writes it to the option `out` where there is one. The
    function stands last in its file: it is called where it is defined. It returns None where it
    reports on its own.

    Args:
        positional: see :func:`read_options`.
        options: see :func:`read_options`.
    """

    def command(measure: Callable[[Options], Result]) -> Callable[[], None]:
        module = measure.__globals__

        def main() -> None:
            settings = read_options(module["__doc__"], *positional, **options)
            result = measure(settings)
            if result is not None:
                made_by = {"command": f"python -m {module['__spec__'].name}"}
                report({**made_by, **result}, getattr(settings, "out", None))

        if module["__name__"] == "__main__":
            main()
        return main

    return command


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a module's function in a process of its own; all are JSON values."""
    module, name = function.__globals__["__spec__"].name, function.__name__
    code = f"""import json, sys, {module} as module
print(json.dumps(module.{name}(*json.loads(sys.argv[1]))))"""
    return peer(sys.executable, "-c", code, json.dumps(arguments))


def peak_mb() -> float:
    """The most memory that this process has held, MiB.

    Unlike `ru_maxrss`, without that of the process which started it.
    """
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def report(result: Mapping[str, Any], out: Path | None) -> None:
    """Print a result as JSON, and write it to a file where one is named."""
    text = json.dumps(result, indent=1, ensure_ascii=False)
    print(text, flush=True)
    if out is not None:
        write_atomic(out, text + "\n")


def earlier_report(out: Path | None) -> dict[str, Any]:
    """Read the report of an earlier run; {} if there was none."""
    return json.loads(out.read_text("utf-8")) if out is not None and out.is_file() else {}


def add_run(run: Mapping[str, Any], out: Path, *same: str, **head: Any) -> None:
    """Add a run to a file of runs; it takes the place of one that is equal in the fields `same`."""
    runs = earlier_report(out).get("runs", [])
    different = [earlier for earlier in runs if any(earlier[key] != run[key] for key in same)]
    print(json.dumps(run, indent=1))
    write_atomic(out, json.dumps({**head, "runs": [*different, run]}, indent=1) + "\n")


class Journal:
    """Results by key, a JSON line each: a run that was stopped resumes after its last one.

    Args:
        path: of the file; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.rows: dict[str, Any] = {}
        if path is not None and path.is_file():
            *lines, torn = path.read_text("utf-8").split("\n")
            if torn:
                write_atomic(path, "".join(f"{line}\n" for line in lines))
            self.rows = dict(json.loads(line) for line in lines)

    def result(self, key: str, make: Callable[[], Any]) -> Any:
        """The result of a key, made if it is not there yet."""
        if key not in self.rows:
            self.rows[key] = make()
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, self.rows[key]], ensure_ascii=False) + "\n")
        return self.rows[key]


def peer(python: object, script: object, *words: object, **settings: Any) -> Any:
    """The JSON value in the last line that the script of a peer prints.

    Args:
        python: interpreter of the environment that has the peer.
        script: file that imports nothing of this project.
        words: its arguments.
        settings: of the process, as `subprocess.run` takes them.
    """
    command = [str(word) for word in (python, script, *words)]
    process = subprocess.run(command, capture_output=True, text=True, check=False, **settings)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{process.stderr[-3000:]}")
    return json.loads(process.stdout.strip().splitlines()[-1])


def in_turn(
    arms: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.process_time,
    warm: int = 1,
) -> dict[str, list[float]]:
    """Seconds that every arm takes in every round; the first `warm` rounds do not count."""
    seconds: dict[str, list[float]] = {name: [] for name in arms}
    for number in range(rounds + warm):
        for name, arm in arms.items():
            started = clock()
            arm()
            if number >= warm:
                seconds[name].append(clock() - started)
    return seconds


def out_or_resume(run: Path, lock: str = "run.json") -> dict[str, Any]:
    """The option that begins a run in a folder, or resumes the one that lies there."""
    return {"resume" if (run / lock).is_file() else "out": run}


def write_suite(folder: Path, tasks: Iterable[Mapping[str, Any]], *settings: str) -> Path:
    """A suite of these tasks in a folder; `settings` are further lines of its YAML."""
    folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(folder / "tasks.jsonl", tasks)
    suite = folder / "suite.yaml"
    suite.write_text("\n".join(("name: benchmark", "tasks: tasks.jsonl", *settings)) + "\n")
    return suite


def share_interval(hits: int, total: int, digits: int = 3, scale: int = 1) -> list[float]:
    """Wilson's 95 % interval of a share, rounded; `scale` 100 gives percent."""
    low, high = wilson(hits, total) or (0.0, 1.0)
    return [round(scale * low, digits), round(scale * high, digits)]


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """All rows of a JSON lines file."""
    with path.open(encoding="utf-8") as file:  # by line ends alone: texts hold other separators
        return [json.loads(line) for line in file]


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
