"""Feed mutated inputs to parsers, each in a child process; list what ends in anything undocumented.

Run: python -m tests.fuzz.storm [TARGET ...] [--count 5000] [--seed 41] [--only NUMBER]

A fault is an exception that the parser does not document, more than 10 s, more than 500 MB beyond
what its imports took, or the death of the process. Inputs depend on target, seed and number alone:
`--only` repeats one of them.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Sequence
from contextlib import closing, redirect_stderr
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, cast

SECONDS, MEMORY_MB = 10, 500
ADDRESS_SPACE_MB = 2500
"""Beyond what the imports took: what asks for more gets MemoryError."""
Files = dict[str, bytes]
TOKENS = (
    b"", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b'"', b"'", b"{", b"}", b"[", b"]", b"[" * 3000,
    b'{"a":' * 1500, b"-1", b"0", b"1e999", b"9" * 5000, b"99999999999999999999", b"NaN",
    b"null", b"true", b"[]", b"{}", b'""', b"\\ud800", b"\\", b"../../../etc/passwd", b"/dev/zero",
    b"&a", b"*a", b"<<: *a", b"!!python/object", b"---\n", b"\n", b"\r", b": ", b"- ", b"%s",
    b"A" * 70_000, b"<" * 2000, b"\x80" * 40, b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 1e308, 10**30, -(2**63), "", "x", "\ud800", "a" * 70_000, "../../x",
    [], {}, [None], [[]], {"a": 1}, [1, "x", {}], "2026-13-45T99:00:00Z", float("nan"),
)  # fmt: skip


def mutated(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """One to four changes of a valid input, in the form that it has or as plain bytes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        structured = rng.random() < 0.6
        if structured and data.startswith(b"SQLite format 3"):
            data = _changed_row(rng, data)
        elif structured and data.startswith(b"PK"):
            data = _changed_member(rng, data, others)
        elif structured and data.lstrip()[:1] in (b"{", b"["):
            data = _changed_json(rng, data)
        else:
            data = _changed_bytes(rng, data, others)
    return data


def _changed_bytes(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    start = rng.randrange(len(data) + 1)
    end = min(len(data), start + rng.choice((0, 1, 1, 4, 16, 64, 500)))
    match rng.randrange(6):
        case 0:  # flip a bit
            if not data:
                return b"\0"
            spot = rng.randrange(len(data))
            return data[:spot] + bytes([data[spot] ^ 1 << rng.randrange(8)]) + data[spot + 1 :]
        case 1:
            return data[:start] + rng.choice(TOKENS) + data[end:]
        case 2:
            return data[:start] + data[end:]
        case 3:
            return data[:start] + data[start:end] * rng.choice((2, 3, 200)) + data[end:]
        case 4:
            return data[:start]
        case _:
            other = rng.choice(others)
            spot = rng.randrange(len(other) + 1)
            return data[:start] + other[spot : spot + rng.choice((8, 64, 1000))] + data[end:]


def _changed_json(rng: Random, data: bytes) -> bytes:
    """A value of a document or of a line in it replaced, taken out, doubled or nested."""
    lines = data.split(b"\n")
    number = rng.randrange(len(lines))
    document, one_line = _json_of(data), False
    if document is None:
        document, one_line = _json_of(lines[number]), True
    if document is None:
        return _changed_bytes(rng, data, [data])
    spots = places_in(document)
    if not spots:
        return json.dumps(rng.choice(VALUES)).encode()
    holder, key = rng.choice(spots)
    match rng.randrange(4):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1:
            holder[key] = [holder[key], json.loads(json.dumps(holder[key]))]
        case 2:
            for _ in range(rng.choice((1, 80, 400))):
                holder[key] = rng.choice(([holder[key]], {"a": holder[key]}))
        case _:
            holder[key] = rng.choice(VALUES)
    try:
        text = json.dumps(document, ensure_ascii=rng.random() < 0.9)
    except RecursionError:  # nested more than once
        return _changed_bytes(rng, data, [data])
    changed = text.encode("utf-8", "surrogatepass")
    return b"\n".join([*lines[:number], changed, *lines[number + 1 :]]) if one_line else changed


def _json_of(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with every key of it."""
    spots: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        holder = todo.pop()
        pairs: list[tuple[Any, Any]] = []
        if isinstance(holder, dict):
            pairs = list(cast("dict[Any, Any]", holder).items())
        elif isinstance(holder, list):
            pairs = list(enumerate(cast("list[Any]", holder)))
        spots += [(holder, key) for key, _ in pairs]
        todo += [inner for _, inner in pairs]
    return spots


def _changed_member(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A zip with one member changed, doubled, renamed or left out."""
    buffer = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", 8) as new:
            members = {member.filename: old.read(member) for member in old.infolist()}
            name = rng.choice(sorted(members))
            match rng.randrange(8):
                case 0:
                    del members[name]
                case 1:
                    members[rng.choice(("../x", "/x", "a" * 300, "word/x"))] = members.pop(name)
                case _:
                    members[name] = _changed_bytes(rng, members[name], [members[name], *others])
            for member, content in members.items():
                new.writestr(member, content)
    except Exception:  # noqa: BLE001  # a zip that is broken already
        return _changed_bytes(rng, data, others)
    return buffer.getvalue()


def _changed_row(rng: Random, data: bytes) -> bytes:
    """An SQLite file with one value of one row changed, or a row taken out."""
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
        Path(file.name).write_bytes(data)
        try:
            with closing(sqlite3.connect(file.name)) as db, db:
                names = db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
                table = rng.choice(names)[0]
                columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
                column = rng.choice(columns)
                rows = db.execute(f"SELECT {column} FROM {table}").fetchall()
                value = rng.choice(rows)[0]
                fresh: Any = rng.choice((None, 0, -1, 2**62, "x", b"x", "[]", "{}", b"\x90"))
                if isinstance(value, bytes | str) and rng.random() < 0.7:
                    raw = value if isinstance(value, bytes) else value.encode()
                    fresh = mutated(rng, raw, [raw])
                    fresh = fresh if isinstance(value, bytes) else fresh.decode(errors="replace")
                elif isinstance(value, int) and rng.random() < 0.7:
                    fresh = rng.choice(rows)[0] + rng.choice((-1, 0, 1))
                db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} IS ?", (fresh, value))
        except (sqlite3.Error, IndexError, OverflowError, TypeError):
            return _changed_bytes(rng, data, [data])
        return Path(file.name).read_bytes()


class Fault(NamedTuple):
    """An input that a parser did not take as it documents."""

    target: str
    number: int
    what: str


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(names: Sequence[str], seed: int, first: int, count: int) -> None:
    """Run inputs, and print what is run and what goes wrong as JSON lines."""
    from harness.core import HarnessError
    from tests.fuzz.targets import TARGETS

    out = sys.stdout
    for name in names:
        target = TARGETS[name]
        with tempfile.TemporaryDirectory(prefix="fuzz-") as made:
            seeds = target.seeds(Path(made))
            for files in seeds:  # loads what there is to load; valid inputs are taken
                target.run(files)
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            limit = size + ADDRESS_SPACE_MB * 2**20
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
            peak = _peak_mb()
            every = [content for files in seeds for content in files.values()]
            for number in range(first, first + count):
                rng = Random(f"{seed}/{name}/{number}")
                files = dict(rng.choice(seeds))
                place = rng.choice(sorted(files))
                files[place] = mutated(rng, files[place], every)
                if target.repair is not None and rng.random() < 0.7:
                    target.repair(files)
                print(json.dumps([name, number, "begins"]), file=out, flush=True)
                faulthandler.dump_traceback_later(2 * SECONDS, exit=True)
                started, what = time.monotonic(), ""
                try:
                    with redirect_stderr(io.StringIO()):
                        target.run(files)
                except (HarnessError, *target.errors):
                    pass
                except BaseException:  # noqa: BLE001  # that is what is looked for
                    what = traceback.format_exc()[-1500:]
                faulthandler.cancel_dump_traceback_later()
                if (seconds := time.monotonic() - started) > SECONDS:
                    what = f"took {seconds:.1f} s {what}"
                if (grown := _peak_mb() - peak) > MEMORY_MB:
                    what, peak = f"took {grown:.0f} MB {what}", _peak_mb()
                if what:
                    print(json.dumps([name, number, what]), file=out, flush=True)
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def storm(names: Sequence[str], seed: int, count: int, first: int = 0) -> tuple[int, list[Fault]]:
    """Run inputs of targets in a child, in another one behind an input that killed it.

    Returns:
        How many inputs were run, and the faults.
    """
    faults: list[Fault] = []
    total, todo, begin = 0, list(names), first
    while todo:
        arguments = ["--child", *todo[: 1 if begin != first else None], "--seed", str(seed)]
        arguments += ["--first", str(begin), "--count", str(first + count - begin)]
        ended = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.storm", *arguments],
            capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        rows = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("[")]
        total += sum(row[2] == "begins" for row in rows)
        faults += [Fault(*row) for row in rows if row[2] != "begins"]
        if ended.returncode == 0:
            todo, begin = [] if begin == first else todo[1:], first
            continue
        if not rows:
            faults.append(Fault(todo[0], begin, f"does not start: {ended.stderr[-1500:]}"))
            return total, faults
        name, number, _ = rows[-1]
        why = f"died with {ended.returncode}: {ended.stderr[-1500:]}"
        faults.append(Fault(name, number, why))
        todo, begin = todo[todo.index(name) :], number + 1
        if begin == first + count:
            todo, begin = todo[1:], first
    return total, faults


def main() -> int:
    """Run the storm; 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="*")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    for name, default in {"seed": 41, "first": 0, "count": 5000, "only": -1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    if options.child:
        child(options.target, options.seed, options.first, options.count)
        return 0
    from tests.fuzz.targets import TARGETS

    if options.only >= 0:
        options.first, options.count = options.only, 1
    bad = 0
    for name in options.target or TARGETS:
        started = time.monotonic()
        total, faults = storm([name], options.seed, options.count, options.first)
        seconds = time.monotonic() - started
        print(f"{name}: {total} inputs, {len(faults)} faults, {seconds:.0f} s", flush=True)
        kinds = {fault.what.strip().splitlines()[-1][:200]: fault for fault in reversed(faults)}
        for fault in kinds.values():
            print(f"  number {fault.number}: {fault.what}")
        bad += len(faults)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
