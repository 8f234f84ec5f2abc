"""JSON documents and lines, with errors that name the line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from harness.core.errors import BadInput
from harness.core.values import first_fault

ModelT = TypeVar("ModelT", bound=BaseModel)


def read_json(path: Path) -> Any:
    """The JSON document in a file.

    Raises:
        BadInput: if it cannot be read, or is none (the line is named).
    """
    try:
        return json.loads(path.read_text("utf-8-sig"))  # a byte order mark is no fault
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"cannot read {str(path)!r}: {error}") from error


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) of a JSONL file; blank lines are passed over.

    Raises:
        BadInput: if the file is missing, or a line is not a JSON object (the line is named).
    """
    if not path.is_file():
        raise BadInput(f"expected a JSONL file, found nothing at {str(path)!r}")
    with path.open(encoding="utf-8") as handle:
        try:
            for number, line in enumerate(handle, start=1):
                if line.strip():
                    yield number, parse_row(line, f"{path}:{number}")
        except UnicodeDecodeError as error:
            raise BadInput(f"{str(path)!r} is not UTF-8 text: {error}") from error


def parse_row(line: str, where: str) -> dict[str, Any]:
    """One line as a JSON object.

    Raises:
        BadInput: if it is none; `where` stands in front of the message.
    """
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"{where}: expected one JSON object, got {line.strip()[:60]!r} ({error.msg})"
        ) from error
    if not isinstance(row, dict):
        raise BadInput(f"{where}: expected a JSON object, got {type(row).__name__}")
    return row  # pyright: ignore[reportUnknownVariableType]  # json.loads is untyped


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
