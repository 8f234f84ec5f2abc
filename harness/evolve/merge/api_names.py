"""Names and parameters that a text takes for granted: `ws.max_col`, `cell(col=...)`.

Every one becomes a program that looks the name up on a live object, or the parameter in the
signature. A name that a text advises against is no claim; one of which it says that there is none
is.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from keyword import iskeyword
from typing import NamedTuple

BOOK = "from openpyxl import Workbook\n"
FRAME = 'import pandas\n\n{} = pandas.DataFrame({{"a": [1, 2]}})\n'
# What names in lessons stand for: the name as it is written -> how a program makes one.
OBJECTS = {
    **dict.fromkeys(("wb", "workbook", "book"), BOOK + "\n{} = Workbook()\n"),
    **dict.fromkeys(("ws", "sheet", "worksheet"), BOOK + "\n{} = Workbook().active\n"),
    **dict.fromkeys(("cell", "target_cell"), BOOK + '\n{} = Workbook().active["A1"]\n'),
    **dict.fromkeys(("df", "dataframe"), FRAME),
    **dict.fromkeys(("pd", "pandas"), "import pandas\n\n{} = pandas\n"),
    "openpyxl": "import openpyxl\n",
}  # fmt: skip
# Modules of Python that are meant by their names; `string` and `array` mostly are not.
_MODULES = (
    "os re shutil copy json csv math itertools collections functools statistics pathlib glob sys"
    " subprocess tempfile zipfile decimal traceback logging random datetime"
)
MODULES = frozenset(_MODULES.split())
# In front of a name these stand for anything that the library makes: `pandas.to_excel()`.
LIBRARIES = {"openpyxl": "openpyxl", "pandas": "pandas", "pd": "pandas", "datetime": "datetime"}
# Where a function without an object in front is looked for.
OWNERS = """\
import os, re, shutil, copy, datetime
import openpyxl, openpyxl.utils, openpyxl.styles
from openpyxl import Workbook

sheet = Workbook().active
owners = [sheet.parent, sheet, sheet["A1"], openpyxl, openpyxl.utils, openpyxl.styles]
"""
FRAMES = """\
import pandas

owners += [pandas, pandas.DataFrame, pandas.Series, pandas.Series.str]
"""
COMMON = "owners += [os, os.path, re, re.Pattern, shutil, copy, datetime, str, list, dict]\n"
_IDENTIFIER = r"[A-Za-z_]\w*"
_NAME = re.compile(
    rf"(?<![\w.'\"/$\]\)])(?P<path>{_IDENTIFIER}(?:\.{_IDENTIFIER})*)(?P<call>\((?P<arguments>[^()]*)\))?"
)
_ARGUMENT = re.compile(rf"(?:^|,)\s*({_IDENTIFIER})\s*=(?!=)")
_LOOSE = re.compile(
    r"(?<![\w(.])['\"`]?(?P<name>[a-z_]+)=(?:True|False|None|\d+)?(?=['\"`\s,.;)]|$)"
    r"|`(?P<parameter>[a-z_]+)` (?:parameter|argument|keyword)"
)
_HASATTR = re.compile(rf"hasattr\(({_IDENTIFIER}),\s*['\"]({_IDENTIFIER})['\"]\)")
_OWNED = re.compile(
    r"\b(?P<library>openpyxl|pandas)(?:'s)? `?(?P<name>[a-z]+(?:_[a-z]+)+)(?:\(\))?`? "
    r"(?:attribute|method|property|function)",
    re.IGNORECASE,
)
# A name without its object, where the sentence says whose it is.
_LONE = re.compile(
    rf"(?<![\w)\]}}.])\.(?P<name>{_IDENTIFIER})\b(?:\(\))?`? (?:attribute|property|method)"
)
_WHOSE = re.compile(r"\b(?:openpyxl|cells?|worksheets?|workbooks?)\b", re.IGNORECASE)
# Words that are names of such objects where the lesson is about sheets, and of others elsewhere.
_AMBIGUOUS = frozenset(("book", "sheet", "cell", "target_cell"))
_SHEETS = re.compile(
    r"openpyxl|excel|spreadsheet|work(?:book|sheet)|\b(?:rows?|columns?)\b|xlsx|formula",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"\b(?:xlrd|xlwings|xlsxwriter|gspread|pyexcel)\b", re.IGNORECASE)
# What is to be looked up first is not taken for granted.
_LOOK_UP = re.compile(
    r"\b(?:confirm|verify|check)\w* (?:that )?(?:they|it) exists?\b", re.IGNORECASE
)
_DENIED = re.compile(
    r"(?:\bnot\b|n't\b|\bnever\b|\bavoid\w*|\binstead of\b|\brather than\b|\bassum\w+|\bwithout\b)"
    r"\W+(?:[\w()]+\W+){0,4}$",
    re.IGNORECASE,
)
# Characters around a name in which it may be said that there is none.
NEAR = 30
_ABSENT = re.compile(
    r"no attribute|not exist|nonexistent|non-existent|not available|no such|invalid attribute",
    re.IGNORECASE,
)


class NameClaim(NamedTuple):
    """A name that is taken to exist, or said not to.

    Attributes:
        subject: what is claimed, as a statement.
        asserted: False where the text says that it is not so.
        program: sets `holds`.
    """

    subject: str
    asserted: bool
    program: str


def name_claims(sentence: str, wording: str) -> Iterator[NameClaim]:
    """Every attribute of a known object, and every parameter of a known function.

    Args:
        sentence: of a lesson.
        wording: all of the lesson, which says whether a "cell" is one of a sheet.
    """
    objects = objects_of(wording)
    if _LOOK_UP.search(sentence) or not objects:
        return
    functions: list[str] = []
    for match in _NAME.finditer(sentence):
        path = match["path"].split(".")
        # Neither "e.g." nor a function of a sheet.
        if match["path"] in ("e.g", "i.e") or path[-1].isupper() or any(map(iskeyword, path)):
            continue
        marked = match["call"] or sentence[match.start() - 1 : match.start()] == "`"
        absent = _ABSENT.search(sentence[max(0, match.start() - NEAR) : match.end() + NEAR])
        denied = advised_against(sentence, match.start())
        if len(path) > 1 and (path[0].lower() in objects or path[0] in MODULES):
            path[0] = path[0] if path[0] in MODULES else path[0].lower()
            columns = path[0] in ("df", "dataframe")  # `df.price` may be a column
            prose = path[0] in LIBRARIES and not marked
            if (not denied or absent) and (match["call"] or not columns) and not prose:
                yield _attribute(".".join(path), absent is None)
        if len(path) > 1 or match["call"]:
            functions.append(".".join(path))
        if match["arguments"] and not denied:
            for name in _ARGUMENT.findall(match["arguments"]):
                yield _parameter(".".join(path), name, asserted=True)
    for owner, name in _HASATTR.findall(sentence):
        if owner in objects:
            yield _attribute(f"{owner}.{name}", asserted=True)
    for match in _LONE.finditer(sentence):
        near = sentence[max(0, match.start() - NEAR) : match.end() + NEAR]
        absent = _ABSENT.search(near) is not None
        denied = advised_against(sentence, match.start())
        if _WHOSE.search(sentence) and (absent or not denied):
            yield _owned("openpyxl", match["name"], asserted=not absent)
    for match in _OWNED.finditer(sentence):
        if not advised_against(sentence, match.start()):
            yield _owned(match["library"].lower(), match["name"], asserted=True)
    called = list(dict.fromkeys(functions))
    if len(called) == 1:
        names = list(_LOOSE.finditer(sentence))
        for match in names:
            denied = advised_against(sentence, match.start())
            if not denied or len(names) > 1:
                yield _parameter(called[0], match[1] or match[2], asserted=not denied)


def objects_of(wording: str) -> frozenset[str]:
    """Names of :data:`OBJECTS` that a lesson means by them; none if it is of another library."""
    if _ELSEWHERE.search(wording):
        return frozenset()
    return frozenset(OBJECTS) - (frozenset() if _SHEETS.search(wording) else _AMBIGUOUS)


def advised_against(sentence: str, position: int) -> bool:
    """Return whether a name follows a word such as "not" or "instead of"."""
    return _DENIED.search(sentence[:position]) is not None


def free_names(code: str) -> set[str]:
    """Names that a piece of code uses and does not bind.

    Raises:
        SyntaxError: if it does not parse.
    """
    tree = ast.parse(code)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    bound = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    bound |= {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    bound |= {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return used - bound - set(dir(builtins))


def prelude(names: set[str]) -> str:
    """Makes the objects of those names."""
    return "".join(OBJECTS[name].format(name) for name in sorted(names))


def _attribute(path: str, asserted: bool) -> NameClaim:
    head = path.partition(".")[0]
    make = OBJECTS[head].format(head) if head in OBJECTS else f"import {head}\n"
    program = (
        f"{make}\ntry:\n    {path}\n    holds = True\n    print({path!r}, 'is there')\n"
        "except AttributeError as error:\n"
        "    holds = None if 'NoneType' in str(error) else False\n    print(error)\n"
    )
    name = path.rpartition(".")[2]
    if head in LIBRARIES:
        program += (
            f"\n{_owners(LIBRARIES[head])}\n"
            f"holds = holds or any(hasattr(owner, {name!r}) for owner in owners)\n"
        )
    elif name.endswith("s"):  # "cell.values" may be the values of cells
        owner = path.removesuffix(f".{name}")
        program += f"    holds = None if hasattr({owner}, {name[:-1]!r}) else holds\n"
    return NameClaim(f"{path} exists", asserted, program)


def _parameter(function: str, name: str, *, asserted: bool) -> NameClaim:
    """The function of a known object, or the first of that name in the libraries."""
    head, _, attribute = function.rpartition(".")
    root = head.partition(".")[0].lower()
    if root in OBJECTS or root in MODULES:
        make = OBJECTS[root].format(root) if root in OBJECTS else f"import {root}\n"
        find = f"functions = [{root}{function[len(root) :]}]\n"
    else:
        frames = FRAMES if attribute not in ("load_workbook", "cell") else ""
        make = OWNERS + frames + COMMON
        find = (
            f"owners = [owner for owner in owners if hasattr(owner, {attribute!r})]\n"
            f"functions = [getattr(owner, {attribute!r}) for owner in owners]\n"
        )
    program = (
        f"from inspect import signature\n{make}\n{find}"
        "names, holds = [], None\n"
        "for function in functions:\n"
        "    try:\n"
        "        parameters = signature(function).parameters\n"
        "    except (TypeError, ValueError):\n"
        "        continue\n"
        "    names += parameters\n"
        "    kinds = [parameter.kind.name for parameter in parameters.values()]\n"
        f"    holds = holds or {name!r} in parameters or 'VAR_KEYWORD' in kinds\n"
        f"print('parameters of {function}:', ', '.join(names) or 'unknown')\n"
    )
    return NameClaim(f"{function} takes {name}", asserted, program)


def _owned(library: str, name: str, *, asserted: bool) -> NameClaim:
    """A name that any object of the library has."""
    program = (
        f"{_owners(library)}\nholds = any(hasattr(owner, {name!r}) for owner in owners)\n"
        f"print('{library} has {name}:', holds)\n"
    )
    return NameClaim(f"{library} has {name}", asserted, program)


def _owners(library: str) -> str:
    """Makes the objects of a library, as `owners`."""
    if library == "pandas":
        return "owners = []\n" + FRAMES
    if library == "datetime":
        return (
            "import datetime\n\nowners = [datetime.datetime, datetime.date, datetime.timedelta]\n"
        )
    return BOOK + (
        '\ncell = Workbook().active["A1"]\n'
        "sheet, color = cell.parent, cell.fill.fgColor\n"
        "owners = [cell, sheet, sheet.parent, cell.font, cell.fill, color]\n"
    )
