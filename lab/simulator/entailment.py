"""Entailment of an action by a line of a skill: concepts, actions and negation.

A remedy is entailed by a line that speaks of the right thing (`about`: every group has a match)
and asks for the right action: one of `do` that is not negated, or one of `undo` that is. Word
lists and scopes, no understanding; how well it does on unseen wordings is measured in the tests.

Patterns are regular expressions on the plain wording of a line (`wording.plain`: lower case, no
Markdown, contractions spelled out) and name classes of words in braces: `{exclude}`, `{keep}`,
`{give}`. A class holds words that ask for the same thing; verbs stand for all their forms, a tilde
for the words between a verb and its particle (`leave~out`). A profile adds classes of its own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic import Field, field_validator, model_validator

from harness.core import Value
from lab.simulator.wording import Force, Sentence, sentences

_PATTERNS = ("about", "do", "undo", "against", "shun", "unless")
_NAMED = re.compile(r"\{([a-z_]+)\}")
_IRREGULAR = {
    "leave": "leave|leaves|leaving|left", "take": "take|takes|taking|took|taken",
    "write": "write|writes|writing|wrote|written", "give": "give|gives|giving|gave|given",
    "keep": "keep|keeps|keeping|kept", "put": "put|puts|putting", "set": "set|sets|setting",
    "throw": "throw|throws|throwing|threw|thrown", "strike": "strike|strikes|striking|struck",
    "cut": "cut|cuts|cutting", "split": "split|splits|splitting",
    "say": "say|says|saying|said", "stick": "stick|sticks|sticking|stuck",
    "go": "go|goes|going|went|gone", "come": "come|comes|coming|came",
    "show": "show|shows|showing|showed|shown", "spell": "spell|spells|spelling|spelled|spelt",
    "make": "make|makes|making|made", "bring": "bring|brings|bringing|brought",
    "rid": "get|gets|getting|got", "weed": "weed|weeds|weeding|weeded",
    "feed": "feed|feeds|feeding|fed", "read": "read|reads|reading",
    "forget": "forget|forgets|forgetting|forgot|forgotten",
    "let": "let|lets|letting", "do": "do|does|doing|done", "draw": "draw|draws|drawn|drawing",
    "break": "break|breaks|breaking|broke|broken", "lie": "lie|lies|lay|lain|lying",
}  # fmt: skip
_VERBS = {
    "exclude": (
        "exclude", "skip", "ignore", "omit", "drop", "disregard", "filter", "remove", "discard",
        "discount", "eliminate", "delete", "strike", "bypass", "purge", "dismiss", "neglect",
        "suppress", "prune", "erase", "ditch", "reject",
        "leave~out", "leave~off", "leave~aside", "set~aside", "put~aside", "take~out", "cross~out",
        "weed~out", "rule~out", "throw~out", "throw~away", "screen~out", "sift~out", "cut~out",
        "keep~out", "keep~away", "pass~over", "stay~out", "cast~aside", "rid~rid", "kick~out",
        "push~aside", "mask~out", "mask", "blank~out", "strip", "strip~out", "pull~out", "shut~out",
        "count~out", "factor~out",
    ),
    "include": (
        "count", "include", "add", "sum", "total", "consider", "tally", "aggregate", "contribute",
        "enter", "retain", "reckon", "belong", "matter", "use", "keep", "incorporate",
        "factor~in", "take~account", "go~into", "flow~into", "slip~into", "feed~into",
        "come~into", "let~into", "figure~in", "leave~in", "stay~in", "remain~in", "bring~in",
        "creep~into", "end~up in", "make~into", "run~into", "appear~in", "show~up in",
    ),
    "give": (
        "give", "write", "state", "report", "express", "show", "present", "output", "print",
        "return", "reply", "answer", "respond", "put", "render", "display", "format", "list",
        "say", "spell", "convert", "turn", "transform", "change", "translate", "use", "quote",
        "provide", "emit", "produce", "deliver", "specify", "type", "record", "phrase", "note",
        "recast", "rewrite", "set", "bring", "hand", "mention", "name", "enter", "fill", "word",
        "supply", "submit", "communicate", "choose", "make", "rephrase", "reformat", "switch",
        "normalise", "normalize", "standardise", "standardize", "pick", "conform", "require",
        "want", "expect", "read", "appear", "formulate", "indicate", "denote", "map",
    ),
    "keep": (
        "keep", "leave", "stay", "remain", "retain", "preserve", "maintain", "stick", "copy",
        "adopt", "reproduce", "go~with", "let", "repeat",
    ),
    "join": (
        "separate", "join", "divide", "split", "delimit", "insert", "place", "link",
        "concatenate", "glue", "connect", "part", "chain", "set~apart", "string~together",
        "break~up", "tie", "combine",
    ),
    "sort": ("sort", "order", "arrange", "rank", "sequence", "organise", "organize", "alphabetise",
             "alphabetize"),
    "merge": (
        "merge", "collapse", "fold", "combine", "consolidate", "unify", "condense", "group",
        "reduce", "squash", "boil~down",
    ),
    "lessen": (
        "subtract", "deduct", "reduce", "lower", "decrease", "diminish", "shrink", "debit",
        "dock", "offset", "detract", "lessen", "cut", "take~off", "take~away", "come~off",
        "pull~down", "pull", "go~down", "fall by", "drop by", "sink", "bring~down by",
        "go~off", "knock~off", "take~from", "draw~from", "bring~down", "set~off", "net",
        "remove~from", "pull~from", "strip~from", "drop~from", "count~against",
        "work~against",
    ),
}  # fmt: skip


def inflected(word: str) -> str:
    """A regular expression of the forms of an English verb; `verb~particle` allows a gap."""
    verb, _, particle = word.partition("~")
    if verb in _IRREGULAR:
        forms = f"(?:{_IRREGULAR[verb]})"
    elif verb.endswith("e"):
        forms = f"{verb[:-1]}(?:e[sd]?|ing)"
    elif verb.endswith("y") and verb[-2] not in "aeiou":
        forms = f"{verb[:-1]}(?:y|ies|ied|ying)"
    else:
        forms = f"{verb}(?:{verb[-1]}?(?:ed|ing)|e?s)?"
    return rf"{forms}\b[^.;:,]{{0,45}}?\b{particle}" if particle else forms


CLASSES: dict[str, str] = {
    name: rf"\b(?:{'|'.join(inflected(word) for word in sorted(words, reverse=True))})\b"
    for name, words in _VERBS.items()
} | {
    "two": r"\b(?:two|2)\b",
    "only": r"\b(?:only|just|solely|exclusively|merely|nothing but|restrict\w*|limit\w*"
    r"|confin\w*)\b",
    "gap": r"(?:\s+[^\s.,;:()]+){0,4}?\s+",
    "repeated": r"\b(?:duplicat\w*|repeat(?:ed|s)?\b|repeating|repetitions?|twice|doubles?|doubled"
    r"|doublings?|again\b|(?:several|multiple|many|more|two|further|repeated) times|more than once"
    r"|second time|recur\w*|redundan\w*|(?:each|every) time|re-?occurr\w*|copies)",
    "once": r"\b(?:once\b|(?:single|one) (?:time|mention|entry|occurrence|appearance|instance)"
    r"|unique\w*|distinct\w*|de-?dup\w*|de-?duplicat\w*)",
}


def expanded(pattern: str, classes: Mapping[str, str]) -> str:
    """The pattern with every `{class}` replaced by its expression, a profile's own classes first.

    Raises:
        ValueError: if there is no such class.
    """

    def expression(match: re.Match[str]) -> str:
        name = match[1]
        if name not in classes and name not in CLASSES:
            names = ", ".join(sorted({*classes, *CLASSES}))
            raise ValueError(f"no class of words {name!r}; expected one of {names}")
        outer = {key: value for key, value in classes.items() if key != name}
        return f"(?:{expanded(classes[name], outer) if name in classes else CLASSES[name]})"

    return _NAMED.sub(expression, pattern)


def check_patterns(value: str | tuple[str, ...]) -> Any:
    """The pattern or patterns as they are.

    Raises:
        ValueError: if one is no regular expression.
    """
    for pattern in (value,) if isinstance(value, str) else value:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"no regular expression: {pattern!r} ({error})") from error
    return value


class Remedy(Value):
    """Statement that a line must make.

    Attributes:
        about: groups of patterns; each group must match somewhere in the line.
        do: patterns of actions that cure; a line that forbids or waives one entails nothing by
            what else it forbids.
        undo: patterns of actions that keep the failure: asked for, they rule the remedy out;
            forbidden, they cure.
        against: patterns of actions that rule the remedy out if they are asked for, and whose
            prohibition cures nothing.
        shun: patterns of things whose prohibition cures, and that otherwise say nothing.
        unless: patterns of lines that never count, whatever else they say.
        words: the profile's own classes of words, for use in braces in the patterns.
    """

    about: tuple[str, ...]
    do: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    shun: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    words: Mapping[str, str] = Field(default_factory=dict[str, str])

    @model_validator(mode="before")
    @classmethod
    def _expands(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        fields = cast("dict[str, Any]", data)
        words: Any = fields.get("words", {})
        return fields | {
            name: tuple(expanded(str(pattern), words) for pattern in fields[name])
            for name in _PATTERNS
            if isinstance(fields.get(name), list | tuple)
        }

    _compiles = field_validator(*_PATTERNS)(check_patterns)

    def entailed_by(self, text: str) -> bool:
        """Return True if any line of the text asks for the remedy."""
        return any(self.said_in(line) for line in text.splitlines() if line.strip())

    def said_in(self, line: str) -> bool:
        """Return True if this line asks for the remedy."""
        return _said(self.about, self.do, self.undo, self.against, self.shun, self.unless, line)


@functools.lru_cache(maxsize=262144)
def _said(
    about: tuple[str, ...],
    do: tuple[str, ...],
    undo: tuple[str, ...],
    against: tuple[str, ...],
    shun: tuple[str, ...],
    unless: tuple[str, ...],
    line: str,
) -> bool:
    read = sentences(line)
    text = ". ".join(sentence.text for sentence in read)
    if not all(_compiled(group).search(text) for group in about):
        return False
    if any(_compiled(pattern).search(text) for pattern in unless):
        return False
    curing, avoidable = _forces(do, read), _forces(undo, read)
    if avoidable & {"asked", "allowed"} or _forces(against, read) & {"asked", "allowed"}:
        return False
    if "asked" in curing:
        return True
    avoided = "forbidden" in avoidable or "forbidden" in _forces(shun, read)
    return avoided and "forbidden" not in curing


def _forces(patterns: tuple[str, ...], read: tuple[Sentence, ...]) -> set[Force]:
    """Read the force that sentences give to every match of the patterns."""
    return {
        sentence.force(*match.span())
        for sentence in read
        for pattern in patterns
        for match in _compiled(pattern).finditer(sentence.text)
    }


@functools.lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
