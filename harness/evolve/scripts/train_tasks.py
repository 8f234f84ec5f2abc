"""Train tasks as programs meet them: a prompt, and input files with their fields and values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.core import Task, read_foreign

# Characters of an input file that are searched, and rows of a workbook that may be its header.
CHARACTERS, HEADER_ROWS = 400_000, 8
_BETWEEN = re.compile(r"[,;\t\n|\"'{}()\[\]:=<>]+")


@dataclass(frozen=True)
class TrainTask:
    """A task that programs are tried on.

    Attributes:
        id: of the task.
        prompt: of the task.
        files: input files: name -> text.
    """

    id: str
    prompt: str
    files: dict[str, str]

    @classmethod
    def of(cls, task: Task, base: Path) -> TrainTask:
        """Read the input files of a task.

        Args:
            task: of the suite.
            base: folder of the suite's files.
        """
        texts = {name: text_of(base / source) for name, source in task.files.items()}
        return cls(task.id, task.prompt, texts)

    @cached_property
    def suffixes(self) -> tuple[str, ...]:
        """Of its files, in order."""
        return tuple(sorted(Path(name).suffix for name in self.files))

    @property
    def is_table(self) -> bool:
        """Return True if all that it has is tables: then fields are columns, and else content."""
        return bool(self.suffixes) and {*self.suffixes} <= {".csv", ".tsv", ".xlsx"}

    @cached_property
    def fields(self) -> frozenset[str]:
        """Names of columns, keys, sections and sheets of its files."""
        names = (fields_in(Path(name).suffix, text) for name, text in self.files.items())
        return frozenset[str]().union(*names)

    @cached_property
    def values(self) -> frozenset[str]:
        """Cells, words and values of its files."""
        text = "\n".join(self.files.values())
        return frozenset({part.strip() for part in _BETWEEN.split(text)} | set(text.split()))


def text_of(path: Path) -> str:
    """The text of an input file; of a workbook its sheet names and cells, a row a line."""
    if path.suffix != ".xlsx":
        return read_foreign(path)[:CHARACTERS].decode("utf-8", "replace")
    from openpyxl import load_workbook

    rows: list[str] = []
    for sheet in load_workbook(path, read_only=True, data_only=True):
        rows.append(str(sheet.title))
        rows += [
            ",".join("" if cell is None else str(cell) for cell in row)
            for row in sheet.iter_rows(values_only=True)
        ]
    return "\n".join(rows)[:CHARACTERS]


def fields_in(suffix: str, text: str) -> set[str]:
    """Names that a file of that suffix gives to its values; none of files without such names."""
    if suffix in (".csv", ".tsv", ".xlsx"):
        header = text.splitlines()[: HEADER_ROWS if suffix == ".xlsx" else 1]
        return {cell.strip().strip('"') for row in header for cell in re.split(r"[,;\t]", row)} - {
            ""
        }
    if suffix in (".json", ".jsonl"):
        return set(re.findall(r'"([^"\n]+)"\s*:', text))
    if suffix in (".ini", ".cfg", ".toml", ".yaml", ".yml", ".properties"):
        return set(re.findall(r"^\s*\[?([\w.-]+)\s*(?:\]|=|:)", text, re.MULTILINE))
    return set()
