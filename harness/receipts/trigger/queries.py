"""Queries that should load a skill, should not, or belong to another: read from a file or drafted.

Drafted ones are made by rules from descriptions, where none were written. They use the words of the
description, so a client finds the skill more easily than with the words of a user: what they
measure is an upper bound, and reports label them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import Field, ValidationError, model_validator

from harness.core import (
    BadInput,
    Task,
    Value,
    digest,
    first_fault,
    read_json,
    read_rows,
    read_yaml,
)
from harness.evolve import content_words
from harness.skills import Skill

CONTROLS = (
    "Use the skill {name} now: open it before anything else.",
    "Please load the skill called {name} and tell me its first rule.",
    "I want you to work by the {name} skill. Read it first.",
)
_SHOULD = (
    "I need help with this: {phrase}.",
    "My task is as follows. {Phrase}. Where do I start?",
)
_ELSEWHERE = (
    "What is a good name for a grey kitten?",
    "Write two friendly lines for a birthday card to my aunt.",
    "Which planet is closest to the sun?",
    "Translate 'good morning' into French.",
    "How long do I boil an egg so that the yolk stays soft?",
    "Tell me a joke about penguins.",
    "My bicycle chain keeps slipping. What could be the reason?",
    "Suggest three songs for a rainy afternoon.",
)
_LETTERS = 4
"""Shorter words (what, is, for) say little about what a text is about."""
_WHEN = re.compile(r"^use\s+(?:this skill\s+)?(?:when(?:ever)?|for|to|if)\s+", re.IGNORECASE)
_SUBJECT = re.compile(
    r"^(?:(?:a|the)\s+(?:task|question|user|request|answer)\s+(?:asks?|wants?|needs?|has)\s+(?:you\s+)?"
    r"(?:to|for|about)?\s*|(?:asked|you are asked|you need|told)\s+to\s+)",
    re.IGNORECASE,
)
_PARTS = re.compile(r"\s*[;:]\s+|(?<=[.!?])\s+")

Origin = Literal["file", "drafted", "model"]


class Query(Value):
    """One query.

    Attributes:
        query: what a user would ask.
        expect: name of the skill that should load; None if none of the library should.
        wrong: skills that must not load, where no more is known than that (`should_trigger:
            false`); only they are judged by it.
        control: it names the skill `expect`: a client that can load skills at all loads it.
        origin: read from a file, drafted by rules, or drafted by a model.
        group: queries of one group are alike; those drafted from one clause are.
    """

    query: str = Field(min_length=1)
    expect: str | None = None
    wrong: str | None = None
    control: bool = False
    origin: Origin = "file"
    group: str = Field(default="", exclude_if=lambda value: not value)

    @model_validator(mode="after")
    def _control_names_a_skill(self) -> Query:
        if self.control and (not self.expect or self.expect not in self.query):
            raise ValueError(f"a control must expect a skill and name it: {self.query!r:.80}")
        return self

    @property
    def task(self) -> Task:
        """The query as a task of a run."""
        meta = self.model_dump(mode="json", exclude_none=True, exclude={"group"})
        id_ = digest(meta)[:16]
        return Task(id=id_, prompt=self.query, meta={"trigger": meta}, group=self.group)


def query_of(task: Task) -> Query:
    """The query that a task was made of."""
    return Query.model_validate(task.meta["trigger"])


def read_queries(path: Path, tested: Sequence[str], library: Sequence[str]) -> tuple[Query, ...]:
    """Read a file of queries: JSON lines, or YAML or JSON with a list.

    Each is `{query, expect, control, group}`; `{query, should_trigger}` is read, too, where one
    skill is tested.

    Args:
        path: `.jsonl`, `.yaml`, `.yml` or `.json`.
        tested: names of the skills that are tested.
        library: names of all skills at hand.

    Raises:
        BadInput: for a file that cannot be read, holds nothing, the same query twice, or expects a
            skill that is not at hand; the place is named.
    """
    queries: dict[str, Query] = {}
    for where, row in _rows(path):
        if not isinstance(row, dict):
            raise BadInput(f"{where}: expected {{query, expect}}, got {row!r:.60}")
        values = {**cast("dict[str, Any]", row)}
        if "should_trigger" in values:
            if len(tested) != 1:
                raise BadInput(
                    f"{where}: should_trigger says of which skill only where one is tested"
                )
            should = values.pop("should_trigger")
            values["expect" if should is True else "wrong"] = tested[0]
        elif "expect" not in values:
            raise BadInput(
                f"{where}: expected expect: NAME or expect: null, got {sorted(map(str, values))}"
            )
        try:
            query = Query.model_validate(values)
        except ValidationError as error:
            raise BadInput(f"{where}: {first_fault(error, 'query')}") from error
        for name in (query.expect, query.wrong):
            if name is not None and name not in library:
                raise BadInput(
                    f"{where}: no skill {name!r} at hand; there are {', '.join(library)}"
                )
        if query.query in queries:
            raise BadInput(f"{where}: the query {query.query!r:.60} stands there twice")
        queries[query.query] = query
    if not queries:
        raise BadInput(f"{str(path)!r} has no queries")
    return tuple(queries.values())


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Every query in a file, and where it stands."""
    if path.suffix == ".jsonl":
        yield from ((f"{path}:{line}", row) for line, row in read_rows(path))
        return
    if not path.is_file():
        raise BadInput(f"expected a file of queries, found nothing at {str(path)!r}")
    document: Any = read_json(path) if path.suffix == ".json" else read_yaml(path)
    fields = (
        cast("dict[str, Any]", document) if isinstance(document, dict) else {"queries": document}
    )
    rows = fields.get("queries")
    if not isinstance(rows, list):
        raise BadInput(f"{path}: expected a list of queries, got {type(rows).__name__}")
    for number, row in enumerate(cast("list[Any]", rows), start=1):
        yield f"{path}: query {number}", row


def draft_controls(names: Sequence[str]) -> tuple[Query, ...]:
    """Queries that name a skill; a client that can load skills at all loads it."""
    return tuple(
        Query(query=text.format(name=name), expect=name, control=True, origin="drafted")
        for name in names
        for text in CONTROLS
    )


def draft_queries(library: Sequence[Skill]) -> tuple[Query, ...]:
    """Queries for each skill of a library from its description, and some that fit none.

    Those that fit none are everyday requests of ours; one that shares a word of meaning with a
    description is left out.
    """
    queries: dict[str, Query] = {}
    for skill in library:
        for part in _PARTS.split(skill.description.strip()):
            clause = _SUBJECT.sub("", _WHEN.sub("", part)).strip(" .!?")
            if len(clause.split()) < 3:
                continue
            lower, upper = clause[:1].lower() + clause[1:], clause[:1].upper() + clause[1:]
            for form in _SHOULD:
                text = form.format(phrase=lower, Phrase=upper)
                queries.setdefault(
                    text,
                    Query(query=text, expect=skill.name, origin="drafted", group=lower),
                )
    words = {word for skill in library for word in _meaning(skill.description)}
    for text in _ELSEWHERE:
        if not words & _meaning(text):
            queries[text] = Query(query=text, origin="drafted")
    return tuple(queries.values())


def _meaning(text: str) -> frozenset[str]:
    return frozenset(word for word in content_words(text) if len(word) >= _LETTERS)
