"""JSON documents and lines, CSV, and YAML, with errors that name the line.

YAML is what strangers write: of limited size and depth, and without aliases, nine lines of which
stand for gigabytes.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from math import isinf
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from harness.core.errors import BadInput
from harness.core.files import open_foreign
from harness.core.values import first_fault

ParseConstant = Callable[[str], Any] | None
ModelT = TypeVar("ModelT", bound=BaseModel)
MAX_LINE = 2**27
"""Characters of a line of a JSONL file."""
MAX_CELL = 2**24
"""Characters of a cell of a CSV file."""
_log = logging.getLogger("harness.documents")
_SURROGATE = re.compile("[\ud800-\udfff]")
YAML_CHARACTERS = 200_000
"""Of a document; the parser needs about a second for that many."""
YAML_DEPTH = 40
"""Of lists and maps in one another."""


def read_json(path: Path, parse_constant: ParseConstant = None) -> Any:
    """The JSON document in a file.

    Args:
        path: of the file.
        parse_constant: as of :func:`parse_json`.

    Raises:
        BadInput: if it cannot be read, or is none (the line is named).
    """
    try:
        with open_foreign(path) as file:  # a byte order mark is no fault
            return parse_json(file.read().decode("utf-8-sig"), parse_constant)
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"cannot read {str(path)!r}: {error}") from error


def parse_json(text: str, parse_constant: ParseConstant = None) -> Any:
    """A JSON document; half a character, which UTF-8 lacks, is read as the replacement character.

    Args:
        text: the document.
        parse_constant: what NaN, the infinities and numbers too large for one are read as, by their
            text.

    Raises:
        ValueError: if it is none.
        RecursionError: if it is nested too deeply.
    """
    hooks: dict[str, Any] = {}
    if parse_constant is not None:

        def bounded(number: str) -> Any:
            return parse_constant(number) if isinf(value := float(number)) else value

        hooks = {"parse_constant": parse_constant, "parse_float": bounded}
    value = json.loads(text, **hooks)
    return without_surrogates(value) if "\\ud" in text or "\\uD" in text else value


def object_in(reply: str) -> dict[str, Any] | None:
    """The JSON object of a model's reply, in a fence or not; None without one."""
    start, end = reply.find("{"), reply.rfind("}")
    try:
        value: Any = parse_json(reply[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def without_surrogates(value: Any) -> Any:
    """A JSON value in which a lone surrogate, which UTF-8 lacks, is the replacement character."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        clean = without_surrogates
        return {clean(key): clean(item) for key, item in cast("dict[Any, Any]", value).items()}
    return value


def read_rows(
    path: Path, parse_constant: ParseConstant = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) of a JSONL file; blank lines are passed over.

    Only line feeds end a line: U+2028, U+2029 and U+0085 may stand in strings. A byte order mark
    is no fault.

    Raises:
        BadInput: if the file is missing, or a line is not a JSON object (the line is named).
    """
    if not path.is_file():
        raise BadInput(f"expected a JSONL file, found nothing at {str(path)!r}")
    with path.open(encoding="utf-8-sig") as handle:
        lines = iter(lambda: handle.readline(MAX_LINE), "")
        try:
            for number, line in enumerate(lines, start=1):
                if len(line) == MAX_LINE:
                    raise BadInput(f"{path}:{number}: expected a line of less than {MAX_LINE:,}")
                if line.strip():
                    yield number, parse_row(line, f"{path}:{number}", parse_constant)
        except UnicodeDecodeError as error:
            raise BadInput(f"{str(path)!r} is not UTF-8 text: {error}") from error


def parse_row(line: str, where: str, parse_constant: ParseConstant = None) -> dict[str, Any]:
    """One line as a JSON object.

    Raises:
        BadInput: if it is none; `where` stands in front of the message.
    """
    try:
        row = parse_json(line, parse_constant)
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise BadInput(
            f"{where}: expected one JSON object, got {line.strip()[:60]!r} ({why})"
        ) from error
    if not isinstance(row, dict):
        raise BadInput(f"{where}: expected a JSON object, got {type(row).__name__}")
    return row  # pyright: ignore[reportUnknownVariableType]  # json.loads is untyped


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of a CSV or TSV file of a spreadsheet program, header first.

    Text is UTF-8, UTF-16 with its byte order mark, or, with a warning, Windows-1252. Rows of empty
    cells are passed over, and a warning counts them.

    Raises:
        BadInput: if it cannot be read.
    """
    empty = 0
    try:
        for number, cells in split_csv(_spreadsheet_text(path), tabs=path.suffix == ".tsv"):
            if any(map(str.strip, cells)):
                yield number, cells
            else:
                empty += bool(cells)
    except (OSError, ValueError, csv.Error) as error:
        raise BadInput(f"cannot read {str(path)!r}: {error}") from error
    if empty:
        rows = f"{empty} empty row{'s' if empty > 1 else ''} passed over"
        warn_once(path.name, path.stat().st_size, rows)


@cache
def warn_once(name: str, size: int, text: str) -> None:
    """Log a warning about a file: once, though a suite and its copies are read several times."""
    _log.warning("%s: %s", name, text)


def split_csv(text: str, *, tabs: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of every row of a text.

    The delimiter is that of a `sep=;` line, or the one of comma, semicolon, tab and bar that stands
    equally often in most of the first lines, outside of quotes; the tab, if so told.

    Raises:
        csv.Error: if a quoted field has no end, or a cell is too long.
    """
    csv.field_size_limit(MAX_CELL)
    marked = re.match(r'"?sep=(.)"?\r?\n', text, re.IGNORECASE)
    text = text[marked.end() :] if marked else text
    lines = re.sub('"[^"]*"', "", text[:65536]).strip().splitlines()[:40]

    def agreement(mark: str) -> tuple[int, int]:
        counts = Counter(count for line in lines if (count := line.count(mark)))
        return max(counts.values(), default=0), lines[0].count(mark) if lines else 0

    between = marked[1] if marked else "\t" if tabs else max(",;\t|", key=agreement)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=between, strict=True)
    for cells in reader:
        yield reader.line_num + bool(marked), cells


def _spreadsheet_text(path: Path) -> str:
    with open_foreign(path) as file:
        data = file.read()
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252")
    encoding = "not UTF-8: read as Windows-1252, as Excel writes CSV"
    warn_once(path.name, path.stat().st_size, encoding)
    return text


def read_models(path: Path, model: type[ModelT]) -> list[ModelT]:
    """Read every line of a JSONL file as `model`.

    Raises:
        BadInput: as :func:`read_rows`, or if a row does not fit the model.
    """
    rows: list[ModelT] = []
    for number, row in read_rows(path):
        try:
            rows.append(model.model_validate(row))
        except ValidationError as error:
            got = str(error.errors()[0]["input"])[:60]
            raise BadInput(f"{path}:{number}: {first_fault(error, 'row')}, got {got!r}") from error
    return rows


def read_yaml(path: Path) -> Any:
    """The YAML document in a file; JSON is read, too.

    Raises:
        BadInput: if it cannot be read, or is none that :func:`parse_yaml` accepts.
    """
    try:
        if path.exists() and not path.is_file():
            raise BadInput(f"expected a YAML file at {str(path)!r}, found something else")
        with path.open(encoding="utf-8") as file:
            return parse_yaml(file.read(YAML_CHARACTERS + 1))
    except OSError as error:
        raise BadInput(f"cannot read {str(path)!r}: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{path}: not YAML: {error}") from error


def parse_yaml(text: str, *, as_text: bool = False) -> Any:
    """A YAML document; half a character is read as by :func:`parse_json`.

    Args:
        text: the document.
        as_text: leave every scalar as it is written: `version: 1.0` stays "1.0".

    Raises:
        ValueError: if it is no YAML, has an alias, or more characters or levels than the limits.
    """
    import yaml

    if len(text) > YAML_CHARACTERS:
        raise ValueError(f"it has more than {YAML_CHARACTERS:,} characters")
    try:
        value: Any = yaml.load(text, Loader=_loaders()[as_text])  # both are safe ones
        return without_surrogates(value) if "\\u" in text.casefold() else value
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ValueError(f"{where}{error.problem or error}") from error
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError) as error:
        # Values that do not fit their tag (`!!bool x`) raise what happens to go wrong.
        raise ValueError(str(error)) from error


@cache
def _loaders() -> tuple[type, type]:
    """PyYAML's safe loader, and that which makes text of every scalar; both limited."""
    import yaml

    class Limited:
        depth = 0

        def compose_node(self: Any, parent: Any, index: Any) -> Any:
            mark = self.peek_event().start_mark
            if self.check_event(yaml.AliasEvent):
                raise yaml.MarkedYAMLError(
                    problem="an alias (*name) is not accepted: write it out", problem_mark=mark
                )
            if self.depth == YAML_DEPTH:
                raise yaml.MarkedYAMLError(
                    problem=f"more than {YAML_DEPTH} levels", problem_mark=mark
                )
            self.depth += 1
            node = super().compose_node(parent, index)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]  # of the loader mixed in
            self.depth -= 1
            return node  # pyright: ignore[reportUnknownVariableType]

    class Values(Limited, yaml.SafeLoader):
        pass

    class Texts(Limited, yaml.BaseLoader):
        pass

    return Values, Texts
