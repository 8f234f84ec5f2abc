"""Value types: frozen, closed, JSON in and out; tasks, scores, usage and patches."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from html import escape
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from harness.core.errors import BadInput

KeyT = TypeVar("KeyT")
ItemT = TypeVar("ItemT")
Outcome = Literal["pass", "fail", "invalid"]
EditOp = Literal[
    "insert_after",
    "insert_before",
    "append_to_section",
    "replace_in_section",
    "add_section",
    "delete_section",
    "create",
    "delete_file",
]

OP_ALIASES = {
    "create_file": "create",
    "createFile": "create",
    "deleteFile": "delete_file",
    "append_section": "append_to_section",
}


ValueT = TypeVar("ValueT", bound=BaseModel)


class Value(BaseModel):
    """A frozen record that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Printed(ABC):
    """Prints as its facts, in a notebook as a table of them."""

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self._facts().items())

    def _repr_html_(self) -> str:
        return facts_table(self._facts())

    @abstractmethod
    def _facts(self) -> dict[str, str]:
        """Return the facts that it shows, by name."""


def facts_table(rows: Mapping[str, str]) -> str:
    """Names and values as a table of HTML."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table><tbody>{cells}</tbody></table>"


def one_spelling(values: Iterable[str]) -> dict[str, str]:
    """Value -> the most frequent spelling of those that differ in case and white space alone."""
    spellings = grouped((" ".join(value.casefold().split()), value) for value in values)
    counts = {key: Counter(map(str.strip, alike)) for key, alike in spellings.items()}
    # Of those that are as frequent one is taken whatever their order, in small letters.
    best = {key: max(count, key=lambda text: (count[text], text)) for key, count in counts.items()}
    return {value: best[key] for key, alike in spellings.items() for value in alike}


def grouped(pairs: Iterable[tuple[KeyT, ItemT]]) -> dict[KeyT, list[ItemT]]:
    """Return the values of each key, both in the order in which they first come."""
    groups = defaultdict[KeyT, list[ItemT]](list)
    for key, item in pairs:
        groups[key].append(item)
    return dict(groups)


def mapping(value: Any) -> dict[str, Any]:
    """`value` if it is a JSON object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """`value` if it is a JSON array, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def string(value: Any) -> str:
    """`value` if it is text, else the empty text."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """`value` if it is a count, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


# A word that every mark of thoughts has: most replies hold none and are not looked through.
_THOUGHTS = re.compile(r"thought|think|reasoning|<\|channel\|>|assistantfinal", re.IGNORECASE)


def split_thoughts(text: str) -> tuple[str, str]:
    """Return the thoughts in a model's reply, without their marks, and the reply without them.

    A reply without thoughts is returned as it is; see :mod:`harness.core.thoughts`.
    """
    if not _THOUGHTS.search(text):
        return "", text
    from harness.core.thoughts import separated

    return separated(text)


def without_thoughts(text: str) -> str:
    """Return a model's reply without the thoughts in it."""
    return split_thoughts(text)[1]


def first_fault(
    error: ValidationError, document: str = "document", kind: type[BaseModel] | None = None
) -> str:
    """Describe the first fault of a document, as `field: message`.

    Args:
        error: of the validation.
        document: stands for the field where the value itself is at fault.
        kind: of the document, to name the field that was probably meant.
    """
    # A misspelt name explains a missing one.
    first = min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
    message = first["msg"]
    if first["type"] == "extra_forbidden":
        fields = _fields_at(kind, first["loc"][:-1])
        close = get_close_matches(str(first["loc"][-1]), fields, 1)
        listed = f": there are {', '.join(fields)}" if fields else ""
        message = "no such field" + (f" (did you mean {close[0]!r}?)" if close else listed)
    elif first["type"] == "model_type":
        message = f"expected fields with values, got {first['input']!r:.60}"
    return f"{'.'.join(str(part) for part in first['loc']) or document}: {message}"


def _fields_at(kind: type[BaseModel] | None, location: Sequence[int | str]) -> list[str]:
    """Return the names of the fields at a place in a document."""
    for part in location:
        field = None if kind is None else kind.model_fields.get(str(part))
        types = () if field is None else (field.annotation, *get_args(field.annotation))
        models = (type_ for type_ in types if isinstance(type_, type))
        kind = next((type_ for type_ in models if issubclass(type_, BaseModel)), kind)
    return [] if kind is None else list(kind.model_fields)


def from_keywords(kind: type[ValueT], fields: Mapping[str, object]) -> ValueT:
    """A value from the keyword arguments of a function.

    Raises:
        BadInput: for an unknown name, with what was probably meant, and for a value that does not
            fit.
    """
    try:
        return kind.model_validate(dict(fields))
    except ValidationError as error:
        faults = error.errors()
        for fault in faults:
            if fault["type"] == "extra_forbidden":
                name = str(fault["loc"][0])
                close = get_close_matches(name, kind.model_fields, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"see {kind.__name__}"
                raise BadInput(f"unknown name {name!r}: {hint}") from None
        given_value = f", got {faults[0]['input']!r:.80}" if faults[0]["loc"] else ""
        raise BadInput(f"{first_fault(error, 'settings')}{given_value}") from None


@dataclass(frozen=True)
class Option:
    """Command-line form of a settings field: `Annotated[int, Option("Help.")]`.

    Attributes:
        help: one sentence, for `--help` and the reference page.
        names: such as `--model`, where that is not the field's own name.
        metavar: in place of the type's.
        choices: where the field's type does not list them.
        callback: a click callback that turns the words into the field's value.
        multiple: whether it may be repeated; a tuple without a callback always may.
        show_default: whether the help states the default.
    """

    help: str = ""
    names: tuple[str, ...] = ()
    metavar: str | None = None
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] = ()
    callback: Callable[..., Any] | None = None
    multiple: bool = False
    show_default: bool = True


class Usage(Value):
    """Use of one or many calls.

    `cost_usd` is None where a price is unknown: unknown is not zero, and a sum with an unknown
    part is unknown. `unreported` counts the calls whose tokens the server did not report: they are
    in no sum of tokens.
    """

    calls: int = 0
    unreported: int = Field(default=0, exclude_if=lambda value: not value)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        priced = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            calls=self.calls + other.calls,
            unreported=self.unreported + other.unreported,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if priced else None,
            seconds=self.seconds + other.seconds,
        )

    def __sub__(self, other: Usage) -> Usage:
        """Take back a part that was added; an unknown cost stays unknown."""
        return self + Usage(
            calls=-other.calls,
            unreported=-other.unreported,
            prompt_tokens=-other.prompt_tokens,
            completion_tokens=-other.completion_tokens,
            cached_tokens=-other.cached_tokens,
            cost_usd=None if other.cost_usd is None else -other.cost_usd,
            seconds=-other.seconds,
        )


class Score(Value):
    """A judgement of one answer.

    Attributes:
        outcome: pass, fail, or invalid (model unreachable, unparsable, limit reached, ...).
        value: soft score in [0, 1]; 0.0 for invalid, which no mean may include.
        reason: one sentence a person can act on.
        detail: what the scorer wants kept (per-cell differences, per-range results, ...).
    """

    outcome: Outcome
    value: float = Field(ge=0.0, le=1.0)
    reason: str = ""
    detail: dict[str, JsonValue] = {}


def passed(reason: str = "", value: float = 1.0, **detail: JsonValue) -> Score:
    """A pass."""
    return Score(outcome="pass", value=value, reason=reason, detail=detail)


def failed(reason: str, value: float = 0.0, **detail: JsonValue) -> Score:
    """A fail."""
    return Score(outcome="fail", value=value, reason=reason, detail=detail)


def invalid(reason: str, **detail: JsonValue) -> Score:
    """An outcome that says nothing about the answer."""
    return Score(outcome="invalid", value=0.0, reason=reason, detail=detail)


class Task(Value):
    """One row of a task file.

    Attributes:
        id: unique within its suite.
        prompt: what the agent is asked.
        files: name in the agent's work folder -> path, relative to the task file; where the suite
            is not trusted, below its folder. A list of paths is read as name = last path component.
        answer: the expected answer, for scorers that compare.
        check: a scorer's name, `file.py:function`, or a command whose exit 0 is a pass.
        meta: anything a task family needs (stratum, difficulty, answer range, ...).
        group: tasks of one group (of a template, a document) pass and fail together: intervals and
            tests take groups for independent. Without one a task is alone.
    """

    model_config = ConfigDict(allow_inf_nan=False)  # they have no digest

    id: str = Field(min_length=1)
    prompt: str
    # A factory, because pydantic makes deep copies of defaults.
    files: dict[str, str] = Field(default_factory=dict[str, str])
    answer: JsonValue = None
    check: str | None = None
    meta: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    group: str = Field(default="", exclude_if=lambda value: not value)

    @field_validator("id", "group", mode="before")
    @classmethod
    def _numeric_name(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) else value

    @field_validator("files", mode="before")
    @classmethod
    def _list_of_paths(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {PurePosixPath(str(path)).name: str(path) for path in value}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # before-validators see raw JSON
        return value

    @property
    def columns(self) -> dict[str, Any]:
        """Values by the names of columns; `expected` is the answer."""
        return {"expected": self.answer, **self.meta}

    @field_validator("files")
    @classmethod
    def _names_stay_inside(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise ValueError(f"file name must stay inside the work folder, got {name!r}")
        return value


class Edit(Value):
    """One edit of one file.

    Attributes:
        file: path relative to the skill directory.
        op: one of the eight operations.
        target_section: heading (with or without `#` marks) that the edit belongs to.
        target_text: anchor of insert_after and insert_before.
        content: new text.
        old_text: text that replace_in_section replaces.
        after_section: heading that add_section follows.
        sources: ids of the trajectories that this edit was learned from, sorted.
        support: number of distinct tasks among the sources.
    """

    file: str
    op: EditOp
    target_section: str = ""
    target_text: str = ""
    content: str = ""
    old_text: str = ""
    after_section: str = ""
    sources: tuple[str, ...] = ()
    support: int = Field(default=0, ge=0)

    @field_validator("op", mode="before")
    @classmethod
    def _alias(cls, value: Any) -> Any:
        return OP_ALIASES.get(value, value) if isinstance(value, str) else value


class Patch(Value):
    """A set of edits with the reasoning behind them; `batch_index` is -1 for merged patches."""

    reasoning: str = ""
    edits: tuple[Edit, ...] = ()
    changelog_entries: tuple[str, ...] = ()
    batch_index: int = -1
